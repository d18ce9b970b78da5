"""Export: what a trainer loads.

Load ──licence, provisional, split──► ExportSet ──exporters──► outputs ──► folders and bundles
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from envmill.agents import is_scripted
from envmill.agents.limits import RolloutLimits
from envmill.gates.base import Finding, drop, keep
from envmill.gates.protected_texts import Protected, read_protected
from envmill.interop.exporters import EXPORTERS, ExportSet, OutputFolder, write_outputs
from envmill.interop.exporters.base import Band, ContaminationReport
from envmill.interop.exporters.licence_terms import TermsFile, read_terms
from envmill.interop.exporters.sources import unite_sources
from envmill.kinds import kind_of
from envmill.models.gateway import ModelSession
from envmill.stages.context import ExportInput, Result, RunContext, Subject
from envmill.stages.eval_only import find_crossings, find_eval_only
from envmill.stages.holding import Stays, hold_flagged, hold_to, leave_out, list_staying, without
from envmill.stages.partial import pay_whole
from envmill.stages.review import read_pairs
from schemas.base import Json
from schemas.stored import choose, list_ids, unite

_UNKNOWN = ("", "unknown")
_UNMEASURED = (
    "all that is left is provisional: a required gate was not measured; set `provisional` to "
    "export it anyway"
)
SUSPECTED = "suspected"
"""Tier, and the name under which the ledger has what an export left out or took of it."""
REWARDED = frozenset(name for name, one in EXPORTERS.items() if one.rewards)
TEACHING = frozenset(name for name, one in EXPORTERS.items() if one.teaches)
_SUSPECTED = (
    "all that is left is of tier suspected: let a judge decide the suspicions, or export it with "
    "`--with suspected`"
)
_OBSERVED = (
    "all that is left is of tier observed: its gates would have dropped it. Run without "
    "`--observe` to make what can be exported"
)

_EVAL_ONLY = "all that is left repeats a protected benchmark, which is for evaluation only"


async def export_bundles(
    subject: Subject[ExportInput],
    context: RunContext,
    models: ModelSession,  # noqa: ARG001
) -> Result:
    """Every exporter's bundles. Items of unknown licence are left out, as are provisional and
    suspected ones that nobody asked for."""
    wanted = {
        "provisional": context.config.provisional,
        "suspected": context.config.with_tier == "suspected",
    }
    protected = read_protected(context.settings.protected, context.settings.sketches)
    export_set, findings = choose_export_set(
        subject.record, **wanted, protected=protected, terms=read_terms(context.settings.terms)
    )
    if findings[-1].outcome == "dropped":
        return Result(findings=tuple(findings))
    export_set = pay_whole(replace(export_set, limits=RolloutLimits.of(context.config).describe()))
    exporters = context.config.exporters
    if len(versions := count_versions(export_set, exporters)) > 1:
        exporters = tuple(one for one in exporters if one not in REWARDED)
        findings.append(
            keep(
                "verifiers",
                {"mixed": versions, "not_written": sorted(REWARDED & {*context.config.exporters})},
            )
        )
    made, folder = set[str](), context.settings.bundles / context.run
    outputs = stream_outputs(export_set, exporters, scripted=context.config.scripted)
    bundles = write_outputs(_note(outputs, made), folder, context.run)
    if idle := sorted({*context.config.exporters} - made):
        findings.append(keep("exporters", {"made_nothing": idle}))
    if left_out := find_left_out(export_set, context.config.exporters):
        findings.append(keep("exporters", {"left_out": left_out}))
    if not TEACHING.isdisjoint(context.config.exporters) and (acted := list_scripted(export_set)):
        findings.append(
            keep(
                "sft",
                {"scripts_exported" if context.config.scripted else "scripts_left_out": acted},
            )
        )
    return Result(tuple(bundles), tuple(findings))


def _note(outputs: Iterable[OutputFolder], made: set[str]) -> Iterator[OutputFolder]:
    """Outputs as they come; `made` learns who made them."""
    for output in outputs:
        made.add(output.exporter)
        yield output


def stream_outputs(
    export_set: ExportSet,
    exporters: Collection[str],
    *,
    scripted: bool = False,
    encode: Callable[[ExportSet, str], ExportSet] | None = None,
) -> Iterator[OutputFolder]:
    """The outputs of the named exporters, each made when it is asked for; those that have nothing to
    say of this export set make none. `encode` gives an exporter's rows token ids."""
    chosen = {name: pack for name, pack in EXPORTERS.items() if name in exporters}
    formless = _find_formless(export_set, "bundle")
    own = {"bundle": leave_out(export_set, lambda scenario, _: scenario in formless)}
    own |= dict.fromkeys(TEACHING, export_set if scripted else _leave_scripts_out(export_set))
    given = {name: own.get(name, export_set) for name in chosen}
    given = {name: encode(load, name) if encode else load for name, load in given.items()}
    for name, pack in chosen.items():
        yield from pack(given[name])


