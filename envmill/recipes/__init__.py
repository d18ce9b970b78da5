"""Recipes by name: each makes environments and scenarios as one published system does."""

from collections.abc import Mapping
from typing import Protocol

from envmill.base.errors import SettingsError
from envmill.recipes import (
    agentscaler,
    autoforge,
    awm,
    endless_terminals,
    envfactory,
    envscaler,
    perturb,
    scaleenv,
    tau2,
)
from envmill.recipes.base import WHOLE, Recipe, Themes
from schemas.run import RecipeName, RunConfig


class Make(Protocol):
    """Makes a recipe over the themes it may use; programs of more tools than `whole` are written in
    parts."""

    def __call__(self, themes: Themes, whole: int = WHOLE, /) -> Recipe:
        """One for a run."""
        ...


RECIPES: Mapping[RecipeName, Make] = {
    "envscaler": envscaler.make,
    "awm": awm.make,
    "scaleenv": scaleenv.make,
    "agentscaler": agentscaler.make,
    "envfactory": envfactory.make,
    "autoforge": autoforge.make,
    "perturb": perturb.make,
    "endless_terminals": endless_terminals.make,
    "tau2": tau2.make,
}
"""Name → how it is made."""


def check_recipe(config: RunConfig) -> None:
    """SettingsError where the recipe cannot do what the run is asked for, or its rollouts
    cannot."""
    if config.calls and config.steps < config.calls + config.calls // 4:
        raise SettingsError(
            f"Reference paths of {config.calls} calls do not fit rollouts of {config.steps} steps: "
            f"set `steps` to {config.calls + config.calls // 2} or more, or `calls` to "
            f"{config.steps * 4 // 5} or fewer."
        )
    if config.enlarge and not RECIPES[config.recipe]([]).tabled:
        able = ", ".join(name for name, make in RECIPES.items() if make([]).tabled)
        raise SettingsError(
            f"Recipe {config.recipe} makes no tables whose records could be copied. Take {able} "
            "with `enlarge`, or leave `enlarge` out."
        )
