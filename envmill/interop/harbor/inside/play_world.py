"""The reference path over MCP: the calls of calls.json, and the last words into the file where they
are read. Standard library only."""

import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

URL = "http://127.0.0.1:8765/mcp"
ANSWER = Path("/srv/answer.txt")
REVISION = "2025-06-18"


class ToolClient:
    """One session."""

    def __init__(self) -> None:
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._number = 0
        told = {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "solution", "version": "1"},
        }
        self.ask("initialize", told)
        self._headers["MCP-Protocol-Version"] = REVISION
        self.ask("notifications/initialized", None)

    def ask(self, method: str, params: Any) -> Any:
        """The result; a request that the server cannot answer is an error here. A tool that refuses
        is none."""
        self._number += 1
        message = {
            "jsonrpc": "2.0",
            "method": method,
            **({} if params is None else {"id": self._number, "params": params}),
        }
        request = urllib.request.Request(URL, json.dumps(message).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            if session := answer.headers.get("Mcp-Session-Id"):
                self._headers["Mcp-Session-Id"] = session
            body = answer.read()
        found: Any = json.loads(body) if body else {}
        if "error" in found:
            raise SystemExit(f"{method}: {found['error']}")
        return found.get("result")


def connect() -> ToolClient:
    for _ in range(50):
        try:
            return ToolClient()
        except urllib.error.URLError:
            time.sleep(0.2)
    return ToolClient()


if __name__ == "__main__":
    asked = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
    if asked["calls"]:
        client = connect()
        for call in asked["calls"]:
            told = client.ask("tools/call", {"name": call["name"], "arguments": call["arguments"]})
            sys.stdout.write(f"{call['name']}: {json.dumps(told)[:200]}\n")
    ANSWER.write_text("\n\n".join(asked["said"]), encoding="utf-8")
