"""The process that makes boxes and buries them: a child of the driver, in a mount namespace of its
own, so that nothing outlives it.

    driver ──up, down, snapshot, forget──► nursery ──clone──► the first process of a box
                                             ├─ overlays and scratch folders, seen from in here only
                                             └─ when nobody asks: boxes like the last ones, made ahead

It runs nobody's code. Started as `python -m envmill.runtime.box.supervisor DESCRIPTOR STORE`.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envmill.runtime.box import denials, groups
from envmill.runtime.box.groups import ControlGroup
from envmill.runtime.box.layers import (
    OverlaidPath,
    copy_layer,
    find_kind,
    list_changes,
    list_entries,
)
from envmill.runtime.box.rootfs import (
    SHIFT,
    USERS,
    give_birth,
    inhabit,
    keep_private,
    map_users,
    mount,
    unmount,
)
from envmill.runtime.jail.kernel import LIBC, must

Message = dict[str, Any]
_NEW_USER, _NEW_MOUNT = 0x10000000, 0x00020000
_TOLD = 100_000
"""Bytes of a list of changes: what a socket takes in one message is little."""
_NOBODY = 65534
"""How the kernel calls whoever has no name in a box."""
_FILES = 200_000
"""Files a box may make."""
LARGEST = 1 << 18
"""Bytes of a message."""
_ALIKE = ("tree", "layers", "user", "memory", "processes", "disk", "cores")
"""What makes one box as good as another."""
SPARES = 2
"""Boxes that are kept ready, of the sort that was asked for last; a few megabytes each."""
_IDLE = 0.01
"""Seconds without a request after which one is made: who asks often is not kept waiting by it."""


@dataclass
class BoxHandle:
    """A box that was made, seen from outside."""

    folder: Path
    layers: Sequence[str] = ()
    pid: int = 0
    group: ControlGroup | None = None
    mounts: list[Path] = field(default_factory=list[Path])
    wire: socket.socket | None = None
    """The driver's end, until it is handed over."""


