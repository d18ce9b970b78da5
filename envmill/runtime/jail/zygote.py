"""Zygote and template: the two forking processes between the driver and a session.

    driver ──spawn──► zygote (modules loaded) ──fork──► template (jailed, program compiled) ──fork──► session (no fork left)

No program runs in either. A template only compiles; a session executes the code afresh under the
tighter filter.
"""

import contextlib
import gc
import linecache
import os
import socket
import struct
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from typing import TypeAlias

from envmill.runtime import virtual
from envmill.runtime.interface import Interface
from envmill.runtime.jail import interpreter_check
from envmill.runtime.jail import layers as jail
from envmill.runtime.jail.imports import SETTLED, find_unsettled, list_imports, load_ahead
from envmill.runtime.jail.judging import adopt_reader, prepare_judge
from envmill.runtime.jail.kernel import fork
from envmill.runtime.jail.loop import SessionLoop
from envmill.runtime.jail.warmup import rehearse
from envmill.runtime.jail.wire import FORK, Channel, Closed, Message, receive_rest, receive_with_fds
from envmill.runtime.program import ProgramFault, ProgramImporter

Serve: TypeAlias = Callable[[Channel], None]
"""A session's life on its channel, after it was forked and locked up."""
Learn: TypeAlias = Callable[[Message], None]
"""Keeps the state of a reset in a template, for all its sessions."""
Prepared: TypeAlias = tuple[Serve, Learn, list[str]]
"""The third: imports for which no session of the program may follow another in one process."""
Flavour: TypeAlias = Callable[[Message], Prepared]
"""Prepares a program in a template, or raises ProgramFault."""
_ENDS = struct.Struct("@2i")
"""The descriptors that ride on a request for a fork."""
_ROOM = socket.CMSG_SPACE(_ENDS.size)


def run_zygote(
    fd: int, layers: Collection[str], parent: int, flavour: str = "tools", sessions: str = ""
) -> None:
    """Load modules, then fork a template per request, until the driver's end closes. Never
    returns."""
    try:
        jail.die_with_parent(parent)
        _keep_only(fd)
        control = socket.socket(fileno=fd)
        load_ahead()
        if flavour == "judge":
            adopt_reader("envmill.runtime.jail.foreign")
        if flavour == "database":
            _load_database(sessions)
        virtual.install()
        _forget_disk()
        rehearse()
        _forget_modules(
            "ctypes", "_ctypes", *(("envmill.runtime.jail",) if flavour == "judge" else ())
        )
        jail.withdraw(layers)
        interpreter_check.remember(SETTLED)
        gc.collect()
        gc.freeze()
        _describe(control, {"ready": True})
        while True:
            _fork_template(control, layers, FLAVOURS[flavour])
    except (Closed, OSError):
        pass
    finally:
        os._exit(0)


def _fork_template(control: socket.socket, layers: Collection[str], flavour: Flavour) -> None:
    request, (fd,) = receive_with_fds(control)
    _reap()
    parent = os.getpid()
    child = fork()
    if child == 0:
        run_template(fd, request["slot"], layers, parent, flavour)
    os.close(fd)
    _describe(control, {"pid": child})


def run_template(
    fd: int, slot: int, layers: Collection[str], parent: int, flavour: Flavour
) -> None:
    """Enter the jail, prepare one program, then fork a session per request. Never returns."""
    try:
        _keep_only(fd)
        control = socket.socket(fileno=fd)
        jail.enter(layers, slot)
        # Only now: changing the user makes the kernel forget whom to die with.
        jail.die_with_parent(parent)
        _describe(control, {"ready": True})
        serve, learn = _prepare(control, flavour)
        gc.collect()
        gc.freeze()
        while True:
            _answer(control, serve, learn, layers)
    except (Closed, OSError):
        pass
    finally:
        os._exit(0)


def _prepare(control: socket.socket, flavour: Flavour) -> tuple[Serve, Learn]:
    request, _ = receive_with_fds(control)
    try:
        serve, learn, unsettled = flavour(request)
    except ProgramFault as fault:
        _describe(control, {"fault": str(fault)})
        raise Closed("nothing to run") from None
    _describe(control, {"fault": "", "unsettled": unsettled})
    return serve, learn


