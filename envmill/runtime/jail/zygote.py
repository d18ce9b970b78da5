"""Zygote and template: the two forking processes between the driver and a session.

    driver ──spawn──► zygote (modules loaded) ──fork──► template (jailed, program compiled) ──fork──► session (no fork left)

No program runs in either. A template only compiles; a session executes the code afresh under the tighter filter.
"""

import contextlib
import gc
import os
import socket
import sys
from collections.abc import Collection

from envmill.runtime import virtual
from envmill.runtime.jail import layers as jail
from envmill.runtime.jail.imports import load_ahead
from envmill.runtime.jail.loop import Loop
from envmill.runtime.jail.wire import Channel, Closed, receive_with_fd
from envmill.runtime.program import ProgramFault, Source
from envmill.runtime.session import ToolEntry


def run_zygote(fd: int, layers: Collection[str], parent: int) -> None:
    """Load modules, then fork a template per request, until the driver's end closes. Never returns."""
    try:
        jail.die_with_parent(parent)
        _keep_only(fd)
        control = socket.socket(fileno=fd)
        load_ahead()
        virtual.install()
        _forget_disk()
        gc.collect()
        gc.freeze()
        _tell(control, {"ready": True})
        while True:
            _fork_template(control, layers)
    except (Closed, OSError):
        pass
    finally:
        os._exit(0)


def _fork_template(control: socket.socket, layers: Collection[str]) -> None:
    request, fd = receive_with_fd(control)
    _reap()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        run_template(fd, request["slot"], layers, parent)
    os.close(fd)
    _tell(control, {"pid": child})


def run_template(fd: int, slot: int, layers: Collection[str], parent: int) -> None:
    """Enter the jail, compile one program, then fork a session per request. Never returns."""
    try:
        _keep_only(fd)
        control = socket.socket(fileno=fd)
        jail.enter(layers, slot)
        # Only now: changing the user makes the kernel forget whom to die with.
        jail.die_with_parent(parent)
        _tell(control, {"ready": True})
        source, tools = _compile(control)
        gc.collect()
        gc.freeze()
        while True:
            _fork_session(control, source, tools, layers)
    except (Closed, OSError):
        pass
    finally:
        os._exit(0)


def _compile(control: socket.socket) -> tuple[Source, list[ToolEntry]]:
    request, _ = receive_with_fd(control)
    try:
        source = Source(request["files"], request["entry"])
    except ProgramFault as fault:
        _tell(control, {"fault": str(fault)})
        raise Closed("nothing to run") from None
    _tell(control, {"fault": ""})
    return source, request["tools"]


def _fork_session(control: socket.socket, source: Source, tools: list[ToolEntry], layers: Collection[str]) -> None:
    _, fd = receive_with_fd(control)
    # Dead sessions stay zombies until here: the driver takes hold of a pid before it can be given away again.
    _reap()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        run_session(fd, source, tools, layers, parent)
    os.close(fd)
    _tell(control, {"pid": child})


def run_session(fd: int, source: Source, tools: list[ToolEntry], layers: Collection[str], parent: int) -> None:
    """Give up forking, then serve. Never returns."""
    try:
        jail.die_with_parent(parent)
        _keep_only(fd)
        jail.tighten(layers)
        Loop(Channel(fd), source, tools).serve()
    finally:
        os._exit(1)


def _keep_only(fd: int) -> None:
    """Close every other descriptor above the standard ones: a copy left open would hide that the other end died.

    Sockets inherited as objects stay referenced by the frames below, which never return: none closes a number late.
    """
    os.closerange(3, fd)
    os.closerange(fd + 1, 65536)


def _tell(control: socket.socket, message: dict[str, object]) -> None:
    # write(2), not send: the filter of a template knows no sendto.
    Channel(control.fileno()).send(message)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _forget_disk() -> None:
    """From here on an unknown module is simply not found, instead of a file that may not be opened."""
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder"]