class BoxSupervisor:
    """Makes and buries boxes for one driver."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.wide = os.geteuid() == 0
        self._cribs: dict[str, BoxHandle] = {}
        self._forgotten: set[str] = set()
        self._dying: list[BoxHandle] = []
        self._sort: Message = {}
        self._spares: list[BoxHandle] = []
        self._made = 0

    def settle(self) -> Message:
        """Take a place of its own and try everything once; what holds here, and what does not."""
        user, group = os.geteuid(), os.getegid()
        must("unshare", LIBC.unshare(_NEW_MOUNT | (0 if self.wide else _NEW_USER)))
        if not self.wide:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"0 {user} 1"),
                ("gid_map", f"0 {group} 1"),
            ):
                Path("/proc/self", name).write_text(text)
        keep_private()
        mount("tmpfs", str(self.store), "mode=755")
        groups.sweep()
        self._try_box()
        return {"users": self.wide, "filter": denials.supported(), "groups": self._try_groups()}

    def do_up(self, request: Message) -> Message:
        """A box; its wire goes with the answer."""
        if self._forgotten & set(request["layers"]):
            raise OSError("its layer was forgotten")
        sort = {name: request[name] for name in _ALIKE}
        if request["once"]:
            self._cribs[request["name"]] = self._make(sort)
            return {}
        if sort != self._sort:
            self._drop_spares()
        self._sort = sort
        self._cribs[request["name"]] = self._spares.pop(0) if self._spares else self._make(sort)
        return {}

    def do_settle(self, _: Message) -> Message:
        """Until there are as many spares as there may be."""
        while self.prepare():
            pass
        for crib in self._spares:
            assert crib.wire
            crib.wire.recv(1, socket.MSG_PEEK)
        return {}

    def do_empty(self, _: Message) -> Message:
        """No spares, until a box is asked for again."""
        self._drop_spares()
        self._sort = {}
        return {}

    def prepare(self) -> bool:
        """One more spare, if there is room for it."""
        if not self._sort or len(self._spares) >= SPARES:
            return False
        try:
            self._spares.append(self._make(self._sort))
        except OSError:  # whoever asks for one is told why
            self._sort = {}
            return False
        return True

    def take_wire(self, request: Message) -> socket.socket | None:
        """What the answer to a request takes along."""
        crib = self._cribs.get(request["name"]) if request["op"] == "up" else None
        wire = crib.wire if crib else None
        if crib:
            crib.wire = None
        return wire

    def _make(self, sort: Message) -> BoxHandle:
        self._made += 1
        name = f"box{self._made}"
        crib = BoxHandle(self.store / name, sort["layers"])
        crib.wire, theirs = socket.socketpair()
        try:
            with theirs:
                self._spread(crib, sort)
                crib.group = self._enclose(name, sort)
                crib.pid = self._bear(crib, theirs.fileno(), sort)
        except BaseException:
            self._end(crib)
            raise
        finally:
            if crib.group:
                crib.group.shut()
        return crib

    def _drop_spares(self) -> None:
        while self._spares:
            self._end(self._spares.pop())

    def _end(self, crib: BoxHandle) -> None:
        if crib.wire:
            crib.wire.close()
        if crib.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(crib.pid, signal.SIGKILL)
        self._dying.append(crib)

    def do_down(self, request: Message) -> Message:
        """Its first process is killed, and with it all others; it is buried once that is
        answered."""
        if crib := self._cribs.pop(request["name"], None):
            self._end(crib)
        return {}

    def bury(self, wait: bool = False) -> bool:
        """Whoever was taken down and holds no files any more; whether somebody is left."""
        dying, self._dying = self._dying, []
        for crib in dying:
            if not wait and not _is_gone(crib.pid):
                self._dying.append(crib)
                continue
            self._bury_one(crib)
        stood_on = {
            layer
            for crib in [*self._cribs.values(), *self._spares, *self._dying]
            for layer in crib.layers
        }
        for layer in self._forgotten - stood_on:
            _remove_tree(self.store / layer)
            self._forgotten.discard(layer)
        return bool(self._dying)

    def _bury_one(self, crib: BoxHandle) -> None:
        if crib.pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(crib.pid, 0)
        for place in reversed(crib.mounts):
            unmount(str(place))
        with contextlib.suppress(OSError):
            crib.folder.rmdir()
        if crib.group:
            crib.group.remove()

    def do_snapshot(self, request: Message) -> Message:
        """Copy what a box wrote, but for what lies in some folders. Its processes are held still
        meanwhile."""
        upper = self._cribs[request["name"]].folder / "upper"
        return {
            "bytes": copy_layer(
                upper,
                self.store / request["layer"],
                {str(upper) + path for path in request["without"]},
            )
        }

    def do_changes(self, request: Message) -> Message:
        """What a box wrote, as paths; where they are too many, how many there are."""
        found = list(list_changes(self._cribs[request["name"]].folder / "upper"))
        text = json.dumps(found)
        return {"changes": found} if len(text) < _TOLD else {"too_many": len(found)}

    def do_written(self, request: Message) -> Message:
        """What a box wrote, as paths and what each of them is, and what is mounted in it."""
        crib = self._cribs[request["name"]]
        found = [self._describe_entry(entry) for entry in list_entries(crib.folder / "upper")]
        mounts = Path(f"/proc/{crib.pid}/mounts").read_text(
            encoding="utf-8", errors="surrogateescape"
        )
        told = {"written": found, "mounts": mounts.splitlines()}
        return told if len(json.dumps(told)) < _TOLD else {"too_many": len(found)}

    def _describe_entry(self, entry: OverlaidPath) -> tuple[str, str, bool, bool, int, str, str]:
        """Its path and kind, whether it hides what is below, whether it is marked, its time, rights
        and owners as they are inside, and
        what else tells it from another."""
        seen, kind = entry.seen, find_kind(entry.seen)
        told = f"{seen.st_size} {seen.st_ctime_ns}" if kind == "file" else entry.target
        owner = f"{seen.st_mode:o} {self._name(seen.st_uid)}:{self._name(seen.st_gid)}"
        return entry.path, kind, entry.hides, entry.marked, seen.st_mtime_ns, owner, told

    def _name(self, owner: int) -> int:
        """A user of the box, as it is called in there."""
        number = owner - (SHIFT if self.wide else 0)
        return number if 0 <= number < USERS else _NOBODY

    def do_forget(self, request: Message) -> Message:
        """A layer that nobody begins with any more; it goes with the last box that stands on it."""
        self._forgotten.add(request["layer"])
        if request["layer"] in self._sort.get("layers", ()):
            self._drop_spares()
            self._sort = {}
        return {}

    def close(self) -> None:
        """Bury all."""
        self._drop_spares()
        for name in list(self._cribs):
            self.do_down({"name": name})
        self.bury(wait=True)

    def _spread(self, crib: BoxHandle, request: Message) -> None:
        crib.folder.mkdir()
        mount("tmpfs", str(crib.folder), f"size={request['disk']},nr_inodes={_FILES},mode=755")
        crib.mounts.append(crib.folder)
        for name in ("upper", "work", "root"):
            (crib.folder / name).mkdir()
            if self.wide:
                os.chown(crib.folder / name, SHIFT, SHIFT)
        lower = ":".join(
            [*(str(self.store / layer) for layer in reversed(request["layers"])), request["tree"]]
        )
        options = f"lowerdir={lower},upperdir={crib.folder}/upper,workdir={crib.folder}/work"
        # A folder that was renamed is copied: then all that is another than below lies in the upper
        # folder.
        mount(
            "overlay",
            f"{crib.folder}/root",
            f"{options},redirect_dir=off" if self.wide else f"{options},userxattr",
        )
        crib.mounts.append(crib.folder / "root")

    def _enclose(self, name: str, request: Message) -> ControlGroup | None:
        with contextlib.suppress(OSError):
            return ControlGroup(name, request["memory"], request["processes"], request["cores"])
        return None

    def _bear(self, crib: BoxHandle, wire: int, request: Message) -> int:
        reader, writer = os.pipe()
        # It is born there: its users may not walk through folders that are closed to others.
        os.chdir(crib.folder)
        pid = give_birth()
        if pid == 0:
            doors = crib.group.doors if crib.group else []
            _become_first(
                reader,
                wire,
                doors,
                lambda: inhabit(wire, doors, request["user"], self.wide, request["processes"]),
            )
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
        sort = {"tree": str(self.store / "empty"), "layers": (), "user": "root"}
        crib = self._make(
            sort | {"memory": 1 << 30, "processes": 64, "disk": 1 << 20, "cores": 1.0}
        )
        assert crib.wire
        said = crib.wire.recv(4096)
        self._end(crib)
        self.bury(wait=True)
        if b"ready" not in said:
            raise OSError(
                said.decode(errors="replace").removeprefix("broken: ")
                or "a box's first process died"
            )

    def _try_groups(self) -> str:
        """Empty when limits hold."""
        try:
            ControlGroup("trial", 1 << 30, 64, 1.0).remove()
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
    except (
        BaseException  # noqa: BLE001
    ) as error:  # whatever it is, this is not the nursery and must not go on as if it were
        with contextlib.suppress(OSError):
            os.write(wire, f"broken: {error}".encode())
    finally:
        os._exit(1)


def _remove_tree(folder: Path) -> None:
    """shutil's is imported by nobody here, and does more."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            _remove_tree(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else os.unlink(  # noqa: PTH108
                entry.path
            )
    with contextlib.suppress(OSError):
        folder.rmdir()