def pack_outputs(
    export_set: ExportSet,
    exporters: Collection[str],
    *,
    scripted: bool = False,
    encode: Callable[[ExportSet, str], ExportSet] | None = None,
) -> list[OutputFolder]:
    """The outputs of the named exporters; those that have nothing to say of this export set make
    none. `encode` gives an exporter's rows token ids."""
    return [*stream_outputs(export_set, exporters, scripted=scripted, encode=encode)]


def count_versions(export_set: ExportSet, exporters: Collection[str]) -> dict[str, int]:
    """Versions of the judging code that gave rewards which these exporters write → how many; what
    counts nowhere has none."""
    leaving = (
        {one.id for one in export_set.scenarios}
        if not REWARDED.isdisjoint(exporters)
        else set[str]()
    )
    versions = Counter(
        one.verifier_version
        for one in export_set.attempts
        if one.scenario in leaving and one.reward is not None
    )
    return dict(sorted(versions.items()))


def describe_mixed(versions: Mapping[str, int]) -> str:
    """What is wrong with more than one, and what to do."""
    told = ", ".join(
        f"{count} of {version or 'an unknown version'}" for version, count in versions.items()
    )
    return (
        f"Attempts were judged by verifiers of several versions: {told}. Their rewards are not "
        "compared. Judge them again by one "
        "version with `envmill rescore RUN`, then export again"
    )


def list_scripted(export_set: ExportSet) -> list[str]:
    """Scenarios of a model's environments in which a script acted. A script follows the reference
    path, and a student learns its slips."""
    written = {one.id for one in export_set.environments if one.origin.provider != "offline"}
    return sorted(
        {
            one.scenario
            for one in export_set.trajectories
            if one.environment in written and is_scripted(one.policy)
        }
    )


def _leave_scripts_out(export_set: ExportSet) -> ExportSet:
    acted = set(list_scripted(export_set))
    if not acted:
        return export_set
    kept = choose(
        export_set.trajectories,
        lambda one: one.scenario not in acted or not is_scripted(one.policy),
    )
    return replace(export_set, trajectories=kept)


def find_left_out(export_set: ExportSet, exporters: Collection[str]) -> dict[str, list[str]]:
    """Exporter → scenarios that it has no form for, as their kinds say."""
    left = {name: _find_formless(export_set, name) for name in EXPORTERS if name in exporters}
    return {name: sorted(ids) for name, ids in left.items() if ids}


def _find_formless(export_set: ExportSet, exporter: str) -> set[str]:
    """Scenarios that an exporter has no form for."""
    homes = {one.id: kind_of(one) for one in export_set.environments}
    return {
        one.id
        for one in export_set.scenarios
        if homes[one.environment].find_formless(exporter, one)
    }


def unite_loads(loads: Sequence[ExportInput]) -> ExportInput:
    """Several runs as one: what two of them hold is there once."""
    parts: dict[str, Any] = {
        name: unite([getattr(load.export_set, name) for load in loads])
        for name in (
            "environments",
            "tests",
            "scenarios",
            "trajectories",
            "pairs",
            "attempts",
            "transcripts",
        )
    }
    judged_by = {
        rollout: version for load in loads for rollout, version in load.export_set.judged_by.items()
    }
    sampled = {
        rollout: found for load in loads for rollout, found in load.export_set.sampled.items()
    }
    counts = tuple(count for load in loads for count in load.export_set.counts)
    limits = loads[0].export_set.limits
    marked = {
        name: frozenset[str]().union(*(getattr(load, name) for load in loads))
        for name in ("provisional", "refused", "suspected", "observed")
    }
    accepted = {name: note for load in loads for name, note in load.accepted.items()}
    compared = unite_reports([load.export_set.contamination for load in loads])
    sources = unite_sources(load.export_set.sources for load in loads)
    return ExportInput(
        ExportSet(
            **parts,
            counts=counts,
            limits=limits,
            contamination=compared,
            sources=sources,
            judged_by=judged_by,
            sampled=sampled,
        ),
        accepted=accepted,
        crossed=_find_crossed(loads) if len(loads) > 1 else frozenset(),
        **marked,
    )


def _find_crossed(loads: Sequence[ExportInput]) -> frozenset[str]:
    """One run is consistent; another that used its environments may have held out other shares, or
    found other domains that are like theirs."""
    splits = defaultdict[str, set[str]](set)
    for load in loads:
        for one in load.export_set.scenarios:
            splits[one.environment].add(one.split)
    return frozenset(home for home, found in splits.items() if "train" in found and len(found) > 1)


