"""Bounds on a verifier's error rates: exact one-sided 95 % limits (Clopper and Pearson) of what was
counted."""

from collections.abc import Callable, Iterable

from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Bounds, Scenario

CONFIDENCE = 0.95

Truth = Callable[[Json], bool]
"""Whether a final state is right, by a model of the domain that shares no code with programs and
verifiers."""
FindTruth = Callable[[Scenario, Environment, int], Truth | str]
"""(scenario, environment, the run's seed) → the truth about the scenario's ends, or why nothing is
known of it."""


def limit_share(errors: int, trials: int) -> float:
    """The largest share under which so few errors would still be seen once in twenty times; 1 where
    nothing was tried."""
    if not 0 <= errors <= trials:
        raise ValueError(f"{errors} errors in {trials} trials: count both over the same ends.")
    # Imported late: half a second that only those pay who measure.
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    return 1.0 if errors == trials else float(betaincinv(errors + 1, trials - errors, CONFIDENCE))


def bound_errors(judged: Iterable[tuple[bool, bool]]) -> Bounds:
    """From pairs: whether an end is right, and whether the verifier accepts it."""
    pairs = list(judged)
    wrong = [accepted for right, accepted in pairs if not right]
    sound = [accepted for right, accepted in pairs if right]
    return Bounds(
        false_accept=limit_share(sum(wrong), len(wrong)),
        false_accept_n=len(wrong),
        false_reject=limit_share(len(sound) - sum(sound), len(sound)),
        false_reject_n=len(sound),
    )
