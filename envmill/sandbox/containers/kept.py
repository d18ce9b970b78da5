"""A container as every engine has it: its keeper answers over one wire, whatever made the
container."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from envmill.base.errors import SandboxError
from envmill.sandbox.containers.base import (
    CommandResult,
    ContainerLayer,
    Digest,
    FileResult,
    OverlayContent,
)
from envmill.sandbox.containers.init_connection import InitConnection


class Kept(ABC):
    """One container; engines say how it begins and how it goes."""

    _begun: ContainerLayer | None = None
    _talk: InitConnection | None = None

    @abstractmethod
    async def begin(self, layer: ContainerLayer | None) -> None:
        """Be a new container, on what a layer holds."""

    @abstractmethod
    async def _leave(self) -> None:
        """Tell the engine that it is no longer wanted."""

    async def shell(
        self, command: str, *, seconds: float = 30, cap: int = 1 << 20
    ) -> CommandResult:
        return await self._talking().shell(command, seconds, cap)

    async def run(
        self,
        words: Sequence[str],
        *,
        seconds: float = 30,
        given: bytes = b"",
        user: str = "root",
        environment: Mapping[str, str] | None = None,
        cap: int = 1 << 20,
        judges: bool = False,
    ) -> CommandResult:
        return await self._talking().run(words, seconds, given, user, environment, cap, judges)

    async def put(
        self, path: str, content: bytes, *, mode: int = 0o644, user: str = "root"
    ) -> FileResult:
        return await self._talking().put(path, content, mode, user)

    async def get(self, path: str, *, cap: int = 16 << 20) -> FileResult:
        return await self._talking().get(path, cap)

    async def digest(self, paths: Sequence[str], known: Mapping[str, str]) -> dict[str, Digest]:
        return await self._talking().digest(paths, known)

    async def is_still(self) -> bool:
        return await self._talking().is_still()

    async def list_full(self, folders: Sequence[str], size: int) -> list[str]:
        return await self._talking().list_full(folders, size)

    async def hold(self) -> None:
        await self._talking().hold()

    async def release(self) -> None:
        await self._talking().ask({"op": "release"})

    async def seal(self, opened: Sequence[str] = ()) -> None:
        await self._talking().seal(opened)

    async def list_written(self) -> OverlayContent | None:
        return None

    async def quell(self) -> None:
        await self._talking().ask({"op": "quell"})

    async def reset(self, layer: ContainerLayer | None = None) -> None:
        begun = layer or self._begun
        await self.down()
        await self.begin(begun)

    async def down(self) -> None:
        if self._talk:
            self._talk.end("The container was taken down.")
            self._talk = None
            await self._leave()

    def _talking(self) -> InitConnection:
        if not self._talk:
            raise SandboxError("The container was stopped: start another.")
        return self._talk
