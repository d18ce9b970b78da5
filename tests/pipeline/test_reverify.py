"""Recall: what was shipped holds, or is withdrawn with the bundles that hold it; what could not be
judged is neither."""

from typing import Any

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import Finding, Gate, GateContext, ScenarioCase, drop, keep
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline import reverify
from envmill.pipeline.reverify import find_bundles, judge_again, list_shipped, read_withdrawn, save
from envmill.sandbox import Sandbox
from schemas.base import Record
from schemas.environment import Environment, Test
from schemas.quality import Reverification, Withdrawal
from schemas.rollout import Bundle
from schemas.scenario import Scenario
from tests.specimens import make_environment, make_scenario, make_tests

ENVIRONMENT = make_environment()


def ship(lake: Lake, *scenarios: Scenario, run: str = "r1", name: str = "b") -> Bundle:
    """As if a run had made and exported them."""
    rows: dict[type[Record], list[Any]] = {
        Environment: [ENVIRONMENT],
        Test: make_tests(ENVIRONMENT),
        Scenario: list(scenarios),
    }
    bundle = Bundle(
        exporter="bundle",
        content_hash=name,
        path=name,
        files={},
        rows=len(scenarios),
        environments=[ENVIRONMENT.id],
        scenarios=[one.id for one in scenarios],
    )
    note(lake, run, "started", {})
    for record, held in (rows | {Bundle: [bundle]}).items():
        lake.put(
            record,
            held,
            f"{record.table}-{name}",
            Stamp(run, "x", "", 0, 1, "", "2026-11-21T00:00:00+00:00"),
        )
    return bundle


def scenario_gate(look: Any) -> Gate[ScenarioCase]:
    return Gate("S13", "scenarios", "A newer gate?", look)


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return Lake(settings.lake)


async def test_a_shipped_scenario_that_holds_is_said_to_and_a_weak_one_is_withdrawn(
    lake: Lake, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        reverify, "SCENARIO_GATES", (GATES["S1"], GATES["S5"])
    )  # the shed is too small to withstand all of them
    sound = make_scenario(ENVIRONMENT)
    weak = make_scenario(
        ENVIRONMENT,
        verifier=sound.verifier.model_copy(update={"frame": [["tools"], ["members"], ["loans"]]}),
    )
    ship(lake, sound)
    first, second = (
        ship(lake, weak, run="r2", name="weak"),
        ship(lake, weak, run="r3", name="again"),
    )
    for shipped in list_shipped(lake)[:2]:
        save(lake, shipped.run, await judge_again(lake, shipped, GateContext(sandbox, episodes=20)))
    assert {one.subject: one.outcome for one in lake.read(Reverification, "r1")} == {
        ENVIRONMENT.id: "pass",
        sound.id: "pass",
    }
    assert {one.subject: one.outcome for one in lake.read(Reverification, "r2")} == {
        ENVIRONMENT.id: "pass",
        weak.id: "fail",
    }
    (withdrawal,) = lake.read(Withdrawal, "r2")
    assert withdrawal.subject == weak.id
    assert withdrawal.bundles == sorted([first.id, second.id])
    assert withdrawal.reason.startswith("S5: ")
    assert [(one.run, one.scenarios) for one in list_shipped(lake)] == [
        ("r3", (weak.id,)),
        ("r1", (sound.id,)),
        ("r2", ()),
    ]


async def judge_by(
    lake: Lake, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, look: Any
) -> reverify.RejudgedEnvironment:
    monkeypatch.setattr(reverify, "ENVIRONMENT_GATES", ())
    monkeypatch.setattr(reverify, "SCENARIO_GATES", (scenario_gate(look),))
    ship(lake, make_scenario(ENVIRONMENT))
    return await judge_again(lake, list_shipped(lake)[0], GateContext(sandbox))


async def test_what_cannot_be_judged_is_not_withdrawn(
    lake: Lake, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(subject: ScenarioCase, means: GateContext) -> Finding:
        raise SandboxError("the jail broke")

    judged = await judge_by(lake, sandbox, monkeypatch, look)
    assert [(one.outcome, one.reason) for one in judged.errors] == [
        ("error", "sandboxerror: the jail broke")
    ]
    assert judged.withdrawals == ()


async def test_a_drop_that_does_not_repeat_is_an_error(
    lake: Lake, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([drop("S13", "paid", "once"), keep("S13")])

    async def look(subject: ScenarioCase, means: GateContext) -> Finding:
        return next(said)

    judged = await judge_by(lake, sandbox, monkeypatch, look)
    assert [one.outcome for one in judged.verdicts] == ["pass", "error"]
    assert judged.withdrawals == ()


async def test_killed_between_withdrawal_and_verdict_all_is_judged_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(lake, make_scenario(ENVIRONMENT))
    verdict = Reverification(
        subject="scn_x", gate="S1", outcome="fail", reward=None, reason="r", judged_at="2026-11-22"
    )
    judged = reverify.RejudgedEnvironment(
        (verdict,),
        (Withdrawal(subject="scn_x", reason="r", bundles=[], withdrawn_at="2026-11-22"),),
        (),
    )
    real = lake.put

    def put(record: type[Record], *rest: Any) -> bool:
        if record is Reverification:
            raise KeyboardInterrupt
        return real(record, *rest)

    monkeypatch.setattr(lake, "put", put)
    with pytest.raises(KeyboardInterrupt):
        save(lake, "r1", judged)
    assert read_withdrawn(lake, "r1") == {"scn_x"}
    assert list_shipped(lake)[0].judged_at == ""


def test_bundles_that_hold_nothing_of_it_are_not_named(lake: Lake) -> None:
    ship(lake, make_scenario(ENVIRONMENT))
    assert find_bundles(lake, ["scn_other"]) == {"scn_other": []}