def unite_reports(reports: Sequence[ContaminationReport | None]) -> ContaminationReport | None:
    """What all of it was compared with, and the least power. None where a part was compared with
    nothing."""
    known = [one for one in reports if one is not None]
    if not known or len(known) < len(reports):
        return None
    sets = {
        name: count
        for name, count in known[0].sets.items()
        if all(name in one.sets for one in known)
    }
    power = {kind: min(one.power.get(kind, 0.0) for one in known) for kind in known[0].power}
    return (
        ContaminationReport(
            sets, power, {name: near for one in known for name, near in one.near.items()}
        )
        if sets
        else None
    )


def keep_splits(export_set: ExportSet, splits: Collection[str]) -> ExportSet:
    """Only what belongs to some splits."""
    others = {name for name, split in export_set.splits.items() if split not in splits}
    return leave_out(export_set, lambda scenario, _: scenario in others)


def keep_band(
    export_set: ExportSet, band: Band, rates: Mapping[str, float]
) -> tuple[ExportSet, dict[str, list[str]]]:
    """Only scenarios that the policy passes so often, and what stays at home: for its rate, or
    since it made no attempt that counts."""
    unmeasured = [one.id for one in export_set.scenarios if one.id not in rates]
    outside = [
        one.id
        for one in export_set.scenarios
        if one.id in rates and not band.least <= rates[one.id] <= band.most
    ]
    stays = {*unmeasured, *outside}
    left = {
        "outside_the_band": sorted(outside),
        f"never_tried_by_{band.policy}": sorted(unmeasured),
    }
    return replace(leave_out(export_set, lambda scenario, _: scenario in stays), band=band), {
        name: ids for name, ids in left.items() if ids
    }


def choose_export_set(
    load: ExportInput,
    *,
    provisional: bool,
    suspected: bool = False,
    protected: Protected | None = None,
    terms: TermsFile | None = None,
) -> tuple[ExportSet, list[Finding]]:
    """What may leave, and why the rest stays; the last finding drops where nothing is left, or
    where a task is in two splits."""
    licensed = {one.id for one in load.export_set.environments if one.licence not in _UNKNOWN}
    findings: list[Finding] = []
    export_set = load.export_set
    reasons: tuple[tuple[str, str, Stays, bool], ...] = (
        (
            "licence",
            "everything that was kept is of unknown licence",
            lambda _, home: home not in licensed,
            False,
        ),
        (
            "review",
            "all that is left was rejected by reviewers or recalled",
            _among(load.refused),
            False,
        ),
        ("observed", _OBSERVED, _among(load.observed), False),
        ("protected", _EVAL_ONLY, _among(find_eval_only(export_set.scenarios, protected)), False),
        ("provisional", _UNMEASURED, _among(load.provisional), provisional),
        (SUSPECTED, _SUSPECTED, _among(load.suspected), suspected),
    )
    for name, words, stays, asked in reasons:
        left = list_staying(export_set, stays)
        export_set = export_set if asked else leave_out(export_set, stays)
        if not export_set.scenarios:
            return export_set, [
                *findings,
                drop(name, "nothing_to_export", words, {"left_at_home": left}),
            ]
        if left or name == "licence":
            findings.append(keep(name, _describe_left(left, asked)))
    export_set, flagged = hold_flagged(export_set, load.accepted)
    findings += [flagged] if flagged else []
    if not export_set.scenarios:
        return export_set, findings
    if crossed := sorted(load.crossed & set(list_ids(export_set.environments))):
        return export_set, [
            *findings,
            drop(
                "splits",
                "two_splits",
                f"{', '.join(crossed[:3])} has scenarios of split train in one run and held out "
                "ones in another: export the runs apart",
                {"environments": crossed},
            ),
        ]
    if crossings := find_crossings(export_set.scenarios, read_pairs(load.accepted)):
        told = ", ".join(f"{one} and {other}" for one, other in crossings[:3])
        return export_set, [
            *findings,
            drop(
                "splits",
                "same_task",
                f"tasks of split train are held out as well: {told}",
                {"pairs": crossings},
            ),
        ]
    # Whom a recall means may have acted only: its trajectories and pairs go, and their scenarios
    # stay.
    acted = {
        name: without(getattr(export_set, name), load.refused)
        for name in ("trajectories", "pairs", "transcripts")
    }
    export_set = replace(
        export_set, suspected=frozenset(list_staying(export_set, _among(load.suspected))), **acted
    )
    if terms is None:
        return export_set, findings
    export_set, finding = hold_to(terms, export_set)
    return export_set, [*findings, finding]


def _among(ids: frozenset[str]) -> Stays:
    """Whether a scenario or its environment is one of these."""
    return lambda scenario, home: bool(ids & {scenario, home})


def _describe_left(left: list[str], asked: bool) -> Json:
    return {"exported" if asked else "left_at_home": left} if left else None
