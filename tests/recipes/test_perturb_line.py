"""Recipe `perturb` along the whole line: scenarios over nearly all healthy systems that every gate
of the kind keeps."""

import asyncio
import os
from pathlib import Path

import pytest

from envmill.base.settings import Settings
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.pipeline.test_runner import ask
from tests.soak import count

CONFIG = RunConfig(
    recipe="perturb",
    environments=14,
    scenarios=4,
    attempts=1,
    seed=7,
    polarities={"achieve": 1},
    exporters=("dataset",),
)


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(count(0, 1) == 0, reason="half an hour of a core: make soak AREA=terminal")
def test_scenarios_of_most_systems_pass_every_gate(tmp_path: Path) -> None:
    """Forty at least, over twelve systems at least, and nothing ends in an error."""
    places = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {
            **os.environ,
            **{name: str(tmp_path / place) for name, place in places.items()},
            "ENVMILL_PORT": "0",
        }
    )
    asyncio.run(_walk(settings))
    rows = ask(settings, "select lap || '-' || stage, kept, error from funnel")
    dropped = ask(
        settings,
        "select subject, gate, reason, detail from attrition where outcome in ('dropped', 'error')",
    )
    assert {step: error for step, _, error in rows if error} == {}, dropped
    assert {step: kept for step, kept, _ in rows}["scenarios-verify"] >= 40, dropped
    ((systems,),) = ask(
        settings,
        "select count(distinct environment) from scenarios where id in (select subject from "
        "attrition"
        " where gate = 'exit' and lap = 'scenarios' and stage = 'verify' and outcome = 'kept')",
    )
    assert systems >= 12, dropped


async def _walk(settings: Settings) -> None:
    async with open_walk("r1", CONFIG, settings) as opened:
        await opened.walk()
