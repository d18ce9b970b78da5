# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Docker: each container runs our keeper as its first process, and one attached connection is its
wire; nothing is ever exec'ed in it.

When the driver dies its connections close, each keeper reads the end of its wire and ends, and the
engine removes what ended.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import docker
from docker.errors import APIError, DockerException

import envmill.runtime.box.init as keeper
from envmill.base.errors import SandboxError
from envmill.sandbox.containers import reaper
from envmill.sandbox.containers.base import (
    ContainerLayer,
    ContainerLimits,
    EngineCondition,
    PathChange,
)
from envmill.sandbox.containers.image import CachedImage
from envmill.sandbox.containers.init_connection import InitConnection
from envmill.sandbox.containers.kept import Kept

REPOSITORY = "envmill/root"
LAYERS = "envmill/layer"
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT",
                "LEASE")  # fmt: skip
_SECONDS = 120
_PATIENCE = 10
"""Seconds for a daemon to say that it is there."""
_T = TypeVar("_T")
_Want = tuple[str, ContainerLimits, str]
"""Tag, limits, user: containers that agree in these are as good as one another."""


class DockerStream(InitConnection):
    """A keeper's wire as Docker hands it on: pieces of both streams, each with its length before
    it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = bytearray()
        self.complaint = b""
        """What the container said that is no answer."""

    def data_received(self, data: bytes) -> None:
        self._pieces += data
        while len(self._pieces) >= 8 and len(self._pieces) >= (
            end := 8 + int.from_bytes(self._pieces[4:8], "big")
        ):
            stream, piece = self._pieces[0], bytes(self._pieces[8:end])
            del self._pieces[:end]
            if stream == 1:
                super().data_received(piece)
            else:
                self.complaint = (self.complaint + piece)[-2000:]

    def connection_lost(self, exc: Exception | None) -> None:
        told = self.complaint.decode(errors="replace").strip()
        self.end(f"The container ended{f': {told}' if told else f' ({exc})' if exc else ''}.")


class Docker:
    """The engine: a daemon's client, and containers kept ready."""

    name: ClassVar[str] = "docker"
    branches: ClassVar[bool] = False

    def __init__(self, client: docker.APIClient, spares: int, bounded: bool) -> None:
        self.client, self._spares, self.bounded = client, spares, bounded
        self.driver = reaper.name_driver()
        self._ready: dict[_Want, deque[tuple[str, DockerStream]]] = {}
        self._making: set[asyncio.Task[None]] = set()
        weak = (
            []
            if bounded
            else [
                "the disk a container takes is not bounded: its storage cannot (overlay2 on XFS "
                "with pquota can)"
            ]
        )
        strong = [
            "namespaces",
            "capabilities dropped",
            "no_new_privs",
            "Docker's filter",
            "groups",
            "no network",
        ]
        self.condition = EngineCondition(
            True, "", [*strong, *(["disk bounded"] if bounded else [])], weak
        )

    @classmethod
    async def open(cls, host: str, spares: int = 2) -> "Docker":
        """A client of the daemon at an address. What drivers that died left there is removed."""
        client = await asyncio.to_thread(connect, host)
        info = await asyncio.to_thread(client.info)
        if info.get("OSType") != "linux":
            raise SandboxError(
                f"The Docker daemon at {host} runs {info.get('OSType')} containers: name one with "
                "Linux's as DOCKER_HOST."
            )
        await asyncio.to_thread(reaper.sweep, client)
        facts = dict(info.get("DriverStatus") or [])
        bounded = (
            info.get("Driver") in ("btrfs", "zfs", "devicemapper")
            or facts.get("Backing Filesystem") == "xfs"
        )
        return cls(client, spares, bounded)

    async def up(
        self, image: CachedImage, *, layer: ContainerLayer | None = None, limits: ContainerLimits = ContainerLimits(), user: str = "root"  # noqa: B008
    ) -> "DockerContainer":  # fmt: skip
        found = DockerContainer(self, image, limits, user)
        await found.begin(layer)
        return found

    async def forget(self, layer: ContainerLayer) -> None:
        tag = f"{LAYERS}:{layer.names[-1]}"
        await self._drop([want for want in self._ready if want[0] == tag])
        with contextlib.suppress(APIError):  # children of it keep what they need
            await asyncio.to_thread(self.client.remove_image, tag, force=True)

    async def close(self) -> None:
        for making in list(self._making):
            making.cancel()
        await asyncio.gather(*self._making, return_exceptions=True)
        await self._drop(list(self._ready))
        await asyncio.to_thread(self.client.close)

    async def find(self, image: CachedImage, layer: ContainerLayer | None) -> str:
        """The tag to begin from; an image that the daemon does not have is brought to it."""
        if layer:
            return f"{LAYERS}:{layer.names[-1]}"
        tag = f"{REPOSITORY}:{image.digest[:16]}"
        if not await asyncio.to_thread(_has_image, self.client, tag):
            await asyncio.to_thread(_import, self.client, image.tarball, image.digest[:16])
        return tag

    async def take(self, want: _Want) -> tuple[str, DockerStream]:
        """A container that is ready, or one made now; others like it are made ready meanwhile."""
        waiting = self._ready.setdefault(want, deque())
        found = waiting.popleft() if waiting else None
        while found and found[1].broken:
            await self.remove(found[0])
            found = waiting.popleft() if waiting else None
        taken = found or await self.make(want)
        for _ in range(self._spares - len(waiting) - len(self._making)):
            making = asyncio.create_task(self._make_ready(want))
            self._making.add(making)
            making.add_done_callback(self._making.discard)
        return taken

    async def settle(self) -> None:
        """Until those that are being made ready are."""
        await asyncio.gather(*self._making, return_exceptions=True)

    async def remove(self, number: str) -> None:
        with contextlib.suppress(
            APIError
        ):  # it removes itself when its keeper ends; whoever comes second is told so
            await asyncio.to_thread(self.client.remove_container, number, force=True, v=True)

    async def ask(self, what: Callable[[], _T]) -> _T:
        """What the daemon answers, asked in a thread."""
        try:
            return await asyncio.to_thread(what)
        except (DockerException, OSError) as error:
            raise SandboxError(
                f"Docker's daemon refused: {_shorten(error)}. Retry; `envmill doctor` says "
                "whether it is there."
            ) from None

    async def _drop(self, wants: Sequence[_Want]) -> None:
        """Take down what was kept ready for these."""
        for want in wants:
            for number, wire in self._ready.pop(want):
                wire.end("It is not needed any more.")
                await self.remove(number)

    async def _make_ready(self, want: _Want) -> None:
        with contextlib.suppress(SandboxError):  # whoever needs it makes it then, and is told
            self._ready.setdefault(want, deque()).append(await self.make(want))

    async def make(self, want: _Want, works: Sequence[str] = ()) -> tuple[str, DockerStream]:
        """A new one. Where folders are named that it works in, nothing else on its disk can be
        written to."""
        number, near = await self.ask(lambda: _create(self, want, works))
        _, wire = await asyncio.get_running_loop().create_connection(DockerStream, sock=near)
        try:
            await self.ask(lambda: self.client.start(number))
            await wire.wait_ready()
        except BaseException:
            wire.end("It did not start.")
            await self.remove(number)
            raise
        return number, wire


