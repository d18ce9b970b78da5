"""Boxes: containers without a daemon. Namespaces, an overlay over the unpacked image, control
groups, a filter; by a nursery of our own."""

import asyncio
import contextlib
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT
from envmill.runtime.box.rootfs import SHIFT
from envmill.runtime.box.supervisor import LARGEST
from envmill.sandbox.containers.base import (
    ContainerLayer,
    ContainerLimits,
    EngineCondition,
    OverlayContent,
    OverlayEntry,
    PathChange,
)
from envmill.sandbox.containers.image import CachedImage
from envmill.sandbox.containers.init_connection import InitConnection
from envmill.sandbox.containers.kept import Kept

_STARTS = 30.0
"""Seconds for a nursery to say its first word on a loaded machine."""
_ANSWERS = 120.0
_WEAK = {
    "users": "it has one user only: services that change theirs fail, and `user` can only be root",
    "filter": "no system call is denied but by lack of rights",
    "groups": "memory and processor time are not bounded",
}
"""What a nursery may find lacking → what that means."""


class Boxes:
    """The engine. Its nursery ends with it, and so does every box."""

    name: ClassVar[str] = "box"
    branches: ClassVar[bool] = True

    def __init__(
        self, process: subprocess.Popen[bytes], wire: socket.socket, hello: dict[str, Any]
    ) -> None:
        self._process, self._wire = process, wire
        self._numbers = count(1)
        self._due: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._broken = ""
        self._shift = SHIFT if hello["users"] else -1
        self._trees: dict[str, Path] = {}
        self.condition = _describe(hello)
        asyncio.get_running_loop().add_reader(wire.fileno(), self._read_answers)

    @classmethod
    async def open(cls, images: Path) -> "Boxes":
        """Start a nursery; SandboxError says why this machine cannot."""
        if platform.system() != "Linux":
            raise SandboxError(
                f"Boxes need Linux, and this is {platform.system() or 'something else'}."
            )
        if any(letter in str(images) for letter in ":,\\"):
            raise SandboxError(
                f"An overlay cannot be made over {images}: name a folder without : , \\ by "
                "ENVMILL_IMAGES."
            )
        store = images / ".store"
        try:
            store.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxError(
                f"Boxes need a folder of their own, and {store} cannot be made "
                f"({error.strerror}): set ENVMILL_IMAGES."
            ) from None
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.setblocking(False)
        with theirs:
            process = _launch(theirs.fileno(), store)
        hello = await _await_hello(mine)
        if hello["hello"]:
            return cls(process, mine, hello)
        mine.close()
        await asyncio.to_thread(process.wait)
        raise SandboxError(f"Boxes do not work here: {hello['why']}.", why=hello["why"])

    async def up(
        self, image: CachedImage, *, layer: ContainerLayer | None = None, limits: ContainerLimits = ContainerLimits(), user: str = "root"  # noqa: B008
    ) -> "Box":  # fmt: skip
        box = Box(self, image, layer, limits, user)
        await box.begin(layer)
        return box

    async def forget(self, layer: ContainerLayer) -> None:
        await self.ask({"op": "forget", "layer": layer.names[-1]})

    async def close(self) -> None:
        self._end("The engine was closed.")
        try:
            await asyncio.to_thread(self._process.wait, 20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def unpack(self, image: CachedImage) -> Path:
        """The image's tree as this engine needs it. Unpacking takes seconds, once."""
        if (tree := self._trees.get(image.digest)) and tree.is_dir():
            return tree
        try:
            self._trees[image.digest] = await asyncio.to_thread(image.unpack, self._shift)
        except OSError as error:
            raise SandboxError(
                f"The image in {image.folder} cannot be unpacked: {error}. Free space there, or "
                "set ENVMILL_IMAGES."
            ) from None
        return self._trees[image.digest]

    def number(self) -> int:
        return next(self._numbers)

    async def settle(self) -> None:
        """Until boxes like the last one are ready ahead."""
        await self.ask({"op": "settle"})

    async def empty(self) -> None:
        """Take down what is ready ahead."""
        await self.ask({"op": "empty"})

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request to the nursery and its answer; SandboxError when it could not be done."""
        if self._broken:
            raise SandboxError(self._broken)
        number = self.number()
        text = json.dumps({"id": number, **request}).encode()
        answer = self._due[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(text)
            async with asyncio.timeout(_ANSWERS):
                found = await answer
        except (OSError, TimeoutError) as error:
            self._end(f"The nursery of boxes does not answer ({type(error).__name__}).")
            raise SandboxError(f"{self._broken} Open another engine and retry.") from None
        finally:
            self._due.pop(number, None)
        if "broken" in found:
            raise SandboxError(
                f"A box could not do {request['op']}: {found['broken']}. Retry; `envmill doctor` "
                "says what holds here."
            )
        return found

    def send(self, request: dict[str, Any]) -> None:
        """One request whose answer nobody waits for."""
        if not self._broken:
            with contextlib.suppress(OSError):  # whoever does not take it is about to end
                self._wire.send(json.dumps({"id": self.number(), **request}).encode())

    async def _send(self, text: bytes) -> None:
        while True:
            try:
                self._wire.send(text)
                return
            except BlockingIOError:
                await asyncio.sleep(0.001)

    def _read_answers(self) -> None:
        try:
            text, descriptors, _, _ = socket.recv_fds(
                self._wire, LARGEST, 1, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return
        except OSError:
            text, descriptors = b"", []
        if not text:
            self._end("The nursery of boxes died; its boxes with it.")
            return
        answer = json.loads(text) | {"wire": next(iter(descriptors), -1)}
        if (due := self._due.get(answer["id"])) and not due.done():
            due.set_result(answer)
        elif answer["wire"] >= 0:
            os.close(answer["wire"])  # whoever asked has given up

    def _end(self, why: str) -> None:
        if self._broken:
            return
        self._broken = why
        asyncio.get_running_loop().remove_reader(self._wire.fileno())
        self._wire.close()
        for due in self._due.values():
            if not due.done():
                due.set_exception(SandboxError(f"{why} Open another engine and retry."))


class Box(Kept):
    """One box."""

    def __init__(
        self,
        engine: Boxes,
        image: CachedImage,
        layer: ContainerLayer | None,
        limits: ContainerLimits,
        user: str,
    ) -> None:
        self._engine, self._image, self._limits, self._user = engine, image, limits, user
        self._begun = layer
        self._name = ""

    async def begin(self, layer: ContainerLayer | None, *, once: bool = False) -> None:
        """Be a new box; of those that are needed `once` none is kept ready."""
        tree = await self._engine.unpack(self._image)
        self._name = f"box{self._engine.number()}"
        request = {
            "op": "up", "name": self._name, "tree": str(tree), "layers": layer.names if layer else (), "user": self._user,
            "memory": self._limits.memory, "processes": self._limits.processes, "disk": self._limits.disk, "cores": self._limits.cores,
            "once": once,
        }  # fmt: skip
        try:
            answer = await self._engine.ask(request)
        except BaseException:
            self._engine.send({"op": "down", "name": self._name})
            raise
        mine = socket.socket(fileno=answer["wire"])
        self._begun = layer
        _, self._talk = await asyncio.get_running_loop().create_connection(
            InitConnection, sock=mine
        )
        try:
            await self._talk.wait_ready()
        except BaseException:
            await self.down()
            raise

    async def copy(self, without: Sequence[str] = ()) -> "Box":
        layer = await self._keep(without)
        box = Box(self._engine, self._image, layer, self._limits, "root")
        try:
            await box.begin(layer, once=True)
        finally:
            await self._engine.forget(layer)
        return box

    async def snapshot(self) -> ContainerLayer:
        return await self._keep(())

    async def _keep(self, without: Sequence[str]) -> ContainerLayer:
        name = f"layer{self._engine.number()}"
        await self.hold()
        try:
            answer = await self._engine.ask(
                {"op": "snapshot", "name": self._name, "layer": name, "without": list(without)}
            )
        finally:
            await self.release()
        below = self._begun.names if self._begun else ()
        return ContainerLayer(self._image, (*below, name), answer["bytes"])

    async def changes(self) -> list[PathChange]:
        answer = await self._engine.ask({"op": "changes", "name": self._name})
        if "too_many" in answer:
            raise SandboxError(
                f"The box changed {answer['too_many']} paths: more than are told. Look at its "
                "folders by `run` instead."
            )
        return [PathChange(path, kind) for path, kind in answer["changes"]]

    async def list_written(self) -> OverlayContent | None:
        answer = await self._engine.ask({"op": "written", "name": self._name})
        return (
            None
            if "too_many" in answer
            else OverlayContent(
                [OverlayEntry(*each) for each in answer["written"]], answer["mounts"]
            )
        )

    async def _leave(self) -> None:
        with contextlib.suppress(SandboxError):  # a nursery that is gone took it along
            await self._engine.ask({"op": "down", "name": self._name})


async def _await_hello(wire: socket.socket) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_STARTS):
            text = await asyncio.get_running_loop().sock_recv(wire, LARGEST)
    except TimeoutError:
        return {"hello": False, "why": f"their nursery did not start within {_STARTS:g} s"}
    return json.loads(text) if text else {"hello": False, "why": "their nursery died at its start"}


def _describe(hello: dict[str, Any]) -> EngineCondition:
    held = {"users": hello["users"], "filter": hello["filter"], "groups": not hello["groups"]}
    strong = [
        "namespaces",
        "capabilities dropped",
        "no_new_privs",
        *(["own users"] if held["users"] else []),
    ]
    strong += [
        *(["filter"] if held["filter"] else []),
        *(["groups"] if held["groups"] else []),
        "no network",
        "disk bounded",
    ]
    weak = [
        meaning + (f" ({hello['groups']})" if name == "groups" else "")
        for name, meaning in _WEAK.items()
        if not held[name]
    ]
    mend = "As root, and where control groups may be written, all of it holds." if weak else ""
    return EngineCondition(True, "", strong, weak, mend)


def _launch(descriptor: int, store: Path) -> subprocess.Popen[bytes]:
    """With a clean environment. It ends when its wire does, so it needs no other tie to this
    process's life."""
    return subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-m", "envmill.runtime.box.supervisor", str(descriptor), str(store)],
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}, pass_fds=[descriptor], cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
