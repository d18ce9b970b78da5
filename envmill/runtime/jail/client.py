"""An exported environment from outside: starts the jail that lies beside it, and asks. This one
file stands alone.

    Environment(folder) ──session()──► Session ── frames ──► driver ──► zygote ──► templates ──► sessions

Whoever uses an export copies or imports this file; the generated program never runs in the process
that does.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import zoneinfo
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

SILENCE = 90.0
"""Seconds without an answer after which the jail counts as hung."""
_LEAVE = 1.0
_LIMIT = 64 * 1024 * 1024
_BESIDE = ("notifications", "delay", "uses")


class JailError(Exception):
    """The jail itself failed or refused: nothing is known about the program, and nothing may be
    concluded about an agent."""


class Jail:
    """A running driver and everything below it; one request at a time, from any thread."""

    def __init__(
        self,
        runtime: Path,
        *,
        trusted: bool = False,
        without: Collection[str] = (),
        hash_seed: int = 0,
        nice: int = 0,
    ) -> None:
        """`trusted` lets programs run where the kernel has no layer for them; `without` leaves
        layers out, for tests of what they stop.

        `nice` yields the processor to other processes, as nice(1) does.
        """
        if sys.platform != "linux":
            raise JailError("Programs are jailed by Linux alone: run this in a Linux container.")
        self._turn = threading.Lock()
        self._numbers = count(1)
        self._known: set[str] = set()
        self._process, self._end = _launch(runtime, trusted, without, hash_seed)
        if nice:
            # Before it has read its own modules, and so before it forks.
            os.setpriority(os.PRIO_PROCESS, self._process.pid, nice)
        try:
            self.layers: dict[str, bool] = self._receive()["layers"]
            """Which layers hold on this machine."""
        except BaseException:
            self.close()
            raise

    def ask(self, request: Message) -> list[Message]:
        """The observations for one request; the program travels with the first that names it."""
        program: Message | None = request.get("program")
        if program and program["hash"] in self._known:
            reply = self._exchange(request | {"program": {"hash": program["hash"]}})
            if "unknown" not in reply:
                return _read(reply)
        reply = self._exchange(request)
        if program:
            self._known.add(program["hash"])
        return _read(reply)

    def close(self) -> None:
        """Kill the driver; every process below dies with it."""
        self._end.close()
        try:
            # Left alone it puts away what it made on this machine; in the middle of a plan it does
            # not hear that we are gone.
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Jail":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _exchange(self, request: Message) -> Message:
        number = next(self._numbers)
        with self._turn:
            payload = json.dumps(
                {"id": number, **request},
                ensure_ascii=False,
                allow_nan=False,
                separators=(",", ":"),
            ).encode()
            if len(payload) > _LIMIT:
                raise ValueError(
                    f"{len(payload)} bytes are more than the {_LIMIT} a request may have"
                )
            try:
                self._end.sendall(len(payload).to_bytes(4, "little") + payload)
            except OSError as error:
                raise JailError(f"The jail is gone ({error}): open another.") from None
            while (reply := self._receive())["id"] != number:
                pass  # the late answer of a request whose caller was interrupted
            return reply

    def _receive(self) -> Message:
        try:
            length = int.from_bytes(self._read(4), "little")
            reply: Message = json.loads(self._read(length))
        except (OSError, ValueError, EOFError, RecursionError) as error:
            self._process.kill()
            raise JailError(
                f"The jail did not answer ({type(error).__name__}: {error}): open another."
            ) from None
        for word in ("fatal", "refused"):
            if word in reply:
                raise JailError(str(reply[word]))
        return reply

    def _read(self, size: int) -> bytes:
        if size > _LIMIT:
            raise ValueError(f"a frame of {size} bytes")
        data = bytearray()
        while len(data) < size:
            got = self._end.recv(min(size - len(data), 1 << 16))
            if not got:
                raise EOFError("it ended")
            data += got
        return bytes(data)


class Environment:
    """An exported folder, opened: its interface, and sessions of its program."""

    def __init__(self, folder: Path = Path(__file__).parent, *, trusted: bool = False) -> None:
        self.program: Message = json.loads(
            (folder / "environment.json").read_text(encoding="utf-8")
        )
        self.jail = Jail(folder / "runtime", trusted=trusted)
        self._numbers = count(1)

    def tools(self) -> list[Message]:
        """The interface."""
        return self.program["tools"]

    def session(self) -> "Session":
        """A session of its own, apart from all others; its first step is a reset."""
        return Session(self.jail, self.program, next(self._numbers))

    def close(self) -> None:
        """End the jail and every session."""
        self.jail.close()

    def __enter__(self) -> "Environment":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Session:
    """The native interface. It raises JailError when the jail breaks, and nothing for what a
    program or an agent does."""

    def __init__(self, jail: Jail, program: Message, number: int) -> None:
        self._jail = jail
        self._program = program
        self._number = number

    def reset(self, scenario: Mapping[str, Any], seed: int | None = None) -> Message:
        """Start over on a scenario's `initial_state` and `clock`."""
        own = scenario["seed"] if seed is None else seed
        return self._play(
            {
                "op": "reset",
                "state": scenario["initial_state"],
                "clock": scenario["clock"],
                "seed": own,
            }
        )

    def call(self, name: str, arguments: Message, actor: str = "agent") -> Message:
        """`ok` with `parts`, or not, with an `error` of `code` and `message`; the `outcome` says
        whose fault it is."""
        return self._play({"op": "call", "name": name, "arguments": arguments, "actor": actor})

    def advance(self, seconds: float) -> Message:
        """Move the virtual clock; what came meanwhile is in `notifications`."""
        return self._play({"op": "advance", "seconds": seconds})

    def state(self) -> Message:
        """The state, in `state`."""
        return self._play({"op": "state"})

    def changes(self) -> Message:
        """What changed since the reset."""
        return self._play({"op": "changes"})

    def fetch(self, blob: str) -> Message:
        """The bytes of a blob by its hash."""
        return self._play({"op": "fetch", "hash": blob})

    def snapshot(self) -> Any:
        """All that decides how the session goes on."""
        return self._play({"op": "snapshot"})["parts"][0]["value"]

    def restore(self, snapshot: Any) -> Message:
        """Come back to a snapshot, of this session or another of the same program."""
        return self._play({"op": "restore", "snapshot": snapshot})

    def close(self) -> None:
        """End the session."""
        self._jail.ask({"op": "close", "session": self._number})

    def _play(self, step: Message) -> Message:
        (seen,) = self._jail.ask(
            {"op": "step", "session": self._number, "program": self._program, "steps": [step]}
        )
        reply: Message = {
            "ok": seen["outcome"] == "ok",
            "outcome": seen["outcome"],
            "state_hash": seen["state_hash"],
        }
        reply |= {name: seen[name] for name in _BESIDE if seen.get(name)}
        if not reply["ok"]:
            return reply | {"error": {"code": seen["code"], "message": seen["message"]}}
        return (
            reply
            | {"parts": seen["parts"]}
            | ({} if seen["state"] is None else {"state": _parse_state(seen["state"])})
        )


