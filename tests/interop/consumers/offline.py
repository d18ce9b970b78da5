"""A command in a network of its own where nothing but loopback is, with a scripted server of
OpenAI's chat interface on it.

offline.py SCRIPTS.json -- COMMAND…      `{url}` in a word of the command is the server's address

SCRIPTS.json: model → opening (the first user message) → turns. A turn is `{"call": [name, text of
the arguments]}` or `{"say": text}`. After the last one the model says an empty text. Standard
library only: a consumer's own interpreter runs it.
"""

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_NEW_NETWORK, _GET_FLAGS, _SET_FLAGS, _UP = 0x40000000, 0x8913, 0x8914, 1


def leave_network() -> None:
    """Everything but loopback is gone for this process and its children."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        flags = struct.unpack(
            "16sh", fcntl.ioctl(opened, _GET_FLAGS, struct.pack("16sh", b"lo", 0))[:18]
        )[1]
        fcntl.ioctl(opened, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


class ScriptedModel(BaseHTTPRequestHandler):
    """Answers a request by its model, its first user message, and how often the model spoke
    before."""

    protocol_version = "HTTP/1.1"
    scripts: dict[str, dict[str, list[dict[str, Any]]]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = self._write_message(asked)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        same = {"id": "x", "created": 0, "model": asked["model"]}
        if not asked.get("stream"):
            choice = {"index": 0, "finish_reason": finish, "message": message}
            self._send(
                "application/json",
                json.dumps(
                    {**same, "object": "chat.completion", "choices": [choice], "usage": usage}
                ),
            )
            return
        calls = [
            {"index": place, **call} for place, call in enumerate(message.get("tool_calls", ()))
        ]
        delta = {**message, **({"tool_calls": calls} if calls else {})}
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": usage},
        ]
        lines = [
            json.dumps({**same, "object": "chat.completion.chunk", **chunk}) for chunk in chunks
        ]
        self._send("text/event-stream", "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]")))

    def _write_message(self, asked: dict[str, Any]) -> dict[str, Any]:
        said = asked["messages"]
        opening = next(_read_text(one["content"]) for one in said if one["role"] == "user")
        turns = self.scripts[asked["model"]][opening]
        place = sum(one["role"] == "assistant" for one in said)
        turn = turns[place] if place < len(turns) else {"say": ""}
        if "say" in turn:
            return {"role": "assistant", "content": turn["say"]}
        name, arguments = turn["call"]
        call = {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _read_text(content: Any) -> str:
    return (
        content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    )


def main(scripts: str, command: list[str]) -> int:
    leave_network()
    ScriptedModel.scripts = json.loads(Path(scripts).read_text(encoding="utf-8"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    return subprocess.run(
        [word.replace("{url}", url) for word in command], check=False, env=dict(os.environ)
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]))
