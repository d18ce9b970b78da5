"""The training loop on the exported OpenEnv server: latencies, memory, environment share; bad
neighbours; lost workers.

policy server (a process) ──WebSockets──► server ──► jails, judge          think times as they are, not scaled, where nothing is said
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT
from tests.bench.loop import played, server
from tests.bench.loop.hostile import CLIENTS
from tests.interop.consumers.houses import open_locked_house

SESSIONS = {64: 30.0, 256: 40.0, 1024: 100.0}
"""Sessions and the seconds that they are driven."""
MOST = 1024
NEIGHBOURS, SCALE, SECONDS = 8, 0.05, 20.0
"""Honest sessions beside hostile ones, the factor on their think times, and how long they are
driven."""


def rows() -> Iterator[dict[str, Any]]:
    """The load of the machine is told with each row: other work moves the latencies."""
    python = open_locked_house("openenv")
    with tempfile.TemporaryDirectory() as place:
        made = asyncio.run(played.make(Path(place)))
        scripts = made.write(Path(place) / "scripts.json")
        for sessions, seconds in SESSIONS.items():
            with server.serve(python, made.folder, MOST) as served:
                yield from measure_load(served, scripts, sessions, seconds)
        with server.serve(python, made.folder, MOST) as served:
            yield from measure_neighbours(served, scripts, made.hostile)
        with server.serve(python, made.folder, MOST) as served:
            yield from measure_losses(served, scripts)


def measure_load(
    served: server.Served, scripts: Path, sessions: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """One server, so many sessions."""
    idle, memory, before = served.measure_memory(), 0.0, len(server.list_tree(served.pid))
    busy = served.measure_processor()
    with _drive(
        served, scripts, sessions=sessions, seconds=seconds, opening=sessions / 25
    ) as policy:
        while policy.poll() is None:
            # Looking at a thousand processes takes a second of a core.
            _wait_for(policy, 20)
            memory = max(memory, served.measure_memory() - idle)
        told = _read(policy)
    busy = served.measure_processor() - busy
    around = f"{sessions} sessions, {told['rollouts']} rollouts, load {os.getloadavg()[0]:.1f}"
    for name, times in told["latencies"].items():
        p50 = f"{name}, p50; p99 {times['p99']:.1f} ms; {around}"
        yield {"id": f"{name}_{sessions}", "what": p50, "measured": times["p50"], "unit": "ms"}
        yield {
            "id": f"{name}_p99_{sessions}",
            "what": f"{name}, p99; {around}",
            "measured": times["p99"],
            "unit": "ms",
        }
    messages = sum(times["count"] for times in told["latencies"].values())
    what = (
        f"processor time of the server's tree for each of {messages} messages, jails and judges "
        f"included; {around}"
    )
    yield {
        "id": f"processor_{sessions}",
        "what": what,
        "measured": 1000 * busy / messages,
        "unit": "ms",
    }
    yield {
        "id": f"share_{sessions}",
        "what": f"environment share of rollout wall time; {around}",
        "measured": told["share"],
    }
    yield {
        "id": f"memory_{sessions}",
        "what": f"memory of the server's tree above idle; {around}",
        "measured": memory,
        "unit": "GB",
    }
    yield {
        "id": f"wrong_{sessions}",
        "what": f"verdicts or end states unlike native play; {around}",
        "measured": len(told["wrong"]),
    }
    lost = told["outcomes"].get("error", 0)
    yield {
        "id": f"errors_{sessions}",
        "what": f"rollouts without a verdict; {around}",
        "measured": lost,
    }
    yield {
        "id": f"groups_split_{sessions}",
        "what": f"of {told['groups']} groups, those with two states",
        "measured": told["split_groups"],
    }
    what = (
        f"of {told['branches']} episodes that were branched from one of their turns, those that "
        "went on in another way"
    )
    yield {"id": f"branches_unlike_{sessions}", "what": what, "measured": told["unlike"]}
    what = (
        "processes more than in the idle server after all clients are gone: templates with their "
        "spares, and no session"
    )
    yield {"id": f"left_{sessions}", "what": what, "measured": _count_grown(served, before)}


def measure_neighbours(
    served: server.Served, scripts: Path, scenario: str
) -> Iterator[dict[str, Any]]:
    """Eight honest sessions alone, and beside eight hostile ones."""
    alone = _run(served, scripts, sessions=NEIGHBOURS, seconds=SECONDS, scale=SCALE, opening=1.0)
    command = [sys.executable, "-m", "tests.bench.loop.hostile", served.url, served.token, scenario]
    with subprocess.Popen(command, cwd=ROOT) as hostile:
        try:
            time.sleep(3)
            beside = _run(
                served, scripts, sessions=NEIGHBOURS, seconds=SECONDS, scale=SCALE, opening=1.0
            )
        finally:
            hostile.kill()
    steps = [told["latencies"]["step"]["count"] for told in (beside, alone)]
    what = (
        f"steps of {NEIGHBOURS} honest sessions beside {len(CLIENTS)} hostile ones, and alone; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    yield {
        "id": "neighbours",
        "what": what,
        "measured": steps[0],
        "baseline": steps[1],
        "unit": "steps",
    }
    for name, told in (("alone", alone), ("beside", beside)):
        yield {
            "id": f"neighbours_p99_{name}",
            "what": "a step, p99",
            "measured": told["latencies"]["step"]["p99"],
            "unit": "ms",
        }
    wrong = len(beside["wrong"]) + beside["outcomes"].get("error", 0)
    yield {
        "id": "neighbours_wrong",
        "what": "honest rollouts with another verdict or none",
        "measured": wrong,
    }


def measure_losses(
    served: server.Served, scripts: Path, sessions: int = 100
) -> Iterator[dict[str, Any]]:
    """One of a hundred processes that play sessions is killed, then a whole jail; what it costs."""
    with _drive(
        served, scripts, sessions=sessions, seconds=SECONDS, scale=SCALE, opening=2.0
    ) as policy:
        time.sleep(6)
        tree = server.list_tree(served.pid)
        for pid in tree[-max(1, len(tree) // 100) :]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(6)
        os.kill(
            next(
                pid for pid in server.list_children(served.pid) if "runtime" in _read_command(pid)
            ),
            signal.SIGKILL,
        )
        told = _read(policy)
    errors = told["outcomes"].get("error", 0)
    what = (
        f"rollouts that ended in `error` after a jail was killed, of {told['rollouts']}; at most "
        "one for each session"
    )
    yield {"id": "losses_errors", "what": what, "measured": errors, "baseline": float(sessions)}
    yield {
        "id": "losses_wrong",
        "what": "verdicts or end states unlike native play after kills",
        "measured": len(told["wrong"]),
    }


def _count_grown(served: server.Served, before: int) -> int:
    """Processes more than before, once their number no longer falls. Templates and spares stay;
    sessions must not."""
    now = len(server.list_tree(served.pid))
    for _ in range(30):
        time.sleep(1)
        last, now = now, len(server.list_tree(served.pid))
        if now >= last:
            break
    return now - before


def _wait_for(policy: "subprocess.Popen[str]", seconds: float) -> None:
    with suppress(subprocess.TimeoutExpired):
        policy.wait(seconds)


def _run(served: server.Served, scripts: Path, **loop: Any) -> dict[str, Any]:
    with _drive(served, scripts, **loop) as policy:
        return _read(policy)


@contextmanager
def _drive(served: server.Served, scripts: Path, **loop: Any) -> Generator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.bench.loop.policy", str(scripts)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as policy:
        assert policy.stdin
        json.dump({"url": served.url, "token": served.token} | loop, policy.stdin)
        policy.stdin.close()
        yield policy


def _read(policy: "subprocess.Popen[str]") -> dict[str, Any]:
    assert policy.stdout
    return json.loads(policy.stdout.read())


def _read_command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