def prepare_tools(request: Message) -> Prepared:
    """Compile a program; its sessions answer calls of its tools."""
    source, interface = (
        ProgramImporter(request["files"], request["entry"]),
        Interface(request["tools"]),
    )
    with contextlib.suppress(Exception):
        # What is wrong with a schema is said when the program is loaded.
        interface.compile()
    # Built before the fork: what a session only reads stays shared.
    loop = SessionLoop(Channel(-1), source, interface)
    loop.prepare()
    imports = list_imports(source.codes.values())
    interpreter_check.watch(imports)
    return loop.serve, loop.learn, find_unsettled(imports, source.codes)


def prepare_checks(request: Message) -> Prepared:
    """Compile checks; the states they are asked about are another verdict's no more, so there is
    nothing to keep."""
    return prepare_judge(request), lambda _: None, []


def _load_database(sessions: str) -> None:
    """SQLite and all it needs; `sessions` names a package that follows changes better than the
    standard library can."""
    database = import_module("envmill.runtime.db")
    if sessions:
        database.adopt_sessions(sessions)
    # A connection of a program's own would tell the machine's time, and chance; who needs them has
    # them by now.
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("sqlite3", "_sqlite3", sessions)
    ]:
        del sys.modules[name]


FLAVOURS: dict[str, Flavour] = {
    "tools": prepare_tools,
    "database": prepare_tools,
    "judge": prepare_checks,
}
"""What the templates of a zygote do with a program. A session's whole life is the function that
comes back."""


def _answer(control: socket.socket, serve: Serve, learn: Learn, layers: Collection[str]) -> None:
    # Each function on the way to a fork is pages that this process writes to, and copies, while its
    # session lives.
    said, ancillary, _, _ = control.recvmsg(len(FORK), _ROOM)
    if said == FORK:
        _fork_session(control, serve, _ENDS.unpack(ancillary[0][2]), layers)
    else:
        _describe(control, {"learned": _keep_state(learn, receive_rest(control, said))})


def _keep_state(learn: Learn, step: Message) -> bool:
    """Whether a state could be kept; a session is sent what could not, and says what is wrong with
    it."""
    try:
        learn(step)
    except (ValueError, MemoryError, RecursionError):
        return False
    # Where the collector never looks, a session does not write on what it only reads.
    gc.freeze()
    return True


def _fork_session(
    control: socket.socket, serve: Serve, ends: tuple[int, int], layers: Collection[str]
) -> None:
    # Dead sessions stay zombies until here: the driver takes hold of a pid before it can be given
    # away again.
    _reap()
    parent = os.getpid()
    child = fork()
    if child == 0:
        run_session(ends, serve, layers, parent)
    os.close(ends[0])
    os.close(ends[1])
    told = b'{"pid":%d}' % child
    os.write(control.fileno(), len(told).to_bytes(4, "little") + told)


def run_session(ends: tuple[int, int], serve: Serve, layers: Collection[str], parent: int) -> None:
    """Give up forking, then serve. Never returns."""
    try:
        jail.die_with_parent(parent)
        _keep_only(*ends)
        jail.tighten(layers)
        serve(Channel(ends[0], into=ends[1]))
    finally:
        os._exit(1)


def _keep_only(*kept: int) -> None:
    """Close every other descriptor above the standard ones: a copy left open would hide that the
    other end died.

    Sockets inherited as objects stay referenced by the frames below, which never return: none
    closes a number late.
    """
    low = 3
    for fd in (*sorted(kept), 65536):
        os.closerange(low, fd)
        low = fd + 1


def _describe(control: socket.socket, message: dict[str, object]) -> None:
    # write(2), not send: the filter of a template knows no sendto.
    Channel(control.fileno()).send(message)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _forget_modules(*packages: str) -> None:
    """Modules that no program has a use for can no longer be imported. Who means harm still finds
    their objects in memory."""
    for name in [
        name
        for name in sys.modules
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    ]:
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        vars(sys.modules.get(parent, sys)).pop(last, None)


def _forget_disk() -> None:
    """From here on an unknown module is simply not found, instead of a file that may not be
    opened."""
    sys.path.clear()
    sys.path_importer_cache.clear()
    # The lines of a program are known; those of the library cannot be read.
    linecache.updatecache = lambda filename, module_globals=None: []  # noqa: ARG005
    sys.meta_path[:] = [
        finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"
    ]
