"""What the sandbox is asked for and what it answers: program, steps, observation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import orjson

from envmill.runtime.canonical import fingerprint
from envmill.runtime.jail.state_cache import LARGE
from envmill.runtime.profiles import check_profile, find_profile
from envmill.runtime.world import parse_clock
from envmill.sandbox.initial_state import InitialState
from schemas.base import Json, digest
from schemas.environment import Call, Environment, Kind, Tool

Outcome = Literal["ok", "rejection", "failure"]
_UNTOLD = {"discoverable", "reads", "writes"}
"""Of a tool: what gates hold the code to, and nobody inside is told."""


@dataclass(frozen=True)
class Program:
    """Code that runs in the jail, and the interface its sessions validate calls against."""

    files: dict[str, str]
    """Path → source text."""
    entry: str
    """`module:Class`."""
    tools: list[Tool]
    """Interface."""
    kind: Kind = "stateful"
    """A terminal's files are a machine, set up in a container; of all others the jail needs no
    word."""

    @classmethod
    def of(cls, environment: Environment) -> "Program":
        return cls(environment.files, environment.entry, environment.tools, environment.kind)

    @classmethod
    def shown(cls, environment: Environment) -> "Program":
        """With the tools of sibling services that agents are shown: what rollouts, replays and
        exports run. Gates run `of`."""
        return cls(environment.files, environment.entry, environment.shown, environment.kind)

    def name_actor(self, tool: str) -> str:
        """Who makes a call of a reference path: the agent, unless it may not."""
        actors = next((one.actors for one in self.tools if one.name == tool), ["agent"])
        return "agent" if "agent" in actors else actors[0]

    @cached_property
    def entries(self) -> list[Any]:
        """The interface as sessions are told it."""
        return [tool.model_dump(mode="json", exclude=_UNTOLD) for tool in self.tools]

    @cached_property
    def message(self) -> dict[str, Json]:
        """How the program travels; its hash keys the driver's templates."""
        content = {
            "files": self.files,
            "entry": self.entry,
            "tools": self.entries,
        }
        return {"hash": digest(content), **content}


@dataclass(frozen=True)
class Reset:
    """Construct the program afresh on a state."""

    state: dict[str, Json]
    """Initial state."""
    clock: str
    """Virtual time, ISO 8601 UTC."""
    seed: int
    """Seed of ids and randomness."""
    weather: Json = None
    """`{"profile": name or list of troubles, "seed": int}`; null is clear sky."""
    shaken: int = 0
    """Other than 0: free memory is shuffled first, so that orders taken from addresses show."""

    def __post_init__(self) -> None:
        # What cannot be read is the caller's mistake, not the program's.
        parse_clock(self.clock)
        if self.weather:
            check_profile(find_profile(self.weather["profile"]))

    @cached_property
    def named(self) -> dict[str, Json]:
        """What names the state to a session that had it before; nothing for one that cannot be
        sent."""
        try:
            serialised = orjson.dumps(self.state)
        except TypeError:
            return {}
        return {
            "key": fingerprint(serialised),
            **({"large": True} if len(serialised) > LARGE else {}),
        }

    @cached_property
    def start(self) -> InitialState:
        """What states of the session are read against."""
        return InitialState(self.state)

    def message(self) -> dict[str, Json]:
        more = {
            name: value
            for name, value in (("weather", self.weather), ("shaken", self.shaken))
            if value
        }
        return {
            "op": "reset",
            "state": self.state,
            "clock": self.clock,
            "seed": self.seed,
            **self.named,
            **more,
        }


@dataclass(frozen=True)
class Invoke:
    """Call a tool."""

    call: Call
    """The call."""

    def message(self) -> dict[str, Json]:
        """Label and uses are for the driver alone: it fills the arguments in, and the program's
        process is never told of either."""
        call = self.call
        linked: dict[str, Json] = {"label": call.label} if call.label else {}
        if call.uses:
            linked["uses"] = [use.model_dump() for use in call.uses]
        return {
            "op": "call",
            "name": call.name,
            "arguments": call.arguments,
            "actor": call.actor,
            **linked,
        }


@dataclass(frozen=True)
class Advance:
    """Move the virtual clock."""

    seconds: float
    """By how much."""

    def message(self) -> dict[str, Json]:
        return {"op": "advance", "seconds": self.seconds}


@dataclass(frozen=True)
class Look:
    """Ask for the state."""

    until: tuple[tuple[str, ...], ...] = ()
    """Of a terminal, what its look may end with: paths of the state, one of which amiss is all that
    the asker wants to know. The rest
    is `unasked` then."""
    known: bool = False
    """Of a terminal, whether it is enough what a machine showed that began alike and had come to
    the same files, where nothing runs."""

    def message(self) -> dict[str, Json]:
        return {"op": "state"}


@dataclass(frozen=True)
class Changes:
    """Ask what changed since the reset."""

    def message(self) -> dict[str, Json]:
        return {"op": "changes"}


@dataclass(frozen=True)
class Touched:
    """Ask which tables were read and written since this was last asked."""

    def message(self) -> dict[str, Json]:
        return {"op": "touched"}


@dataclass(frozen=True)
class Fetch:
    """Ask for the bytes of a blob a tool answered with."""

    hash: str
    """Its hash."""

    def message(self) -> dict[str, Json]:
        return {"op": "fetch", "hash": self.hash}


@dataclass(frozen=True)
class Snapshot:
    """Ask for everything that decides how the session goes on."""

    def message(self) -> dict[str, Json]:
        return {"op": "snapshot"}


@dataclass(frozen=True)
class Restore:
    """Come back to a snapshot, in this session or another of the same program."""

    snapshot: Json
    """What a Snapshot brought."""

    def message(self) -> dict[str, Json]:
        return {"op": "restore", "snapshot": self.snapshot}


Step: TypeAlias = Reset | Invoke | Advance | Look | Changes | Touched | Fetch | Snapshot | Restore


@dataclass(frozen=True)
class Observation:
    """Outcome of one step. The program itself reports all of it, so no trusted code relies on it."""

    outcome: Outcome
    """Done, refused (caller's mistake or a rule), or failed (program's fault: crash, timeout,
    killed, build …)."""
    parts: list[Json]
    """What a tool answered: `{"type": "text", "text": …}` or `{"type": "json", "value": …}`."""
    code: str
    """Reason code, empty when ok."""
    message: str
    """Reason in words, empty when ok."""
    state_hash: str
    """Hash of the state after the step; empty when unknown."""
    state: dict[str, Json] | None
    """The state, for a Look."""
    uses: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often clock, ids and randomness were used for this step."""
    notifications: list[Json] = field(default_factory=list[Json])
    """What an Advance delivered: `{"at": …, "actor": …, "text": …}`, in the order of time."""
    delay: float = 0.0
    """Seconds the weather let the caller wait."""
    weather: list[str] = field(default_factory=list[str])
    """Kinds of trouble met: for the record, never for the agent."""
    denied: list[str] = field(default_factory=list[str])
    """System calls the step was denied, by name; known only where denials are diagnosed."""

    @classmethod
    def read(cls, message: Mapping[str, Any], state: dict[str, Json] | None) -> "Observation":
        beside = {
            name: message[name]
            for name in ("uses", "notifications", "delay", "weather", "denied")
            if name in message
        }
        return cls(
            message["outcome"],
            message["parts"],
            message["code"],
            message["message"],
            message["state_hash"],
            state,
            **beside,
        )
