"""What every engine of containers offers: `up · shell · run · put · get · snapshot · changes ·
reset · down`.

A container that broke raises SandboxError. What a command does, to itself, its shell or its
container, is an answer with a name.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from envmill.sandbox.containers.image import CachedImage

Outcome: TypeAlias = Literal["done", "ended", "timeout"]
"""`done`: it ended by itself; `ended`: it ended the shell it ran in, by `exit` or a signal;
`timeout`: it was killed."""


@dataclass(frozen=True)
class ContainerLimits:
    """What one container may take."""

    memory: int = 1 << 30
    """Bytes, those of its files among them."""
    processes: int = 256
    disk: int = 512 << 20
    """Bytes of all it writes."""
    cores: float = 1.0


@dataclass(frozen=True)
class CommandResult:
    """What became of a command or program."""

    outcome: Outcome
    code: int | None
    """Exit code, negative for a signal; None after a time-out. A command can make its shell say
    any; a program's is the kernel's word."""
    output: bytes
    """What it printed, both streams as they came; of much, the beginning and the end."""
    left_out: int = 0
    """Bytes between the two that are not here."""
    alive: bool = True
    """Whether the shell lives on; otherwise the next command gets a new one, in its home and with
    nothing remembered."""

    @property
    def text(self) -> str:
        """The output as people read it."""
        if not self.left_out:
            return self.output.decode(errors="replace")
        half = len(self.output) // 2
        parts = [part.decode(errors="replace") for part in (self.output[:half], self.output[half:])]
        return f"{parts[0]}\n[{self.left_out} bytes left out]\n{parts[1]}"


@dataclass(frozen=True)
class FileResult:
    """What became of a file that was put or asked for."""

    content: bytes | None
    """None when it was refused."""
    reason: str = ""
    code: str = ""
    """Name of the refusal, like ENOENT or ENOSPC."""


class Digest(NamedTuple):
    """What a file is, without its content."""

    mark: str
    """It is another one whenever something was written to the file, or it was replaced."""
    content: str
    """Digest of what is in it; empty where the mark was the known one."""


@dataclass(frozen=True)
class ContainerLayer:
    """What a container had written when it was looked at; another can begin with it, in the same
    engine."""

    image: CachedImage
    names: tuple[str, ...]
    """What it stands on, lowest first, itself last."""
    size: int
    """Bytes that its last layer holds."""


@dataclass(frozen=True)
class PathChange:
    """A path over the image."""

    path: str
    kind: Literal["file", "folder", "link", "removed", "other", "written"]
    """`written`: there, and the engine does not say what it is."""


class OverlayEntry(NamedTuple):
    """A path over the image, as the engine sees it."""

    path: str
    kind: str
    """file, folder, link, removed, other."""
    hides: bool
    """A folder of which nothing below it shows."""
    marked: bool
    """Whether it bears attributes, as finer rights are: what they say is not told."""
    changed: int
    """When its content was changed, in nanoseconds; a command can set it."""
    owner: str
    """Mode and owners, as they are inside."""
    told: str
    """Size and change time of a file, which no command can set; where a link leads."""


class OverlayContent(NamedTuple):
    """All that lies over what a container was begun with."""

    entries: list[OverlayEntry]
    mounts: list[str]
    """What is mounted where, as its first process sees it."""


class Container(Protocol):
    """A live one. One question at a time; the next waits."""

    async def shell(
        self, command: str, *, seconds: float = 30, cap: int = 1 << 20
    ) -> CommandResult:
        """A command in the shell that stays: its folder, variables and functions are there for the
        next."""
        ...

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
        """A program beside the shell, with nothing of what the shell has become; for graders and
        services. Into one that `judges` no
        other program of the container can look, its standard input included."""
        ...

    async def put(
        self, path: str, content: bytes, *, mode: int = 0o644, user: str = "root"
    ) -> FileResult:
        """A file with this content in place of whatever had the name. Folders above it are made."""
        ...

    async def get(self, path: str, *, cap: int = 16 << 20) -> FileResult:
        """A regular file's content."""
        ...

    async def digest(self, paths: Sequence[str], known: Mapping[str, str]) -> dict[str, Digest]:
        """What each of these files is, as far as it is there; those whose mark is known are not
        read."""
        ...

    async def snapshot(self) -> ContainerLayer:
        """Its files as they are now. Processes stand still meanwhile and are no part of it."""
        ...

    async def changes(self) -> list[PathChange]:
        """Every path that differs from what it was begun with, folders on the way included."""
        ...

    async def list_written(self) -> OverlayContent | None:
        """What `changes` says, and what each of them is, without a program in the container; None
        where the engine cannot tell."""
        ...

    async def is_still(self) -> bool:
        """Whether nothing runs besides its shell and nothing is kept in memory, so that its files
        are all there is of it."""
        ...

    async def list_full(self, folders: Sequence[str], size: int) -> list[str]:
        """Those of the folders in which there is no room for so many bytes."""
        ...

    async def hold(self) -> None:
        """Stop every process in it, until `release`."""
        ...

    async def release(self) -> None:
        """Let every process go on."""
        ...

    async def copy(self, without: Sequence[str] = ()) -> "Container":
        """Another container that begins with the files as they are now, but for what lies in these
        folders. Processes are held
        meanwhile, and go on afterwards. It has no memory: nothing runs in it, and what was kept
        there is gone."""
        ...

    async def seal(self, opened: Sequence[str] = ()) -> None:
        """From now on nothing in it can write to programs, libraries and settings, but for the
        opened folders among them. Nothing that
        ran need go on, and what is in memory may go."""
        ...

    async def quell(self) -> None:
        """End every process in it; files stay."""
        ...

    async def reset(self, layer: ContainerLayer | None = None) -> None:
        """As after `up`, with the layer's files or those it was begun with."""
        ...

    async def down(self) -> None:
        """End it. Nothing of it is left."""
        ...


@dataclass(frozen=True)
class EngineCondition:
    """Whether an engine works on this machine, and what does not hold where it does."""

    works: bool
    why: str = ""
    """Why it does not work."""
    strong: Sequence[str] = ()
    """What keeps a container in."""
    weak: Sequence[str] = ()
    """Limits that do not hold here, each with its consequence."""
    mend: str = ""
    facts: Mapping[str, str] = field(default_factory=dict[str, str])


class Engine(Protocol):
    """Makes containers. Open it with `open_engine`; what it made goes with it."""

    name: ClassVar[str]
    branches: ClassVar[bool]
    """Whether beginning with a layer, and the list of what was changed since, cost less than
    setting a machine up and listing it whole."""
    condition: EngineCondition

    async def up(
        self,
        image: CachedImage,
        *,
        layer: ContainerLayer | None = None,
        limits: ContainerLimits = ContainerLimits(),
        user: str = "root",
    ) -> Container:
        """A container with the image's files, or a layer's, whose shell is this user's."""
        ...

    async def forget(self, layer: ContainerLayer) -> None:
        """Drop the last of a layer's names; containers that stand on it go on."""
        ...

    async def close(self) -> None: ...


@asynccontextmanager
async def lend(
    engine: Engine,
    image: CachedImage,
    *,
    layer: ContainerLayer | None = None,
    limits: ContainerLimits = ContainerLimits(),
    user: str = "root",
) -> AsyncGenerator[Container]:  # fmt: skip
    """A container for the length of a block."""
    container = await engine.up(image, layer=layer, limits=limits, user=user)
    try:
        yield container
    finally:
        await container.down()
