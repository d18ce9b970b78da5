"""Recipes by name."""

from typing import Protocol

from envmill.recipes.agentscaler import AgentScaler
from envmill.recipes.awm import Awm
from envmill.recipes.base import Recipe
from envmill.recipes.endless_terminals import EndlessTerminals
from envmill.recipes.envfactory import EnvFactory
from envmill.recipes.envscaler import WHOLE, EnvScaler
from envmill.recipes.perturb import Perturb
from envmill.recipes.scaleenv import ScaleEnv


class Make(Protocol):
    """Makes a recipe over the themes it may use; programs of more tools than `whole` are written in parts."""

    def __call__(self, themes: list[tuple[str, str]], whole: int = WHOLE) -> Recipe:
        """One for a run."""
        ...


RECIPES: dict[str, Make] = {
    "envscaler": EnvScaler,
    "awm": Awm,
    "scaleenv": ScaleEnv,
    "agentscaler": AgentScaler,
    "envfactory": EnvFactory,
    "perturb": Perturb,
    "endless_terminals": EndlessTerminals,
}
"""Name → how it is made."""
