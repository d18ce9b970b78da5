"""Transcripts of stored attempts for an export, and what each of their turns came to, by playing
them again in the jail."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TypeAlias, cast

from envmill.agents.transcript import list_messages, list_sampled, list_shown, weigh_messages
from envmill.agents.turn_log import LoggedTurn, log_machine_turns, log_turns
from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.interop.exporters.base import AttemptTranscript, ExportSet
from envmill.interop.exporters.sources import RowSource, trace_attempt
from envmill.kinds import kind_of, open_sandbox
from envmill.lake.lake import Lake
from envmill.lake.spool import RowSpool, Shelf
from envmill.pipeline.casting import read_cast
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario, Split
from schemas.stored import MadeFromRows, StoredRows, find_by_id, unite

Trace: TypeAlias = Callable[[str, str, str], tuple[RowSource, ...]]
Logged: TypeAlias = tuple[Sequence[LoggedTurn] | None, str]
"""What each turn came to, or None and why that is not known."""

_AT_ONCE = 4
"""Attempts that are played again side by side."""


def add_transcripts(
    lake: Lake, configs: Mapping[str, RunConfig], export_set: ExportSet
) -> ExportSet:
    """The export set with what was said and done in its attempts, and what each rests on. `configs` are
    its runs' settings. Rollouts lie in a spool; a transcript is made when it is read."""
    wanted = {one.id for one in export_set.attempts}
    licences, splits = {one.id: one.licence for one in export_set.environments}, export_set.splits
    spool, sources = RowSpool(), dict(export_set.sources)

    def find(run: str, trace: Trace) -> Iterator[list[dict[str, Any]]]:
        for part in lake.scan(Rollout, run):
            rows = [row for row in part if row["id"] in wanted and row["scenario"] in splits]
            for row in rows:
                rests = trace(row["scenario"], row["policy"], row["form"])
                sources[row["id"]] = tuple(sorted({*sources.get(row["id"], ()), *rests}))
            yield rows

    parts: list[StoredRows[Rollout]] = []
    for run, config in configs.items():
        trace = partial(trace_attempt, sources=export_set.sources, cast=read_cast(config))
        parts.append(spool.hold(Rollout, find(run, trace), "scenario"))
    rollouts = cast("StoredRows[Rollout]", unite(parts))
    transcripts = MadeFromRows(rollouts, partial(_make_transcript, licences, splits))
    return replace(export_set, transcripts=transcripts, sources=sources)


def _make_transcript(
    licences: Mapping[str, str], splits: Mapping[str, Split], one: Rollout
) -> AttemptTranscript:
    return AttemptTranscript(
        id=one.id,
        scenario=one.scenario,
        environment=one.environment,
        policy=one.policy,
        form=one.form,
        split=splits[one.scenario],
        licence=licences[one.environment],
        messages=list_messages(one),
        loss=weigh_messages(list_shown(one.transcript)),
        sampled=list_sampled(one.transcript),
    )


def add_turns(settings: Settings, export_set: ExportSet) -> ExportSet:
    """The export set with a log of each attempt's turns, or the reason why there is none."""
    if not export_set.transcripts:
        return export_set
    transcripts = cast("MadeFromRows[AttemptTranscript, Rollout]", export_set.transcripts)
    logs: Shelf[Logged] = RowSpool().shelve(_render_log, _parse_log)
    asyncio.run(_log_all(settings, export_set, transcripts.base, logs))

    def add(one: AttemptTranscript) -> AttemptTranscript:
        turns, unknown = logs.get(one.id) or (None, "")
        return replace(one, turns=turns, turns_unknown=unknown)

    return replace(export_set, transcripts=transcripts.change(add))


async def _log_all(
    settings: Settings, export_set: ExportSet, rollouts: StoredRows[Rollout], logs: "Shelf[Logged]"
) -> None:
    find_scenario, find_home = find_by_id(export_set.scenarios), find_by_id(export_set.environments)
    names = iter(rollouts.ids)
    async with open_sandbox(settings) as sandbox:

        async def log() -> None:
            for name in names:
                one = rollouts.get(name)
                found = find_scenario(one.scenario), find_home(one.environment)
                logs.put(name, await _log(one, *found, sandbox))

        await asyncio.gather(*(log() for _ in range(_AT_ONCE)))


async def _log(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Logged:
    machine = kind_of(environment).find_formless("bundle", scenario)
    log = log_machine_turns if machine else log_turns
    if rollout.outcome == "error":
        return None, "the attempt ended in error"
    try:
        return await log(rollout, scenario, environment, sandbox), ""
    except BuildError as error:
        return None, error.message


def _render_log(log: Logged) -> Any:
    turns, unknown = log
    return None if turns is None else [asdict(turn) for turn in turns], unknown


def _parse_log(found: Any) -> Logged:
    turns, unknown = found
    return None if turns is None else [LoggedTurn(**turn) for turn in turns], unknown
