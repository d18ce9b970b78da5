"""Luck: how likely calls made at random come to hold certain wishes."""

from math import perm, prod

from offline.domain import OperationParameter
from offline.wording import WantedChange
from offline.world import DomainWorld

RANDOM_CALLS = 12
"""As many as somebody makes who calls at random (`agents.attackers.random_valid`)."""
UNGUESSED = 20
"""Values a free text or a date might have, at least."""


def guess_luck(wishes: list[WantedChange], start: DomainWorld) -> float:
    """How likely a dozen random calls hold these, harm done by the others aside."""
    calls = len(start.domain.operations)
    return perm(RANDOM_CALLS, min(len(wishes), RANDOM_CALLS)) / prod(
        calls * _count_choices(each, start) for each in wishes
    )


def _count_choices(wish: WantedChange, start: DomainWorld) -> float:
    return prod(_count_values(each, start) for each in wish.operation.takes)


def _count_values(parameter: OperationParameter, start: DomainWorld) -> float:
    if parameter.row:
        return len(start.state[parameter.row])
    if parameter.between:
        low, high = (float(start.domain.bound(each)) for each in parameter.between)
        return max(1.0, (high - low) // parameter.step)
    return len(parameter.one_of) or UNGUESSED
