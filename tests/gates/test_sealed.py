"""Sealed probes: with the open ones they are all there are, verify finds what they show, and a
complaint never quotes them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from envmill.gates import GATES, s2, s3, s4, s5, s6, w6, w7, w9, w11, w12, w13
from envmill.gates.base import EnvironmentCase, Finding, GateContext, Probes, ScenarioCase, deal
from envmill.gates.exploring import trials
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.relations import BrokenRelation
from envmill.kinds.terminal.gates import plays
from envmill.sandbox import Sandbox
from tests.gates import test_s2, test_s3, test_s4, test_s5, test_s6
from tests.gates.cases import Case
from tests.gates.specimens import ground, pose, vary
from tests.gates.specimens.faults import DROPPED, Swap

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODES: tuple[Probes, ...] = ("open", "sealed", "all")
EXPLORING: dict[str, ModuleType] = {
    "W6": w6,
    "W7": w7,
    "W9": w9,
    "W11": w11,
    "W12": w12,
    "W13": w13,
}
PLANTED = [
    pytest.param(gate, swaps, id=f"{gate}: {words}")
    for gate in ("W5", *EXPLORING)
    for words, _, swaps in DROPPED[gate][:3]
]
POSED: dict[str, tuple[ModuleType, dict[str, Case]]] = {
    "S2": (s2, test_s2.CASES),
    "S3": (s3, test_s3.CASES),
    "S4": (s4, test_s4.CASES),
    "S5": (s5, test_s5.CASES),
    "S6": (s6, test_s6.CASES),
}
CASES = [
    pytest.param(gate, case, id=f"{gate}: {name}")
    for gate, (_, cases) in POSED.items()
    for name, case in cases.items()
]


async def look_each_way(
    look: Callable[..., Any], subject: EnvironmentCase | ScenarioCase, sandbox: Sandbox
) -> dict[Probes, Finding]:
    return {mode: await look(subject, GateContext(sandbox, probes=mode)) for mode in MODES}


def check_parts(found: dict[Probes, Finding]) -> None:
    """What all probes find the open or the sealed ones find; the finding of all says which."""
    dropped = {mode: finding.outcome == "dropped" for mode, finding in found.items()}
    assert dropped["all"] == (dropped["open"] or dropped["sealed"]), found
    told = {
        mode: [one for one in finding.spread() if one.outcome == "dropped"]
        for mode, finding in found.items()
    }
    assert not any(one.sealed for one in told["open"])
    shown = {one.reason for one in told["open"]}
    assert {one.reason for one in told["all"] if not one.sealed} <= shown
    assert dropped["open"] == (not all(one.sealed for one in told["all"]))
    assert all(one.evidence["sealed"] is True for one in told["all"] if one.sealed)


@pytest.mark.parametrize("count", range(10))
async def test_open_and_sealed_probes_are_all_there_are(count: int) -> None:
    probes = list(range(count))
    dealt = {mode: deal(probes, mode) for mode in MODES}
    assert sorted(dealt["open"] + dealt["sealed"]) == dealt["all"]
    assert [probe for probe, _ in dealt["all"]] == probes
    assert {sealed for _, sealed in dealt["open"]} <= {False}
    assert len(dealt["sealed"]) == count // 4


@pytest.mark.parametrize(("gate", "swaps"), PLANTED)
async def test_a_planted_fault_is_found_by_open_or_sealed_probes(
    sandbox: Sandbox, gate: str, swaps: tuple[Swap, ...]
) -> None:
    built = vary(*swaps)
    found = await look_each_way(GATES[gate].check, built, sandbox)
    check_parts(found)
    if gate != "W5":
        exploration = await explore(built, GateContext(sandbox))
        assert not any(exploration.is_sealed(one.evidence) for one in found["open"].spread())


@pytest.mark.parametrize(("gate", "case"), CASES)
async def test_a_scenario_is_judged_alike_by_both_parts(
    sandbox: Sandbox, gate: str, case: Case
) -> None:
    check_parts(await look_each_way(POSED[gate][0].check, case.posed, sandbox))


def make_failure(module: ModuleType, observed: ObservedCall) -> ObservedCall:
    """A call as the gate wants none to be: a crash, a denial, a change by a rejection, an answer
    without words."""
    if module is w7:
        return replace(
            observed,
            seen=replace(observed.seen, outcome="rejection", state_hash=f"not {observed.before}"),
        )
    if module is w13:
        return replace(observed, seen=replace(observed.seen, outcome="ok", parts=[]))
    if module is w11:
        return replace(
            observed,
            seen=replace(
                observed.seen, outcome="ok", parts=[{"type": "value", "value": {"success": False}}]
            ),
        )
    return replace(
        observed,
        seen=replace(
            observed.seen,
            outcome="failure",
            code="raised",
            message="PermissionError",
            denied=["openat"],
        ),
    )


@pytest.mark.parametrize("gate", EXPLORING)
async def test_what_only_a_sealed_call_shows_is_found_in_verify_alone(
    sandbox: Sandbox, gate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, module = ground(), EXPLORING[gate]
    exploration = await explore(built, GateContext(sandbox))
    sealed = next(
        observed
        for observed in exploration.calls
        if not observed.route and exploration.is_sealed(observed.call.model_dump())
    )
    others = [
        observed
        for observed in exploration.calls
        if not observed.moved or observed.seen.outcome == "ok"
    ]
    spoilt = replace(exploration, calls=[*others, make_failure(module, sealed)])

    async def take(*_: object) -> ExplorationRun:
        return spoilt

    monkeypatch.setattr(module, "explore", take)
    monkeypatch.setattr(
        w12,
        "RELATIONS",
        [
            lambda *_: [
                BrokenRelation("query_changes", "it is broken", {"call": sealed.call.model_dump()})
            ]
        ],
    )
    found = await look_each_way(module.check, built, sandbox)
    assert {mode: finding.outcome for mode, finding in found.items()} == {
        "open": "kept",
        "sealed": "dropped",
        "all": "dropped",
    }
    check_parts(found)


async def test_about_a_quarter_of_the_calls_that_no_test_makes_is_sealed(sandbox: Sandbox) -> None:
    exploration = await explore(ground(), GateContext(sandbox))
    tested = [observed for observed in exploration.calls if observed.why == "test"]
    assert not any(
        exploration.is_sealed([call.model_dump() for call in (observed.call, *observed.route)])
        for observed in tested
    )
    calls = {
        observed.call.model_dump_json(): observed.call.model_dump()
        for observed in exploration.calls
        if observed.why in ("drawn", "odd", "limit")
    }
    share = sum(map(exploration.is_sealed, calls.values())) / len(calls)
    assert 0.15 < share < 0.35


@pytest.mark.parametrize(
    ("gate", "case", "listing"),
    [
        ("S3", "a cancellation that no check sees", "plan_omissions"),
        ("S4", "a seat less, whoever has it", "breed"),
        ("S5", "one row may change at will", "tamper"),
        ("S6", "reads are counted", "plan_detours"),
    ],
)
async def test_what_only_a_sealed_probe_shows_is_no_complaint(
    sandbox: Sandbox, gate: str, case: str, listing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the gate's probes three that show nothing, and one that shows the fault in the place of a
    sealed one."""
    module, cases = POSED[gate]
    posed, plan = cases[case].posed, getattr(module, listing)

    async def look_with(probes: Sequence[Any], mode: Probes) -> Finding:
        trials._KEPT.clear()  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(module, listing, lambda *_: probes)
        return await module.check(posed, GateContext(sandbox, probes=mode))

    def list_probes(*given: Any) -> list[Any]:
        listed.append(list(plan(*given)))
        return listed[-1]

    listed: list[list[Any]] = []
    monkeypatch.setattr(module, listing, list_probes)
    trials._KEPT.clear()  # pyright: ignore[reportPrivateUsage]
    await module.check(posed, GateContext(sandbox))
    alone = [(probe, (await look_with([probe], "open")).outcome) for probe in listed[0]]
    telling = next(probe for probe, outcome in alone if outcome == "dropped")
    quiet = [probe for probe, outcome in alone if outcome == "kept"]
    probes = [*(quiet * 3)[:3], telling]
    found: dict[Probes, Finding] = {mode: await look_with(probes, mode) for mode in MODES}
    trials._KEPT.clear()  # pyright: ignore[reportPrivateUsage]
    assert {mode: finding.outcome for mode, finding in found.items()} == {
        "open": "kept",
        "sealed": "dropped",
        "all": "dropped",
    }
    check_parts(found)


