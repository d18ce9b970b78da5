"""One attempt at a scenario: calls and words in, replies out, and in the end a judgement."""

import hashlib
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from .calls import MALFORMED, OVER, Message, read_arguments, render_reply
from .envrun import Episode, JailError
from .lanes import SLOW, Lane, Lanes
from .rows import ScenarioRow

STEPS, TURNS = 40, 16
"""Bounds where a row names none: those of the factory."""


@dataclass(frozen=True)
class SessionVerdict:
    """What an attempt came to."""

    outcome: str
    """pass, fail, or error: nothing was found out about the policy."""
    reward: float | None
    """1 for `pass`; for `fail` 0, or what the verifier pays for a part where the row's rewards are
    partial.

    None for `error`: leave such an attempt out, it is no failure.
    """
    reason: str
    state_hash: str
    """Hash of the state that the last call left."""
    components: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class SessionTurn:
    """What a policy did in a turn, and what came of it: enough to come to the same place again."""

    name: str
    """Tool; empty where something was said."""
    arguments: str | Mapping[str, Any] | None
    text: str
    """What was said."""
    reply: str
    """Digest of the reply or of the user's answer."""
    state_hash: str


class ScenarioSession:
    """An attempt. Nothing that a policy does raises; JailError and JudgeError are outages, and say
    nothing about it."""

    def __init__(
        self, row: ScenarioRow, seed: int, episode: Episode, lanes: Lanes, lane: Lane
    ) -> None:
        self.row, self.seed, self.lane = row, seed, lane
        self.turns: list[SessionTurn] = []
        """All that was done and said so far, what could not be read included, as
        `ScenarioSet.branch` takes it."""
        self.spent = 0.0
        """Seconds that the jail and the judge worked for it; what it waited for others is not
        counted."""
        self.moves: list[Message] = []
        """What was done and said so far, as `ScenarioSet.judge_moves` takes it."""
        self.ended = ""
        """Why it is over: done, step_limit, content, gave_up or turn_limit; empty while it is
        not."""
        self._episode, self._lanes = episode, lanes
        self._steps = self._spoken = 0
        self._open = True

    @property
    def state_hash(self) -> str:
        """Hash of the state as it is now; empty when it is unknown."""
        return self._episode.state_hash

    @property
    def broken(self) -> bool:
        """Whether the environment itself failed: the judgement will be an error."""
        return self._episode.broken

    def call(self, name: str, arguments: str | Mapping[str, Any] | None) -> Message:
        """`{"ok": True, "parts"}` or `{"ok": False, "error": {code, message}}`. Arguments may be
        the text that a model wrote."""
        if self.ended:
            return OVER
        self._steps += 1
        if self._steps >= self.row.limits.get("steps", STEPS):
            self.ended = "step_limit"
        read = read_arguments(arguments)
        if read is None:
            self._note(name, arguments, "", render_reply(MALFORMED))
            return MALFORMED
        with self._work(self.lane.turn):
            begun = time.monotonic()
            reply = self._episode.call(name, read)
            if self.broken and time.monotonic() - begun > SLOW:
                self._lanes.quarantine(self.row.environment)
        self.moves.append({"name": name, "arguments": read})
        self._note(name, arguments, "", render_reply(reply))
        return reply

    def say(self, text: str) -> Message | None:
        """Tell the user something. In the form `single` these are the last words.

        In a conversation the scripted user answers: `{"text", "end"}`. Once `end` is not empty it
        is over.
        """
        if self.ended not in ("", "step_limit"):
            return None
        self._spoken += 1
        self.moves.append({"say": text})
        with self._work(self.lane.judging):
            answer = self._episode.say(text)
        if (
            answer is not None
            and not answer["end"]
            and self._spoken >= self.row.limits.get("turns", TURNS)
        ):
            answer = answer | {"end": "turn_limit"}
        self.ended = self.ended or ("done" if answer is None else answer["end"])
        self._note("", None, text, answer["text"] if answer else "")
        return answer

    def repeat(self, turn: SessionTurn) -> SessionTurn:
        """Do again what was done in another session; what came of it here."""
        self.call(turn.name, turn.arguments) if turn.name else self.say(turn.text)
        return self.turns[-1]

    def judge(self) -> SessionVerdict:
        """The verdict on the state as it is now, and on what was done and said."""
        with self._work(self.lane.judging):
            verdict = self._episode.score()
        part = verdict["reward"] if self.row.rewards == "partial" else 0.0
        reward = {"pass": 1.0, "fail": part}.get(verdict["outcome"])
        return SessionVerdict(
            verdict["outcome"], reward, verdict["reason"], self.state_hash, verdict["components"]
        )

    def measure(self) -> Mapping[str, list[int]] | None:
        """Numbers of the goals that hold now and of the guards that are broken; None where nothing
        can be said."""
        with self._work(self.lane.judging):
            return self._episode.measure()

    def close(self) -> None:
        """End the session. A jail that is gone has ended it already."""
        if self._open:
            self._open = False
            try:
                with suppress(JailError):
                    self._episode.close()
            finally:
                self._lanes.give_back(self.lane)

    def __enter__(self) -> "ScenarioSession":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _work(self, turn: Lock) -> Generator[None]:
        """In its turn, and its time counted. A jail that is gone serves nobody any more."""
        with turn:
            begun = time.monotonic()
            try:
                yield
            except JailError:
                self._lanes.replace(self.lane)
                raise
            finally:
                self.spent += time.monotonic() - begun

    def _note(
        self, name: str, arguments: str | Mapping[str, Any] | None, text: str, reply: str
    ) -> None:
        digest = hashlib.blake2b(reply.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        self.turns.append(SessionTurn(name, arguments, text, digest, self.state_hash))
