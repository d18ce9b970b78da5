"""A lake small enough to count by hand: `nightly-1` is finished, `nightly-2` is on its way, with a
Retry and an unknown price."""

from collections.abc import Sequence
from typing import Any

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from schemas.base import Record
from schemas.environment import Build, SentBack
from schemas.ledger import Attrition, Evidence, ModelCall, RunEvent
from schemas.rollout import Rollout
from schemas.seed import Brief
from tests.specimens import make_environment, make_scenario

FIRST, SECOND = "nightly-1", "nightly-2"

SHED = make_environment(blueprint="bp_1")
CLINIC = make_environment(
    blueprint="bp_2",
    name="Clinic",
    brief=Brief(theme="clinic", text="A clinic.", number=0),
    rules=["Patients wait."],
)
BOUNDS = {
    "false_accept": 0.0482,
    "false_accept_n": 60,
    "false_reject": 0.2589,
    "false_reject_n": 10,
}
EASY, HARD, NEVER = (make_scenario(SHED, number=number, seed=number) for number in (1, 2, 3))
HASTY = ("W7 change_before_check", "W12 row_missed")
"""What the loop found of the shed's first version."""


def fill(lake: Lake) -> None:
    """Two runs, through the lake's own door."""
    _fill_first(lake)
    _fill_second(lake)


def _fill_first(lake: Lake) -> None:
    _note(lake, FIRST, "started", 1)
    passed: dict[str, Any] = {"outcome": "kept", "children": 1, "tokens": 100, "cost": 0.02}
    _publish(
        lake,
        FIRST,
        "environments-generate",
        [],
        [_exit("seed_1", **passed), _exit("seed_2", **passed)],
    )
    builds = [
        _build("bp_1", 0, "failed", "h0", *HASTY),
        _build("bp_1", 1, "failed", "h0", *HASTY),
        _build("bp_1", 2, "built", "h2"),
        _build("bp_2", 0, "built", "h"),
    ]
    held = [
        _hold("bp_1", "h2", W7="kept", W8="kept", W12="kept"),
        _hold("bp_2", "h", W7="kept", W8="suspected", W12="kept"),
    ]
    looped = [_row("loop", one.subject, evidence=one.id) for one in held]
    exits = [_exit("bp_1", **passed), _exit("bp_2", **passed)]
    _publish(lake, FIRST, "environments-build", [SHED, CLINIC, *builds, *held], [*looped, *exits])
    dropped: dict[str, Any] = {
        "outcome": "dropped",
        "reason": "test_fails",
        "detail": "lend: expected a rejection",
        "theme": "clinic",
    }
    unsealed = Evidence(gate="W7", subject=SHED.id, finding={"probes": "open"})
    gates = [
        _row("W7", SHED.id, evidence=unsealed.id),
        _row("W12", SHED.id),
        _row("W3", CLINIC.id, **dropped),
    ]
    _publish(
        lake,
        FIRST,
        "environments-verify",
        [unsealed],
        [*gates, _exit(SHED.id), _exit(CLINIC.id, **dropped)],
    )
    sketch = {"structure": "one", "shingles": [], "guards": ""}
    compared = Evidence(gate="W10", subject=SHED.id, finding={"sketch": sketch, "known": ""})
    _publish(lake, FIRST, "environments-filter", [compared], [_exit(SHED.id)])
    _pose(lake, passed)
    _fill_scenarios(lake)
    calls = [
        _call("environments-generate", f"seed_{number}", number, 0.02, repair=number == 2)
        for number in (1, 2)
    ]
    lake.put(ModelCall, calls, "seal-1", _stamp(FIRST, "environments-generate"))
    _note(lake, FIRST, "finished", 9)


def _fill_scenarios(lake: Lake) -> None:
    """What becomes of three drafts: one is easy, one hard, one is never solved."""
    _publish(
        lake,
        FIRST,
        "scenarios-build",
        [EASY, HARD, NEVER],
        [_exit(one.draft + str(one.seed), children=1) for one in (EASY, HARD, NEVER)],
    )
    dossier = Evidence(gate="bounds", subject=EASY.id, finding=BOUNDS)
    silent = _row(
        "bounds",
        HARD.id,
        outcome="not_measured",
        reason="no_truth",
        detail="No model of the domain says which end is right.",
    )
    fits = "another row fits the words as well"
    doubt = _row("S15", HARD.id, outcome="suspected", reason="ambiguous_referent", detail=fits)
    cleared = _row("S15", EASY.id, outcome="cleared", reason="ambiguous_referent", detail=fits)
    judged = [_row("bounds", EASY.id, evidence=dossier.id), silent, doubt, cleared]
    judged += [_row("S8", one.id) for one in (EASY, HARD, NEVER)] + [
        _exit(one.id) for one in (EASY, HARD, NEVER)
    ]
    _publish(lake, FIRST, "scenarios-verify", [dossier], judged)
    probes = [
        *_play(EASY.id, "careless", "pppp"),
        *_play(HARD.id, "careless", "pffe"),
        *_play(NEVER.id, "careless", "ffff"),
    ]
    probes += _converse(EASY.id, "skilled@0.7", "pppu")
    unsolved: dict[str, Any] = {
        "outcome": "dropped",
        "reason": "unsolved",
        "detail": "none of 4 probes passes",
    }
    exits = [
        _exit(EASY.id, children=4),
        _exit(HARD.id, children=4),
        _row("F1", NEVER.id, **unsolved),
        _exit(NEVER.id, children=4, **unsolved),
    ]
    _publish(lake, FIRST, "scenarios-filter", probes, exits)
    taught = [
        *_play(EASY.id, "reference", "pp", "teacher"),
        *_play(HARD.id, "reference", "e", "teacher"),
    ]
    _publish(lake, FIRST, "scenarios-collect", taught, [_exit(EASY.id, children=2), _exit(HARD.id)])