def _launch(
    runtime: Path, trusted: bool, without: Collection[str], hash_seed: int
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The driver's process, with a clean environment, and our end of its wire."""
    mine, theirs = socket.socketpair()
    mine.settimeout(SILENCE)
    # -I would make Python ignore the hash seed, which decides the order of sets; the explicit
    # environment does its work.
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": str(hash_seed),
    }
    # Each saves every fork pages of its own: functions of libraries found beforehand, and zones
    # without all that Python was built with.
    environment |= {"LD_BIND_NOW": "1", "PYTHONTZPATH": ":".join(zoneinfo.TZPATH)}
    # The kernel signals the death of the parent thread: only the main thread lives as long as the
    # process.
    guard = threading.current_thread() is threading.main_thread()
    config: Message = {
        "parent": os.getpid(),
        "guard": guard,
        "core": None,
        "codec": "",
        "without": sorted(without),
        "trusted": trusted,
    }
    with theirs:
        words = [
            str(runtime / "__main__.py"),
            str(theirs.fileno()),
            json.dumps(config, separators=(",", ":")),
        ]
        process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-P", "-B", *words],
            pass_fds=[theirs.fileno()], env=environment, cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return process, mine


def _parse_state(text: str) -> Any:
    # A program's own process says it: what is checked on the way may still be too deep for this
    # stack.
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JailError(f"The state cannot be read ({type(error).__name__}: {error}).") from None


def _read(reply: Message) -> list[Message]:
    if "observations" not in reply:
        raise JailError(
            str(reply.get("broken") or f"The jail does not know {reply.get('unknown')}.")
        )
    return reply["observations"]
