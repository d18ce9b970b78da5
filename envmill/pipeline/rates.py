"""Pass rates of scenarios by policy: of stored rollouts, or of a file of attempts that were made
elsewhere."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean

from pydantic import BaseModel, ConfigDict, ValidationError

from envmill.base.errors import SettingsError
from schemas.choice import PolicyRate
from schemas.rollout import Outcome, Rollout

Rates = Mapping[str, Sequence[PolicyRate]]
"""Scenario → how often each policy passed it."""

_KNOWING = "reference"
"""A policy that knows the path: nothing is easy because it passes."""


class _Line(BaseModel):
    """A line of a file: the attempts of a policy at a scenario, or a single one. Further fields are
    not read."""

    model_config = ConfigDict(extra="ignore")

    scenario: str
    policy: str = ""
    attempts: int = 1
    passes: int | None = None
    outcome: Outcome | None = None
    calls: float | None = None
    steps: int | None = None


_Attempts = tuple[str, str, int, int, float | None]
"""Scenario, policy, judged attempts, passes, mean calls of what passed."""


def rate_rollouts(rollouts: Iterable[Rollout]) -> Rates:
    """Attempts that ended in error are none."""
    return _sum_up(
        (one.scenario, one.policy, 1, int(one.outcome == "pass"), one.steps)
        for one in rollouts
        if one.outcome != "error"
    )


def read_rates(path: Path) -> Rates:
    """Of a JSONL file; SettingsError where a line says neither `passes` nor `outcome`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SettingsError(
            f"The pass rates in {path} cannot be read: {error.strerror}."
        ) from error
    read = [
        (number, _read_line(path, number, line))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    return _sum_up(
        (
            one.scenario,
            one.policy,
            one.attempts,
            int(one.outcome == "pass") if one.passes is None else one.passes,
            one.calls or one.steps,
        )
        for _, one in read
        if one.outcome != "error"
    )


def _read_line(path: Path, number: int, line: str) -> _Line:
    try:
        found = _Line.model_validate_json(line)
    except ValidationError as error:
        raise SettingsError(
            f"Line {number} of {path} is not a pass rate: {error.errors()[0]['msg']}."
        ) from error
    if found.passes is None and found.outcome is None:
        raise SettingsError(f"Line {number} of {path} says neither `passes` nor `outcome`.")
    if found.passes is not None and not 0 <= found.passes <= found.attempts:
        raise SettingsError(
            f"Line {number} of {path} has {found.passes} passes of {found.attempts} attempts."
        )
    return found


def _sum_up(told: Iterable[_Attempts]) -> Rates:
    attempts, passes, calls = (
        defaultdict[tuple[str, str], int](int),
        defaultdict[tuple[str, str], int](int),
        defaultdict[tuple[str, str], list[float]](list),
    )
    for scenario, policy, tried, passed, took in told:
        attempts[scenario, policy] += tried
        passes[scenario, policy] += passed
        if passed and took is not None:
            calls[scenario, policy].append(took)
    found = defaultdict[str, list[PolicyRate]](list)
    for (scenario, policy), tried in sorted(attempts.items()):
        took = calls[scenario, policy]
        found[scenario].append(
            PolicyRate(
                policy=policy,
                attempts=tried,
                passes=passes[scenario, policy],
                calls=round(mean(took), 1) if took else None,
            )
        )
    return found


def find_strongest(rates: Rates) -> str:
    """The policy with the best mean pass rate over its scenarios; empty where there is none. One
    that knows the path does not count."""
    shares = defaultdict[str, list[float]](list)
    for told in rates.values():
        for one in told:
            if one.policy != _KNOWING and one.attempts:
                shares[one.policy].append(one.share)
    return max(
        shares, key=lambda policy: (mean(shares[policy]), len(shares[policy]), policy), default=""
    )
