"""What stays at home of a cargo, and with it all that was made of it; and the terms of providers that an export is held to.

cargo ──terms of what each row rests on──► rows that may be trained on, and split `test`
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from envmill.findings import Finding, drop, keep
from envmill.interop.exporters.base import ExportSet
from envmill.interop.exporters.licence_terms import TermsFile, judge_row
from schemas.base import Json
from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Scenario

T = TypeVar("T", Scenario, Trajectory, Pair)
Stays: TypeAlias = Callable[[str, str], bool]
"""Of a scenario's id and its environment's: whether it stays at home."""
HELD_OUT = "test"
"""Split that nobody trains on: terms that forbid training let it leave."""


def hold_to(terms: TermsFile, cargo: ExportSet) -> tuple[ExportSet, Finding]:
    """Without rows whose sources forbid training, and without those of a model that no entry is about: nobody said that it may."""
    left: dict[str, list[str]] = {}
    scenarios = _hold(terms, cargo.scenarios, cargo, "scenarios", left)
    kept = leave_out(cargo, lambda scenario, _: scenario not in {one.id for one in scenarios})
    kept = replace(
        kept,
        trajectories=_hold(terms, kept.trajectories, cargo, "trajectories", left),
        pairs=_hold(terms, kept.pairs, cargo, "pairs", left),
        terms=terms,
    )
    kept = replace(kept, held_back={why: len(ids) for why, ids in left.items()})
    strangers = sorted({one.name for sources in cargo.sources.values() for one in sources if terms.judge(one) == "unknown"})
    told: Json = left | {"no_terms_of": strangers} if left else None
    if kept.scenarios:
        return kept, keep("terms", told)
    lacking = f". No entry is about {', '.join(strangers)}: add one to the file" if strangers else ""
    return kept, drop(
        "terms", "nothing_to_export", f"all that is left rests on models whose terms forbid training, or are not known{lacking}", told
    )


def _hold(terms: TermsFile, rows: Sequence[T], cargo: ExportSet, name: str, left: dict[str, list[str]]) -> tuple[T, ...]:
    kept: list[T] = []
    for one in rows:
        verdict = "allowed" if one.split == HELD_OUT else judge_row(terms, cargo.sources.get(one.id, ()))
        if verdict == "allowed":
            kept.append(one)
        else:
            left.setdefault(f"{name}_{verdict}", []).append(one.id)
    return tuple(kept)


def list_staying(cargo: ExportSet, stays: Stays) -> list[str]:
    """Scenarios that stay at home."""
    return sorted(one.id for one in cargo.scenarios if stays(one.id, one.environment))


def leave_out(cargo: ExportSet, stays: Stays) -> ExportSet:
    """The cargo without scenarios that stay, without what was made of them, and without environments that have none left."""
    scenarios = tuple(one for one in cargo.scenarios if not stays(one.id, one.environment))
    homes = {one.environment for one in scenarios}
    return replace(
        cargo,
        environments=tuple(one for one in cargo.environments if one.id in homes),
        tests=tuple(one for one in cargo.tests if one.environment in homes),
        scenarios=scenarios,
        trajectories=tuple(one for one in cargo.trajectories if not stays(one.scenario, one.environment)),
        pairs=tuple(one for one in cargo.pairs if not stays(one.scenario, one.environment)),
    )
