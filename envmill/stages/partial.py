"""Which verifiers may pay for parts of a job outside: those that nobody is paid by who has not read
the request."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import orjson

from envmill.interop.exporters.base import ExportSet
from schemas.base import Json, is_array, is_object
from schemas.scenario import Scenario

MOST = 0.05
"""What each attacker, and a blind search, may earn on average: a policy that trains on more learns
to collect it."""

Dossier = tuple[str, str, str]
"""Scenario, gate (S2 or S13), and its finding in JSON."""


def find_partial(
    scenarios: Sequence[Scenario], dossiers: Collection[Dossier]
) -> tuple[frozenset[str], dict[str, str]]:
    """Scenarios whose verifier may pay for parts, and why others that have such a verifier may
    not."""
    earned: dict[str, dict[str, float]] = defaultdict(dict)
    for scenario, gate, finding in dossiers:
        for name, mean in _read_means(gate, orjson.loads(finding)):
            earned[scenario][name] = max(mean, earned[scenario].get(name, 0.0))
    left = {
        one.id: why
        for one in scenarios
        if one.verifier.partial and (why := _find_reason(earned[one.id]))
    }
    return frozenset(
        one.id for one in scenarios if one.verifier.partial and one.id not in left
    ), left


def pay_whole(export_set: ExportSet) -> ExportSet:
    """The export set with attempts that failed paid nothing, but for those whose verifier may pay for
    parts.

    A pass keeps what it was paid: a judge that ruled against it may have lowered that."""
    paid = tuple(
        replace(one, reward=0.0)
        if one.outcome == "fail" and one.reward and one.scenario not in export_set.partial
        else one
        for one in export_set.attempts
    )
    return replace(export_set, attempts=paid)


def pay_turns(export_set: ExportSet, weight: float) -> ExportSet:
    """The export set with a part of each attempt's reward paid for its turns, where the verifier may pay
    for parts and the turns are known."""
    verifiers = {
        one.id: one.verifier for one in export_set.scenarios if one.id in export_set.partial
    }
    gains = {
        one.id: weight * sum(turn.find_gain(verifiers[one.scenario]) for turn in one.turns)
        for one in export_set.transcripts
        if one.scenario in verifiers and one.turns is not None
    }
    paid = tuple(
        replace(one, reward=one.reward + gains[one.id], turn_reward=gains[one.id])
        if one.id in gains and one.reward is not None
        else one
        for one in export_set.attempts
    )
    return replace(export_set, attempts=paid, turn_weight=weight)


def _find_reason(earned: dict[str, float]) -> str:
    """Why a verifier may not; empty where it may."""
    if "a blind search" not in earned:
        return "no blind search was made (gate S13; the run's setting `search`)"
    if len(earned) == 1:
        return "no attacker was tried (gate S2)"
    name = max(earned, key=lambda one: earned[one])
    return (
        f"{name} earns {earned[name]:.3f} on average, and at most {MOST} may leave"
        if earned[name] > MOST
        else ""
    )


def _read_means(gate: str, finding: Json) -> Iterator[tuple[str, float]]:
    """Who acted without reading the request, and what they earned on average."""
    if not is_object(finding):
        return
    if gate == "S13":
        blind = finding.get("blind")
        if is_object(blind) and isinstance(mean := blind.get("mean"), (int, float)):
            yield "a blind search", float(mean)
        return
    for name, rewards in finding.items():
        if is_array(rewards) and (
            earned := [float(one) for one in rewards if isinstance(one, (int, float))]
        ):
            yield f"the attacker {name}", sum(earned) / len(earned)
