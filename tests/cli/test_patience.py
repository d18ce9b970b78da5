"""A server that is only starting does not answer at once: who brings it up asks again, who only
looks is told."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flows.local.api import Api
from flows.local.errors import NoServer

_ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\nConnection: "
    b"close\r\n\r\ntrue"
)


@contextmanager
def late_server(hang_ups: int) -> Iterator[str]:
    """Hangs up on the first callers without a word, then answers."""

    def serve(listener: socket.socket) -> None:
        for number in range(hang_ups + 1):
            caller, _ = listener.accept()
            with caller:
                caller.recv(65536)
                if number == hang_ups:
                    caller.sendall(_ANSWER)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_who_has_patience_asks_a_late_server_again() -> None:
    with late_server(hang_ups=2) as url, Api(url, patience=60) as api:
        assert api.get("/health") is True


def test_who_has_none_is_told_what_to_do() -> None:
    with (
        late_server(hang_ups=1) as url,
        Api(url, patience=0) as api,
        pytest.raises(NoServer, match="Start it with `envmill up`"),
    ):
        api.get("/health")
