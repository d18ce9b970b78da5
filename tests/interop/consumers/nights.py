"""Finished runs with many environments of each kind, and what five policies earn in them
natively."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envmill.agents import find_policy
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.interop.exporters import ExportSet
from envmill.lake.lake import Lake
from envmill.pipeline.exporting import read_load
from envmill.sandbox import Sandbox
from envmill.stages.export import choose_export_set, unite_loads
from flows.local.home import Home
from flows.opening import open_walk
from schemas.rollout import Rollout
from schemas.run import RunConfig
from tests.interop.bundles.policies import Play, play_natively

RECIPES = {"stateful": "envscaler", "sql": "awm"}
"""Kind → a recipe that makes environments of it."""


@dataclass(frozen=True)
class Night:
    """What the runs kept, and the plays of one scenario in each environment."""

    export_set: ExportSet
    plays: Sequence[Play]

    def list_scripts(self) -> dict[str, list[dict[str, Any]]]:
        """Scenario → what each policy does and says, for drivers."""
        found: dict[str, list[dict[str, Any]]] = {}
        for play in self.plays:
            script = {
                "name": play.name,
                "calls": [{"name": call.name, "arguments": call.arguments} for call in play.calls],
                "said": list(play.said),
                "environment": play.environment.id,
                "split": play.scenario.split,
            }
            found.setdefault(play.scenario.id, []).append(script)
        return found


def make_night(folder: Path, environments: int) -> Night:
    """Runs with so many candidates of each kind."""
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    home = Home.read(
        {**{key: str(folder / name) for key, name in names.items()}, "ENVMILL_PORT": "0"}
    )
    return asyncio.run(_make(home, environments))


async def _make(home: Home, environments: int) -> Night:
    for kind, recipe in RECIPES.items():
        config = {
            "recipe": recipe,
            "environments": environments,
            "scenarios": 2,
            "attempts": 3,
            "search": 20,
            "seed": 11,
            "mistakes": 0.0,
        }
        async with open_walk(
            kind, RunConfig.model_validate(config | {"exporters": ("sft", "rl")}), home.settings
        ) as walk:
            await walk.walk()
    export_set, _ = choose_export_set(
        unite_loads([read_load(Lake(home.settings.lake), kind) for kind in RECIPES]),
        provisional=False,
    )
    async with Sandbox.open(home.settings) as jail:
        return Night(export_set, await _play(export_set, jail))


async def _play(export_set: ExportSet, jail: Sandbox) -> list[Play]:
    """One scenario of each environment."""
    homes = {one.id: one for one in export_set.environments}
    first = {
        one.environment: one
        for one in reversed(export_set.scenarios)
        if one.oracle and one.polarity == "achieve"
    }
    return [
        play
        for scenario in first.values()
        for play in await play_natively(scenario, homes[scenario.environment], jail)
    ]


async def talk(night: Night, home: Path, most: int) -> list[Rollout]:
    """Conversations with the scripted user, natively: so many of each kind."""
    homes = {one.id: one for one in night.export_set.environments}
    hiding = {
        kind: [
            one
            for one in night.export_set.scenarios
            if one.user.hidden and homes[one.environment].kind == kind
        ]
        for kind in RECIPES
    }
    chosen = [one for found in hiding.values() for one in found[:most]]
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(home)})) as jail:
        reference = find_policy("reference")
        return [
            await play_scenario(
                reference, one, homes[one.environment], jail, "g", 0, form="conversation"
            )
            for one in chosen
        ]