def _pose(lake: Lake, passed: dict[str, Any]) -> None:
    """Of three places one needs no repair, one is mended in part, and of one the last reply cannot
    be read."""
    easy, hard, never = (f"{SHED.id}:{one.number:03d}" for one in (EASY, HARD, NEVER))
    builds = [
        _build(hard, 0, "failed", "h0", "S9 tool_name", "S8 unseen_id"),
        _build(hard, 1, "failed", "h1", "loop weakened"),
        _build(hard, 2, "failed", "h2", "S9 tool_name"),
        _build(hard, 3, "failed", "h3", "S9 tool_name"),
        _build(never, 0, "failed", "h0", "S8 unseen_id"),
        _build(never, 1, "failed", "h1", "reply bad_reply"),
    ]
    held = [
        _hold(easy, EASY.id, S8="kept", S9="kept", S15="kept"),
        _hold(hard, HARD.id, S8="kept", S9="dropped", S15="kept"),
        _hold(never, NEVER.id, S8="kept", S9="kept", S15="not_applicable"),
    ]
    looped = [_row("loop", one.subject, evidence=one.id) for one in held]
    offers, offered = _offer(easy, hard)
    exits = [_exit(one, **passed) for one in (easy, hard, never)]
    _publish(
        lake, FIRST, "scenarios-generate", [*builds, *held, *offers], [*looped, *offered, *exits]
    )


def _offer(easy: str, hard: str) -> tuple[list[Evidence], list[Attrition]]:
    """One chain stands at once; of another place the author finds the first one infeasible."""
    drawn: dict[str, Any] = {
        "tools": ["list_tools", "lend"],
        "links": ["list", "pick"],
        "drawn": 5,
        "offered": 3,
        "not_offered": {"refused": 2},
    }
    said = {"node": "s2", "tool": "lend", "reason": "No tool is free."}
    stands = [
        Evidence(gate="offer", subject=one, finding=drawn | {"sampler": "backward"})
        for one in (easy, hard)
    ]
    infeasible = Evidence(
        gate="offer", subject=hard, finding=drawn | {"sampler": "weighted"} | said
    )
    told: dict[str, Any] = {
        "outcome": "not_applicable",
        "reason": "infeasible",
        "detail": "s2 (lend): No tool is free.",
    }
    rows = [
        _row("offer_1", easy, evidence=stands[0].id, parent=SHED.id),
        _row("offer_1", hard, evidence=infeasible.id, parent=SHED.id, **told),
        _row("offer_2", hard, evidence=stands[1].id, parent=SHED.id),
    ]
    return [*stands, infeasible], rows


def _hold(subject: str, content: str, **gates: str) -> Evidence:
    """What the repair loop found of the version that went on."""
    return Evidence(gate="loop", subject=subject, finding={"content": content, "gates": gates})


def _fill_second(lake: Lake) -> None:
    """The first attempt at seed_2 met an outage, and nobody knows what seed_3 cost."""
    _note(lake, SECOND, "started", 20)
    outage = _exit(
        "seed_2",
        outcome="error",
        reason="outage",
        detail="the provider did not answer",
        tokens=40,
        cost=0.01,
    )
    _publish(
        lake,
        SECOND,
        "environments-generate",
        [],
        [_exit("seed_1", children=1, tokens=100, cost=0.02), outage],
    )
    _note(lake, SECOND, "failed", 21)
    _note(lake, SECOND, "started", 22)
    again = [
        _exit("seed_2", 2, children=1, tokens=100, cost=0.02),
        _exit("seed_3", 2, children=1, tokens=100, cost=None),
    ]
    _publish(lake, SECOND, "environments-generate", [], again, 2)
    broken = _exit("bp_3", outcome="error", reason="sandboxerror", detail="the jail did not start")
    _publish(lake, SECOND, "environments-build", [_build("bp_3", 0, "failed", "h")], [broken])


