"""Recipe `perturb`: a healthy system out of the data, broken in known places; what broke it is the reference path, read backwards.

Nobody is asked anything: `envmill/kinds/terminal/perturbing.py` composes, and machines prove.
"""

from itertools import islice

from envmill.kinds.authoring.repair import Repair
from envmill.kinds.terminal.breaking.systems import list_systems, load_system
from envmill.kinds.terminal.perturbing import list_machines, plan_machine
from envmill.models.gateway import ModelSession
from envmill.recipes.base import WHOLE, Recipe, Themes
from envmill.recipes.themes import order_turns
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

NAME: RecipeName = "perturb"


def make(_themes: Themes, _whole: int = WHOLE) -> Recipe:
    """The recipe; its systems are data, and it asks nobody."""
    return Recipe(name=NAME, given=True, pick_seeds=_pick_systems, think_up=_plan_system)


def _pick_systems(config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    """Least-used systems first, each under the variation that follows its last one; a run has no more seeds than there are machines.

    Variations beyond the last one are the first again, under a number of its own: other faults are composed in them.
    """
    machines = list_machines()
    wanted = islice(order_turns(list_systems(), config, past), min(config.environments, len(machines)))
    briefs = [Brief(theme=name, text=load_system(name).system.about, number=variation) for name, variation in wanted]
    return [Seed(recipe=NAME, brief=brief, licence=load_system(brief.theme).system.licence) for brief in briefs]


async def _plan_system(seed: Seed, _repair: Repair, _account: ModelSession, _before: Blueprint | None = None) -> Blueprint:
    """The system as files."""
    return plan_machine(seed)
