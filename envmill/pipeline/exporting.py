"""An export by hand: what runs kept, chosen by options, as folders that are not written yet.

runs ─► loads ─► what may leave ─► band ─► parts paid ─► splits ─► folders of exporters and consumers
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from envmill.agents.limits import RolloutLimits
from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.gates.protected_texts import read_protected
from envmill.interop.consumers import CONSUMERS, export_for, find_left_out, harbor
from envmill.interop.exporters.base import Band, ExportSet, OutputFolder, hold_folders
from envmill.interop.exporters.licence_terms import read_terms
from envmill.interop.exporters.scanning import ScanFinding
from envmill.kinds.findings import Finding
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.sql import ask
from envmill.pipeline.entering import enter_load
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import STEPS
from envmill.pipeline.transcripts import add_transcripts, add_turns
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.context import ExportInput
from envmill.stages.export import (
    REWARDED,
    choose_export_set,
    count_versions,
    describe_mixed,
    keep_band,
    keep_splits,
    stream_outputs,
    unite_loads,
)
from envmill.stages.holding import describe_flagged
from envmill.stages.partial import find_partial, pay_turns, pay_whole
from schemas.ledger import RunEvent
from schemas.lock import ExportOptions
from schemas.run import RunConfig

BAND = "0.1,0.9"
"""Pass rates that a policy learns from, where only the policy is named."""
Tell = Callable[[str], None]
Encode = Callable[[ExportSet, str], ExportSet]
"""Gives the rows of an exporter token ids."""


@dataclass(frozen=True)
class Selection:
    """What leaves, and why each scenario that was kept stays."""

    export_set: ExportSet
    stays: Mapping[str, str] = field(default_factory=dict[str, str])
    """Scenario → why it stays at home."""


def choose(
    settings: Settings,
    runs: Sequence[str],
    options: ExportOptions,
    terms: Path | None,
    tell: Tell,
    err: Tell,
) -> Selection:
    """The rows that leave; SettingsError where none is left. `tell` and `err` get what stays, in
    words."""
    lake = Lake(settings.lake)
    load = unite_loads([read_load(lake, run) for run in runs])
    if options.attempts:
        load = replace(
            load,
            export_set=add_transcripts(
                lake, {run: read_config(lake, run) for run in runs}, load.export_set
            ),
        )
    protected = read_protected(settings.protected, settings.sketches)
    asked = {"provisional": options.provisional, "suspected": options.suspected}
    export_set, findings = choose_export_set(
        load, **asked, protected=protected, terms=read_terms(terms or settings.terms)
    )
    _report(findings, err)
    stays = {one.id: "held back" for one in load.export_set.scenarios} | _explain(findings)
    if options.band or options.for_policy:
        export_set, left = _select(lake, runs, export_set, options, err)
        stays |= {one: why.replace("_", " ") for why, ids in left.items() for one in ids}
    if options.partial:
        export_set = _pay_parts(lake, runs, export_set, err)
    chosen = keep_splits(pay_whole(export_set), options.splits)
    if options.attempts:
        chosen = pay_turns(add_turns(settings, chosen), options.turn_reward)
        _report_turns(chosen, err)
    stays |= {
        one.id: f"of split {one.split}, which was not asked for" for one in export_set.scenarios
    }
    for name in options.consumers:
        for row, why in _list_left_out(name, chosen).items():
            tell(f"{name:12} left out {row}: {why}")
    return Selection(chosen, {one: why for one, why in stays.items() if one not in chosen.splits})


def pack(
    export_set: ExportSet, options: ExportOptions, encode: Encode | None = None
) -> list[OutputFolder]:
    """The folders. Rewards of several verifiers are in none of them."""
    if len(versions := count_versions(export_set, options.exporters)) > 1:
        others = "the other exporters do not write rewards of attempts"
        raise SettingsError(
            f"{describe_mixed(versions)}. {', '.join(sorted(REWARDED))} refuse them; {others}."
        )
    outputs = stream_outputs(
        export_set, options.exporters, scripted=options.scripted, encode=encode
    )
    more = (output for name in options.consumers for output in _pack_for(name, export_set))
    return hold_folders(chain(outputs, more))


def read_load(lake: Lake, run: str) -> ExportInput:
    """Everything a run has to export, as its last steps left it."""
    config = read_config(lake, run)
    question = (
        "select step, arg_max(fingerprint, written_at) from attrition where run = ? group by step"
    )
    found = dict(_ask(lake, question, [run]))
    marks = {
        step.name: Fingerprint(step.name, found[step.name]) for step in STEPS if step.name in found
    }
    if lacking := [
        step
        for step in ("scenarios-build", "scenarios-filter", "scenarios-collect")
        if step not in marks
    ]:
        raise SettingsError(
            f"Run {run} has not come to {lacking[0]} yet. Continue it: `envmill run --resume "
            f"{run}`."
        )
    entered = enter_load(
        StepInputs(lake, run, marks, config, RECIPES[config.recipe](read_themes()))
    )
    if not entered:
        raise SettingsError(
            f"Run {run} collected nothing. `envmill funnel {run}` shows where candidates were dropped."
        )
    load = entered[0].record
    return replace(
        load, export_set=replace(load.export_set, limits=RolloutLimits.of(config).describe())
    )


def read_config(lake: Lake, run: str) -> RunConfig:
    """The settings that a run began with."""
    started = next(row for row in lake.read(RunEvent, run) if row.event == "started")
    return RunConfig.read(started.detail)


def _ask(lake: Lake, question: str, values: Any = ()) -> list[tuple[Any, ...]]:
    with ask(lake, question, values) as answer:
        return list(answer.rows())


def _report(findings: Sequence[Finding], tell: Tell) -> None:
    """What stays at home, and an error where nothing is left."""
    for finding in findings:
        if finding.evidence:
            describe = _DESCRIPTIONS.get(finding.gate, _count)
            tell(f"{finding.gate}: {describe(finding.evidence)}")
    if findings[-1].outcome == "dropped":
        raise SettingsError(f"Nothing was exported: {findings[-1].detail}.")


def _explain(findings: Sequence[Finding]) -> dict[str, str]:
    """Scenario → why it stays, of those that a finding names."""
    told: dict[str, str] = {}
    for finding in findings:
        evidence: dict[str, Any] = finding.evidence or {}
        told |= dict.fromkeys(
            evidence.get("left_at_home", ()), _STAYS.get(finding.gate, finding.gate)
        )
        told |= {
            name: f"the scan found something ({seen[0]['kind']})"
            for name, seen in evidence.get("flagged", {}).items()
        }
        held = (one for why, ids in evidence.items() if why.startswith("scenarios_") for one in ids)
        told |= (
            dict.fromkeys(held, "its sources' terms do not allow training")
            if finding.gate == "terms"
            else {}
        )
    return told


_STAYS = {
    "licence": "of unknown licence",
    "review": "withdrawn, or rejected by a reviewer",
    "observed": "of tier observed",
    "protected": "repeats a protected benchmark",
    "provisional": "a required gate could not measure it",
    "suspected": "of tier suspected",
}


def _pay_parts(lake: Lake, runs: Sequence[str], export_set: ExportSet, tell: Tell) -> ExportSet:
    """The export set with the verifiers named that may pay for parts; the others pay all or nothing, and
    are told with what was earned."""
    question = (
        "select subject, gate, finding from gate_evidence where list_contains(?, run) and gate "
        "in ('S2', 'S13') and finding is not null"
    )
    dossiers = [
        (str(subject), str(gate), finding)
        for subject, gate, finding in _ask(lake, question, [list(runs)])
    ]
    paid, left = find_partial(export_set.scenarios, dossiers)
    for scenario, why in left.items():
        tell(f"partial: {scenario} pays all or nothing: {why}")
    return replace(export_set, partial=paid)


def _report_turns(export_set: ExportSet, tell: Tell) -> None:
    """Attempts whose turns are not known, by reason."""
    unknown = Counter(one.turns_unknown for one in export_set.transcripts if one.turns is None)
    for why, count in sorted(unknown.items()):
        tell(f"attempts: the turns of {count} are not known: {why}")


def _select(
    lake: Lake, runs: Sequence[str], export_set: ExportSet, options: ExportOptions, tell: Tell
) -> tuple[ExportSet, dict[str, list[str]]]:
    """The scenarios whose pass rate is within the band; the others are told."""
    chosen = _read_band(lake, runs, options.band or BAND, options.for_policy)
    kept, left = keep_band(export_set, chosen, _read_rates(lake, runs, chosen.policy))
    if left:
        tell(f"band: {_count(left)}")
    if not kept.scenarios:
        raise SettingsError(
            f"Nothing was exported: {chosen.policy} passes no scenario in the band "
            f"{chosen.least:g} to {chosen.most:g}."
        )
    return kept, left


def _read_band(lake: Lake, runs: Sequence[str], band: str, policy: str) -> Band:
    """Of the policy named, or of the one that all the runs probed with."""
    try:
        least, most = (float(part) for part in band.split(","))
    except ValueError as error:
        raise SettingsError(
            f"A band of pass rates is written LEAST,MOST, for example {BAND}, and {band!r} is none."
        ) from error
    if not 0 <= least <= most <= 1:
        raise SettingsError(
            f"Pass rates lie between 0 and 1, the least first: {band!r} is not such a band."
        )
    probes = sorted({read_config(lake, run).probe for run in runs})
    if not policy and len(probes) > 1:
        raise SettingsError(
            f"The runs probed with {', '.join(probes)}: name one with --for-policy."
        )
    return Band(policy or probes[0], least, most)


def _read_rates(lake: Lake, runs: Sequence[str], policy: str) -> dict[str, float]:
    """Scenario → the share of the policy's attempts that passed, over all the runs."""
    question = """select scenario, policy, sum(passes) / sum(attempts + user_faults) from trainability
                  where list_contains(?, run) group by all having sum(attempts + user_faults) > 0"""
    rows = _ask(lake, question, [list(runs)])
    acted = sorted({str(acting) for _, acting, _ in rows})
    if policy not in acted:
        known = f"Those that did: {', '.join(acted)}." if acted else "Nobody did."
        raise SettingsError(
            f"No attempt of policy {policy!r} was judged in {', '.join(runs)}. {known}"
        )
    return {str(scenario): float(rate) for scenario, acting, rate in rows if acting == policy}


