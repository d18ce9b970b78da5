"""The drivers of one flow process: one per core, the second started when the first has more than
one thing to do."""

import asyncio
from collections.abc import Collection

from envmill.base.errors import SandboxError
from envmill.runtime.jail.layers import KERNEL_LAYERS
from envmill.runtime.jail.wire import Message
from envmill.sandbox.launch import pick_cores
from envmill.sandbox.link import DriverLink


class DriverPool:
    """Finds a living driver for a program; one that died is replaced."""

    def __init__(
        self,
        hash_seed: int,
        without: Collection[str],
        trusting: bool,
        drivers: int | None = None,
        pinned: bool = True,
        diagnose: bool = False,
    ) -> None:
        self._hash_seed = hash_seed
        self._without = without
        self._trusting = trusting
        cores = pick_cores()
        self._cores = [cores[number % len(cores)] for number in range(drivers or len(cores))]
        self._pinned = pinned
        self._diagnose = diagnose
        self._links: dict[int, DriverLink] = {}
        """By their place among the cores."""
        self._starting: dict[int, asyncio.Task[DriverLink]] = {}
        self._closed = False

    async def find(self, program: Message) -> DriverLink:
        """The driver with the least to do; among equals one that has met the program."""
        best = self._choose(program)
        if best is None:
            best = await self._start(self._place())
        elif best.load and len(self._links) + len(self._starting) < len(self._cores):
            # Nobody waits for it: this request is served by a driver that runs.
            self._begin(self._place()).add_done_callback(_forget_failure)
        return best

    def links(self) -> list[DriverLink]:
        """The living drivers."""
        return [link for link in self._links.values() if not link.death]

    async def close(self) -> None:
        """Kill every driver."""
        self._closed = True
        started = await asyncio.gather(*self._starting.values(), return_exceptions=True)
        living = {
            *self._links.values(),
            *(link for link in started if isinstance(link, DriverLink)),
        }
        await asyncio.gather(*(link.close() for link in living))

    def _choose(self, program: Message) -> DriverLink | None:
        return min(
            self.links(), key=lambda link: (link.load, not link.knows(program)), default=None
        )

    def _place(self) -> int:
        """A place without a living driver, preferably one that nobody is filling already."""
        free = [
            place
            for place in range(len(self._cores))
            if place not in self._links or self._links[place].death
        ]
        return min(free, key=lambda place: place in self._starting)

    def _begin(self, place: int) -> "asyncio.Task[DriverLink]":
        if place not in self._starting:
            self._starting[place] = asyncio.create_task(self._open(place))
        return self._starting[place]

    async def _start(self, place: int) -> DriverLink:
        # Shielded: whoever stops waiting must not leave a driver half started to the others.
        return await asyncio.shield(self._begin(place))

    async def _open(self, place: int) -> DriverLink:
        try:
            dead = self._links.pop(place, None)
            if dead:
                await dead.close()
            link = await DriverLink.start(
                self._hash_seed,
                self._without,
                self._cores[place] if self._pinned else None,
                self._diagnose,
            )
            if not self._trusting and not any(link.layers[name] for name in KERNEL_LAYERS):
                await link.close()
                raise SandboxError(
                    "This kernel offers neither seccomp nor Landlock nor namespaces, so generated "
                    "code would run unconfined. "
                    "Use another machine, or give --trust-generated-code "
                    "(ENVMILL_TRUST_GENERATED_CODE=1) if you trust every program."
                )
            self._links[place] = link
            return link
        finally:
            self._starting.pop(place, None)


def _forget_failure(task: "asyncio.Task[DriverLink]") -> None:
    # A further driver that does not start is no harm: the next request tries again.
    if not task.cancelled():
        task.exception()
