# pyright: basic, reportMissingImports=false
"""The environment: one episode at a scenario. SkyRL makes one for each rollout, in any thread."""

import atexit
import logging
from functools import cache
from threading import Lock
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from .reading import ModelTurn, read_turn, render_replies
from .sessions import (
    JailError,
    JudgeError,
    OutageError,
    ScenarioSession,
    ScenarioSet,
    SetError,
    open_set,
    render_reply,
)

_LOG = logging.getLogger(__name__)
NAME = "envmill"
"""`env_class` of the rows."""
_OPENING = Lock()


class SkyrlEnvironment(BaseTextEnv):
    """A scenario, and the tools of its environment in the jail. Environments are independent; all
    of a process share one jail."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:  # noqa: ARG002  SkyRL hands it over
        super().__init__()
        told = extras or {}
        self.max_turns = told.get("max_turns")
        scenario = (told.get("extra_info") or {}).get("scenario")
        if not scenario:
            raise SetError(
                "The row names no scenario. Use the rows of data/SPLIT.jsonl, and keep their "
                "column extra_info."
            )
        self._scenario = str(scenario)
        self._session: ScenarioSession | None = None
        self._said: list[ModelTurn] = []
        self._passed: bool | None = None

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Begin. The prompt is the row's."""
        self.close()
        self.turns, self._said, self._passed = 0, [], None
        try:
            self._session = _begin(self._scenario)
        except JailError as error:
            raise OutageError(f"{self._scenario}: {error}") from error
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Calls are made in order. A turn without any goes to the user, who answers in a
        conversation; otherwise it is the end."""
        session = self._running()
        self.turns += 1
        self._said.append(read_turn(action))
        try:
            return self._advance(session)
        except (JailError, JudgeError) as error:
            session = self._session = self._begin_again(str(error))
        try:
            return self._advance(session)
        except (JailError, JudgeError) as error:
            raise OutageError(f"{self._scenario}: {error}") from error

    def close(self) -> None:
        """End the episode."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def get_metrics(self) -> dict[str, Any]:
        """Whether it was passed, and the number of calls; nothing of why not, which a policy could
        be fed with."""
        moves = self._session.moves if self._session else []
        told = {"calls": sum("name" in move for move in moves), "turns": self.turns}
        return told if self._passed is None else {"passed": float(self._passed), **told}

    def _advance(self, session: ScenarioSession) -> BaseTextEnvStepOutput:
        """Play the last turn, and judge where it was the last of all."""
        told = _play(session, self._said[-1])
        over = bool(session.ended) or (self.max_turns is not None and self.turns >= self.max_turns)
        reward = self._judge(session) if over else 0.0
        found = {
            "scenario": self._scenario,
            "state_hash": session.state_hash,
            "ended": session.ended or ("max_turns" if over else ""),
        }
        return BaseTextEnvStepOutput(
            observations=[] if over else told, reward=reward, done=over, metadata=found
        )

    def _begin_again(self, why: str) -> ScenarioSession:
        """Another session, in which all turns before the last are played again. Programs give the
        same replies to the same calls."""
        _LOG.warning(
            "%s: played again from the beginning, since something broke down: %s",
            self._scenario,
            why,
        )
        try:
            session = _begin(self._scenario)
            for turn in self._said[:-1]:
                _play(session, turn)
        except (JailError, JudgeError) as error:
            raise OutageError(f"{self._scenario}: {error}") from error
        return session

    def _judge(self, session: ScenarioSession) -> float:
        verdict = session.judge()
        if verdict.reward is None:
            raise OutageError(f"{self._scenario}: nothing was found out: {verdict.reason}")
        self._passed = verdict.outcome == "pass"
        return verdict.reward

    def _running(self) -> ScenarioSession:
        if self._session is None:
            raise SetError("No episode is running. Call init(prompt) first.")
        return self._session


def register_environment() -> None:
    """Make `envmill` known to SkyRL-gym; once a process, and again without harm."""
    if NAME not in skyrl_gym.registry:
        skyrl_gym.register(id=NAME, entry_point=SkyrlEnvironment)


def _play(session: ScenarioSession, turn: ModelTurn) -> list[dict[str, str]]:
    """What a turn is answered."""
    if turn.calls:
        replies = [render_reply(session.call(name, arguments)) for name, arguments in turn.calls]
        return [{"role": "user", "content": render_replies(replies)}]
    if not turn.words and session.row.form == "single":
        session.ended = session.ended or "done"
        return []
    answer = session.say(turn.words)
    return [{"role": "user", "content": answer["text"]}] if answer else []


@cache
def _open_once() -> ScenarioSet:
    found = open_set()
    atexit.register(found.close)
    return found


def _begin(scenario: str) -> ScenarioSession:
    """Once more where the jail broke down: the set starts another."""
    with _OPENING:
        scenarios = _open_once()
    try:
        return scenarios.begin(scenario)
    except JailError:
        return scenarios.begin(scenario)
