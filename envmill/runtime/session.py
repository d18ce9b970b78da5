"""A session: one live instance of a program behind the native interface.

    reset(state, clock, seed) ─► call ─► call ─► advance ─► … ─► state() ─► close()

Nothing here raises for an agent's mistake: a call's outcome is `ok`, `rejection` (the caller's fault, or a rule of the
program) or `failure` (the program's fault), and the code says which.
"""

import marshal
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from envmill.runtime import virtual
from envmill.runtime.canonical import MAX_REPLY, Json, NotJson, fingerprint, plain, spell
from envmill.runtime.program import ProgramFault
from envmill.runtime.rejection import Rejection
from envmill.runtime.schema import check_schema, find_fault
from envmill.runtime.world import WORLD, Source, World, parse_clock

Outcome = Literal["ok", "rejection", "failure"]


class Error(TypedDict):
    code: str
    message: str


class Reply(TypedDict):
    """What a call came to: `parts` when ok, `error` when not."""

    ok: bool
    outcome: Outcome
    parts: NotRequired[list[dict[str, Json]]]
    """`{"type": "text", "text": …}` or `{"type": "json", "value": …}`."""
    error: NotRequired[Error]


class ToolEntry(TypedDict):
    name: str
    description: str
    parameters: dict[str, Json]
    effect: str


class Session:
    """One live instance. `load` executes the program afresh and returns its class."""

    def __init__(self, load: Callable[[], type[Any]], tools: Sequence[ToolEntry], world: World = WORLD) -> None:
        self._load = load
        self._tools = {tool["name"]: tool for tool in tools}
        self._world = world
        self._instance: Any = None
        self._memo: tuple[bytes, str] = (b"", "")

    def tools(self) -> list[ToolEntry]:
        return list(self._tools.values())

    def inspect(self) -> None:
        """Import the program without constructing it, and hold it against its interface; ProgramFault says what lacks."""
        try:
            found = self._load()
            for name, tool in self._tools.items():
                check_schema(tool["parameters"])
                if not callable(getattr(found, name, None)):
                    raise ProgramFault(f"Class {found.__name__} has no method for the tool {name!r}.")
        except ProgramFault:
            raise
        except Exception as error:  # noqa: BLE001  # the program's fault, whatever it is
            raise ProgramFault(quote(error)) from None

    def reset(self, state: dict[str, Json], clock: str, seed: int) -> None:
        """Construct a fresh instance on a state, or raise ProgramFault."""
        self._instance = None
        self._world.reset(parse_clock(clock), seed)
        virtual.reset()
        try:
            self._instance = self._load()(plain(state))
        except ProgramFault:
            raise
        except Exception as error:  # noqa: BLE001  # the program's fault, whatever it is
            raise ProgramFault(quote(error)) from None
        self._check_state()

    def call(self, name: str, arguments: dict[str, Json], actor: str = "agent") -> Reply:  # noqa: ARG002
        """Validate, run the tool, and judge what it returned."""
        tool = self._tools.get(name)
        if tool is None:
            return refuse("unknown_tool", f"There is no tool {name[:80]!r}; known: {', '.join(self._tools) or 'none'}.")
        if fault := find_fault(tool["parameters"], arguments):
            return refuse("invalid_arguments", f"{fault}.")
        try:
            return {"ok": True, "outcome": "ok", "parts": [part_of(getattr(self._instance, name)(**arguments))]}
        except Rejection as rejection:
            return refuse(rejection.code[:80], rejection.message[:2000])
        except NotJson as fault:
            return fail("bad_reply", f"{name} returned what is not JSON {fault}")
        except Exception as error:  # noqa: BLE001  # one tool's crash is one failed call
            return fail("crash", quote(error))

    def advance(self, seconds: float) -> None:
        """Move the virtual clock on."""
        self._world.advance(seconds)

    def state(self) -> dict[str, Json]:
        """Public attributes of the instance, detached; NotJson when one of them is not JSON."""
        return plain(self._public())

    def spelled_state(self) -> bytes:
        """The state's canonical bytes: the form in which a state leaves the jail."""
        return spell(self.state())

    def state_hash(self) -> str:
        """Hash of the state. Spelling is skipped when nothing changed since the last hash."""
        quick = _quick_bytes(self._public())
        if not quick or quick != self._memo[0]:
            self._memo = (quick, fingerprint(self.spelled_state()))
        return self._memo[1]

    def snapshot(self) -> dict[str, Json]:
        """State and clock, to come back to; the streams of ids and randomness go on where they are."""
        return {"state": self.state(), "clock": self._world.clock}

    def restore(self, snapshot: dict[str, Json]) -> None:
        """Construct the program anew on a snapshot."""
        self._instance = self._load()(plain(snapshot["state"]))
        self._world.clock = snapshot["clock"]

    def uses(self) -> dict[Source, int]:
        """How often clock, ids and randomness were used since the reset."""
        return dict(self._world.uses)

    def close(self) -> None:
        self._instance = None

    def _public(self) -> dict[str, Any]:
        attributes: dict[str, Any] = self._instance.__dict__
        return {name: value for name, value in attributes.items() if not name.startswith("_")}

    def _check_state(self) -> None:
        try:
            self.state_hash()
        except NotJson as fault:
            raise ProgramFault(f"After construction the state is not JSON {fault}. Public attributes must be JSON.") from None


def _quick_bytes(public: dict[str, Any]) -> bytes:
    # Version 2 writes no back references, so equal bytes mean equal values; unequal bytes mean nothing.
    try:
        return marshal.dumps(public, 2)
    except ValueError:
        return b""


def part_of(value: Json) -> dict[str, Json]:
    """A tool's return value as one part: text stays text, everything else is JSON."""
    value = plain(value)
    spell(value, MAX_REPLY)
    return {"type": "text", "text": value} if isinstance(value, str) else {"type": "json", "value": value}


def refuse(code: str, message: str) -> Reply:
    return {"ok": False, "outcome": "rejection", "error": {"code": code, "message": message}}


def fail(code: str, message: str) -> Reply:
    return {"ok": False, "outcome": "failure", "error": {"code": code, "message": message}}


def quote(error: BaseException) -> str:
    """The traceback's last lines, from the program's own files on: fit for a repair prompt."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(("/", "<"))]
    lines = [line.rstrip() for line in traceback.format_list(frames[-4:])]
    return "\n".join([*lines, *(line.rstrip() for line in traceback.format_exception_only(error))])[-2000:]
