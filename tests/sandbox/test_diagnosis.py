"""Where denials are diagnosed they are named; a program fares as it does without."""

import dataclasses
import os

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox import Invoke, Observation, Program, Reset, Sandbox, launch
from schemas.environment import Call, Tool

SOURCE = """
import os, socket
from envmill.runtime.jail.kernel import ctypes

class Probe:
    def __init__(self, state):
        self.count = state["count"]

    def crash(self):
        open("/etc/passwd")

    def swallow(self):
        for attempt in (lambda: os.listdir("/"), socket.socket, os.fork, lambda: os.kill(1, 0)):
            try:
                attempt()
            except OSError:
                self.count += 1
        return self.count

    def run_memory(self):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        return libc.mmap(None, 4096, 7, 0x22, -1, 0) == ctypes.c_void_p(-1).value

    def behave(self):
        self.count += 1
        return sorted({3, 1, 2})
"""
NAMES = ("crash", "swallow", "run_memory", "behave")
NOTHING = {"type": "object", "properties": {}}
PROGRAM = Program(
    {"probe.py": SOURCE},
    "probe:Probe",
    [Tool(name=n, description=n, parameters=NOTHING, effect="change") for n in NAMES],
)


async def play(settings: Settings) -> list[Observation]:
    async with Sandbox.open(settings, drivers=1) as sandbox:
        if not sandbox.layers()["seccomp"]:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
                "this machine lacks seccomp"
            )
        steps = [Invoke(Call(name=name)) for name in NAMES]
        return (
            await sandbox.play(PROGRAM, [Reset({"count": 0}, "2026-03-01T09:00:00Z", 1), *steps])
        )[1:]


async def test_denied_calls_are_named(settings: Settings) -> None:
    crash, swallow, memory, behave = await play(
        dataclasses.replace(settings, diagnose_denials=True)
    )
    assert (crash.outcome, crash.denied) == ("failure", ["openat"])
    assert crash.message.endswith("[denied: openat]")
    assert set(swallow.denied) == {"socket", "clone", "kill", "openat"}
    assert memory.denied == ["mmap"]
    assert (behave.denied, behave.message) == ([], "")


async def test_a_diagnosed_program_fares_the_same(settings: Settings) -> None:
    plain, diagnosed = (
        await play(settings),
        await play(dataclasses.replace(settings, diagnose_denials=True)),
    )
    assert not any(one.denied for one in plain)
    kept = [
        dataclasses.replace(
            one, denied=[], message=one.message.split(" [denied")[0].removeprefix("[denied").strip()
        )
        for one in diagnosed
    ]
    assert [(one.outcome, one.parts, one.state_hash) for one in kept] == [
        (one.outcome, one.parts, one.state_hash) for one in plain
    ]
    assert plain[1].parts == [{"type": "json", "value": 4}]


async def test_another_system_than_linux_is_told_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch.platform, "system", lambda: "Darwin")
    with pytest.raises(SandboxError, match="needs Linux, and this is Darwin"):
        async with Sandbox.open(settings):
            pass