async def test_an_attack_whose_seed_is_sealed_is_no_complaint(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        s2,
        "judge_attack",
        lambda name, trial: s2.drop("S2", "attack_passes", name, {}) if trial.sealed else None,
    )
    found = {
        mode: await s2.check(pose(), GateContext(sandbox, probes=mode)) for mode in ("open", "all")
    }
    assert [(finding.outcome, finding.sealed) for finding in found.values()] == [
        ("kept", False),
        ("dropped", True),
    ]


async def test_attacks_of_open_seeds_are_the_same_however_many_are_run(sandbox: Sandbox) -> None:
    own = trials.Trials.of(pose(), GateContext(sandbox))
    told, hidden, every = [await own.attacks(mode) for mode in MODES]
    for name, made in every.items():
        assert [trial.ending for trial in made if not trial.sealed] == [
            trial.ending for trial in told[name]
        ]
        assert [trial.ending for trial in made if trial.sealed] == [
            trial.ending for trial in hidden[name]
        ]
    assert any(hidden.values())


@pytest.mark.parametrize("paid", range(4))
async def test_of_a_machines_plays_the_fourth_is_sealed(
    sandbox: Sandbox, paid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = await trials.Trials.of(pose(), GateContext(sandbox)).nothing()
    passes = replace(
        nothing, verdict=nothing.verdict.model_copy(update={"outcome": "pass", "reward": 1.0})
    )

    async def play_all(
        _: ScenarioCase, __: GateContext, commands: Sequence[Sequence[str]], **___: bool
    ) -> list[Any]:
        return [passes if each == (str(paid),) else nothing for each in commands]

    monkeypatch.setattr(plays, "play_all", play_all)
    asked: dict[str, Sequence[str]] = {f"play {number}": (str(number),) for number in range(4)}
    found = {
        mode: await plays.find_paid("S3", "x", pose(), GateContext(sandbox, probes=mode), asked)
        for mode in MODES
    }
    sealed = paid == 3
    assert {mode: finding is not None for mode, finding in found.items()} == {
        "open": not sealed,
        "sealed": sealed,
        "all": True,
    }
    assert found["all"] is not None
    assert found["all"].sealed is sealed
