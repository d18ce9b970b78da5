"""The sandbox as the flow process sees it: inspect a program, play a plan, or hold a session
open."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from functools import cached_property
from itertools import count
from typing import Literal, TypeAlias

import orjson

from envmill.base.errors import BuildError, SandboxError
from envmill.base.settings import Settings
from envmill.runtime.jail.wire import Message
from envmill.sandbox.check_session import CheckReply, CheckSession, read_statement
from envmill.sandbox.host import Host, HostedSession
from envmill.sandbox.launch import check_system
from envmill.sandbox.link import DriverLink
from envmill.sandbox.plan import Observation, Program, Reset, Step
from envmill.sandbox.pool import DriverPool

Hashes: TypeAlias = Literal["each", "last", "none"]
"""After which steps the state is hashed: a large state takes longer to hash than a call takes."""

EPOCH = "1970-01-01T00:00:00+00:00"
"""Where no clock of ours is looked at."""


class Session:
    """One session held open; its driver lives and dies with it."""

    def __init__(
        self,
        link: DriverLink,
        program: Program,
        number: int,
        hashes: Hashes,
        *,
        in_place: bool = False,
    ) -> None:
        self.link = link
        self._reset: Reset | None = None
        self._request: Message = {
            "op": "step",
            "session": number,
            "program": program.message,
            "hashes": hashes,
            "in_place": in_place,
        }
        self.number = number

    async def step(self, step: Step) -> Observation:
        """Play one step. The first one that matters is a Reset."""
        (observation,) = await self.play([step])
        return observation

    async def play(self, steps: Sequence[Step]) -> list[Observation]:
        """Play several steps in one message."""
        messages = await self.link.ask(
            self._request | {"steps": [step.message() for step in steps]}
        )
        observations = _read_all(messages, steps, self._reset)
        self._reset = next(
            (step for step in reversed(steps) if isinstance(step, Reset)), self._reset
        )
        return observations

    async def branch(self, session: "Session") -> Observation:
        """Make another open session of the same driver go on from here, in a process of its own."""
        request = {"op": "fork", "session": self.number, "into": session.number}
        (observation,) = _read(await self.link.ask(request))
        return observation


class _OutsideSession(Session):
    """A session that a host holds open. It has no driver."""

    def __init__(self, hosted: HostedSession) -> None:  # pyright: ignore[reportMissingSuperCall]  nothing of a driver's
        self._hosted = hosted

    async def play(self, steps: Sequence[Step]) -> list[Observation]:
        return [await self._hosted.play(step) for step in steps]

    async def branch(self, session: "Session") -> Observation:  # noqa: ARG002  nowhere to go
        raise SandboxError(
            "This session does not branch into another: send it a Snapshot, and a Restore when it "
            "is wanted."
        )


class Sandbox:
    """Runs generated code in other processes. SandboxError is never the code's fault."""

    searches = True
    """Whether anything may be played in place."""

    def __init__(self, pool: DriverPool, other: DriverPool, hosts: Mapping[str, Host]) -> None:
        self._pool, self._other, self.hosts = pool, other, hosts
        self._numbers = count(1)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        hash_seed: int = 0,
        *,
        hosts: Mapping[str, Host] | None = None,
        without: Collection[str] = (),
        drivers: int | None = None,
        pinned: bool = True,
    ) -> AsyncGenerator["Sandbox"]:
        """A running sandbox with at most so many drivers, one per core where nothing is said.

        `hosts` open sessions of the kinds that the jail does not hold; the sandbox closes them. `without` leaves layers out: for tests
        that show what the layers prevent.
        """
        check_system()
        pool = DriverPool(
            hash_seed,
            without,
            settings.trust_generated_code,
            drivers,
            pinned,
            settings.diagnose_denials,
        )
        other = DriverPool(
            hash_seed + 1,
            without,
            settings.trust_generated_code,
            1,
            pinned,
            settings.diagnose_denials,
        )
        outside = hosts or {}
        try:
            await pool.find({"hash": ""})
            yield cls(pool, other, outside)
        finally:
            for host in outside.values():
                await host.close()
            await pool.close()
            await other.close()

    @property
    def elsewhere(self) -> "Sandbox":
        """The same jail with another hash seed, in a driver that starts when it is first needed."""
        return Sandbox(self._other, self._pool, self.hosts)

    @cached_property
    def careful(self) -> "Sandbox":
        """The same jail, where a process serves one session and never a second, whatever is
        asked."""
        other = copy(self)
        other.searches = False
        return other

    def layers(self) -> dict[str, bool]:
        """Which layers hold on this machine."""
        links = self._pool.links()
        return dict(links[0].layers) if links else {}

    async def inspect(self, program: Program) -> None:
        """Compile and import the program in the jail, without constructing it; BuildError quotes
        what went wrong.

        Where a host opens sessions, begin one.
        """
        if program.kind in self.hosts:
            (begun,) = await self.play(program, [Reset({}, EPOCH, 0)])
            if begun.outcome != "ok":
                raise BuildError(begun.message, code=begun.code)
            return
        (loaded,) = _read(await self._play(program, [{"op": "load"}], "none"))
        if loaded.outcome != "ok":
            raise BuildError(f"{loaded.message}", code=loaded.code)

    async def play(
        self,
        program: Program,
        steps: Sequence[Step],
        *,
        hashes: Hashes = "each",
        fresh: bool = False,
        in_place: bool = False,
    ) -> list[Observation]:
        """Play a whole plan in a session of its own: one observation per step, in one message to
        the driver.

        `in_place` lets a process that was shown to be as good as a fresh one serve again: for searches, of which nothing is believed that
        was not played once more without. `fresh` asks a host for a session that owes nothing to any
        that was before.
        """
        if host := self.hosts.get(program.kind):
            async with host.open(program.files, program.entries, fresh=fresh) as hosted:
                return [await hosted.play(step) for step in steps]
        messages = await self._play(
            program, [step.message() for step in steps], hashes, in_place=in_place and self.searches
        )
        return _read_all(messages, steps)

    @asynccontextmanager
    async def session(
        self,
        program: Program,
        *,
        hashes: Hashes = "each",
        beside: Session | None = None,
        in_place: bool = False,
    ) -> AsyncGenerator[Session]:
        """A session for one step at a time, when the next step depends on the last. `beside`
        another, it can be branched into."""
        if host := self.hosts.get(program.kind):
            async with host.open(program.files, program.entries) as hosted:
                yield _OutsideSession(hosted)
            return
        link = beside.link if beside else await self._pool.find(program.message)
        session = Session(
            link, program, next(self._numbers), hashes, in_place=in_place and self.searches
        )
        link.sessions += 1
        try:
            yield session
        finally:
            link.forget_session(session.number)

    async def judge(self, hearing: CheckSession) -> list[CheckReply]:
        """What each generated check says, in a process of the judge zygote that was forked for this
        check and this verdict."""
        link = await self._pool.find(hearing.message)
        request: Message = {
            "op": "play",
            "flavour": "judge",
            "program": hearing.message,
            "hashes": "none",
        }
        return [
            read_statement(_read(await link.ask(request | {"steps": steps})))
            for steps in hearing.plans()
        ]

    async def count(self) -> list[dict[str, int]]:
        """What each driver holds: templates, sessions, processes kept ready, forks, and what is
        known about resets in place."""
        return [row for link in self._pool.links() for row in await link.ask({"op": "count"})]

    async def _play(
        self, program: Program, steps: list[Message], hashes: Hashes, *, in_place: bool = False
    ) -> list[Message]:
        link = await self._pool.find(program.message)
        request: Message = {
            "op": "play",
            "program": program.message,
            "steps": steps,
            "hashes": hashes,
        }
        return await link.ask(request | {"in_place": True} if in_place else request)


def _read(messages: list[Message]) -> list[Observation]:
    """Where no state is looked at."""
    return [Observation.read(message, None) for message in messages]


def _read_all(
    messages: list[Message], steps: Sequence[Step], reset: Reset | None = None
) -> list[Observation]:
    """A state is read against the one its session began with."""
    observations: list[Observation] = []
    for message, step in zip(messages, steps, strict=True):
        reset = step if isinstance(step, Reset) else reset
        text: str | None = message["state"]
        observations.append(
            Observation.read(
                message,
                None if text is None else reset.start.read(text) if reset else orjson.loads(text),
            )
        )
    return observations
