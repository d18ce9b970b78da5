"""Recipe `perturb`: a healthy system out of the data, broken in known places; what broke it is the reference path, read backwards.

Nobody is asked anything: `envmill/kinds/terminal/perturbing.py` composes, and machines prove.
"""

from envmill.kinds.authoring.repair import Repair
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.kinds.terminal.perturbing import list_machines, plan_machine
from envmill.models.gateway import ModelSession
from envmill.recipes.base import WHOLE, Recipe, Themes
from schemas.environment import Blueprint
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

NAME: RecipeName = "perturb"


def make(_themes: Themes, _whole: int = WHOLE, _results: bool = True) -> Recipe:
    """The recipe; its systems are data, and it asks nobody."""
    return Recipe(name=NAME, pick_seeds=_pick_systems, think_up=_plan_system)


def _pick_systems(config: RunConfig) -> list[Seed]:
    """Systems in turn; when all were picked, their next variations. There are no more than that."""
    wanted = list_machines()[: config.environments]
    briefs = [Brief(theme=name, text=load_system(name).system.about, number=variation) for name, variation in wanted]
    return [Seed(recipe=NAME, brief=brief, licence=load_system(brief.theme).system.licence) for brief in briefs]


async def _plan_system(seed: Seed, _repair: Repair, _account: ModelSession, _before: Blueprint | None = None) -> Blueprint:
    """The system as files."""
    return plan_machine(seed)
