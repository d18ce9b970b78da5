"""A recording: what one client did, written call by call, so that whoever scores can do it again.
It holds no verdict.

head: program, scenario, actor, seed, clock, hash of the state ─► a line per call: name, arguments, outcome, hash of the state after it
"""

import json
from pathlib import Path

from envmill.runtime.mcp.messages import Message

LAYOUT = 1


class RecordingFile:
    """A file that did not exist before. Each line is written before the call is answered: a kill
    loses none that was."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("x", encoding="utf-8")

    def begin(self, told: Message) -> None:
        self._write({"recording": LAYOUT, **told})

    def note(self, name: str, arguments: Message, actor: str, seen: Message) -> None:
        """A call that was made, whatever came of it."""
        code = "" if seen["ok"] else seen["error"]["code"]
        came = {"outcome": seen["outcome"], "code": code, "state_hash": seen["state_hash"]}
        self._write({"name": name, "arguments": arguments, "actor": actor, **came})

    def break_off(self, why: str) -> None:
        """The jail broke: nothing that follows says anything about the client."""
        self._write({"outage": why})

    def close(self) -> None:
        self._file.close()

    def _write(self, line: Message) -> None:
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._file.flush()
