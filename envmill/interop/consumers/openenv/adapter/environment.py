# pyright: basic, reportMissingImports=false
"""The environment that OpenEnv serves: one instance per session, all of a process with one jail and one judge."""

import asyncio
import atexit
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState
from .sessions import JailError, JudgeError, OutageError, ScenarioRow, ScenarioSession, ScenarioSet, SetError, open_set, render_reply

_LOG = logging.getLogger(__name__)
_OPENING = Lock()


class OpenEnvEnvironment(Environment[OpenEnvAction, OpenEnvObservation, OpenEnvState]):
    """Plays one scenario after another."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._session: ScenarioSession | None = None
        self._state = OpenEnvState()
        self._last: OpenEnvObservation | None = None
        """What ended the episode; None while it goes on."""

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        scenario: str = "",
        environment: str = "",
        split: str = "",
        index: int | None = None,
        **_: Any,
    ) -> OpenEnvObservation:
        """Begin a scenario, by its id or by split and index; the first of an environment, or of all, where neither is named."""
        row = self._find(scenario, environment, split, index)
        self.close()
        try:
            session = self._session = _begin(row.id, seed)
        except OutageError as error:
            self._state = OpenEnvState(episode_id=episode_id or str(uuid4()), scenario=row.id, environment=row.environment, form=row.form)
            # Withdrawn, or nobody knows whether it is: no episode begins, and no reward is given.
            return self._break(str(error), refused=type(error).__name__, reason=str(error))
        self._state = OpenEnvState(
            episode_id=episode_id or str(uuid4()),
            scenario=row.id,
            environment=row.environment,
            form=row.form,
            state_hash=session.state_hash,
        )
        return OpenEnvObservation(scenario=row.id, messages=row.prompt, tools=row.tools)

    def step(self, action: OpenEnvAction, timeout_s: float | None = None, **_: Any) -> OpenEnvObservation:
        """Call a tool or say something. After the end the last observation comes again."""
        del timeout_s  # the jail bounds the time of each call itself
        if self._last:
            return self._last
        try:
            return self._speak(action.say) if action.say is not None else self._call(action.tool, action.arguments)
        except (JailError, JudgeError) as error:
            return self._break(str(error))

    @property
    def state(self) -> OpenEnvState:
        """How far the episode is."""
        return self._state

    @property
    def mcp_server(self) -> "ToolServer":
        """What OpenEnv's route `/mcp` lists and calls: the tools of the scenario that runs."""
        row = self._running().row
        return ToolServer([_offer(tool["function"], self._call_over_mcp) for tool in row.tools])

    def get_metadata(self) -> EnvironmentMetadata:
        rows = open_shared().rows
        told = f"{len(rows)} scenarios in {len({row.environment for row in rows})} environments made by EnvMill."
        if problem := open_shared().recalls.describe()["problem"]:
            told += f" The recall feed cannot be read: {problem}."
        return EnvironmentMetadata(name="envmill", description=told, version="0.1.0")

    def list_splits(self) -> list[str]:
        """OpenEnv's task interface: splits by name, scenarios by their place in one."""
        return sorted({row.split for row in open_shared().rows})

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [_describe(row, place) for place, row in enumerate(_list_rows(split))]

    def num_tasks(self, split: str) -> int:
        return len(_list_rows(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return _describe(_pick(split, index), index)

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            self._session.close()
        self._session = self._last = None

    def _find(self, scenario: str, environment: str, split: str, index: int | None) -> ScenarioRow:
        if scenario:
            row = open_shared().find(scenario)
            if environment and row.environment != environment:
                raise SetError(f"Scenario {scenario} is of environment {row.environment}, not {environment}.")
            return row
        if split or index is not None:
            return _pick(split or "train", index or 0)
        found = [row for row in open_shared().rows if environment in ("", row.environment)]
        if not found:
            raise SetError(f"There is no environment {environment!r} here.")
        return found[0]

    def _running(self) -> ScenarioSession:
        if self._session is None:
            raise SetError("No scenario is running. Send reset with a scenario's id first.")
        return self._session

    def _call(self, tool: str, arguments: Any) -> OpenEnvObservation:
        session = self._running()
        reply = render_reply(session.call(tool, arguments))
        self._state.step_count += 1
        self._state.state_hash = session.state_hash
        return self._end(session, reply=reply) if session.ended else OpenEnvObservation(scenario=session.row.id, reply=reply)

    def _speak(self, words: str) -> OpenEnvObservation:
        """Empty words end an episode where everything was asked for at once, and say nothing."""
        session = self._running()
        self._state.step_count += 1
        single = session.row.form == "single"
        answer = session.say(words) if words or not single else None
        self._state.state_hash = session.state_hash
        user = answer["text"] if answer else ""
        if single or session.ended:
            return self._end(session, user=user)
        return OpenEnvObservation(scenario=session.row.id, user=user)

    def _end(self, session: ScenarioSession, **told: str) -> OpenEnvObservation:
        verdict = session.judge()
        if verdict.reward is None:
            return self._break(verdict.reason)
        self._state.outcome, self._state.ended = verdict.outcome, session.ended or "done"
        # Why it failed is told to nobody: a policy that tries again would read what was expected.
        metadata = {"outcome": verdict.outcome, "state_hash": verdict.state_hash}
        self._last = OpenEnvObservation(scenario=session.row.id, done=True, reward=verdict.reward, metadata=metadata, **told)
        return self._last

    def _break(self, why: str, **told: str) -> OpenEnvObservation:
        """Nothing was found out about the policy."""
        _LOG.warning("No reward for %s, nothing was found out: %s", self._state.scenario, why)
        self._state.outcome = self._state.ended = "error"
        metadata = {"outcome": "error", "reason": "The environment or its judge broke down. Leave this episode out.", **told}
        self._last = OpenEnvObservation(scenario=self._state.scenario, done=True, reward=None, metadata=metadata)
        return self._last

    def _call_over_mcp(self, tool: str, arguments: dict[str, Any]) -> str:
        return self.step(OpenEnvAction(tool=tool, arguments=arguments)).reply


@dataclass(frozen=True)
class OfferedTool:
    """A tool as OpenEnv's route reads one of an MCP server."""

    name: str
    description: str
    parameters: dict[str, Any]
    fn: Callable[..., Any]


@dataclass(frozen=True)
class ToolServer:
    """As much of an MCP server as OpenEnv's route asks for."""

    tools: list[OfferedTool]

    async def list_tools(self) -> list[OfferedTool]:
        return self.tools


def _offer(tool: dict[str, Any], call: Callable[[str, dict[str, Any]], str]) -> OfferedTool:
    async def run(**arguments: Any) -> str:
        return await asyncio.to_thread(call, tool["name"], arguments)

    return OfferedTool(tool["name"], tool["description"], tool["parameters"], run)


@cache
def _open_once() -> ScenarioSet:
    found = open_set()
    atexit.register(found.close)
    return found


def open_shared() -> ScenarioSet:
    """The set that this package brings, opened once a process."""
    with _OPENING:
        return _open_once()


def _begin(scenario: str, seed: int | None) -> ScenarioSession:
    """Once more where the jail broke down: the set starts another."""
    try:
        return open_shared().begin(scenario, seed)
    except JailError:
        return open_shared().begin(scenario, seed)


def _list_rows(split: str) -> list[ScenarioRow]:
    return [row for row in open_shared().rows if row.split == split]


def _pick(split: str, index: int) -> ScenarioRow:
    rows = _list_rows(split)
    if not 0 <= index < len(rows):
        raise IndexError(f"Split {split!r} has {len(rows)} scenarios, and {index} is none of them.")
    return rows[index]


def _describe(row: ScenarioRow, place: int) -> dict[str, Any]:
    return {"id": row.id, "index": place, "environment": row.environment, "kind": row.kind, "form": row.form}
