"""A server of OpenAI's Responses that answers with a script: the calls of the reference path in one
turn, then the last words. `python model_server.py PORT SCRIPT`, a JSON object of `calls` and `said`.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SCRIPT = json.loads(sys.argv[2])


def answer(asked: dict[str, Any]) -> list[dict[str, Any]]:
    items = [one for one in asked.get("input") or [] if isinstance(one, dict)]
    if any(one.get("type") == "function_call_output" for one in items):
        said = {"type": "output_text", "text": SCRIPT["said"], "annotations": []}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
        return [message | {"content": [said]}]
    return [
        {
            "id": f"fc_{place}",
            "type": "function_call",
            "call_id": f"call_{place}",
            "name": call["name"],
            "arguments": json.dumps(call["arguments"]),
            "status": "completed",
        }
        for place, call in enumerate(SCRIPT["calls"])
    ]


class Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "model": asked.get("model", "m"),
            "output": answer(asked),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": asked.get("tools") or [],
            "status": "completed",
        }
        content = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
