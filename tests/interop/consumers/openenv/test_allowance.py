"""What a client may take of the server, what the server tells of itself, and clients that vanish:
without OpenEnv."""

import asyncio
import contextlib
import runpy
from typing import Any

import pytest

from envmill.interop.consumers.openenv import CONSUMER
from envmill.interop.consumers.sessions.guard import Guard
from tests.interop.consumers.openenv.test_guard import HOME

ALLOWANCE = runpy.run_path(str(CONSUMER.adapter / "allowance.py"))
METRICS = runpy.run_path(str(CONSUMER.adapter / "metrics.py"))


def make_allowance() -> tuple[Any, list[float]]:
    now = [0.0]
    return ALLOWANCE["ClientAllowance"](lambda: now[0]), now


def test_a_policy_that_does_not_think_is_not_held_up() -> None:
    allowance, _ = make_allowance()
    for _ in range(40):
        assert allowance.find_wait() == 0
        allowance.spend(0.005, 2000)


@pytest.mark.parametrize(
    ("seconds", "size"),
    [pytest.param(1.0, 0, id="endless-loops"), pytest.param(0.03, 1_900_000, id="longest-replies")],
)
def test_who_takes_much_gets_its_share_and_no_more(seconds: float, size: int) -> None:
    allowance, now = make_allowance()
    spent = 0.0
    while now[0] < 600:
        now[0] += allowance.find_wait() + seconds
        allowance.spend(seconds, size)
        spent += seconds + size / ALLOWANCE["RATE"]
    assert spent / now[0] < 1.2 * ALLOWANCE["SHARE"]


def test_metrics_tell_counts_and_quantiles() -> None:
    metrics = METRICS["Metrics"]()
    metrics.hold(2)
    for _ in range(3):
        with metrics.clock("step"):
            pass
    with metrics.clock("step") as kind:
        kind.append("score")
        metrics.count("verdicts", "pass")
    with pytest.raises(ValueError), metrics.clock("reset"):  # noqa: PT011
        raise ValueError
    lines = metrics.render(lanes=2).splitlines()
    assert {"envmill_sessions 2", "envmill_lanes 2"} <= set(lines)
    counted = {
        'answers_total{kind="step"} 3',
        'answers_total{kind="score"} 1',
        'verdicts_total{kind="pass"} 1',
        'errors_total{kind="reset"} 1',
    }
    assert {f"envmill_{one}" for one in counted} <= set(lines)
    assert (
        sum(
            line.startswith('envmill_latency_seconds{kind="step",quantile="0.99"} 0.0000')
            for line in lines
        )
        == 1
    )


@pytest.mark.parametrize("cut", [True, False], ids=["vanished", "our-own-fault"])
def test_a_client_that_vanished_is_no_error_of_the_server(cut: bool) -> None:
    async def send(_: Any) -> None:
        if cut:
            raise OSError

    async def serve(_: Any, __: Any, answer: Any) -> None:
        with contextlib.suppress(OSError):
            await answer({"type": "websocket.send", "text": "x"})
        raise RuntimeError

    headers = [(name.encode(), value.encode()) for name, value in HOME.items()]
    nothing: Any = None
    asked = Guard(serve)({"type": "websocket", "path": "/ws", "headers": headers}, nothing, send)
    if cut:
        asyncio.run(asked)
    else:
        with pytest.raises(RuntimeError):
            asyncio.run(asked)
