"""The sandbox as the flow process sees it: inspect a program, play a plan, or hold a session open."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import count

import orjson

from envmill.errors import BuildError, SandboxError
from envmill.runtime.jail.layers import KERNEL_LAYERS
from envmill.runtime.jail.wire import Message
from envmill.sandbox.link import Link
from envmill.sandbox.plan import Observation, Program, Step
from envmill.settings import Settings
from schemas.base import Json


class Session:
    """One session held open; its driver lives and dies with it."""

    def __init__(self, link: Link, program: Program, number: int) -> None:
        self._link = link
        self._program = program
        self._number = number
        self._known = False

    async def step(self, step: Step) -> Observation:
        """Play one step. The first one that matters is a Reset."""
        # The program travels once; afterwards its hash stands for it.
        program = {"hash": self._program.message["hash"]} if self._known else self._program.message
        request = {"op": "step", "session": self._number, "program": program, "steps": [step.message()]}
        (observation,) = _read(await self._link.ask(request))
        self._known = True
        return observation


class Sandbox:
    """Runs generated code in other processes. SandboxError is never the code's fault."""

    def __init__(self, settings: Settings, hash_seed: int, without: Collection[str]) -> None:
        self._settings = settings
        self._hash_seed = hash_seed
        self._without = without
        self._link: Link | None = None
        self._starting = asyncio.Lock()
        self._numbers = count(1)

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, hash_seed: int = 0, *, without: Collection[str] = ()) -> AsyncGenerator["Sandbox"]:
        """A running sandbox. `without` leaves layers out: for tests that show what the layers prevent."""
        sandbox = cls(settings, hash_seed, without)
        try:
            await sandbox._driver()
            yield sandbox
        finally:
            if sandbox._link:
                await sandbox._link.close()

    def layers(self) -> dict[str, bool]:
        """Which layers hold on this machine."""
        return dict(self._link.layers) if self._link else {}

    async def inspect(self, program: Program) -> None:
        """Compile and import the program in the jail, without constructing it; BuildError quotes what went wrong."""
        (loaded,) = await self._play(program, [{"op": "load"}])
        if loaded.outcome != "ok":
            raise BuildError(f"{loaded.message}", code=loaded.code)

    async def play(self, program: Program, steps: Sequence[Step]) -> list[Observation]:
        """Play a whole plan in a fresh session: one observation per step, in one message to the driver."""
        return await self._play(program, [step.message() for step in steps])

    @asynccontextmanager
    async def session(self, program: Program) -> AsyncGenerator[Session]:
        """A session for one step at a time, when the next step depends on the last."""
        link, number = await self._driver(), next(self._numbers)
        try:
            yield Session(link, program, number)
        finally:
            link.forget_session(number)

    async def _play(self, program: Program, steps: list[Message]) -> list[Observation]:
        link = await self._driver()
        return _read(await link.ask({"op": "play", "session": 0, "program": program.message, "steps": steps}))

    async def _driver(self) -> Link:
        """The living driver; a dead one is replaced."""
        async with self._starting:
            if self._link and self._link.death:
                await self._link.close()
                self._link = None
            if self._link is None:
                self._link = await Link.start(self._hash_seed, self._without)
                await self._refuse_without_layers(self._link)
            return self._link

    async def _refuse_without_layers(self, link: Link) -> None:
        if self._settings.trust_generated_code or any(link.layers[name] for name in KERNEL_LAYERS):
            return
        await link.close()
        raise SandboxError(
            "This kernel offers neither seccomp nor Landlock, so generated code would run unconfined. "
            "Use another machine, or set ENVMILL_TRUST_GENERATED_CODE=1 if every program it will run is trusted."
        )


def _read(messages: list[Message]) -> list[Observation]:
    return [Observation.read(message, _read_state(message)) for message in messages]


def _read_state(message: Message) -> dict[str, Json] | None:
    return None if message["state"] is None else orjson.loads(message["state"])
