"""Contrast: of the attempts at a scenario, those pairs of a passed and a failed one that differ
least.

rollouts ─► groups of one policy and form ─► (passed, failed) ─► cut where they part ─► shortest first, no rollout twice
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.agents.transcript import list_messages, list_tools, weigh_messages
from schemas.base import Json
from schemas.environment import Environment
from schemas.pair import Pair
from schemas.rollout import Rollout
from schemas.scenario import Scenario


@dataclass(frozen=True)
class _Parting:
    """Two rollouts, and how many messages they have in common."""

    chosen: Rollout
    rejected: Rollout
    better: list[Json]
    worse: list[Json]
    shared: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """The shorter both go on after they part, the more is said by the pair."""
        return (
            len(self.better) + len(self.worse) - 2 * self.shared,
            self.chosen.attempt,
            self.rejected.attempt,
        )


def pair_rollouts(
    rollouts: Sequence[Rollout], scenario: Scenario, environment: Environment, cap: int
) -> list[Pair]:
    """At most `cap` pairs of each policy and form. An attempt that ended in error is no failure of
    the policy and in no pair."""
    groups: dict[tuple[str, str, str], list[Rollout]] = defaultdict(list)
    for rollout in rollouts:
        groups[rollout.policy, rollout.checkpoint, rollout.form].append(rollout)
    return [
        _make_pair(parting, scenario, environment)
        for _, group in sorted(groups.items())
        for parting in _choose(sorted(_list_partings(group), key=lambda one: one.rank), cap)
    ]


def _list_partings(group: Sequence[Rollout]) -> Iterator[_Parting]:
    told = [(rollout, list_messages(rollout)) for rollout in group]
    for chosen, better in told:
        for rejected, worse in told:
            if (
                chosen.outcome == "pass"
                and rejected.outcome == "fail"
                and (chosen.reward or 0.0) > (rejected.reward or 0.0)
            ):
                shared = _find_parting(better, worse)
                if shared:
                    yield _Parting(chosen, rejected, better, worse, shared)


def _find_parting(better: Sequence[Json], worse: Sequence[Json]) -> int:
    """Where both go on with words or calls of the policy: before a reply that differs. One that
    only ends earlier parts nowhere."""
    differing = [
        place for place, (one, other) in enumerate(zip(better, worse, strict=False)) if one != other
    ]
    shared = differing[0] if differing else 0
    while shared and not better[shared]["role"] == worse[shared]["role"] == "assistant":
        shared -= 1
    return shared


def _choose(partings: Sequence[_Parting], cap: int) -> list[_Parting]:
    """No rollout twice."""
    taken: set[str] = set()
    chosen: list[_Parting] = []
    for parting in partings:
        both = {parting.chosen.id, parting.rejected.id}
        if len(chosen) < cap and not both & taken:
            chosen.append(parting)
            taken |= both
    return chosen


def _make_pair(parting: _Parting, scenario: Scenario, environment: Environment) -> Pair:
    chosen, rejected, shared = parting.chosen, parting.rejected, parting.shared
    return Pair(
        chosen=chosen.id,
        rejected=rejected.id,
        scenario=scenario.id,
        environment=environment.id,
        policy=chosen.policy,
        form=chosen.form,
        shared=parting.better[:shared],
        better=parting.better[shared:],
        better_loss=weigh_messages(parting.better)[shared:],
        worse=parting.worse[shared:],
        worse_loss=[entry["role"] == "assistant" for entry in parting.worse[shared:]],
        tools=list_tools(environment),
        margin=(chosen.reward or 0.0) - (rejected.reward or 0.0),
        split=scenario.split,
        licence=environment.licence,
    )
