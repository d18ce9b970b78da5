"""One attempt at a scenario: calls and words in, replies out, and in the end a judgement."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from .calls import MALFORMED, OVER, Message, read_arguments
from .envrun import Episode, JailError
from .rows import ScenarioRow

STEPS, TURNS = 40, 16
"""Bounds where a row names none: those of the factory."""


@dataclass(frozen=True)
class SessionVerdict:
    """What an attempt came to."""

    outcome: str
    """pass, fail, or error: nothing was found out about the policy."""
    reward: float | None
    """1 for `pass`; for `fail` 0, or what the verifier pays for a part where the row's rewards are partial.

    None for `error`: leave such an attempt out, it is no failure.
    """
    reason: str
    state_hash: str
    """Hash of the state that the last call left."""
    components: Mapping[str, float] = field(default_factory=dict[str, float])


class ScenarioSession:
    """An attempt. Nothing that a policy does raises; JailError and JudgeError are outages, and say nothing about it."""

    def __init__(self, row: ScenarioRow, episode: Episode, judging: Lock) -> None:
        self.row = row
        self.moves: list[Message] = []
        """What was done and said so far, as `ScenarioSet.judge_moves` takes it."""
        self.ended = ""
        """Why it is over: done, step_limit, content, gave_up or turn_limit; empty while it is not."""
        self._episode, self._judging = episode, judging
        self._steps = self._spoken = 0

    @property
    def state_hash(self) -> str:
        """Hash of the state as it is now; empty when it is unknown."""
        return self._episode.state_hash

    def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> Message:
        """`{"ok": True, "parts"}` or `{"ok": False, "error": {code, message}}`. Arguments may be the text that a model wrote."""
        if self.ended:
            return OVER
        self._steps += 1
        if self._steps >= self.row.limits.get("steps", STEPS):
            self.ended = "step_limit"
        read = read_arguments(arguments)
        if read is None:
            return MALFORMED
        reply = self._episode.call(name, read)
        self.moves.append({"name": name, "arguments": read})
        return reply

    def say(self, text: str) -> Message | None:
        """Tell the user something. In the form `single` these are the last words.

        In a conversation the scripted user answers: `{"text", "end"}`. Once `end` is not empty it is over.
        """
        if self.ended not in ("", "step_limit"):
            return None
        self._spoken += 1
        self.moves.append({"say": text})
        with self._judging:
            answer = self._episode.say(text)
        if answer is None:
            self.ended = self.ended or "done"
            return None
        if not answer["end"] and self._spoken >= self.row.limits.get("turns", TURNS):
            answer = answer | {"end": "turn_limit"}
        self.ended = self.ended or answer["end"]
        return answer

    def judge(self) -> SessionVerdict:
        """The verdict on the state as it is now, and on what was done and said."""
        with self._judging:
            verdict = self._episode.score()
        part = verdict["reward"] if self.row.rewards == "partial" else 0.0
        reward = {"pass": 1.0, "fail": part}.get(verdict["outcome"])
        return SessionVerdict(verdict["outcome"], reward, verdict["reason"], self.state_hash, verdict["components"])

    def close(self) -> None:
        """End the session. A jail that is gone has ended it already."""
        with suppress(JailError):
            self._episode.close()

    def __enter__(self) -> "ScenarioSession":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
