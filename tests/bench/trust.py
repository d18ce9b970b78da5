"""What a verdict costs (a state of a megabyte of which little changed, thirty checks, a procedure
and facts), a search, and all gates."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import orjson

from envmill.base.settings import Settings
from envmill.gates import s13
from envmill.gates.base import GateContext
from envmill.sandbox import Sandbox
from envmill.sandbox.initial_state import InitialState
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call
from schemas.rollout import Verdict
from schemas.scenario import CallPattern, Check, Fact, Predicate, Verifier
from tests.gates.specimens import pose
from tests.trust.costs import TOOLS, measure_environment_gates, measure_scenario_gates

BYTES = 1_000_000
CHECKS = 30
SAID = ["All three are lent until 14 March 2026; the fee is 12.50."]
TIMES = 200
"""Verdicts a median is taken of, in processor time: a busy machine must not slow it."""


def rows() -> Iterator[dict[str, Any]]:
    """A verdict on an end as its text leaves the jail, reading it included, where the start is
    known and where it is met first."""
    state, verifier = _make_state(), _make_verifier()
    plays = [_play(state, number) for number in range(8)]
    baseline = _time(lambda number: orjson.dumps(state))
    known = InitialState(state)
    for name, what, start in (
        (
            "verdict",
            "end of 1 MB read and judged by 30 checks, one of many on a scenario",
            lambda: known,
        ),
        ("first_verdict", "the same, the first on its scenario", lambda: InitialState(state)),
    ):

        def decide(number: int, start: Callable[[], InitialState] = start) -> Verdict:
            text, deeds = plays[number % 8]
            return judge(verifier, Ending(state, start().read(text), deeds, SAID))

        assert all(decide(number).outcome == "pass" for number in range(8))
        yield {
            "id": name,
            "what": f"{what}; beside serialising the state",
            "measured": _time(decide),
            "baseline": baseline,
            "unit": "ms",
        }
    yield asyncio.run(_search())
    yield _judge_environments()
    spent, jail = measure_scenario_gates()
    what = f"all gates of a scenario but the search, of that {jail:.0f} ms in the jail"
    yield {"id": "scenario", "what": what, "measured": spent, "baseline": None, "unit": "ms"}


async def _search() -> dict[str, Any]:
    """Two thousand sequences on one scenario; the driver is another process, and its share shows in
    the sum when it ends."""
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        await s13.check(pose(), GateContext(sandbox, episodes=2))
        before = sum(os.times()[:4])
        finding = await s13.check(
            pose(request="Please do it again."), GateContext(sandbox, episodes=2000)
        )
        assert finding.outcome == "kept"
    spent = sum(os.times()[:4]) - before
    return {
        "id": "search",
        "what": "2,000 sequences of the search attacker, a jail's life included",
        "measured": spent,
        "baseline": 1.0,
        "unit": "s",
    }


def _judge_environments() -> dict[str, Any]:
    """Medians of three."""
    total, jail = measure_environment_gates()
    return {
        "id": "environment",
        "what": f"all gates of an environment of {TOOLS} tools that want no model; of that in the "
        "jail",
        "measured": total,
        "baseline": jail,
        "unit": "ms",
    }


def _make_state() -> dict[str, Any]:
    """Most of it in one collection; keys sorted, as every state leaves the jail."""
    row = {
        "amount": 12.5,
        "at": "2026-03-01T09:00:00+00:00",
        "free": True,
        "name": "a name",
        "note": "x" * 80,
        "owner": "mem_1",
    }
    large = {
        f"row_{number:05d}": row | {"id": f"row_{number:05d}"}
        for number in range(BYTES // len(orjson.dumps(row)))
    }
    small = {
        f"item_{number:02d}": {"free": True, "name": f"item {number}"} for number in range(CHECKS)
    }
    return orjson.loads(orjson.dumps({"items": small, "rows": large}, option=orjson.OPT_SORT_KEYS))


def _make_verifier() -> Verifier:
    paths = [["items", f"item_{number:02d}", "free"] for number in range(CHECKS)]
    checks = [
        Check(name=".".join(path), op="equals", path=path, value=number >= 3)
        for number, path in enumerate(paths)
    ]
    return Verifier(
        goals=checks[:3],
        guards=checks[3:],
        frame=paths[:3],
        procedure=[
            Predicate(
                name="seen", op="seen", call=CallPattern(name=""), shows=["item_00", "item 0"]
            )
        ],
        facts=[
            Fact(name="the day", kind="date", value="2026-03-14", rivals=["2026-03-15"]),
            Fact(name="fee", kind="number", value=12.5),
        ],
        harm=[Predicate(name="never", op="forbidden", call=CallPattern(name="wipe"))],
    )


def _play(state: dict[str, Any], number: int) -> tuple[str, list[CompletedCall]]:
    final = orjson.loads(orjson.dumps(state))
    for place in range(3):
        final["items"][f"item_{place:02d}"]["free"] = False
    part = {"type": "json", "value": {"id": "item_00", "name": "item 0", "number": number}}
    deeds = [
        CompletedCall(Call(name="get", arguments={"id": f"item_{place:02d}"}), "ok", "", [part])
        for place in range(20)
    ]
    return orjson.dumps(final, option=orjson.OPT_SORT_KEYS).decode(), deeds


def _time(work: Callable[[int], Any]) -> float:
    taken: list[float] = []
    for number in range(TIMES):
        began = time.process_time()
        work(number)
        taken.append((time.process_time() - began) * 1e3)
    return median(taken)
