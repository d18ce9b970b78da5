"""Rows of the set as tasks. A reward plays the recorded moves again and judges them, so it needs
the trace alone.

setup ─► state ─► tool server and scripted user append moves ─► finalize: moves are saved ─► reward: moves are made again ─► verdict
"""

# pyright: basic, reportMissingImports=false

import asyncio
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

from .sessions import SessionVerdict, SetError
from .toolset import MillState, MillToolset, MillToolsetConfig
from .worlds import find_set

INFO = "envmill"
"""Where a saved trace has the moves and the verdict."""
SPLITS = ("train", "validation", "test")


class MillTaskConfig(vf.TaskConfig):
    """What tools and rewards read."""

    folder: str = ""
    """Folder with public/ and sealed/; the one inside this package when empty."""


class MillConfig(vf.TasksetConfig):
    """Which rows are loaded."""

    split: str = "train"
    """train, validation or test."""
    forms: list[str] = Field(default_factory=lambda: ["single", "conversation"])
    """Forms to load."""
    scenarios: list[str] = Field(default_factory=list)
    """Ids of rows to load, of any split and form; all of the split when empty."""
    task: MillTaskConfig = MillTaskConfig()
    tools: MillToolsetConfig = MillToolsetConfig()


class MillData(vf.TaskData):
    """A row. Nothing in it is secret."""

    scenario: str
    """Id of the row."""
    form: str
    split: str
    environment: str
    kind: str


class MillTask(vf.Task[MillData, MillState, MillTaskConfig]):
    """One scenario in one form."""

    @property
    def key(self) -> str:
        return self.data.scenario

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:  # noqa: ARG002  as the framework calls it
        trace.state.scenario, trace.state.session = self.data.scenario, trace.id

    @vf.stop
    async def is_over(self, trace: vf.Trace) -> bool:
        """The limit of calls is reached, or there is no world any more."""
        return bool(trace.state.ended or trace.state.outage)

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:  # noqa: ARG002  as the framework calls it
        """What was done and said goes into what is saved of a trace; a state does not."""
        state = trace.state
        words = _read_last_words(trace)
        said = (
            [{"say": words}]
            if words is not None and self.data.form == "single" and not state.ended
            else []
        )
        told = {
            "moves": [*state.moves, *said],
            "state_hash": state.state_hash,
            "ended": state.ended,
            "outage": state.outage,
        }
        trace.info[INFO] = told

    @vf.reward
    async def passed(self, trace: vf.Trace) -> float:
        """1 where the verifier passes the whole job, else 0. A verdict of `error` raises: an outage
        is no failure of the policy."""
        verdict = await asyncio.to_thread(self.judge, trace.info[INFO])
        # Not why it failed: who improves prompts by reading traces would read what was expected.
        trace.info[INFO] |= {"outcome": verdict.outcome, "end": verdict.state_hash}
        if verdict.reward is None:
            raise RuntimeError(
                f"there is no verdict, and nothing is known about the policy: {verdict.reason}"
            )
        for name, value in verdict.components.items():
            trace.record_metric(name, float(value))
        return verdict.reward

    def judge(self, told: dict[str, Any]) -> SessionVerdict:
        """The verdict on recorded moves, made again."""
        if told["outage"]:
            return SessionVerdict("error", None, told["outage"], told["state_hash"])
        return find_set(self.config.folder).judge_moves(
            self.data.scenario, told["moves"], told["state_hash"]
        )


class MillTaskset(vf.Taskset[MillTask, MillConfig]):
    """The rows of one split."""

    @classmethod
    def toolsets(cls, config: MillConfig) -> list[vf.Toolset]:
        return [MillToolset(config.tools.model_copy(update={"folder": config.task.folder}))]

    def load(self) -> Iterator[MillTask]:
        if self.config.split not in SPLITS:
            raise SetError(f"There is no split {self.config.split!r}: {', '.join(SPLITS)}.")
        found = find_set(self.config.task.folder)
        rows = [
            row
            for row in found.rows
            if row.split == self.config.split and row.form in self.config.forms
        ]
        if self.config.scenarios:
            rows = [found.find(name) for name in self.config.scenarios]
        if not rows:
            counts = ", ".join(
                f"{sum(row.split == split for row in found.rows)} {split}" for split in SPLITS
            )
            raise SetError(
                f"No row of split {self.config.split} and form {' or '.join(self.config.forms)} "
                f"is there. Rows by split: {counts}."
            )
        for row in rows:
            rules = [message["content"] for message in row.prompt if message["role"] == "system"]
            data = MillData(
                id=row.id, name=row.id, scenario=row.id, form=row.form, split=row.split, environment=row.environment, kind=row.kind,
                system_prompt="\n\n".join(rules) or None, prompt=row.prompt[-1]["content"],
            )  # fmt: skip
            yield MillTask(data, self.config.task)


def _read_last_words(trace: vf.Trace) -> str | None:
    """What the policy said in the end; None where it was cut off in the middle of calls."""
    last: Any = trace.assistant_messages[-1] if trace.assistant_messages else None
    return None if last is None or last.tool_calls else last.content or ""
