"""The offline author behind HTTP, as a model is: it counts what it is asked, and can be told to be
slow or down for some items.

Beside it, under `/v1`, a model that acts: it is polite, and does nothing.
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import offline as author

IDLE = "I am sorry, I cannot help with that."


@dataclass(frozen=True)
class Ask:
    """One request that reached the server."""

    prompt: str
    subject: str
    sample: int
    inputs: str
    """Hash of the inputs and of the conversation so far: a repair is another question."""

    @property
    def item(self) -> tuple[str, str, int]:
        """What a row of model_calls tells of it."""
        return self.prompt, self.subject, self.sample


@dataclass
class AuthorServer:
    """What was asked, and how to behave next."""

    url: str = ""
    asked: list[Ask] = field(default_factory=list)
    answered: list[Ask] = field(default_factory=list)
    down: set[str] = field(default_factory=set)
    """Subjects that got 503."""
    _down_prompt: str = ""
    _slow_prompt: str = ""
    _pace: float = 0.0
    _seen: list[str] = field(default_factory=list)
    _queue: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def go_down(self, prompt: str) -> None:
        """503 for every other subject of a prompt, the same ones each time they ask."""
        self._down_prompt = prompt
        self._seen.clear()
        self.down.clear()

    def go_slow(self, prompt: str, pace: float) -> None:
        """One reply every `pace` seconds, however many ask at once."""
        self._slow_prompt, self._pace, self._queue = prompt, pace, 0

    def heal(self) -> None:
        self._down_prompt = self._slow_prompt = ""

    def reply(self, question: dict[str, Any], subject: str) -> str | None:
        """None is an outage."""
        inputs = hashlib.blake2b(
            json.dumps([question["inputs"], question["talk"]], sort_keys=True).encode()
        ).hexdigest()
        ask = Ask(question["prompt"], subject, question["sample"], inputs)
        with self._lock:
            self.asked.append(ask)
            outage, turn = self._is_down(ask), self._take_turn(ask)
        time.sleep(turn)
        if outage:
            return None
        text = author.answer(
            question["prompt"],
            question["inputs"],
            question["seed"],
            question["sample"],
            question["mistakes"],
            question["talk"],
        )
        with self._lock:
            self.answered.append(ask)
        return text

    def _is_down(self, ask: Ask) -> bool:
        if ask.prompt != self._down_prompt:
            return False
        if ask.subject not in self._seen:
            self._seen.append(ask.subject)
        outage = self._seen.index(ask.subject) % 2 == 0
        if outage:
            self.down.add(ask.subject)
        return outage

    def _take_turn(self, ask: Ask) -> float:
        if ask.prompt != self._slow_prompt:
            return 0.0
        self._queue += 1
        return self._queue * self._pace


def _complete(model: str) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": IDLE},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": usage,
    }


@contextmanager
def serve_author() -> Iterator[AuthorServer]:
    """A server on a free loopback port."""
    state = AuthorServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            acts = self.path == "/v1/chat/completions"
            text = IDLE if acts else state.reply(question, self.headers["X-EnvMill-Subject"])
            body = json.dumps(_complete(question["model"]) if acts else {"reply": text}).encode()
            self.send_response(200 if text is not None else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_arguments: Any) -> None:
            """A killed client hangs up in the middle; that is what the test is about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield state
        server.shutdown()
        thread.join()
