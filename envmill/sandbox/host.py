"""A host: what opens sessions of a kind whose state no process of the jail holds. Kinds bring
theirs; the sandbox knows none by name."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from envmill.runtime.interface import ToolEntry
from envmill.sandbox.plan import Observation, Step


class HostedSession(Protocol):
    """One session, for one step after the other."""

    async def play(self, step: Step) -> Observation: ...


class Host(Protocol):
    """Opens sessions on an environment's files, and closes whatever they stand on."""

    def open(
        self, files: Mapping[str, str], tools: Sequence[ToolEntry], *, fresh: bool = False
    ) -> AbstractAsyncContextManager[HostedSession]:
        """A session in which nothing was begun yet; a `fresh` one owes nothing to any that was
        before."""
        ...

    async def close(self) -> None: ...
