"""The process that makes boxes and buries them: a child of the driver, in a mount namespace of its own, so that nothing outlives it.

    driver ──up, down, snapshot, forget──► nursery ──clone──► the first process of a box
                                             └─ overlays and scratch folders, seen from in here only

It runs nobody's code. Started as `python -m envmill.runtime.box.nursery DESCRIPTOR STORE`.
"""

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envmill.runtime.box import denials, groups
from envmill.runtime.box.groups import Group
from envmill.runtime.box.layers import copy_layer, list_changes
from envmill.runtime.box.room import SHIFT, USERS, give_birth, inhabit, keep_private, map_users, mount, unmount
from envmill.runtime.jail.kernel import LIBC, must

Message = dict[str, Any]
_NEW_USER, _NEW_MOUNT = 0x10000000, 0x00020000
_TOLD = 100_000
"""Bytes of a list of changes: what a socket takes in one message is little."""
_FILES = 200_000
"""Files a box may make."""
LARGEST = 1 << 18
"""Bytes of a message."""


@dataclass
class Crib:
    """A box that was made, seen from outside."""

    folder: Path
    layers: Sequence[str] = ()
    pid: int = 0
    group: Group | None = None
    mounts: list[Path] = field(default_factory=list[Path])


class Nursery:
    """Makes and buries boxes for one driver."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.wide = os.geteuid() == 0
        self._cribs: dict[str, Crib] = {}
        self._forgotten: set[str] = set()
        self._dying: list[Crib] = []

    def settle(self) -> Message:
        """Take a place of its own and try everything once; what holds here, and what does not."""
        user, group = os.geteuid(), os.getegid()
        must("unshare", LIBC.unshare(_NEW_MOUNT | (0 if self.wide else _NEW_USER)))
        if not self.wide:
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
                Path("/proc/self", name).write_text(text)
        keep_private()
        mount("tmpfs", str(self.store), "mode=755")
        groups.sweep()
        self._try_box()
        return {"users": self.wide, "filter": denials.supported(), "groups": self._try_groups()}

    def do_up(self, request: Message, wire: int) -> Message:
        """A box that talks over the wire given."""
        name, crib = request["name"], Crib(self.store / request["name"], request["layers"])
        self._cribs[name] = crib
        try:
            self._spread(crib, request)
            crib.group = self._enclose(name, request)
            crib.pid = self._bear(crib, wire, request)
        except BaseException:
            self.do_down(request, -1)
            raise
        finally:
            if crib.group:
                crib.group.shut()
        return {}

    def do_down(self, request: Message, _: int) -> Message:
        """Its first process is killed, and with it all others; it is buried once that is answered."""
        if crib := self._cribs.pop(request["name"], None):
            if crib.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(crib.pid, signal.SIGKILL)
            self._dying.append(crib)
        return {}

    def bury(self) -> None:
        """Whoever was taken down holds no files any more."""
        while self._dying:
            crib = self._dying.pop()
            if crib.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(crib.pid, 0)
            for place in reversed(crib.mounts):
                unmount(str(place))
            with contextlib.suppress(OSError):
                crib.folder.rmdir()
            if crib.group:
                crib.group.remove()
        stood_on = {layer for crib in self._cribs.values() for layer in crib.layers}
        for layer in self._forgotten - stood_on:
            _remove_tree(self.store / layer)
            self._forgotten.discard(layer)

    def do_snapshot(self, request: Message, _: int) -> Message:
        """Copy what a box wrote. Its processes are held still meanwhile."""
        return {"bytes": copy_layer(self._cribs[request["name"]].folder / "upper", self.store / request["layer"])}

    def do_changes(self, request: Message, _: int) -> Message:
        """What a box wrote, as paths; where they are too many, how many there are."""
        found = list(list_changes(self._cribs[request["name"]].folder / "upper"))
        text = json.dumps(found)
        return {"changes": found} if len(text) < _TOLD else {"too_many": len(found)}

    def do_forget(self, request: Message, _: int) -> Message:
        """A layer that nobody begins with any more; it goes with the last box that stands on it."""
        self._forgotten.add(request["layer"])
        return {}

    def close(self) -> None:
        """Bury all."""
        for name in list(self._cribs):
            self.do_down({"name": name}, -1)
        self.bury()

    def _spread(self, crib: Crib, request: Message) -> None:
        crib.folder.mkdir()
        mount("tmpfs", str(crib.folder), f"size={request['disk']},nr_inodes={_FILES},mode=755")
        crib.mounts.append(crib.folder)
        for name in ("upper", "work", "root"):
            (crib.folder / name).mkdir()
            if self.wide:
                os.chown(crib.folder / name, SHIFT, SHIFT)
        lower = ":".join([*(str(self.store / layer) for layer in reversed(request["layers"])), request["tree"]])
        options = f"lowerdir={lower},upperdir={crib.folder}/upper,workdir={crib.folder}/work"
        # A folder that was renamed is copied: then all that is another than below lies in the upper folder.
        mount("overlay", f"{crib.folder}/root", f"{options},redirect_dir=off" if self.wide else f"{options},userxattr")
        crib.mounts.append(crib.folder / "root")

    def _enclose(self, name: str, request: Message) -> Group | None:
        with contextlib.suppress(OSError):
            return Group(name, request["memory"], request["processes"], request["cores"])
        return None

    def _bear(self, crib: Crib, wire: int, request: Message) -> int:
        reader, writer = os.pipe()
        # It is born there: its users may not walk through folders that are closed to others.
        os.chdir(crib.folder)
        pid = give_birth()
        if pid == 0:
            doors = crib.group.doors if crib.group else []
            _become_first(reader, wire, doors, lambda: inhabit(wire, doors, request["user"], self.wide, request["processes"]))
        try:
            map_users(pid, SHIFT if self.wide else 0, USERS if self.wide else 1)
            os.write(writer, b"!")
        finally:
            os.chdir("/")
            os.close(reader)
            os.close(writer)
        return pid

    def _try_box(self) -> None:
        """An empty box lives, or OSError."""
        for name in ("proc", "dev", "run"):
            (self.store / "empty" / name).mkdir(parents=True)
        near, far = socket.socketpair()
        request = {"name": "trial", "tree": str(self.store / "empty"), "layers": (), "user": "root"}
        with near, far:
            self.do_up(request | {"memory": 1 << 30, "processes": 64, "disk": 1 << 20, "cores": 1.0}, far.fileno())
            far.close()
            said = near.recv(4096)
            self.do_down(request, -1)
            self.bury()
        if b"ready" not in said:
            raise OSError(said.decode(errors="replace").removeprefix("broken: ") or "a box's first process died")

    def _try_groups(self) -> str:
        """Empty when limits hold."""
        try:
            Group("trial", 1 << 30, 64, 1.0).remove()
        except OSError as error:
            return str(error)
        return ""


def _become_first(reader: int, wire: int, doors: list[int], inhabit: Callable[[], None]) -> None:
    try:
        kept = {reader, wire, *doors}
        for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
            if number not in kept and number > 2:
                with contextlib.suppress(OSError):
                    os.close(number)
        if os.read(reader, 1) == b"!":
            os.close(reader)
            inhabit()
    except BaseException as error:  # whatever it is, this is not the nursery and must not go on as if it were  # noqa: BLE001
        with contextlib.suppress(OSError):
            os.write(wire, f"broken: {error}".encode())
    finally:
        os._exit(1)


def _remove_tree(folder: Path) -> None:
    """shutil's is imported by nobody here, and does more."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            _remove_tree(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)  # noqa: PTH108
    with contextlib.suppress(OSError):
        folder.rmdir()


def serve(wire: socket.socket, nursery: Nursery) -> None:
    """One request after the other, until the driver is gone."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(wire, LARGEST, 1)
        if not text:
            return
        request = json.loads(text)
        try:
            answer = getattr(nursery, f"do_{request['op']}")(request, descriptors[0] if descriptors else -1)
        except (OSError, KeyError) as error:
            answer = {"broken": str(error)}
        for descriptor in descriptors:
            os.close(descriptor)
        wire.send(json.dumps({"id": request["id"], **answer}).encode())
        nursery.bury()


def main() -> None:
    """Settle, say so, serve, and leave nothing."""
    wire = socket.socket(fileno=int(sys.argv[1]))
    nursery = Nursery(Path(sys.argv[2]))
    try:
        hello = nursery.settle()
    except OSError as error:
        wire.send(json.dumps({"hello": False, "why": str(error)}).encode())
        return
    wire.send(json.dumps({"hello": True, **hello}).encode())
    # What was there before a box is shared with it, and stays so.
    gc.freeze()
    gc.disable()
    try:
        serve(wire, nursery)
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
