"""Every hostile program is contained, the sandbox works on, and the harness would see a breach."""

import dataclasses
import os
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envmill.sandbox import Invoke, Observation, Program, Reset, Sandbox
from envmill.settings import Settings
from schemas.environment import Call, Tool
from tests.hostile.corpus import CORPUS, Attack

RESET = Reset({"count": 0}, "2026-03-01T09:00:00Z", 7)
TARGETS = {"port": {"type": "integer"}, "path": {"type": "string"}, "name": {"type": "string"}}
TOOLS = [
    Tool(name="attack", description="Attack.", parameters={"type": "object", "properties": TARGETS}, effect="change"),
    Tool(name="work", description="Work.", parameters={"type": "object", "properties": {}}, effect="change"),
]


@dataclass(frozen=True)
class Outside:
    """What an attack may try to reach, watched from here."""

    port: int
    path: str
    name: str
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket

    def is_touched(self) -> bool:
        return any(map(_received, (self.tcp, self.udp, self.unix))) or Path(self.path).exists()


def _received(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            return bool(listener.recv(8))
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """Must come before the sandbox, which would otherwise not inherit the secret even if it inherited everything."""
    monkeypatch.setenv("TOKEN", "SECRET")
    name = f"envmill-{os.getpid()}"
    # The folder is open to all, so that only the jail keeps a program of another user out.
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        Path(folder).chmod(0o777)
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        unix.bind(f"\0{name}")
        for listener in (tcp, unix):
            listener.listen()
        for watched in (tcp, udp, unix):
            watched.setblocking(False)
        yield Outside(tcp.getsockname()[1], f"{folder}/out", name, tcp, udp, unix)


async def play(sandbox: Sandbox, attack: Attack, outside: Outside) -> list[Observation]:
    """Attack, then start over and work."""
    program = Program({"world.py": attack.source}, "world:World", TOOLS)
    arguments: dict[str, Any] = {"port": outside.port, "path": outside.path, "name": outside.name}
    assault = Invoke(Call(name="attack", arguments=arguments))
    seen = await sandbox.play(program, [RESET, assault])
    return seen + await sandbox.play(program, [RESET, Invoke(Call(name="work"))])


def need_layers(layers: dict[str, bool]) -> None:
    """What is missing on this machine cannot be tested on it; in CI nothing may be missing."""
    missing = sorted(name for name, held in layers.items() if not held and (name != "uid" or os.geteuid() == 0))
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"this machine lacks the layers {missing}")
    if missing:
        pytest.skip(f"this machine lacks the layers {missing}")


@pytest.mark.parametrize("attack", [pytest.param(attack, id=name) for name, attack in CORPUS.items()])
async def test_contained(outside: Outside, sandbox: Sandbox, attack: Attack) -> None:
    need_layers(sandbox.layers())
    reset, attacked, again, worked = await play(sandbox, attack, outside)
    assert reset.outcome == "ok"
    if attack.codes:
        assert (attacked.outcome, attacked.code in attack.codes) == ("failure", True), attacked
    else:
        assert attacked.parts in ([{"type": "json", "value": False}], [{"type": "json", "value": None}]) or attacked.outcome == "failure", (
            attacked
        )
    assert not outside.is_touched()
    assert (again.outcome, worked.outcome, worked.parts) == ("ok", "ok", [{"type": "json", "value": 1}])
    assert again.state_hash == reset.state_hash


@pytest.mark.parametrize("attack", [pytest.param(attack, id=name) for name, attack in CORPUS.items() if attack.control])
async def test_the_harness_sees_a_breach_where_layers_are_left_out(settings: Settings, attack: Attack, outside: Outside) -> None:
    trusting = dataclasses.replace(settings, trust_generated_code=True)
    async with Sandbox.open(trusting, without=attack.control) as loose:
        attacked = (await play(loose, attack, outside))[1]
    assert attacked.parts == [{"type": "json", "value": True}], attacked
