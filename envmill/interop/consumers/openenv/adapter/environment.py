# pyright: basic, reportMissingImports=false
"""The environment that OpenEnv serves: one instance per session. All of a process share its lanes,
each a jail with a judge.

message ──► allowance (who has used it up waits) ──► a thread of the session's lane ──► jail, judge ──► observation
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from .allowance import ClientAllowance
from .metrics import Metrics
from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState
from .sessions import (
    JailError,
    JudgeError,
    Lane,
    OutageError,
    ScenarioRow,
    ScenarioSession,
    SetError,
    render_reply,
)
from .shared import describe_row, find_row, list_rows, open_shared, pick_row
from .tool_server import ToolServer, offer_tool

_LOG = logging.getLogger(__name__)
METRICS = Metrics()
_EPISODES: WeakValueDictionary[str, "OpenEnvEnvironment"] = WeakValueDictionary()
"""Episode → who plays it, or played it last: what can be branched from."""
_ASKED: dict[str, Any] = {"scenario": "", "environment": "", "split": "", "index": None}
"""What a reset may name a scenario by."""


class OpenEnvEnvironment(Environment[OpenEnvAction, OpenEnvObservation, OpenEnvState]):
    """Plays one scenario after another."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True
    """OpenEnv would keep a thread for each session. What takes long runs in threads of the
    lanes."""

    def __init__(self) -> None:
        super().__init__()
        METRICS.hold(1)
        self._held = True
        self._allowance = ClientAllowance()
        self._turn = asyncio.Lock()
        self._session: ScenarioSession | None = None
        self._state = OpenEnvState()
        self._logs = False
        self._last: OpenEnvObservation | None = None
        """What ended the episode; None while it goes on."""

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **asked: Any
    ) -> OpenEnvObservation:
        """Begin a scenario, in a thread of the lane where it will run."""
        async with self._turn:
            with METRICS.clock("branch" if asked.get("branch") else "reset"):
                await self._wait()
                row = self._choose(**asked)
                lane = open_shared().lanes.take(row.environment)
                return await _run(lane.openers, self._begin, lane, row, seed, episode_id, **asked)

    async def step_async(
        self, action: OpenEnvAction, timeout_s: float | None = None, **_: Any
    ) -> OpenEnvObservation:
        """Call a tool or say something, in a thread of the session's lane."""
        del timeout_s  # the jail bounds the time of each call itself
        async with self._turn:
            with METRICS.clock("step") as kind:
                await self._wait()
                if self._last or self._session is None:
                    return self.step(action)
                seen = await _run(self._session.lane.callers, self.step, action)
                if seen.done:
                    kind.append("score")
                    METRICS.count("verdicts", self._state.outcome)
                return seen

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        scenario: str = "",
        environment: str = "",
        split: str = "",
        index: int | None = None,
        branch: str = "",
        turn: int | None = None,
        log_turns: bool = False,
        **_: Any,
    ) -> OpenEnvObservation:
        """Begin a scenario, by its id or by split and index; the first of an environment, or of
        all, where neither is named.

        `branch` begins where another episode was after so many turns, or where it is now. Its turns
        are made again. With `log_turns` the metadata of the last observation say what each turn
        came to.
        """
        asked = {
            "scenario": scenario,
            "environment": environment,
            "split": split,
            "index": index,
            "branch": branch,
            "turn": turn,
            "log_turns": log_turns,
        }
        row = self._choose(**asked)
        return self._begin(
            open_shared().lanes.take(row.environment), row, seed, episode_id, **asked
        )

    def step(
        self, action: OpenEnvAction, timeout_s: float | None = None, **_: Any
    ) -> OpenEnvObservation:
        """Call a tool or say something. After the end the last observation comes again."""
        del timeout_s  # the jail bounds the time of each call itself
        if self._last:
            return self._last
        session = self._running()
        spent = session.spent
        try:
            seen = (
                self._speak(action.say)
                if action.say is not None
                else self._call(action.tool, action.arguments)
            )
        except (JailError, JudgeError) as error:
            seen = self._break(str(error))
        self._allowance.spend(session.spent - spent, len(seen.reply))
        return seen

    @property
    def state(self) -> OpenEnvState:
        """How far the episode is."""
        return self._state

    @property
    def mcp_server(self) -> "ToolServer":
        """What OpenEnv's route `/mcp` lists and calls: the tools of the scenario that runs."""
        return ToolServer(
            [
                offer_tool(tool["function"], self._call_over_mcp)
                for tool in self._running().row.tools
            ]
        )

    def get_metadata(self) -> EnvironmentMetadata:
        rows = open_shared().rows
        told = (
            f"{len(rows)} scenarios in {len({row.environment for row in rows})} environments "
            "made by EnvMill."
        )
        if problem := open_shared().recalls.describe()["problem"]:
            told += f" The recall feed cannot be read: {problem}."
        return EnvironmentMetadata(name="envmill", description=told, version="0.1.0")

    def list_splits(self) -> list[str]:
        """OpenEnv's task interface: splits by name, scenarios by their place in one."""
        return sorted({row.split for row in open_shared().rows})

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [describe_row(row, place) for place, row in enumerate(list_rows(split))]

    def num_tasks(self, split: str) -> int:
        return len(list_rows(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return describe_row(pick_row(split, index), index)

    def close(self) -> None:
        """End the session. Its lane does that when it has time: the client is gone."""
        self._leave()
        if self._held:
            self._held = False
            METRICS.hold(-1)

    def _leave(self) -> None:
        session, self._session, self._last = self._session, None, None
        if session is not None:
            try:
                session.lane.callers.submit(session.close)
            except RuntimeError:  # the lane was closed, and the session with it
                session.close()

    def _begin(
        self,
        lane: Lane,
        row: ScenarioRow,
        seed: int | None,
        episode_id: str | None,
        branch: str = "",
        turn: int | None = None,
        log_turns: bool = False,
        **_: Any,
    ) -> OpenEnvObservation:
        origin = _EPISODES.get(branch) if branch else None
        source = origin and origin._session
        self._leave()
        try:
            if source:
                turns = source.turns[: len(source.turns) if turn is None else turn]
                session = _begin(
                    lambda own: open_shared().branch(turns, row.id, source.seed, own), lane, row
                )
            else:
                session = _begin(lambda own: open_shared().begin(row.id, seed, own), lane, row)
        except OutageError as error:
            return self._refuse(row, episode_id, error)
        self._session, self._logs = session, bool(log_turns)
        self._state = OpenEnvState(
            episode_id=episode_id or str(uuid4()),
            scenario=row.id,
            environment=row.environment,
            form=row.form,
            state_hash=session.state_hash,
            step_count=len(session.turns),
        )
        _EPISODES[self._state.episode_id or ""] = self
        return OpenEnvObservation(scenario=row.id, messages=row.prompt, tools=row.tools)

    def _refuse(
        self, row: ScenarioRow, episode_id: str | None, error: OutageError
    ) -> OpenEnvObservation:
        """Withdrawn, or nobody knows whether it is: no episode begins, and no reward is given."""
        self._state = OpenEnvState(
            episode_id=episode_id or str(uuid4()),
            scenario=row.id,
            environment=row.environment,
            form=row.form,
        )
        METRICS.count("refused", type(error).__name__)
        return self._break(str(error), refused=type(error).__name__)

    async def _wait(self) -> None:
        if wait := self._allowance.find_wait():
            METRICS.count("waits")
            await asyncio.sleep(wait)

    def _choose(self, branch: str = "", turn: int | None = None, **asked: Any) -> ScenarioRow:
        if not branch:
            return find_row(**{name: asked.get(name, empty) for name, empty in _ASKED.items()})
        source = _EPISODES.get(branch)
        if source is None or source._session is None:
            raise SetError(
                f"There is no episode {branch!r} to branch from. Its client must still be "
                "connected, and not have begun another."
            )
        known = len(source._session.turns)
        if turn is not None and not 0 <= turn <= known:
            raise SetError(
                f"The episode {branch} has come to turn {known}, and {turn} is none of them."
            )
        return source._session.row

    def _running(self) -> ScenarioSession:
        if self._session is None:
            raise SetError("No scenario is running. Send reset with a scenario's id first.")
        return self._session

    def _call(self, tool: str, arguments: Any) -> OpenEnvObservation:
        session = self._running()
        reply = render_reply(session.call(tool, arguments))
        self._state.step_count += 1
        self._state.state_hash = session.state_hash
        if session.broken:
            return self._break("the environment failed, not the policy", reply)
        return (
            self._end(session, reply=reply)
            if session.ended
            else OpenEnvObservation(scenario=session.row.id, reply=reply)
        )

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
        metadata: dict[str, Any] = {
            "outcome": verdict.outcome,
            "state_hash": verdict.state_hash,
        }
        if self._logs:
            metadata["turns"] = self._log_turns(session)
        self._last = OpenEnvObservation(
            scenario=session.row.id, done=True, reward=verdict.reward, metadata=metadata, **told
        )
        return self._last

    def _log_turns(self, session: ScenarioSession) -> list[dict[str, Any]] | None:
        """What each turn came to, for the trainer's records. The client's allowance pays for it.

        None where that is not known: the verdict stands.
        """
        begun = time.monotonic()
        try:
            return open_shared().log_turns(session.turns, session.row.id, session.seed)
        except (JailError, JudgeError, SetError) as error:
            _LOG.warning("No log of the turns of %s: %s", session.row.id, error)
            return None
        finally:
            self._allowance.spend(time.monotonic() - begun, 0)

    def _break(self, why: str, reply: str = "", refused: str = "") -> OpenEnvObservation:
        """Nothing was found out about the policy."""
        _LOG.warning("No reward for %s, nothing was found out: %s", self._state.scenario, why)
        self._state.outcome = self._state.ended = "error"
        metadata = {
            "outcome": "error",
            "reason": "The environment or its judge broke down. Leave this episode out.",
        }
        metadata |= {"refused": refused, "reason": why} if refused else {}
        self._last = OpenEnvObservation(
            scenario=self._state.scenario, done=True, reward=None, metadata=metadata, reply=reply
        )
        return self._last

    async def _call_over_mcp(self, tool: str, arguments: dict[str, Any]) -> str:
        return (await self.step_async(OpenEnvAction(tool=tool, arguments=arguments))).reply


async def _run(
    threads: ThreadPoolExecutor, act: Callable[..., OpenEnvObservation], *given: Any, **named: Any
) -> OpenEnvObservation:
    return await asyncio.get_running_loop().run_in_executor(threads, partial(act, *given, **named))


def _begin(
    begin: Callable[[Lane | None], ScenarioSession], lane: Lane, row: ScenarioRow
) -> ScenarioSession:
    """Once more where the jail broke down: the set starts another."""
    try:
        return begin(lane)
    except JailError:
        return begin(open_shared().lanes.take(row.environment))
