"""Recipes by name."""

from collections.abc import Callable

from envmill.recipes.base import Recipe
from envmill.recipes.envscaler import EnvScaler

RECIPES: dict[str, Callable[[list[tuple[str, str]]], Recipe]] = {"envscaler": EnvScaler}
"""Name → recipe over the themes it may use."""
