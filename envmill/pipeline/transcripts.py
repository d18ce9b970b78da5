"""Transcripts of stored attempts for an export, and what each of their turns came to, by playing
them again in the jail."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from envmill.agents.transcript import list_messages, list_sampled, list_shown, weigh_messages
from envmill.agents.turn_log import log_machine_turns, log_turns
from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.interop.exporters.base import AttemptTranscript, ExportSet
from envmill.interop.exporters.sources import trace_attempt
from envmill.kinds import kind_of, open_sandbox
from envmill.lake.lake import Lake
from envmill.pipeline.casting import read_cast
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario

_AT_ONCE = 4
"""Attempts that are played again side by side."""


def add_transcripts(lake: Lake, configs: Mapping[str, RunConfig], cargo: ExportSet) -> ExportSet:
    """The cargo with what was said and done in its attempts, and what each rests on. `configs` are
    its runs' settings."""
    wanted = {one.id for one in cargo.attempts}
    homes, splits = {one.id: one for one in cargo.environments}, cargo.splits
    found: dict[str, AttemptTranscript] = {}
    sources = dict(cargo.sources)
    for run, config in configs.items():
        cast = read_cast(config)
        for one in lake.read(Rollout, run):
            if one.id in wanted and one.scenario in splits:
                found[one.id] = AttemptTranscript(
                    id=one.id,
                    scenario=one.scenario,
                    environment=one.environment,
                    policy=one.policy,
                    form=one.form,
                    split=splits[one.scenario],
                    licence=homes[one.environment].licence,
                    messages=list_messages(one),
                    loss=weigh_messages(list_shown(one.transcript)),
                    sampled=list_sampled(one.transcript),
                )
                acted = trace_attempt(one.scenario, one.policy, one.form, cargo.sources, cast)
                sources[one.id] = tuple(sorted({*sources.get(one.id, ()), *acted}))
    return replace(cargo, transcripts=tuple(found[name] for name in sorted(found)), sources=sources)


def add_turns(settings: Settings, lake: Lake, runs: Sequence[str], cargo: ExportSet) -> ExportSet:
    """The cargo with a log of each attempt's turns, or the reason why there is none."""
    if not cargo.transcripts:
        return cargo
    wanted = {one.id for one in cargo.transcripts}
    rollouts = {one.id: one for run in runs for one in lake.read(Rollout, run) if one.id in wanted}
    return replace(cargo, transcripts=tuple(asyncio.run(_log_all(settings, cargo, rollouts))))


async def _log_all(
    settings: Settings, cargo: ExportSet, rollouts: Mapping[str, Rollout]
) -> list[AttemptTranscript]:
    scenarios = {one.id: one for one in cargo.scenarios}
    homes = {one.id: one for one in cargo.environments}
    slots = asyncio.Semaphore(_AT_ONCE)
    async with open_sandbox(settings) as sandbox:

        async def log(one: AttemptTranscript) -> AttemptTranscript:
            async with slots:
                return await _log(
                    one, rollouts[one.id], scenarios[one.scenario], homes[one.environment], sandbox
                )

        return await asyncio.gather(*(log(one) for one in cargo.transcripts))


async def _log(
    one: AttemptTranscript,
    rollout: Rollout,
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
) -> AttemptTranscript:
    machine = kind_of(environment).find_formless("bundle", scenario)
    log = log_machine_turns if machine else log_turns
    if rollout.outcome == "error":
        return replace(one, turns_unknown="the attempt ended in error")
    try:
        return replace(one, turns=await log(rollout, scenario, environment, sandbox))
    except BuildError as error:
        return replace(one, turns_unknown=error.message)
