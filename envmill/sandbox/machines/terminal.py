"""A live terminal: one container, the machine that was set up in it, and the one tool that agents
have there.

Reset ─► a machine that was set up and broken so (staging.py) ─► what stands there now, kept outside
Invoke(shell) ─► a command in the shell that stays
Look ─► the judge's examination: the state, as far as anybody may judge it
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, replace
from typing import TypeAlias

from envmill.base.errors import BuildError, SandboxError
from envmill.runtime.canonical import fingerprint, plain, render
from envmill.runtime.interface import Interface, ToolEntry
from envmill.sandbox.containers import CommandResult, Container, ContainerLayer
from envmill.sandbox.machines.baseline import Baseline, examine
from envmill.sandbox.machines.frame import Frame, list_frame
from envmill.sandbox.machines.healthy import Healthy
from envmill.sandbox.machines.machine import NoRoomError, restart
from envmill.sandbox.machines.staging import StartedMachine
from envmill.sandbox.machines.starting import list_probes, read_state, render_state
from envmill.sandbox.plan import Invoke, Look, Observation, Outcome, Reset, Restore, Snapshot, Step
from schemas.base import Json, is_object
from schemas.environment import Call
from schemas.system import MachineState

SECONDS = 60
"""A command's time, where the call names none."""
LONGEST = 600
SHOWN = 16 << 10
"""Bytes of a command's output that an agent is shown, half of them from its end."""


@dataclass(frozen=True)
class _Kept:
    """A snapshot: files, and the list of them that an examination of what follows is compared
    with."""

    layer: ContainerLayer
    listed: Frame


Begin: TypeAlias = Callable[[Healthy, MachineState], AbstractAsyncContextManager[StartedMachine]]
"""Makes a machine in this state, and takes it down."""


class TerminalSession:
    """One live terminal, for one plan or one agent. What is asked of it comes one after the
    other."""

    def __init__(self, healthy: Healthy, tools: Sequence[ToolEntry], begin: Begin) -> None:
        self._healthy, self._begin = healthy, begin
        self._interface = Interface(tools)
        self._stack = AsyncExitStack()
        self._container: Container | None = None
        self._begun: MachineState | None = None
        self._touched = False
        """Whether anybody gave a command: what is changed before is the work of services."""
        self._reference: Baseline | None = None
        self._kept: dict[str, _Kept] = {}

    async def close(self) -> None:
        await self._stack.aclose()
        self._container = None

    async def play(self, step: Step) -> Observation:
        """A machine that broke is a failure, of which nothing follows about anybody."""
        if self._reference is None and not isinstance(step, Reset):
            return _answer("failure", "no_session", "Nothing was begun: send a Reset first.")
        try:
            return await self._play(step)
        except BuildError as error:
            return _answer("failure", "does_not_construct", error.message)
        except (SandboxError, NoRoomError) as error:
            return _answer("failure", "session_lost", str(error))

    async def _play(self, step: Step) -> Observation:
        match step:
            case Reset():
                return await self._reset(step)
            case Invoke(call=call):
                return await self._call(call)
            case Look(until=until, known=known):
                return await self._observe(until, known)
            case Snapshot():
                return await self._snapshot()
            case Restore(snapshot=snapshot):
                return await self._restore(snapshot)
            case _:
                return _answer(
                    "rejection",
                    "not_here",
                    f"A terminal knows no {type(step).__name__}: its clock and its files are the "
                    "container's own.",
                )

    async def _reset(self, step: Reset) -> Observation:
        await self.close()
        self._begun, self._reference, self._touched = None, None, False
        self._kept.clear()
        if step.weather:
            raise BuildError("A terminal takes no weather profile: leave it out.")
        begun = read_state(step.state)
        list_probes(self._healthy, begun.exam)
        self._container, self._reference = await self._stack.enter_async_context(
            self._begin(self._healthy, begun)
        )
        self._begun = begun
        return _answer("ok")

    async def _call(self, call: Call) -> Observation:
        if call.name not in self._interface.tools:
            return _answer(
                "rejection",
                "unknown_tool",
                f"There is no tool {call.name[:80]!r}; known: {', '.join(self._interface.tools)}.",
            )
        if fault := self._interface.check(call.name)(call.arguments):
            return _answer("rejection", "invalid_arguments", f"arguments{fault}.")
        command, seconds = call.arguments["command"], call.arguments.get("seconds", SECONDS)
        self._touched = True
        try:
            ran = await self.container.shell(command, seconds=seconds, cap=SHOWN)
        except ValueError as error:
            return _answer("rejection", "invalid_arguments", str(error))
        return _answer("ok", parts=[{"type": "json", "value": describe(ran)}])

    async def _observe(self, until: Sequence[Sequence[str]], known: bool) -> Observation:
        assert self._begun is not None
        assert self._reference is not None
        found = await examine(
            self.container,
            self._healthy,
            self._begun.places,
            self._reference,
            self._begun.exam,
            until,
            known,
        )
        state = render_state(
            self._healthy, self._begun, found if self._touched else replace(found, inside=())
        )
        return Observation("ok", [], "", "", fingerprint(render(plain(state))), state)

    async def _snapshot(self) -> Observation:
        assert self._reference is not None
        listed = await list_frame(self.container, self._healthy, self._reference.ground)
        name = f"layer-{len(self._kept)}"
        self._kept[name] = _Kept(await self.container.snapshot(), listed)
        return _answer("ok", parts=[{"type": "json", "value": {"layer": name}}])

    async def _restore(self, snapshot: Json) -> Observation:
        """Files as they were; services start anew, for processes are no part of a snapshot."""
        kept = self._kept.get(
            str(snapshot["layer"]) if is_object(snapshot) and "layer" in snapshot else ""
        )
        if kept is None:
            return _answer(
                "rejection",
                "unknown_snapshot",
                "This session made no such snapshot: restore where it was made.",
            )
        assert self._reference is not None
        await self.container.reset(kept.layer)
        listed = await list_frame(self.container, self._healthy)
        # A copy has change times of its own: what was as at the beginning when it was copied is so
        # now. What it stands on was never listed.
        frame = self._reference.frame
        differed = set(frame.find_changed(kept.listed))
        same = {path: told for path, told in listed.own.items() if path not in differed}
        changed = {path: told for path in differed if (told := frame.describe(path)) is not None}
        self._reference = self._reference._replace(
            frame=Frame({**same, **changed}, {}), ground=None
        )
        await restart(self.container, self._healthy)
        return _answer("ok")

    @property
    def container(self) -> Container:
        assert self._container is not None
        return self._container


def describe(ran: CommandResult) -> dict[str, Json]:
    """What an agent is told of a command."""
    told: dict[str, Json] = {"exit_code": ran.code, "output": ran.text}
    if ran.outcome == "timeout":
        told["note"] = "It took too long and was killed."
    if not ran.alive:
        told["note"] = "The shell ended; the next command has a new one."
    return told


def _answer(
    outcome: Outcome, code: str = "", message: str = "", parts: list[Json] | None = None
) -> Observation:
    return Observation(outcome, parts or [], code, message, "", None)