def connect(host: str) -> docker.APIClient:
    """A client of the daemon; SandboxError where none answers."""
    try:
        if host.startswith("unix://"):
            with socket.socket(
                socket.AF_UNIX
            ) as first:  # the client would leave its socket open where nobody listens
                first.settimeout(_PATIENCE)
                first.connect(host.removeprefix("unix://"))
        client = docker.APIClient(base_url=host, timeout=_PATIENCE, version="auto")
        client.ping()
    except (DockerException, OSError) as error:
        raise SandboxError(
            f"No Docker daemon answers at {host} ({_shorten(error)}). Start it, or name another "
            "as DOCKER_HOST."
        ) from None
    client.timeout = _SECONDS
    return client


class DockerContainer(Kept):
    """One container."""

    def __init__(
        self, engine: Docker, image: CachedImage, limits: ContainerLimits, user: str
    ) -> None:
        self._engine, self._image, self._limits, self._user = engine, image, limits, user
        self._number = ""
        self._once: ContainerLayer | None = None
        """A layer that nobody else begins with."""

    async def begin(self, layer: ContainerLayer | None) -> None:
        """Be a container of the pool."""
        tag = await self._engine.find(self._image, layer)
        self._begun = layer
        self._number, self._talk = await self._engine.take((tag, self._limits, self._user))

    async def snapshot(self) -> ContainerLayer:
        name = f"{self._engine.driver}-{secrets.token_hex(6)}"
        label = f"LABEL {reaper.LABEL}={self._engine.driver}"
        # The daemon holds its processes still meanwhile.
        client = self._engine.client
        size = await self._engine.ask(lambda: _commit(client, self._number, name, label))
        below = self._begun.names if self._begun else ()
        return ContainerLayer(self._image, (*below, name), size)

    async def copy(self, without: Sequence[str] = ()) -> "DockerContainer":
        layer = await self.snapshot()
        found = DockerContainer(self._engine, self._image, self._limits, "root")
        found._once = found._begun = layer
        try:
            found._number, found._talk = await self._engine.make(
                (await self._engine.find(self._image, layer), self._limits, "root")
            )
        except BaseException:
            await self._engine.forget(layer)
            raise
        await found.run(["/usr/bin/find", *without, "-mindepth", "1", "-delete"])
        return found

    async def seal(self, opened: Sequence[str] = ()) -> None:
        """The daemon decides what is read-only when a container begins: so this one goes on as
        another, with the same files."""
        works, layer = await self._talking().list_works(opened), await self.snapshot()
        try:
            number, talk = await self._engine.make(
                (await self._engine.find(self._image, layer), self._limits, self._user), works
            )
        except BaseException:
            await self._engine.forget(layer)
            raise
        await self.down()
        self._number, self._talk, self._once = number, talk, layer

    async def changes(self) -> list[PathChange]:
        found = await self._engine.ask(lambda: _diff(self._engine.client, self._number))
        return [
            PathChange(one["Path"], "removed" if one["Kind"] == 2 else "written") for one in found
        ]

    async def _leave(self) -> None:
        await self._engine.remove(self._number)
        if self._once:
            await self._engine.forget(self._once)
            self._once = None


