"""A test's hold on the vendors' process: start it, script it, ask what it counted."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[3]
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Loopback:
    """Both vendors at one port."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self.openai, self.anthropic = f"{self.root}/v1", self.root
        """Base URLs as the SDKs want them."""

    def script(self, *rules: dict[str, Any], anew: bool = True, seed: int = 0) -> None:
        """Rules in order; with `anew=False` before those that are there."""
        self._tell("script", rules=list(rules), anew=anew, seed=seed)

    def say(self, text: str, match: str = "", **turn: Any) -> None:
        """The model answers so."""
        self.script({"match": match, "turn": {"text": text, **turn}}, anew=False)

    def fail(
        self,
        kind: str,
        times: int = -1,
        match: str = "",
        path: str = "",
        rate: float = 1.0,
        **fault: Any,
    ) -> None:
        """Requests meet this fault."""
        rule = {
            "match": match,
            "path": path,
            "times": times,
            "rate": rate,
            "fault": {"kind": kind, **fault},
        }
        self.script(rule, anew=False)

    def set(self, **facts: Any) -> None:
        """latency, keys, models, batches."""
        self._tell("set", **facts)

    def reset(self) -> None:
        self._tell("reset")

    def counts(self) -> dict[str, Any]:
        """asked and answered by conversation, by_last by last message, peak in flight, connections,
        total."""
        return self._tell("counts")

    def requests(self) -> list[dict[str, Any]]:
        """Method, path, headers and body of every request since the reset, control ones aside."""
        return self._tell("requests")

    def _tell(self, name: str, **given: Any) -> Any:
        request = urllib.request.Request(
            f"{self.root}/control/{name}", json.dumps(given).encode(), {"Connection": "close"}
        )
        with _DIRECT.open(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def launch() -> Iterator[Loopback]:
    """The process, for the block; it also ends when we die."""
    command = [sys.executable, "-m", "tests.models.vendors"]
    with subprocess.Popen(
        command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdin
        try:
            yield Loopback(json.loads(process.stdout.readline())["port"])
        finally:
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
