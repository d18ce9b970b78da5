"""The vendored jail behind the same two methods as the sandbox, so that one test asks both."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from envmill.runtime.jail.client import Jail
from envmill.runtime.jail.wire import Message
from envmill.sandbox import Observation, Program
from envmill.sandbox.plan import Step
from envmill.sandbox.vendor import write_jail


class Vendored:
    """A jail that runs from an exported folder; it is shown programs as the sandbox is."""

    def __init__(self, jail: Jail) -> None:
        self._jail = jail

    def layers(self) -> dict[str, bool]:
        return self._jail.layers

    async def play(
        self, program: Program, steps: Sequence[Step], *, in_place: bool = False
    ) -> list[Observation]:
        request: Message = {
            "op": "play",
            "program": program.message,
            "steps": [step.message() for step in steps],
            "in_place": in_place,
        }
        return [_read(message) for message in await asyncio.to_thread(self._jail.ask, request)]

    async def count(self) -> list[Message]:
        return await asyncio.to_thread(self._jail.ask, {"op": "count"})


@contextmanager
def open_vendored(
    folder: Path, *, without: Collection[str] = (), trusted: bool = False
) -> Iterator[Vendored]:
    """Export any program to the folder, and open the jail that lies in it."""
    write_jail(folder, Program({}, "", []))
    with Jail(folder / "runtime", without=without, trusted=trusted) as jail:
        yield Vendored(jail)


def _read(message: Message) -> Observation:
    return Observation.read(
        message, None if message["state"] is None else orjson.loads(message["state"])
    )
