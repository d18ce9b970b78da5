"""What an attack may try to reach, watched from the outside."""

import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

SECRET = {"TOKEN": "SECRET"}
"""Belongs in the environment of whoever opens the jail, from the start of the process."""
ORACLE = {"expected": ["ORACLE-42"]}
"""What this process knows and no program may."""
_numbers = count()


@dataclass(frozen=True)
class Outside:
    """Listeners nobody should call, and a place nobody should write to."""

    port: int
    path: str
    name: str
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket

    @property
    def arguments(self) -> dict[str, int | str]:
        """How an attack finds all this."""
        return {"port": self.port, "path": self.path, "name": self.name}

    def is_touched(self) -> bool:
        return any(map(_received, (self.tcp, self.udp, self.unix))) or Path(self.path).exists()


@contextmanager
def watch() -> Iterator[Outside]:
    """The folder is open to all, so that only the jail keeps a program of another user out."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        Path(folder).chmod(0o777)
        name = f"envmill-{Path(folder).name}-{next(_numbers)}"
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        unix.bind(f"\0{name}")
        for listener in (tcp, unix):
            listener.listen()
        for watched in (tcp, udp, unix):
            watched.setblocking(False)
        yield Outside(tcp.getsockname()[1], f"{folder}/out", name, tcp, udp, unix)


def _received(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            return bool(listener.recv(8))
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
