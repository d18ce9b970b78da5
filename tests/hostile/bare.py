"""The corpus against a runner without any layer, deadline or distrust: what each attack is for.
Only for a throwaway container.

    runner (first process of the container) ──► sitter (the parent an attack sees) ──► child (runs the program as it comes)

python -m tests.hostile.bare, and a line per attack: what the runner suffered.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.hostile.corpus import CORPUS, Attack
from tests.hostile.corpus.base import SCHEMA
from tests.hostile.outside import watch

PATIENCE = {"hangs": 0.4}
"""Seconds to wait for an answer. Who is expected to hang need not be waited for any longer."""
_PATIENT = 20.0
_FLOOD = 8 << 20
"""Bytes of an answer that are more than a runner wants."""
_FEW = 3
"""Processes: runner, sitter and child."""


def suffer(attack: Attack) -> list[str]:
    """Everything an attack did to us."""
    with watch() as outside:
        mine, theirs = socket.socketpair()
        if os.fork() == 0:
            _sit(theirs, attack, outside.arguments)
        theirs.close()
        try:
            harms = _listen(mine, PATIENCE.get(attack.bare, _PATIENT))
            if _count_processes() > _FEW:
                harms.append("multiplies")
            return harms
        finally:
            mine.close()
            _kill_all()


def _sit(end: socket.socket, attack: Attack, arguments: dict[str, Any]) -> None:
    os.setpgid(0, 0)
    if os.fork() == 0:
        os.setpgid(0, 0)
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        try:
            # The highest descriptor, as in the jail.
            _live(socket.socket(fileno=os.dup2(end.fileno(), 40)), attack, arguments)
        finally:
            os._exit(1)
    end.close()
    while True:
        time.sleep(60)


def _live(end: socket.socket, attack: Attack, arguments: dict[str, Any]) -> None:
    """One session after the other in one interpreter, believing everything."""
    render, source = json.dumps, attack.source
    db = _Tables() if attack.tables else None

    def begin() -> Any:
        return db.begin() if db else {"count": 0}

    space: dict[str, Any] = {"__name__": "world"}
    exec(compile(source, "world.py", "exec"), space)
    world = space["World"](begin())
    try:
        answer = {"value": world.attack(**arguments), "state": {} if db else vars(world)}
    except Exception as error:  # noqa: BLE001
        answer = {"value": str(error)}
    _send(end, render(answer, ensure_ascii=False))
    end.recv(1)
    second = space["World"](begin()).work()
    exec(compile(source, "world.py", "exec"), space)
    third = space["World"](begin()).work()
    _send(end, render({"value": [second, third]}))


class _Tables:
    """A database as it is usually handed out: one connection for all sessions, and a reset that
    undoes what nobody committed."""

    def __init__(self) -> None:
        import sqlite3  # loaded where it is wanted: others look for what is loaded

        self._connection = sqlite3.connect(":memory:", isolation_level="DEFERRED", uri=True)
        self._connection.row_factory = sqlite3.Row
        self._connection.executescript(f"{SCHEMA} insert into counts values (1, 0);")

    def begin(self) -> "_Tables":
        self._connection.rollback()
        return self

    def query(self, sql: str, parameters: Any = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str, parameters: Any = ()) -> int:
        if ";" in sql:
            self._connection.executescript(sql)
            return 0
        if sql.startswith(("attach", "vacuum")):
            self._connection.commit()
        return self._connection.execute(sql, parameters).rowcount

    def commit(self) -> None:
        self._connection.commit()


def _send(end: socket.socket, text: str) -> None:
    payload = text.encode("utf-8", "surrogatepass")
    end.sendall(len(payload).to_bytes(4, "little") + payload)


def _listen(mine: socket.socket, patience: float) -> list[str]:
    answer, harms = _receive(mine, patience)
    if harms:
        return harms
    if not isinstance(answer, dict) or "value" not in answer:
        return ["forged"]
    if answer["value"] is True:
        harms = ["true"]
    with suppress(OSError):
        mine.send(b"x")
    again, _ = _receive(mine, _PATIENT)
    return harms if again == {"value": [1, 1]} else [*harms, "poisons"]


def _receive(mine: socket.socket, patience: float) -> tuple[Any, list[str]]:
    """An answer, or what came instead."""
    until, data = time.monotonic() + patience, b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "little"):
        if len(data) > _FLOOD or (len(data) >= 4 and int.from_bytes(data[:4], "little") > _FLOOD):
            return None, ["floods"]
        if not select.select([mine], [], [], max(0.0, until - time.monotonic()))[0]:
            return None, ["hangs"]
        got = mine.recv(1 << 20)
        if not got:
            return None, ["dies", "poisons"]
        data += got
    try:
        answer = json.loads(
            data[4 : 4 + int.from_bytes(data[:4], "little")], parse_constant=_refuse
        )
        json.dumps(answer, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None, ["unfit"]
    return answer, []


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _count_processes() -> int:
    return sum(entry.name.isdigit() for entry in Path("/proc").iterdir())


def _kill_all() -> None:
    # As the first process of a container we reach everybody in it, and nobody else.
    for _ in range(200):
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if _count_processes() == 1:
            return
        time.sleep(0.01)


if __name__ == "__main__":
    if os.getpid() != 1:
        sys.exit("This kills every process it can reach: it must be the first one of a container.")
    for wanted, one in CORPUS.items():
        sys.stdout.write(json.dumps({"name": wanted, "harms": suffer(one)}) + "\n")
        sys.stdout.flush()
