"""A proxy before an S3 service that does what services do on a bad day, by a seeded die.

refuse   503 SlowDown, nothing done          lose    done, and the connection is cut before the answer
fail     500 InternalError, nothing done     late    done, and the answer is 500
stall    half of the answer, then silence    trickle the answer in small pieces
stale    a listing without what was written in the last `lag` seconds
"""

import http.client
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from urllib.parse import parse_qs, urlsplit

_ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>"
_CONTENTS = re.compile(rb"<Contents>\s*<Key>([^<]*)</Key>.*?</Contents>", re.S)
_HOPS = ("connection", "keep-alive", "transfer-encoding", "content-length", "server", "date")


@dataclass
class Faults:
    """Shares of requests that meet each fault, and what was done."""

    shares: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    seed: int = 1
    lag: float = 0.0
    silence: float = 20.0
    """Seconds for which a stalled answer says nothing."""
    met: Counter[str] = field(default_factory=Counter[str])
    methods: Counter[str] = field(default_factory=Counter[str])
    in_order: list[str] = field(default_factory=list[str])
    """Faults for the next requests, before the die is asked again."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    born: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._die = random.Random(self.seed)

    def choose(self, method: str) -> str:
        """The fault of the next request; empty for none."""
        with self._lock:
            self.methods[method] += 1
            fault = self.in_order.pop(0) if self.in_order else self._roll()
            if fault:
                self.met[fault] += 1
            return fault

    def _roll(self) -> str:
        at = self._die.random()
        for fault, share in self.shares.items():
            if (at := at - share) < 0:
                return fault
        return ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults: Faults
    upstream: str

    def _answer(self) -> None:
        body = self._read_body()
        fault = self.faults.choose(self.command)
        if fault in ("refuse", "fail"):
            code, status = ("SlowDown", 503) if fault == "refuse" else ("InternalError", 500)
            self._send(
                status, [("content-type", "application/xml")], _ERROR.format(code=code).encode()
            )
            return
        status, headers, content = self._age(*self._forward(body))
        if fault == "lose":
            self.close_connection = True
            self.connection.close()
        elif fault == "late":
            self._send(
                500,
                [("content-type", "application/xml")],
                _ERROR.format(code="InternalError").encode(),
            )
        else:
            self._send(status, headers, content, fault)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts: list[bytes] = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=60)
        try:
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in _HOPS
            }
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            return (
                answer.status,
                [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOPS],
                answer.read(),
            )
        finally:
            connection.close()

    def _age(
        self, status: int, headers: list[tuple[str, str]], content: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """What a service lists that has not heard of the latest writes yet."""
        faults, place = self.faults, urlsplit(self.path)
        if self.command == "PUT" and status == 200:
            faults.born[place.path[1:].partition("/")[2]] = time.monotonic()
        if faults.lag and self.command == "GET" and "list-type" in parse_qs(place.query):
            late = {
                key for key, at in list(faults.born.items()) if time.monotonic() - at < faults.lag
            }
            faults.met["stale"] += 1
            content = _CONTENTS.sub(
                lambda found: b"" if found[1].decode() in late else found[0], content
            )
        return status, headers, content

    def _send(
        self, status: int, headers: list[tuple[str, str]], content: bytes, fault: str = ""
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        half = len(content) // 2
        if fault == "stall" and content:
            self.wfile.write(content[:half])
            self.wfile.flush()
            time.sleep(self.faults.silence)
            self.close_connection = True
        elif fault == "trickle" and content:
            step = max(1, len(content) // 8)
            for start in range(0, len(content), step):
                self.wfile.write(content[start : start + step])
                self.wfile.flush()
                time.sleep(0.02)
        else:
            self.wfile.write(content)

    def log_message(self, format: str, *_: object) -> None:  # the original's signature
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(
        self, request: object, client_address: object
    ) -> None:  # a cut connection is the point
        pass


@contextmanager
def run_faulty(upstream: str, faults: Faults) -> Iterator[str]:
    """The proxy's address for the block."""
    handler = type("Handler", (_Handler,), {"faults": faults, "upstream": upstream})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
