"""What stays at home of a export_set, and with it all that was made of it: rows in which a scan found
something, and those that terms forbid.

export_set ──scan──► rows without data of people, secrets and foreign notices ──terms──► rows that may be trained on, and split `test`
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias, TypeVar

from envmill.interop.exporters.base import AttemptTranscript, ExportSet
from envmill.interop.exporters.licence_terms import TermsFile, judge_row
from envmill.interop.exporters.scanning import ScanFinding, scan
from envmill.kinds.findings import Finding, drop, keep
from schemas.base import Json
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Scenario
from schemas.stored import Identified, find_by_id, find_by_owner, list_ids, list_owners, pick

T = TypeVar("T", Scenario, Trajectory, Pair, AttemptTranscript)
M = TypeVar("M", Trajectory, Pair, AttemptTranscript)
N = TypeVar("N", bound=Identified)
Stays: TypeAlias = Callable[[str, str], bool]
"""Of a scenario's id and its environment's: whether it stays at home."""
_MADE = ("tests", "trajectories", "pairs", "transcripts")
"""What is made of environments and scenarios."""
HELD_OUT = "test"
"""Split that nobody trains on: terms that forbid training let it leave."""


def hold_flagged(
    export_set: ExportSet, accepted: Mapping[str, str]
) -> tuple[ExportSet, Finding | None]:
    """Without rows in which a scan found something that nobody accepted. An environment takes its
    scenarios along, and these theirs.

    `accepted`: of what reviewers accepted, their words. They accept the kinds that these name, and the same values in all that was made
    of it: who called a scenario right said nothing of the address in it.
    """
    flagged: dict[str, list[ScanFinding]] = {}
    waived: dict[str, set[tuple[str, str]]] = {}
    clean = set[tuple[str, str]]()
    for name, homes, content, licence in _list_rows(export_set):
        if not homes:  # rows of another environment say other texts
            clean.clear()
        seen = scan(content, licence, clean)
        words = set(re.findall(r"(\w+):", accepted.get(name, "").casefold()))
        own = {(one.kind, one.value) for one in seen if one.kind in words}
        own = own.union(*(waived.get(home, ()) for home in homes))
        if own:
            waived[name] = own
        if left := [one for one in seen if (one.kind, one.value) not in own]:
            flagged[name] = left
    if not flagged:
        return export_set, None
    kept = leave_out(export_set, lambda scenario, home: scenario in flagged or home in flagged)
    rest = {name: without(getattr(kept, name), flagged) for name in _MADE}
    told: Json = {
        "flagged": {name: [one.describe() for one in flagged[name]] for name in sorted(flagged)}
    }
    kept = replace(kept, **rest)
    return kept, keep("scan", told) if kept.scenarios else drop(
        "scan", "nothing_to_export", describe_flagged(flagged), told
    )


def without(rows: Sequence[N], flagged: Container[str]) -> Sequence[N]:
    return pick(rows, {name for name in list_ids(rows) if name not in flagged})


def _list_rows(export_set: ExportSet) -> Iterator[tuple[str, tuple[str, ...], Json, str]]:
    """Id, what it was made of, what of it leaves, and its licence. Environment by environment, each before what was made of it; then
    what was made of scenarios and environments that are not in the export set."""
    tests = find_by_owner(export_set.tests, "environment")
    scenarios = find_by_owner(export_set.scenarios, "environment")
    made = (export_set.trajectories, export_set.transcripts, export_set.pairs)
    finds = [find_by_owner(rows, "scenario") for rows in made]
    told = set[str]()
    for home in export_set.environments:
        yield home.id, (), home.model_dump(mode="json"), home.licence
        posed = scenarios(home.id)
        for one in chain(tests(home.id), posed):
            told.add(one.id)
            yield one.id, (home.id,), one.model_dump(mode="json"), home.licence
        for row in chain.from_iterable(find(one.id) for one in posed for find in finds):
            told.add(row.id)
            yield _describe_made(row)
    for one in chain(_list_rest(export_set.tests, told), _list_rest(export_set.scenarios, told)):
        yield one.id, (one.environment,), one.model_dump(mode="json"), ""
    for row in chain.from_iterable(_list_rest(rows, told) for rows in made):
        yield _describe_made(row)


def _list_rest(rows: Sequence[N], told: Container[str]) -> Iterator[N]:
    find = find_by_id(rows)
    return (find(name) for name in list_ids(rows) if name not in told)


def _describe_made(
    row: Trajectory | Pair | AttemptTranscript,
) -> tuple[str, tuple[str, ...], Json, str]:
    said = [row.shared, row.better, row.worse] if isinstance(row, Pair) else list(row.messages)
    return row.id, (row.scenario, row.environment), said, row.licence


def describe_flagged(flagged: Mapping[str, Sequence[ScanFinding]]) -> str:
    """The first few, and what to do."""
    shown = [
        f"{name} has {one.kind} at {one.place}: {one.shown}"
        for name, seen in flagged.items()
        for one in seen[:1]
    ][:5]
    return (
        f"{len(flagged)} rows seem to hold people's data, secrets or licences: "
        f"{'; '.join(shown)}. Look with `envmill show ID`, and "
        "accept a kind in an environment or scenario, and all that was made of it, with `envmill "
        "review ID --accept --note 'KIND: WHY'`"
    )


def hold_to(terms: TermsFile, export_set: ExportSet) -> tuple[ExportSet, Finding]:
    """Without rows whose sources forbid training, and without those of a model that no entry is
    about: nobody said that it may."""
    left: dict[str, list[str]] = {}
    allowed = list_ids(_hold(terms, export_set.scenarios, export_set, "scenarios", left))
    stay = export_set.homes.keys() - {*allowed}
    kept = leave_out(export_set, lambda scenario, _: scenario in stay)
    kept = replace(
        kept,
        trajectories=_hold(terms, kept.trajectories, export_set, "trajectories", left),
        pairs=_hold(terms, kept.pairs, export_set, "pairs", left),
        transcripts=_hold(terms, kept.transcripts, export_set, "attempts", left),
        terms=terms,
    )
    kept = replace(kept, held_back={why: len(ids) for why, ids in left.items()})
    strangers = sorted(
        {
            one.name
            for sources in export_set.sources.values()
            for one in sources
            if terms.judge(one) == "unknown"
        }
    )
    told: Json = left | {"no_terms_of": strangers} if left else None
    if kept.scenarios:
        return kept, keep("terms", told)
    lacking = (
        f". No entry is about {', '.join(strangers)}: add one to the file" if strangers else ""
    )
    return kept, drop(
        "terms",
        "nothing_to_export",
        f"all that is left rests on models whose terms forbid training, or are not known{lacking}",
        told,
    )


def _hold(
    terms: TermsFile,
    rows: Sequence[T],
    export_set: ExportSet,
    name: str,
    left: dict[str, list[str]],
) -> Sequence[T]:
    """Those that may leave. Of a row whose sources nobody wrote down nothing is known."""
    kept = set[str]()
    for one in rows:
        sources = export_set.sources.get(one.id)
        verdict = (
            "allowed"
            if one.split == HELD_OUT
            else judge_row(terms, sources)
            if sources
            else "unknown"
        )
        if verdict == "allowed":
            kept.add(one.id)
        else:
            left.setdefault(f"{name}_{verdict}", []).append(one.id)
    return pick(rows, kept)


def list_staying(export_set: ExportSet, stays: Stays) -> list[str]:
    """Scenarios that stay at home."""
    return sorted(name for name, home in export_set.homes.items() if stays(name, home))


def leave_out(export_set: ExportSet, stays: Stays) -> ExportSet:
    """The export set without scenarios that stay, without what was made of them, and without
    environments that have none left."""
    kept = {name for name, home in export_set.homes.items() if not stays(name, home)}
    homes = {export_set.homes[name] for name in kept}
    return replace(
        export_set,
        environments=pick(export_set.environments, homes),
        tests=pick(export_set.tests, _list_owned(export_set.tests, "environment", homes)),
        scenarios=pick(export_set.scenarios, kept),
        trajectories=_leave_out(export_set, export_set.trajectories, stays),
        pairs=_leave_out(export_set, export_set.pairs, stays),
        transcripts=_leave_out(export_set, export_set.transcripts, stays),
    )


def _list_owned(rows: Sequence[Identified], owner: str, homes: Container[str]) -> set[str]:
    return {name for name, home in list_owners(rows, owner).items() if home in homes}


def _leave_out(export_set: ExportSet, rows: Sequence[M], stays: Stays) -> Sequence[M]:
    """Of what was made of scenarios. A row is read only where its scenario is not in the export set."""
    kept, find = set[str](), find_by_id(rows)
    for name, scenario in list_owners(rows, "scenario").items():
        home = export_set.homes.get(scenario)
        if not stays(scenario, find(name).environment if home is None else home):
            kept.add(name)
    return pick(rows, kept)