def find_unexpected(lake: Lake, run: str) -> dict[str, str]:
    """What of a night's rows was not as expected, where nobody has accepted it."""
    question = """select arg_max(finding, written_at) ->> 'broken' from gate_evidence where run = $run and gate = 'night'
                  and not coalesce((select arg_max(judgement, reviewed_at) = 'accept' from reviews
                                    where judgement <> 'note' and subject = 'run:' || $run), false)"""
    return json.loads(_ask(lake, question, {"run": run})[0][0] or "{}")


def _count(evidence: Any) -> str:
    """The ids are in the ledger; here their number and the first of them."""
    return "; ".join(
        f"{len(ids)} scenarios {what.replace('_', ' ')}, {', '.join(ids[:3])} among them"
        for what, ids in evidence.items()
        if ids
    )


def _describe_terms(evidence: Any) -> str:
    """How many rows stay at home, by what the terms say; and of whom nothing is known."""
    strangers = evidence["no_terms_of"]
    told = [
        f"{len(ids)} {what.replace('_', ' ')}"
        for what, ids in evidence.items()
        if what != "no_terms_of"
    ]
    advice = (
        f". No entry is about {', '.join(strangers)}: add one with `train = true` or `train = "
        "false`"
        if strangers
        else ""
    )
    return f"left at home: {', '.join(told)}{advice}"


def _describe_flagged(evidence: Any) -> str:
    return describe_flagged(
        {name: [ScanFinding(**one) for one in seen] for name, seen in evidence["flagged"].items()}
    )


_DESCRIPTIONS: Mapping[str, Callable[[Any], str]] = {
    "terms": _describe_terms,
    "scan": _describe_flagged,
}


def _pack_for(name: str, export_set: ExportSet) -> Iterable[OutputFolder]:
    """The folder of a consumer: a package, or for Harbor tasks."""
    return (
        harbor.export_worlds(export_set)
        if name == harbor.NAME
        else export_for(CONSUMERS[name], export_set)
    )


def _list_left_out(name: str, export_set: ExportSet) -> Mapping[str, str]:
    return (
        harbor.find_unposed(export_set)
        if name == harbor.NAME
        else find_left_out(CONSUMERS[name], export_set)
    )
