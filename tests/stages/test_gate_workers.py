"""Keepers: subjects held against the gates in other processes end as they do in this one, and
nobody outlives the walk."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import TypeAdapter

from envmill.base.errors import BuildError, SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.gates.base import EnvironmentCase, Finding, GateContext
from envmill.sandbox import Sandbox
from envmill.stages import gate_workers as keeping
from envmill.stages.gate_workers import SUBJECTS, GateWorkers, describe_error, read_error, render
from envmill.stages.passing import BOUNDS, run_gates
from schemas.environment import Environment
from schemas.scenario import Scenario
from tests.gates.specimens import pose
from tests.specimens import make_environment, make_tests

SEARCH = 60
ASKED = GateContext(cast(Sandbox, None), seed=3, episodes=SEARCH)
"""What travels to another process: everything but the sandbox, which it has of its own."""
HOUSE = EnvironmentCase(make_environment(), tuple(make_tests(make_environment())))

_ASKER = """
import asyncio
from envmill.gates.base import GateContext
from envmill.stages.gate_workers import GateWorkers
from envmill.base.settings import Settings
from tests.gates.specimens import pose

asyncio.run(GateWorkers(Settings.read({})).ask_gates("scenarios", pose(), GateContext(None, episodes=10**9)))
"""


def find_none(scenario: Scenario, environment: Environment, seed: int) -> str:
    """Another process is given it by name."""
    return f"truth asked for the seed {seed}"


def list_children(pid: int) -> list[int]:
    """Keepers among them: they are started by the main thread."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def list_keepers(pid: int) -> list[int]:
    return [
        one
        for one in list_children(pid)
        if b"envmill.pipeline.gate_worker" in Path(f"/proc/{one}/cmdline").read_bytes()
    ]


def untimed(findings: Sequence[Finding]) -> list[Finding]:
    """As they are serialised: a tuple is a list there."""
    return [
        replace(one, seconds=0.0, evidence=json.loads(json.dumps(one.evidence))) for one in findings
    ]


@pytest.mark.long
async def test_what_is_found_elsewhere_is_what_is_found_here_and_a_dead_keeper_is_replaced(
    settings: Settings, sandbox: Sandbox
) -> None:
    keepers, scenario = GateWorkers(settings, find_none), pose()
    try:
        elsewhere = await keepers.ask_gates("scenarios", scenario, ASKED)
        (first,) = list_keepers(os.getpid())
        os.kill(first, signal.SIGSTOP)
        asked = asyncio.create_task(keepers.ask_gates("environments", HOUSE, ASKED))
        await asyncio.sleep(0.1)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(SandboxError, match="retry"):
            await asked
        house = await keepers.ask_gates("environments", HOUSE, ASKED)
        (second,) = list_keepers(os.getpid())
        assert second != first
    finally:
        await keepers.close()
    assert not list_keepers(os.getpid())
    here = GateContext(sandbox, seed=3, episodes=SEARCH, find_truth=find_none)
    assert untimed(elsewhere) == untimed(await run_gates(scenario, here))
    assert untimed(house) == untimed(await run_gates(HOUSE, here))
    assert {one.gate for one in house} >= {"W1", "W5"}
    assert "W4" not in {one.gate for one in house}
    assert [one.detail for one in elsewhere if one.gate == BOUNDS] == ["truth asked for the seed 3"]


def test_a_keeper_holds_terminals_where_the_run_does(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every machine it is asked about is an error, and only in runs that are large enough
    to have keepers."""
    launched: list[list[str]] = []
    monkeypatch.setattr(
        "envmill.stages.gate_workers.subprocess.Popen", lambda words, **_: launched.append(words)
    )  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    here, there = socket.socketpair()
    with here, there:
        keeping._launch(
            there, replace(settings, images=tmp_path, engine="docker", docker="unix:///x"), 0, None
        )  # pyright: ignore[reportPrivateUsage]
    told = Settings.read(json.loads(launched[0][-1])["settings"])
    assert (told.images, told.engine, told.docker) == (tmp_path, "docker", "unix:///x")


@pytest.mark.long
async def test_each_keeper_has_a_core_of_its_own(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two on one would leave the other idle; a replaced one goes where the dead one was."""
    cores = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr("envmill.stages.gate_workers.pick_cores", lambda: [cores[0], cores[-1]])
    keepers = GateWorkers(settings)
    try:
        await asyncio.gather(*(keepers.ask_gates("environments", HOUSE, ASKED) for _ in range(2)))
        both = list_keepers(os.getpid())
        assert sorted((os.sched_getaffinity(one) for one in both), key=min) == [
            {cores[0]},
            {cores[-1]},
        ]
        os.kill(both[0], signal.SIGKILL)
        await asyncio.gather(
            *(keepers.ask_gates("environments", HOUSE, ASKED) for _ in range(2)),
            return_exceptions=True,
        )
        await asyncio.gather(*(keepers.ask_gates("environments", HOUSE, ASKED) for _ in range(2)))
        assert sorted(
            (os.sched_getaffinity(one) for one in list_keepers(os.getpid())), key=min
        ) == [{cores[0]}, {cores[-1]}]
    finally:
        await keepers.close()


async def test_who_waits_for_a_keeper_is_not_told_yet(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place with its siblings is a megabyte when it is told; thousands wait at once."""
    told = list[object]()

    class Counting:
        def dump_python(self, instance: Any, **settings: Any) -> Any:
            told.append(instance)
            return TypeAdapter(EnvironmentCase).dump_python(instance, **settings)

    monkeypatch.setitem(SUBJECTS, "environments", Counting())
    monkeypatch.setattr(
        "envmill.stages.gate_workers.pick_cores", lambda: sorted(os.sched_getaffinity(0))[:1]
    )
    keepers = GateWorkers(settings)
    waiting = [
        asyncio.create_task(keepers.ask_gates("environments", HOUSE, ASKED)) for _ in range(20)
    ]
    try:
        await asyncio.wait(waiting, return_when="FIRST_COMPLETED")
        assert len(told) <= 2
    finally:
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await keepers.close()


@pytest.mark.long
def test_no_keeper_and_no_jail_outlives_a_walk_that_was_killed() -> None:
    walk = subprocess.Popen([sys.executable, "-c", _ASKER], cwd=ROOT)
    below: list[int] = []
    deadline = time.monotonic() + 120
    while not below and time.monotonic() < deadline:
        time.sleep(0.1)
        below = [one for keeper in list_keepers(walk.pid) for one in (*list_children(keeper),)]
    (keeper,) = list_keepers(walk.pid)
    walk.kill()
    walk.wait()
    while any(map(is_alive, (keeper, *below))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert below
    assert not [one for one in (keeper, *below) if is_alive(one)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        pytest.param(
            BuildError("it is broken", tool="lend"), BuildError, "it is broken", id="one of ours"
        ),
        pytest.param(
            ZeroDivisionError("oops"), RuntimeError, "ZeroDivisionError: oops", id="a bug"
        ),
    ],
)
def test_an_error_there_is_one_here(error: Exception, kind: type[Exception], words: str) -> None:
    told = read_error(json.loads(render(describe_error(error))))
    assert (type(told), str(told)) == (kind, words)
    assert getattr(told, "facts", {}) == getattr(error, "facts", {})


async def test_the_process_that_asks_looks_itself_until_it_has_enough(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.stages.gate_workers.HERE", 1)
    keepers = GateWorkers(settings)
    assert not keepers.busy()
    with keepers.here():
        assert keepers.busy()
    assert not keepers.busy()
