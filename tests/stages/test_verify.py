"""Verify of scenarios: what a gate found stays in the ledger when the model that plays the user is
asked, too."""

from dataclasses import replace
from typing import Any, cast

import pytest

from envmill.gates.base import Finding, drop, keep
from envmill.sandbox import Sandbox
from envmill.stages.context import PlacedScenario, Subject
from envmill.stages.verify import verify_scenario
from tests.gates.specimens import pose
from tests.stages.test_posing import Nobody
from tests.stages.test_rehearsal import make_mill

DOUBTED = drop("S17", "reads_as_delegation", "the opening may leave the choice")


@pytest.mark.parametrize(
    ("ruled", "asked", "outcomes"),
    [
        pytest.param(
            "cleared",
            [replace(DOUBTED, outcome="suspected")],
            ["cleared"],
            id="cleared-and-suspected-again",
        ),
        pytest.param(
            "suspected",
            [replace(DOUBTED, outcome="suspected")],
            ["suspected"],
            id="no-judge-decided",
        ),
        pytest.param("kept", [keep("S17")], ["kept"], id="nothing-suspected"),
        pytest.param(
            "kept",
            [drop("S17", "withheld", "it keeps the day")],
            ["dropped"],
            id="the-model-withholds",
        ),
        pytest.param(
            "cleared",
            [drop("S17", "withheld", "it keeps the day")],
            ["cleared", "dropped"],
            id="cleared-and-withheld",
        ),
    ],
)
async def test_every_scenario_keeps_a_row_of_the_gate_that_asks_the_user(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    ruled: str,
    asked: list[Finding],
    outcomes: list[str],
) -> None:
    async def check(*_: Any) -> list[Finding]:
        return [replace(DOUBTED, outcome=cast(Any, ruled))]

    async def ask(*_: Any) -> list[Finding]:
        return asked

    async def pass_on(found: list[Finding], *_: Any) -> list[Finding]:
        return found

    for name, double in {
        "_check": check,
        "pass_gates": ask,
        "ask_judge": pass_on,
        "ask_reader": pass_on,
    }.items():
        monkeypatch.setattr(f"envmill.stages.verify.{name}", double)
    posed = pose()
    placed = PlacedScenario(posed.scenario, posed.environment)
    context = make_mill(sandbox, None, person="model", form="mixed")
    result = await verify_scenario(Subject("s", "d", "t", placed), context, cast(Any, Nobody()))
    assert [one.outcome for one in result.findings if one.gate == "S17"] == outcomes