def _create(engine: Docker, want: _Want, works: Sequence[str] = ()) -> tuple[str, socket.socket]:
    """A container that is not started yet, and our end of its streams: what it says first is not
    missed. Folders that it works in become
    volumes without a name, which begin with what the image has there and go with the container."""
    tag, limits, user = want
    client = engine.client
    host = client.create_host_config(
        network_mode="none", cap_drop=["ALL"], cap_add=list(CAPABILITIES), security_opt=["no-new-privileges"], auto_remove=True,
        read_only=bool(works), pids_limit=limits.processes, mem_limit=limits.memory, memswap_limit=limits.memory,
        nano_cpus=int(limits.cores * 1e9),
        ipc_mode="private", shm_size=64 << 20, tmpfs={"/run": "size=16m,mode=755,exec"}, log_config={"Type": "none", "Config": {}},
        storage_opt={"size": str(limits.disk)} if engine.bounded else None,
        ulimits=[{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": 4096, "Hard": 4096}],
    )  # fmt: skip
    made = client.create_container(
        tag, command=["python3", "-I", "-c", _TEXT, user], entrypoint=[], hostname="box", user="0", working_dir="/", stdin_open=True,
        volumes=list(works), detach=False, labels={reaper.LABEL: engine.driver}, stop_signal=signal.SIGKILL.name, host_config=host,
    )  # fmt: skip
    number: str = made["Id"]
    attached: Any = client.attach_socket(
        number, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    )
    near = socket.socket(fileno=os.dup(attached.fileno()))
    for theirs in (
        attached._sock,
        attached,
    ):  # the client would hold its own copy until it is collected
        theirs.close()
    near.setblocking(False)
    return number, near


def _commit(client: docker.APIClient, number: str, tag: str, label: str) -> int:
    """The bytes that the new layer holds."""
    made = client.commit(number, repository=LAYERS, tag=tag, changes=label)
    return client.history(made["Id"])[0]["Size"]


def _diff(client: docker.APIClient, number: str) -> list[dict[str, Any]]:
    return client.diff(number) or []


def _has_image(client: docker.APIClient, tag: str) -> bool:
    try:
        client.inspect_image(tag)
    except APIError:
        return False
    return True


def _import(client: docker.APIClient, tarball: Path, tag: str) -> None:
    client.import_image_from_file(str(tarball), repository=REPOSITORY, tag=tag)


def _shorten(error: Exception) -> str:
    explained = (
        error.explanation if isinstance(error, APIError) and error.explanation else str(error)
    )
    return str(explained)[:300]


_TEXT = Path(keeper.__file__).read_text(encoding="utf-8")
