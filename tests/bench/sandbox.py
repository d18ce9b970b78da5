"""The jail beside a plain child process: same program, same protocol, same core, no layers.

Measured from a process of its own that plays the driver's part, pinned to one core with everything it forks: waking a
process on another core would cost more than the call.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from envmill.runtime.jail.driver import start_zygote
from envmill.runtime.jail.layers import LAYERS
from envmill.runtime.jail.seat import Seat
from envmill.runtime.jail.template import Template, Templates
from envmill.runtime.jail.wire import Message, adopt_codec
from envmill.settings import ROOT

SOURCE = """
from envmill.runtime import new_id, now

class Shop:
    def __init__(self, state):
        self.rows = state["rows"]

    def find(self, key):
        return self.rows[key]

    def order(self, key):
        self.rows[key]["at"] = now().isoformat()
        return self.rows[key]
"""
PARAMETERS = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"], "additionalProperties": False}
TOOLS = [{"name": name, "description": "", "parameters": PARAMETERS, "effect": "change"} for name in ("find", "order")]
PROGRAM: Message = {"hash": "shop", "files": {"shop.py": SOURCE}, "entry": "shop:Shop", "tools": TOOLS}
ROWS = {f"r{number}": {"name": f"row {number}", "price": number * 1.5, "tags": ["a", "b"], "at": ""} for number in range(10)}
RESET: Message = {"op": "reset", "state": {"rows": ROWS}, "clock": "2026-03-01T09:00:00Z", "seed": 7}
CALL: Message = {"op": "call", "name": "find", "arguments": {"key": "r3"}, "actor": "agent"}


def rows() -> list[dict[str, Any]]:
    """Medians in microseconds; the baseline is the plain child."""
    done = subprocess.run([sys.executable, "-m", "tests.bench.sandbox"], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=300)
    return json.loads(done.stdout)


def measure() -> list[dict[str, Any]]:
    """Jail and plain child in turns, so that a noisy neighbour troubles both alike."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    adopt_codec("orjson")
    jailed, plain = start_zygote(LAYERS), start_zygote(())
    return [
        _row("call", "one call, one message", 200, lambda place: _calls(place, 1), jailed, plain),
        _row("reset_100_calls", "reset and 100 calls in one message", 20, lambda place: _calls(place, 100), jailed, plain),
        _row("forked_episode", "fork, reset, 20 calls, end", 4, _episode, jailed, plain),
        _row("cold_start", "source to a session that is ready", 1, _cold_start, jailed, plain),
    ]


def _row(
    name: str, what: str, rounds: int, prepare: Callable[[Templates], Callable[[], None]], jailed: Templates, plain: Templates
) -> dict[str, Any]:
    works = (prepare(jailed), prepare(plain))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(15):
        for work, taken in zip(works, seconds, strict=True):
            for _ in range(rounds):
                start = time.perf_counter()
                work()
                taken.append(time.perf_counter() - start)
    measured, baseline = (statistics.median(taken) * 1e6 for taken in seconds)
    return {"id": name, "what": f"{what}, beside a plain child process", "measured": measured, "baseline": baseline, "unit": "µs"}


def _calls(place: Templates, count: int) -> Callable[[], None]:
    seat = Seat(place.find(PROGRAM))
    steps = [CALL] if count == 1 else [RESET, *[CALL] * count]
    assert seat.play([RESET], _soon())[0]["outcome"] == "ok"
    return lambda: _check(seat.play(steps, _soon()))


def _episode(place: Templates) -> Callable[[], None]:
    return lambda: _sit_once(place.find(PROGRAM), [RESET, *[CALL] * 20])


def _cold_start(place: Templates) -> Callable[[], None]:
    def start() -> None:
        place.forget(PROGRAM)
        _sit_once(place.find(PROGRAM), [RESET])

    return start


def _sit_once(template: Template, steps: list[Message]) -> None:
    seat = Seat(template)
    _check(seat.play(steps, _soon()))
    seat.close()


def _soon() -> float:
    return time.monotonic() + 30


def _check(observations: list[Message]) -> None:
    assert observations[-1]["outcome"] == "ok", observations[-1]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure()))
