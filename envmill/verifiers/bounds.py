"""Bounds on a verifier's error rates: exact one-sided 95 % limits (Clopper and Pearson) from counts
of errors."""

from collections.abc import Callable, Iterable

from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Bounds, Scenario

CONFIDENCE = 0.95

Truth = Callable[[Json], bool]
"""Function that says whether a final state is right. It uses a model of the domain that shares no
code with programs and verifiers."""
FindTruth = Callable[[Scenario, Environment, int], Truth | str]
"""(scenario, environment, run seed) → function that judges the scenario's ends, or the reason why
there is none."""


def limit_share(errors: int, trials: int) -> float:
    """The largest error rate at which this many errors or fewer still occur with probability 0.05.
    It is 1 without trials."""
    if not 0 <= errors <= trials:
        raise ValueError(f"{errors} errors in {trials} trials: count both over the same ends.")
    # Imported here because the import takes half a second, and only this function needs it.
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    return 1.0 if errors == trials else float(betaincinv(errors + 1, trials - errors, CONFIDENCE))


def bound_errors(judged: Iterable[tuple[bool, bool]]) -> Bounds:
    """Bounds from pairs: whether an end is right, and whether the verifier accepts it."""
    pairs = list(judged)
    wrong = [accepted for right, accepted in pairs if not right]
    sound = [accepted for right, accepted in pairs if right]
    return Bounds(
        false_accept=limit_share(sum(wrong), len(wrong)),
        false_accept_n=len(wrong),
        false_reject=limit_share(len(sound) - sum(sound), len(sound)),
        false_reject_n=len(sound),
    )
