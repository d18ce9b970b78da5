"""A session: one live instance of a program behind the native interface.

    reset(state, clock, seed) ─► call ─► call ─► advance ─► … ─► state() ─► close()

Nothing here raises for an agent's mistake: a call's outcome is `ok`, `rejection` (the caller's
fault, or a rule of the program) or `failure` (the program's fault), and the code says which.
"""

import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from envmill.runtime import shake, virtual
from envmill.runtime.blob import BlobStore
from envmill.runtime.canonical import Json, NotJson, plain, render
from envmill.runtime.coupling import couple
from envmill.runtime.course import pass_time
from envmill.runtime.fitness import fit
from envmill.runtime.interface import Interface, ToolEntry
from envmill.runtime.program import ProgramFault
from envmill.runtime.rejection import Rejection
from envmill.runtime.reply import Error, Fragment, Outcome, Reply, fail, parts_of, refuse
from envmill.runtime.serialising import StateSerialiser
from envmill.runtime.siblings import answer_as_sibling, show_tool
from envmill.runtime.start import Packed, StartCache
from envmill.runtime.state_holder import hold
from envmill.runtime.weather import Weather
from envmill.runtime.world import MICRO, WORLD, Source, World, parse_clock

__all__ = ["Error", "Outcome", "Reply", "Session", "ToolEntry", "fail", "quote", "refuse"]

LARGE = 256 * 1024
"""Bytes of a packed start from which a state is a large one."""
MAX_ADVANCE = 100 * 366 * 86400
"""Seconds: a century at once."""