def _publish(
    lake: Lake,
    run: str,
    step: str,
    rows: Sequence[Record],
    attrition: Sequence[Attrition],
    attempt: int = 1,
) -> None:
    lap, stage = step.split("-")
    placed = [
        Attrition.model_validate(
            row.model_dump(exclude={"id"}) | {"lap": lap, "stage": stage, "recipe": "envscaler"}
        )
        for row in attrition
    ]
    assert lake.publish(rows, placed, _stamp(run, step, attempt))


def _stamp(run: str, step: str, attempt: int = 1) -> Stamp:
    return Stamp(run, step, "f" * 20, 0, attempt, "0.1.0", "2026-11-21T02:00:00+00:00")


def _note(lake: Lake, run: str, event: Any, minute: int) -> None:
    detail = (
        {"recipe": "envscaler", "provider": "offline", "environments": 2, "seed": 20261121}
        if event == "started"
        else []
    )
    row = RunEvent(event=event, happened_at=f"2026-11-21T02:{minute:02d}:00+00:00", detail=detail)
    lake.put(RunEvent, [row], f"{event}-{minute}", _stamp(run, "run"))


def _exit(subject: str, attempt: int = 1, **fields: Any) -> Attrition:
    return _row("exit", subject, attempt, **fields)


def _row(gate: str, subject: str, attempt: int = 1, **fields: Any) -> Attrition:
    told = {
        "outcome": "kept",
        "reason": "",
        "detail": "",
        "children": 0,
        "theme": "tool_lending",
        "tokens": 0,
        "cost": 0.0,
    }
    place = {
        "lap": "environments",
        "stage": "generate",
        "gate": gate,
        "subject": subject,
        "parent": "",
        "try_number": attempt,
        "evidence": "",
    }
    return Attrition.model_validate(place | told | {"recipe": "envscaler", "seconds": 2.0} | fields)


def _build(subject: str, repair: int, outcome: Any, content: str, *codes: str) -> Build:
    """`codes` are what it was sent back with, each as `gate reason`."""
    failed = outcome == "failed"
    failure = "line 3: expected ':'" if failed else ""
    told = [SentBack(gate=gate, reason=reason) for gate, reason in map(str.split, codes)]
    fault: Any = "code" if failed else "none"
    return Build(
        subject=subject,
        repair=repair,
        outcome=outcome,
        failure=failure,
        fault=fault,
        content_hash=content,
        sent_back=told,
    )


_OUTCOMES: dict[str, Any] = {
    "p": ("pass", 1.0),
    "f": ("fail", 0.0),
    "e": ("error", None),
    "u": ("error", None),
}


def _play(scenario: str, policy: str, outcomes: str, group: str = "probe") -> list[Rollout]:
    place = {
        "scenario": scenario,
        "environment": SHED.id,
        "policy": policy,
        "rollout_group": group,
        "seed": 0,
        "reason": "",
        "steps": 2,
    }
    end = {"components": {}, "termination": "done", "final_state_hash": "", "transcript": []}
    return [
        Rollout.model_validate(
            place
            | end
            | {"attempt": number, "outcome": _OUTCOMES[one][0], "reward": _OUTCOMES[one][1]}
        )
        for number, one in enumerate(outcomes)
    ]


def _converse(scenario: str, policy: str, outcomes: str) -> list[Rollout]:
    """Attempts in which the user tells what is hidden when asked for it; in `u` it keeps it to
    itself."""
    asked = {"asked": "Which tool shall it be?", "answer": "Yes, please."}
    spoilt = {
        "termination": "user_fault",
        "misstep": "withholds",
        "suspected": [{"misstep": "withholds", "ruling": "confirmed", **asked}],
    }
    return [
        Rollout.model_validate(
            rollout.model_dump(exclude={"id"})
            | {"form": "conversation"}
            | (spoilt if outcome == "u" else {})
        )
        for rollout, outcome in zip(_play(scenario, policy, outcomes), outcomes, strict=True)
    ]


def _call(
    step: str, subject: str, ordinal: int, cost: float | None, repair: bool = False
) -> ModelCall:
    asked = {
        "request": f"r{ordinal}",
        "sample": 0,
        "ordinal": f"j:{ordinal}",
        "step": step,
        "subject": subject,
        "prompt": "blueprint",
    }
    by = {
        "prompt_hash": "h",
        "provider": "offline",
        "model": "author",
        "outcome": "reply",
        "reused": False,
        "retries": 0,
    }
    took = {
        "tokens_in": 80,
        "tokens_out": 20,
        "cost": cost,
        "latency": 0.1,
        "asked_at": "2026-11-21T02:01:00+00:00",
        "reply": "{}",
        "repair": repair,
    }
    return ModelCall.model_validate(asked | by | took)
