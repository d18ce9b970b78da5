"""Recipe `perturb`: a healthy system out of the data, broken in known places; what broke it is the reference path, read backwards.

Nobody is asked anything: `envmill/drafting/perturbing.py` composes, and machines prove.
"""

from collections.abc import Mapping

from envmill.drafting.breaking.systems import load_system
from envmill.drafting.perturbing import list_machines, plan_machine
from envmill.drafting.repair import Repair
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.recipes.envscaler import WHOLE, EnvScaler
from schemas.environment import Blueprint
from schemas.run import RunConfig
from schemas.seed import Brief, Seed


class Perturb(EnvScaler):
    """Environments as machines. Of the recipe for classes it takes what a run asks every recipe; none of its prompts are asked."""

    name = "perturb"

    def __init__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> None:
        super().__init__(themes, whole)
        self.prompts: Mapping[str, tuple[Prompt, ...]] = {}

    def pick_seeds(self, config: RunConfig) -> list[Seed]:
        """Systems in turn; when all were picked, their next variations. There are no more than that."""
        wanted = list_machines()[: config.environments]
        briefs = [Brief(theme=name, text=load_system(name).system.about, number=variation) for name, variation in wanted]
        return [Seed(recipe=self.name, brief=brief, licence=load_system(brief.theme).system.licence) for brief in briefs]

    async def think_up(
        self,
        seed: Seed,
        repair: Repair,  # noqa: ARG002  the data is as it is
        account: Account,  # noqa: ARG002  nobody is asked
        before: Blueprint | None = None,  # noqa: ARG002
    ) -> Blueprint:
        """The system as files."""
        return plan_machine(seed)
