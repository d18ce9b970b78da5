"""A line to a server that is slow, and can be cut: what a network is between two machines."""

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator


class Line:
    """A port of ours that leads to another; each request waits a while on it."""

    def __init__(self, port: int, delay: float) -> None:
        self._target, self._delay = ("127.0.0.1", port), delay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.heard: Callable[[bytes], None] = lambda _: None
        """Called with the first bytes of each request, before they are passed on."""
        self._open: set[socket.socket] = set()
        self._whole = threading.Event()
        self._whole.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Connections break, and new ones lead nowhere."""
        self._whole.clear()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        if not self._whole.is_set():
            client.close()
            return
        with contextlib.suppress(OSError), client, socket.create_connection(self._target) as server:
            self._open |= {client, server}
            try:
                self._pump(client, server)
            finally:
                self._open -= {client, server}

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        ways, asking = {client: server, server: client}, False
        with selectors.DefaultSelector() as ready:
            for end in ways:
                ready.register(end, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    end = key.fileobj
                    assert isinstance(end, socket.socket)
                    if not (data := end.recv(65536)):
                        return
                    if end is client and not asking:
                        self.heard(data)
                        time.sleep(self._delay)
                    asking = end is client
                    ways[end].sendall(data)


@contextlib.contextmanager
def open_line(url: str, delay: float) -> Iterator[Line]:
    """A line to a server for the block."""
    line = Line(int(url.rpartition(":")[2]), delay)
    try:
        yield line
    finally:
        line.close()
