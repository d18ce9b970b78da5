# pyright: basic, reportMissingImports=false
"""Environment classes for `environment_factory`: one per exported environment, its tools as
documented methods."""

import atexit
import json
import logging
from collections.abc import Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any

from .sessions import (
    JailError,
    JudgeError,
    ScenarioSession,
    ScenarioSet,
    SessionVerdict,
    SetError,
    open_set,
    render_reply,
)
from .sessions.rows import SEALED
from .signatures import sign

_LOG = logging.getLogger(__name__)
_OUT_OF_ORDER = (
    '{"error":{"code":"out_of_order","message":"The environment is out of order. Nothing you did '
    'caused it."},"ok":false}'
)
_OPENING = Lock()


class TrlEnvironment:
    """One rollout at a time, and any number one after another. Instances are independent; all of a
    process share one jail and one judge."""

    _environment = ""

    def __init__(self) -> None:
        self._session: ScenarioSession | None = None
        self._words: str | None = None
        self._verdict: SessionVerdict | None = None
        self._outage = ""

    def reset(self, scenario: str = "", **row: Any) -> None:  # noqa: ARG002  TRL hands over the whole row
        """Begin a scenario: the trainer calls this with the columns of a row. The prompt is in the
        row, so nothing is added to it."""
        self._end()
        found = _open().find(scenario)
        if found.environment != self._environment:
            raise SetError(
                f"Scenario {scenario} is of environment {found.environment}, not "
                f"{self._environment}. Mend column `environment`."
            )
        self._session = _begin(scenario)

    def get_reward(self) -> float | None:
        """1 where the scenario is solved, 0 where it is not, None where nothing was found out: TRL
        leaves such a rollout out."""
        verdict = self._verdict = self._verdict or self._judge()
        return verdict.reward

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        try:
            return (
                _OUT_OF_ORDER
                if self._outage
                else render_reply(self._running().call(name, arguments))
            )
        except JailError as error:
            self._outage = str(error)
            return _OUT_OF_ORDER

    def _take_words(self, words: str) -> None:
        self._words = words

    def _judge(self) -> SessionVerdict:
        """An outage is logged, and no reward."""
        session = self._running()
        if self._words is None and _judges_words(session):
            raise SetError(
                f"Scenario {session.row.id} is judged by its last words: add "
                "reward_funcs=[read_last_words] to the trainer."
            )
        try:
            if self._words and not self._outage:
                session.say(self._words)
            verdict = (
                session.judge()
                if not self._outage
                else SessionVerdict("error", None, self._outage, "")
            )
        except (JailError, JudgeError) as error:
            verdict = SessionVerdict("error", None, str(error), "")
        if verdict.reward is None:
            _LOG.warning(
                "No reward for %s, nothing was found out: %s", session.row.id, verdict.reason
            )
        return verdict

    def _running(self) -> ScenarioSession:
        if self._session is None:
            raise SetError(
                "No scenario is running. Call reset(scenario=...) with an id of load_rows()."
            )
        return self._session

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = self._words = self._verdict = None
        self._outage = ""


def read_last_words(
    completions: Sequence[Any],
    environments: Sequence[Any],
    **row: Any,  # noqa: ARG001  TRL hands over the whole batch
) -> list[None]:
    """Reward function without a reward: it tells each environment the last words of its rollout,
    which `get_reward` is never told."""
    for completion, environment in zip(completions, environments, strict=True):
        if isinstance(environment, TrlEnvironment):
            environment._take_words(_find_last_words(completion))
    return [None] * len(completions)


@cache
def load_environments() -> dict[str, type[TrlEnvironment]]:
    """Environment id → class, as `environment_factory` takes it. No program runs before the first
    `reset`."""
    tools = {row.environment: row.tools for row in _open().rows}
    return {environment: make_environment(environment, told) for environment, told in tools.items()}


def make_environment(environment: str, tools: list[dict[str, Any]]) -> type[TrlEnvironment]:
    """The class of one environment. It is named after it, and TRL logs its rewards under that
    name."""
    methods = {
        tool["function"]["name"]: sign(tool["function"], TrlEnvironment._call) for tool in tools
    }
    return type(
        environment,
        (TrlEnvironment,),
        {"__doc__": f"Environment {environment}.", "_environment": environment, **methods},
    )


@cache
def _open_once() -> ScenarioSet:
    found = open_set()
    atexit.register(found.close)
    return found


def _open() -> ScenarioSet:
    """The set that this package brings, opened once a process."""
    with _OPENING:
        return _open_once()


def _begin(scenario: str) -> ScenarioSession:
    """Once more where the jail broke down: the set starts another."""
    try:
        return _open().begin(scenario)
    except JailError:
        return _open().begin(scenario)


def _judges_words(session: ScenarioSession) -> bool:
    row = session.row
    verifier = json.loads(
        (
            _open().folder / SEALED / row.environment / "scenarios" / row.number / "verifier.json"
        ).read_bytes()
    )
    written = any(
        check.get("op") == "generated" for check in (*verifier["goals"], *verifier["guards"])
    )
    return written or bool(verifier.get("facts"))


def _find_last_words(completion: Any) -> str:
    """What the policy said at the end; empty where it was cut off in the middle of its calls."""
    last = completion[-1] if isinstance(completion, list) and completion else {}
    said = (
        last.get("content")
        if last.get("role") == "assistant" and not last.get("tool_calls")
        else ""
    )
    parts = said if isinstance(said, list) else [{"type": "text", "text": said or ""}]
    return "".join(part.get("text", "") for part in parts if part.get("type") == "text")
