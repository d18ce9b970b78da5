"""Clients of MCP servers, as bare as the protocol allows: over lines, and over HTTP. The official
ones are asked under `make soak`."""

import http.client
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

REVISION = "2025-11-25"
WHO: dict[str, Any] = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def make_request(name: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": name,
        "method": method,
        **({} if params is None else {"params": params}),
    }


class Lines:
    """A server that was started for this client."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._number = 0

    def __enter__(self) -> "Lines":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def begin(self, revision: str = REVISION) -> dict[str, Any]:
        return self.ask("initialize", {"protocolVersion": revision, **WHO})["result"]

    def ask(self, method: str, params: Any = None) -> Any:
        self._number += 1
        self.write(json.dumps(make_request(self._number, method, params)).encode() + b"\n")
        reply = self.read()
        assert reply["id"] == self._number
        return reply

    def call(self, name: str, arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def write(self, sent: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(sent)

    def read(self) -> Any:
        assert self.process.stdout
        line = b""
        while not line.endswith(b"\n"):
            got = self.process.stdout.readline()
            assert got, self.process.stderr and self.process.stderr.read()
            line += got
        return json.loads(line)

    def leave(self) -> tuple[int, str]:
        """What it ends with, and what it complained of."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(60)
        assert self.process.stdout
        assert self.process.stderr
        complaint = "" if self.process.stderr.closed else self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, complaint


class Web:
    """A client of a server that serves others, too."""

    def __init__(self, url: str) -> None:
        found = urlsplit(url)
        self._line = http.client.HTTPConnection(found.hostname or "", found.port, timeout=60)
        self.session = ""
        self._number = 0

    def begin(self, revision: str = REVISION) -> dict[str, Any]:
        status, headers, reply = self.send(
            make_request(0, "initialize", {"protocolVersion": revision, **WHO})
        )
        assert status == 200, reply
        self.session = headers["Mcp-Session-Id"]
        return reply["result"]

    def ask(self, method: str, params: Any = None) -> Any:
        self._number += 1
        status, _, reply = self.send(make_request(self._number, method, params))
        assert (status, reply["id"]) == (200, self._number)
        return reply

    def call(self, name: str, arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def send(
        self, content: Any, verb: str = "POST", path: str = "/mcp", **headers: str
    ) -> tuple[int, http.client.HTTPMessage, Any]:
        """Status, headers, what was answered."""
        own = {
            "Content-Type": "application/json",
            **({"Mcp-Session-Id": self.session} if self.session else {}),
        }
        body = (
            content
            if isinstance(content, bytes)
            else b""
            if content is None
            else json.dumps(content).encode()
        )
        self._line.request(
            verb,
            path,
            body,
            own | {name.replace("_", "-"): value for name, value in headers.items()},
        )
        reply = self._line.getresponse()
        held = reply.read()
        return reply.status, reply.headers, json.loads(held) if held else None

    def close(self) -> None:
        self._line.close()