def serve(wire: socket.socket, nursery: BoxSupervisor) -> None:
    """One request after the other, until the driver is gone; burials and spares in between."""
    left, idle = False, False
    while True:
        if (left or not idle) and not select.select([wire], [], [], _IDLE)[0]:
            left = nursery.bury()
            idle = not left and not nursery.prepare()
            continue
        text = wire.recv(LARGEST)
        if not text:
            return
        _answer(wire, nursery, json.loads(text))
        left, idle = nursery.bury(), False


def _answer(wire: socket.socket, nursery: BoxSupervisor, request: Message) -> None:
    try:
        answer = getattr(nursery, f"do_{request['op']}")(request)
    except (OSError, KeyError, RecursionError) as error:
        answer = {"broken": str(error)}
    taken = nursery.take_wire(request)
    socket.send_fds(
        wire,
        [json.dumps({"id": request["id"], **answer}).encode()],
        [taken.fileno()] if taken else [],
    )
    if taken:
        taken.close()


def _is_gone(pid: int) -> bool:
    """Whether it ended, or never was; it is waited for later."""
    with contextlib.suppress(ChildProcessError):
        return not pid or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return True


def main() -> None:
    """Settle, say so, serve, and leave nothing."""
    wire = socket.socket(fileno=int(sys.argv[1]))
    nursery = BoxSupervisor(Path(sys.argv[2]))
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
