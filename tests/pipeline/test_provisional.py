"""What a required gate could not measure goes on, is marked, and stays at home unless it is asked
for."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, skip
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from flows.opening import open_walk
from schemas.run import RunConfig

CONFIG = RunConfig(
    environments=1,
    scenarios=3,
    attempts=2,
    keep=1,
    seed=11,
    mistakes=0.0,
    polarities={"achieve": 1},
)


async def look_blindly(built: EnvironmentCase, means: GateContext) -> Finding:
    """A gate that cannot do its work."""
    return skip("W3", "no_tests", "the tests were not at hand")


def run_line(folder: Path, provisional: bool) -> tuple[Settings, dict[str, list[Any]]]:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )

    async def walk() -> None:
        async with open_walk(
            "r1", CONFIG.model_copy(update={"provisional": provisional}), settings
        ) as opened:
            await opened.walk()

    asyncio.run(walk())
    views = open_views(Lake(settings.lake))
    asked = {
        "gates": "select gate, outcome, reason from attrition where stage = 'verify' and lap = "
        "'environments' order by all",
        "collected": "select count(*) from trajectories",
        "export": "select outcome, reason from exits where stage = 'export'",
        "bundles": "select rows from bundles",
    }
    return settings, {name: views.execute(question).fetchall() for name, question in asked.items()}


@pytest.mark.long
@pytest.mark.parametrize("provisional", [False, True])
def test_it_goes_on_marked_and_leaves_only_when_asked_for(
    tmp_path: Path, provisional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("passing", "verify"):
        monkeypatch.setattr(
            f"envmill.stages.{module}.ENVIRONMENT_GATES",
            (replace(GATES["W3"], check=look_blindly),),
        )
    _, found = run_line(tmp_path, provisional)
    assert found["gates"] == [("W3", "not_measured", "no_tests"), ("exit", "kept", "")]
    assert found["collected"][0][0] > 0
    assert found["export"] == (
        [("kept", "")] if provisional else [("dropped", "nothing_to_export")]
    )
    assert bool(found["bundles"]) is provisional
