"""A server that speaks chat completions and knows what the author would say, until it is told to
answer a prompt badly.

The author answers typed inputs, a server sees text: what was rendered from which inputs is noted as
it is rendered.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import offline as author
from envmill.models.prompt import Prompt
from schemas.base import Contract, Json

WARNING = "\n\n## Earlier versions\n"
"""What follows a prompt that is asked afresh."""
Spoil = Callable[[str, int], tuple[str, str]]
"""(good reply, how many were answered before) → (reply, why it ended)."""


@dataclass
class Known:
    """What the server knows and has done."""

    rendered: dict[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])
    spoil: dict[str, Spoil] = field(default_factory=dict[str, Spoil])
    answered: Counter[str] = field(default_factory=Counter[str])
    url: str = ""

    def answer(self, messages: list[dict[str, Any]]) -> tuple[str, str]:
        name, inputs = self.rendered[messages[0]["content"].split(WARNING)[0].rstrip("\n")]
        good = author.answer(
            name, inputs, 11, 0, 0.0, [message["content"] for message in messages[1:]]
        )
        number = self.answered[name]
        self.answered[name] += 1
        return self.spoil[name](good, number) if name in self.spoil else (good, "stop")


@contextmanager
def serve(monkeypatch: pytest.MonkeyPatch) -> Generator[Known]:
    """One server, gone at the end."""
    known, render = Known(), Prompt.render

    def note(prompt: Prompt, inputs: Contract, reply: type[Contract] | None) -> str:
        text = render(prompt, inputs, reply)
        known.rendered[text.rstrip("\n")] = prompt.name, inputs.model_dump(mode="json")
        return text

    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text, ended = known.answer(asked["messages"])
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": ended,
            }
            usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            body = {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": asked["model"],
                "choices": [choice],
                "usage": usage,
            }
            sent = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    known.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    )
    monkeypatch.setattr(Prompt, "render", note)
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
