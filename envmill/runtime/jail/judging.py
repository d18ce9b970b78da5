"""Generated checks, judged: the life of a process of the judge zygote. One is forked for every
check of a verdict and ends with it.

    reset (both states and the doings, as bytes) ──► check

Each check gets copies of its own and must return a bool. One that raises, hangs, changes what it
was given, or leaves the interpreter other than it was, is a failure: never a yes, never a no.
Before it is imported, the code of the other checks is dropped.

A check can find the objects of this module, by frames or by the garbage collector, and change them.
That is worth as much to it as
`return True`: nothing in its process decides about another check, and the process ends with its answer.
"""

import base64
import json
import marshal
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from envmill.runtime import virtual
from envmill.runtime.canonical import Json, plain, render
from envmill.runtime.jail import interpreter_check
from envmill.runtime.jail.imports import list_imports
from envmill.runtime.jail.loop import SessionLoop
from envmill.runtime.jail.operations import EMPTY
from envmill.runtime.jail.operations import read as tell
from envmill.runtime.jail.wire import Channel, Message
from envmill.runtime.program import ProgramFault, ProgramImporter
from envmill.runtime.reply import fail
from envmill.runtime.world import WORLD, parse_clock

FUNCTION = "check"
"""What a check's file defines: `check(initial, final) -> bool`, or with a third parameter for what
was done and said."""
ROLLOUT = "rollout"
"""Name of that parameter."""
LARGE = 2 * 1024 * 1024
"""Characters of a state above which it travels packed: two of the largest would not fit into a
frame."""
_readers: dict[str, Callable[[bytes], Json]] = {"json": json.loads}
"""Form of a state → its reader."""


def adopt_reader(name: str) -> None:
    """Read SQLite files with a module that is loaded in a judge zygote alone, before it is
    jailed."""
    _readers["sqlite"] = import_module(name).read_database


def pack_state(serialised: bytes, form: str = "json") -> Message:
    """A state as it travels: JSON, or the bytes of a SQLite file, which nobody has looked into."""
    if form == "json" and len(serialised) <= LARGE:
        return {"form": form, "text": serialised.decode()}
    return {"form": form, "packed": base64.b64encode(zlib.compress(serialised, 1)).decode()}


class _Given:
    """A part of the ending, as bytes: each check reads a copy, whose bytes must be the same
    afterwards."""

    def __init__(self, sent: Message) -> None:
        serialised = (
            sent["text"].encode()
            if "text" in sent
            else zlib.decompress(base64.b64decode(sent["packed"]))
        )
        read = _readers[sent["form"]]
        self._first: Json = read(serialised)
        self._packed = _pack(self._first)

    def copy(self) -> Json:
        # What was read is the first copy: of a large state, each costs more than all else.
        first, self._first = self._first, None
        return marshal.loads(self._packed) if first is None else first

    def is_changed(self, copy: Json) -> bool:
        try:
            return _pack(copy) != self._packed
        except ValueError:
            return True


class JudgeLoop(SessionLoop):
    """Serves one verdict; everything around the steps is as it is where tools run."""

    def __init__(self, source: ProgramImporter) -> None:
        super().__init__(Channel(-1), source, [])
        self._source = source
        self._initial = self._final = self._rollout = _Given({"form": "json", "text": "null"})

    def _run(self, step: Message, hashed: bool) -> Message:  # noqa: ARG002
        if step["op"] == "load":
            for name in self._source.codes:
                self._find(name)
        elif step["op"] == "reset":
            self._open(step)
        elif step["op"] == "state":
            return EMPTY | {"state": render(plain(self._final.copy())).decode()}
        elif step["op"] == "check":
            return self._run_check(step["name"])
        else:
            return EMPTY | tell(fail("unknown_step", f"A judge does not do {step['op']!r}."))
        return EMPTY

    def _open(self, step: Message) -> None:
        WORLD.reset(parse_clock(step["clock"]), step["seed"])
        virtual.reset()
        try:
            self._initial, self._final, self._rollout = (
                _Given(step[name]) for name in ("initial", "final", ROLLOUT)
            )
        except (ValueError, RecursionError, zlib.error) as error:
            raise ProgramFault(f"A state cannot be read: {error}") from None

    def _run_check(self, name: str) -> Message:
        self._source.keep_only(name)
        check = self._find(name)
        given = [self._initial, self._final, *([self._rollout] if _asks_for_rollout(check) else [])]
        copies = [one.copy() for one in given]
        said = check(*copies)
        if any(one.is_changed(copy) for one, copy in zip(given, copies, strict=True)):
            return EMPTY | tell(
                fail("mutates", "The check changed something it was given: it must only read.")
            )
        if changed := interpreter_check.find_changed():
            return EMPTY | tell(fail("mutates", f"The check changed {changed}: it must only read."))
        if said is not True and said is not False:
            return EMPTY | tell(
                fail(
                    "bad_verdict",
                    f"The check returned a value of type {type(said).__name__} instead of a bool.",
                )
            )
        return EMPTY | {"parts": [{"type": "json", "value": said}]}

    def _find(self, name: str) -> Callable[..., Any]:
        if self._source not in sys.meta_path:
            sys.meta_path.insert(0, self._source)
        if name not in self._source.codes:
            raise ProgramFault(f"There is no check {name[:80]!r}.")
        found = getattr(import_module(name), FUNCTION, None)
        if not callable(found):
            raise ProgramFault(
                f"{name}.py defines no function `{FUNCTION}(initial, final)` or "
                f"`{FUNCTION}(initial, final, {ROLLOUT})`."
            )
        return found


def _asks_for_rollout(check: Callable[..., Any]) -> bool:
    """Whether a third argument must be given, or may be by that name: another one with a default is
    the check's own."""
    code = getattr(check, "__code__", None)
    if code is None or code.co_argcount < 3:
        return False
    return (
        code.co_varnames[2] == ROLLOUT
        or code.co_argcount - len(getattr(check, "__defaults__", None) or ()) >= 3
    )


def prepare_judge(request: Message) -> Callable[[Channel], None]:
    """Compile checks; a process forked afterwards hears one verdict."""
    source = ProgramImporter(request["files"], request["entry"])
    interpreter_check.watch(list_imports(source.codes.values()))
    return JudgeLoop(source).serve


def _pack(value: Json) -> bytes:
    # Version 2 writes no back references, so equal bytes mean equal values. Ten times quicker than
    # canonical JSON.
    return marshal.dumps(value, 2)