class Session:
    """One live instance. `load` executes the program afresh and returns its class; `fragment`
    renders replies for whoever sends them."""

    def __init__(
        self,
        load: Callable[[], type[Any]],
        tools: Sequence[ToolEntry] | Interface,
        world: World = WORLD,
        schema: str = "",
        fragment: Fragment | None = None,
    ) -> None:
        self._load = load
        self._fragment = fragment
        self._holding = hold(schema, world)
        self._interface = tools if isinstance(tools, Interface) else Interface(tools)
        self._world = world
        self._instance: Any = None
        self._start = StartCache()
        self._shelf = BlobStore()
        self._serialiser = StateSerialiser()
        self._hash = ""
        self._weather: Weather | None = None
        self._forecast: dict[str, Json] = {}
        self._told: dict[Source, int] = {"clock": 0, "ids": 0, "randomness": 0}

    def tools(self, actor: str | None = None) -> list[ToolEntry]:
        """The interface as it is today, or the part of it that one actor may call."""
        shown = self._weather.tools() if self._weather else list(self._interface.tools.values())
        return [
            show_tool(tool)
            for tool in shown
            if actor is None or actor in (tool.get("actors") or ("agent",))
        ]

    def inspect(self) -> None:
        """Import the program without constructing it, and hold it against its interface;
        ProgramFault says what lacks."""
        try:
            found = self._load()
            self._interface.compile()
            for name in self._interface.tools:
                if name not in self._interface.siblings and not callable(
                    getattr(found, name, None)
                ):
                    raise ProgramFault(
                        f"Class {found.__name__} has no method for the tool {name!r}."
                    )
        except ProgramFault:
            raise
        except Exception as error:  # noqa: BLE001  # the program's fault, whatever it is
            raise ProgramFault(quote(error)) from None

    def reset(
        self,
        state: dict[str, Json] | Packed,
        clock: str,
        seed: int,
        weather: Mapping[str, Any] | None = None,
        shaken: int = 0,
        *,
        checked: bool = True,
    ) -> None:
        """Construct a fresh instance on a state, or raise ProgramFault.

        `weather` is `{"profile": name or list, "seed": int}`; `shaken`, when not 0, shuffles free memory first. Without `checked` nobody
        looks whether the new state is JSON until somebody asks for it.
        """
        self._instance = None
        self._world.reset(parse_clock(clock), seed)
        virtual.reset()
        self._told = {"clock": 0, "ids": 0, "randomness": 0}
        self._shelf = BlobStore()
        self._weather = self._meet_weather(weather)
        if shaken:
            shake.shuffle_memory(shaken)
        self._construct(lambda: self._begin(state))
        if checked:
            self._check_state()

    def call(self, name: str, arguments: dict[str, Json], actor: str = "agent") -> Reply:
        """Validate, run the tool, and judge what it returned."""
        if self._weather is None:
            return self._call(name, arguments, actor)
        met = self._weather.meet(name)
        if not isinstance(met, str):
            return met  # pyright: ignore[reportReturnType]
        return self._call(met, arguments, actor)

    def advance(self, seconds: float) -> Reply:
        """Move the virtual clock on, let happen what falls due, and deliver notifications in the
        order of their time."""
        if not _is_duration(seconds):
            return refuse(
                "invalid_arguments",
                f"{str(seconds)[:40]} s is no time to advance by; give 0 to {MAX_ADVANCE} s.",
            )
        target = self._world.clock + round(seconds * MICRO)
        reply: Reply = {"ok": True, "outcome": "ok", "parts": []}
        self._hash = ""
        try:
            pass_time(self._instance, self._world, target)
            couple(self._instance)
        except Exception as error:  # noqa: BLE001  # what happens by itself has nobody to refuse: even a Rejection is a crash
            reply = fail("crash", quote(error))
        reply["notifications"] = self._world.outbox.collect(self._world.clock)
        return reply

    def fetch(self, name: str) -> Reply:
        """The bytes of a blob this session answered with, in base64."""
        part = self._shelf.fetch(name)
        return (
            {"ok": True, "outcome": "ok", "parts": [part]}
            if part
            else refuse("unknown_blob", f"This session gave no blob {str(name)[:80]}.")
        )

    def state(self) -> dict[str, Json]:
        """Public attributes of the instance, detached; NotJson when one of them is not JSON."""
        return plain(self._public())

    def serialised_state(self) -> bytes:
        """The state's canonical bytes: the form in which a state leaves the jail."""
        return self._serialiser.render(self._public())

    def is_large(self) -> bool:
        """Whether looking at the state may take long, as far as its start tells."""
        return self._start.size > LARGE

    def state_hash(self) -> str:
        """Hash of the state's canonical bytes; as known, while no code of the program ran since."""
        if not self._hash:
            self._hash = self._serialiser.fingerprint(self._public())
        return self._hash

    def changes(self) -> list[dict[str, Json]]:
        """What changed since the reset (or the restored snapshot's): rows of op, path, before,
        after."""
        return list(self._holding.list_changes(self._start.state(), self._instance))

    def snapshot(self) -> dict[str, Json]:
        """Everything that decides how the session goes on, as JSON: state, clock, streams, counts,
        what waits to be delivered, weather."""
        return {
            "state": self.state(),
            "held": self._holding.snapshot(),
            "start": self._start.state(),
            "world": self._world.snapshot(),
            "generators": virtual.snapshot(),
            "weather": {**self._forecast, "at": self._weather.snapshot()}
            if self._weather
            else None,
        }

    def restore(self, snapshot: dict[str, Json]) -> None:
        """Go on from a snapshot of this program: the same calls then give the same bytes.
        ProgramFault when it cannot be."""
        self._world.restore(snapshot["world"])
        self._start.hold(snapshot["start"])
        self._construct(lambda: self._holding.restore(snapshot["held"], snapshot["state"]))
        # Construction may have drawn; the streams stand where the snapshot left them, not where the
        # constructor does.
        virtual.restore(snapshot["generators"])
        self._world.restore(snapshot["world"])
        self._told = self.uses()
        self._weather = self._meet_weather(snapshot["weather"])
        if self._weather:
            self._weather.restore(snapshot["weather"]["at"])
        if self.serialised_state() != render(plain(snapshot["state"])):
            raise ProgramFault(
                "Constructed on its own state, the program holds another one. A constructor must "
                "keep the state it is given."
            )

    def uses(self) -> dict[Source, int]:
        """How often clock, ids and randomness were used since the reset."""
        return dict(self._world.uses)

    def drain_uses(self) -> dict[Source, int]:
        """How often each was used since it was last asked here."""
        now, before = self._world.uses, self._told
        if now == before:
            return {}
        self._told = dict(now)
        return {
            source: now[source] - before[source] for source in now if now[source] != before[source]
        }

    def drain_touched(self) -> dict[str, list[str]]:
        """Tables that were read and written since this was last asked; empty where state is no
        database."""
        return self._holding.drain_touched()

    def close(self) -> None:
        self._instance = None

    def _call(self, name: str, arguments: dict[str, Json], actor: str) -> Reply:
        interface = self._interface
        if name not in interface.tools:
            known = ", ".join(tool["name"] for tool in self.tools()) or "none"
            return refuse("unknown_tool", f"There is no tool {str(name)[:80]!r}; known: {known}.")
        if actor not in interface.allowed[name]:
            return _refuse_actor(name, actor, interface)
        arguments, fault = fit(interface, name, arguments)
        if fault:
            return refuse("invalid_arguments", f"{fault}.")
        if name in interface.siblings:
            return answer_as_sibling(interface.tools[name], interface.siblings[name])
        if self._weather is None:
            return self._dispatch(name, arguments)
        refused = self._weather.refuse(self._world.clock)
        return refused or self._weather.change(name, arguments, self._dispatch(name, arguments))  # pyright: ignore[reportReturnType, reportArgumentType]

    def _dispatch(self, name: str, arguments: dict[str, Json]) -> Reply:
        self._hash = ""
        outbox = self._world.outbox
        mark = outbox.mark()
        # The weather looks into a reply and changes it.
        fragment = self._fragment if self._weather is None else None
        try:
            value = getattr(self._instance, name)(**arguments)
            couple(self._instance)
            reply: Reply = {
                "ok": True,
                "outcome": "ok",
                "parts": parts_of(value, self._shelf, fragment),
            }
            self._holding.settle()
            return reply
        except Rejection as rejection:
            reply = refuse(rejection.code[:80], rejection.message[:2000])
        except NotJson as fault:
            reply = fail("bad_reply", f"{name} returned what is not JSON {fault}")
        except Exception as error:  # noqa: BLE001  # one tool's crash is one failed call
            reply = fail("crash", quote(error))
        outbox.revert(mark)
        self._holding.revert()
        return reply

    def _meet_weather(self, forecast: Mapping[str, Any] | None) -> Weather | None:
        if forecast is None:
            return None
        self._forecast = {"profile": forecast["profile"], "seed": forecast["seed"]}
        return Weather(forecast["profile"], forecast["seed"], list(self._interface.tools.values()))

    def _begin(self, state: dict[str, Json] | Packed) -> Any:
        self._start.hold(state)
        return self._holding.begin(self._start)

    def _construct(self, give: Callable[[], Any]) -> None:
        self._hash = ""
        try:
            self._instance = self._load()(give())
            self._holding.settle()
        except ProgramFault:
            raise
        except Exception as error:  # noqa: BLE001  # the program's fault, whatever it is
            raise ProgramFault(quote(error)) from None

    def _public(self) -> dict[str, Any]:
        return self._holding.read(self._instance)

    def _check_state(self) -> None:
        try:
            self.state_hash()
        except NotJson as fault:
            raise ProgramFault(
                f"After construction the state is not JSON {fault}. Public attributes must be JSON."
            ) from None


def _refuse_actor(name: str, actor: str, interface: Interface) -> Reply:
    if actor not in interface.actors:
        return refuse(
            "unknown_actor",
            f"There is no actor {str(actor)[:80]!r} here; known: "
            f"{', '.join(sorted(interface.actors))}.",
        )
    return refuse(
        "not_allowed",
        f"{name} may be called by {', '.join(sorted(interface.allowed[name]))}, not by "
        f"{str(actor)[:80]}.",
    )


def _is_duration(seconds: float) -> bool:
    return (
        isinstance(seconds, int | float)  # pyright: ignore[reportUnnecessaryIsInstance]
        and not isinstance(seconds, bool)
        and math.isfinite(seconds)
        and 0 <= seconds <= MAX_ADVANCE
    )


def quote(error: BaseException) -> str:
    """The traceback's last lines, from the program's own files on: fit for a repair prompt."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("/", "<"))
    ]
    lines = [line.rstrip() for line in traceback.format_list(frames[-4:])]
    return "\n".join([*lines, *(line.rstrip() for line in traceback.format_exception_only(error))])[
        -2000:
    ]
