"""Advantages of stored attempts: the reward of each compared with the other attempts at its
scenario, divided by the deviation of rewards in its environment.

attempts of an environment ─► mean, deviation ─┐
attempts of a scenario in one form ─► mean ────┴─► advantage of each; a group of equal rewards is told as one
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Literal

from envmill.interop.exporters.base import ExportSet, ScoredAttempt
from schemas.base import Json
from schemas.stored import list_ids

GroupState = Literal["mixed", "all_passed", "all_failed", "all_equal", "untried"]
_DIGITS = 6


@dataclass(frozen=True)
class RewardSpread:
    """Rewards of all valid attempts in one environment."""

    mean: float | None = None
    """Null without valid attempts."""
    deviation: float | None = None
    attempts: int = 0


@dataclass(frozen=True)
class RewardGroup:
    """Attempts of one policy's group at one scenario in one form."""

    attempts: Sequence[ScoredAttempt] = ()
    """Valid attempts: their reward is known, and no user misled them."""
    left_out: Sequence[ScoredAttempt] = ()
    """Masked attempts, which count in no mean because of a user's fault or an outage."""
    spread: RewardSpread = field(default_factory=RewardSpread)

    @property
    def masked(self) -> int:
        """Number of masked attempts."""
        return len(self.left_out)

    @property
    def mean(self) -> float | None:
        return _round(fmean(self._rewards)) if self.attempts else None

    @property
    def state(self) -> GroupState:
        """State of the group. If all attempts earned the same, a policy learns nothing from it."""
        rewards = self._rewards
        if not rewards:
            return "untried"
        if len(set(rewards)) > 1:
            return "mixed"
        return "all_passed" if rewards[0] == 1 else "all_failed" if rewards[0] == 0 else "all_equal"

    def describe(self) -> list[Json]:
        """Each attempt with its origin, termination, reward and advantage. A masked attempt has
        neither reward nor advantage."""
        return [
            {
                "rollout": one.id,
                "group": one.group,
                "attempt": one.attempt,
                "policy": one.policy,
                "checkpoint": one.checkpoint,
                "termination": one.termination,
                "mask": one.mask,
                "reward": one.reward,
                "turn_reward": _round(one.turn_reward),
                "advantage": self._find_advantage(one),
            }
            for one in sorted((*self.attempts, *self.left_out), key=lambda one: one.id)
        ]

    def _find_advantage(self, one: ScoredAttempt) -> float | None:
        if one.reward is None:
            return None
        deviation = self.spread.deviation
        return _round((one.reward - fmean(self._rewards)) / deviation) if deviation else 0.0

    @property
    def _rewards(self) -> list[float]:
        return [one.reward for one in self.attempts if one.reward is not None]


def group_attempts(export_set: ExportSet) -> Mapping[tuple[str, str], RewardGroup]:
    """(scenario, form) → its group, for the exported scenarios."""
    leaving, spreads = export_set.homes, measure_environments(export_set)
    found: dict[tuple[str, str], list[ScoredAttempt]] = defaultdict(list)
    for one in sorted(export_set.attempts, key=lambda one: one.id):
        if one.scenario in leaving:
            found[one.scenario, one.form].append(one)
    return {
        place: RewardGroup(
            tuple(one for one in attempts if one.reward is not None),
            tuple(one for one in attempts if one.reward is None),
            spreads[attempts[0].environment],
        )
        for place, attempts in found.items()
    }


def measure_environments(export_set: ExportSet) -> Mapping[str, RewardSpread]:
    """Environment → rewards of the valid attempts at its exported scenarios."""
    leaving = export_set.homes
    rewards: dict[str, list[float]] = {name: [] for name in list_ids(export_set.environments)}
    for one in export_set.attempts:
        if one.scenario in leaving and one.reward is not None:
            rewards[one.environment].append(one.reward)
    return {
        home: RewardSpread(_round(fmean(seen)), _round(pstdev(seen)), len(seen))
        if seen
        else RewardSpread()
        for home, seen in rewards.items()
    }


def _round(value: float) -> float:
    return round(value, _DIGITS)
