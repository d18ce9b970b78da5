"""Nothing outlives its parent, and a driver that dies is nobody's fault and is replaced."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.runtime.jail.layers import KERNEL_LAYERS, probe
from envmill.runtime.jail.loop import HARD
from envmill.runtime.jail.process import JailedProcess, connect
from envmill.runtime.jail.reset_policy import ResetPolicy
from envmill.runtime.jail.template import Template
from envmill.runtime.jail.wire import Channel, encode
from envmill.sandbox import Observation, Sandbox, link
from tests.sandbox.processes import find_processes, wait_until_gone
from tests.sandbox.programs import RESET, invoke, make_counter


@pytest.mark.parametrize(
    "threaded", [pytest.param((), id="main-thread"), pytest.param(("thread",), id="other-thread")]
)
def test_a_killed_flow_process_leaves_nothing_behind(threaded: tuple[str, ...]) -> None:
    flow = subprocess.Popen(
        [sys.executable, "-m", "tests.sandbox.flow_process", *threaded],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert flow.stdout is not None
    with flow, flow.stdout:
        assert flow.stdout.readline() == "ready\n"
        # Driver, zygote, template, two sessions at least: the harness sees what it must miss later.
        assert len(find_processes(flow.pid)) >= 5
        flow.send_signal(signal.SIGKILL)
    assert wait_until_gone(flow.pid) == set()


@pytest.mark.skipif(
    not probe()["namespaces"], reason="this machine grants no pid namespace, so there is no anchor"
)
def test_a_template_that_dies_early_leaves_no_anchor() -> None:
    """Killed between the fork of the first process of its pid namespace and that process's request
    to die with it."""
    played = subprocess.run(
        [sys.executable, "-m", "tests.sandbox.early_death"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert played.stdout == "gone"


async def test_a_closed_sandbox_leaves_nothing_behind(settings: Settings) -> None:
    async with Sandbox.open(settings) as sandbox:
        await sandbox.play(make_counter(), [RESET])
        assert find_processes(os.getpid())
    assert await asyncio.to_thread(wait_until_gone, os.getpid()) == set()


@pytest.mark.long
async def test_a_session_is_gone_after_its_play(sandbox: Sandbox) -> None:
    for _ in range(5):
        await sandbox.play(make_counter(), [RESET])
    *_, deaf = await sandbox.play(make_counter(), [RESET, invoke("hang_deaf")])
    assert deaf.code == "timeout"
    await asyncio.sleep(0.1)
    # Driver, zygote, template, the spare for the next session, the process that waits for the next
    # program; and for template and waiting process the first one of a pid namespace, where there is
    # one.
    assert len(find_processes(os.getpid())) in (5, 7)
    (count,) = await sandbox.count()
    assert (count["sessions"], count["ready"]) == (0, 1)


@pytest.mark.long
async def test_time_in_which_no_reply_was_due_is_no_silence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow process that computes for minutes between two plays has not been kept waiting; a
    driver that is stopped keeps it waiting."""
    async with Sandbox.open(settings, drivers=1) as sandbox:
        monkeypatch.setattr(link, "SILENCE", 2.0)
        await sandbox.play(make_counter(), [RESET])
        time.sleep(2.5)  # the event loop stands still
        assert [seen.outcome for seen in await sandbox.play(make_counter(), [RESET])] == ["ok"]
        for process in find_processes(os.getpid()):
            with suppress(ProcessLookupError):  # the one of the last play may end just now
                os.kill(process, signal.SIGSTOP)
        with pytest.raises(SandboxError, match="TimeoutError"):
            await sandbox.play(make_counter(), [RESET])


@pytest.mark.parametrize(
    "depth",
    [pytest.param(0, id="driver"), pytest.param(1, id="zygote"), pytest.param(2, id="template")],
)
async def test_a_dead_process_of_ours_is_a_retryable_error_and_replaced(
    sandbox: Sandbox, depth: int
) -> None:
    async with sandbox.session(make_counter()) as session:
        await session.step(RESET)
        # Each is forked by the one before it, so their ids rise; a fresh machine's ids have not
        # wrapped.
        os.kill(sorted(find_processes(os.getpid()))[depth], signal.SIGKILL)
        await asyncio.sleep(0.1)
        with pytest.raises(SandboxError) as lost:
            await asyncio.wait_for(session.step(invoke("add", name="a")), 5)
    assert lost.value.retryable
    (reset,) = await _play_again(sandbox)
    assert reset.outcome == "ok"


def test_a_machine_that_stalls_for_seconds_is_waited_for() -> None:
    """Short of processor or disk, a process of ours enters the jail more slowly than any call may
    take: no outage."""
    ours, theirs = connect()

    def enter_late() -> None:
        time.sleep(2 * HARD)
        theirs.sendall(encode({"ready": True}))
        theirs.sendall(encode({"fault": ""}))

    with subprocess.Popen(["sleep", "20"]) as process, ours, theirs:
        template = Template(
            JailedProcess(process.pid, Channel(ours.fileno()), ours.close), ours, ResetPolicy("")
        )
        threading.Thread(target=enter_late).start()
        template.compile({"op": "compile"})
        template.close()
    assert template.fault == ""


async def _play_again(sandbox: Sandbox) -> list[Observation]:
    try:
        return list(await sandbox.play(make_counter(), [RESET]))
    except SandboxError:
        return list(await sandbox.play(make_counter(), [RESET]))


async def test_calls_in_flight_learn_of_the_death(sandbox: Sandbox) -> None:
    async def die_soon() -> None:
        await asyncio.sleep(0.2)
        os.kill(min(find_processes(os.getpid())), signal.SIGKILL)

    plays = [sandbox.play(make_counter(), [RESET, invoke("hang")]) for _ in range(3)]
    *ends, _ = await asyncio.gather(*plays, die_soon(), return_exceptions=True)
    assert [type(end) for end in ends] == [SandboxError] * 3


def test_a_sandbox_opened_in_a_short_lived_thread_survives_it(settings: Settings) -> None:
    """The kernel signals the death of the thread that started a process, not of the process."""
    opened: list[Sandbox] = []
    loop = asyncio.new_event_loop()
    manager = Sandbox.open(settings)
    thread = threading.Thread(
        target=lambda: opened.append(loop.run_until_complete(manager.__aenter__()))
    )
    thread.start()
    thread.join()
    (reset,) = loop.run_until_complete(opened[0].play(make_counter(), [RESET]))
    loop.run_until_complete(manager.__aexit__(None, None, None))
    loop.close()
    assert reset.outcome == "ok"


async def test_without_kernel_layers_generated_code_is_refused_unless_trusted(
    settings: Settings,
) -> None:
    with pytest.raises(SandboxError, match="ENVMILL_TRUST_GENERATED_CODE=1"):
        async with Sandbox.open(settings, without=KERNEL_LAYERS):
            pass
    assert await asyncio.to_thread(wait_until_gone, os.getpid()) == set()
    async with Sandbox.open(
        dataclasses.replace(settings, trust_generated_code=True), without=KERNEL_LAYERS
    ) as sandbox:
        (reset,) = await sandbox.play(make_counter(), [RESET])
        assert reset.outcome == "ok"
        assert not sandbox.layers()["seccomp"]
