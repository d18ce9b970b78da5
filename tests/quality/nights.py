"""Nights as frames, drawn by chance: candidates share their environment's luck, as real ones do,
and one thing may have drifted."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pandas ships loose types)

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from quality.nights.frames import FRAMES

Frames = dict[str, pd.DataFrame]
_STEPS = {
    "environments": ("generate", "build", "verify", "filter"),
    "scenarios": ("generate", "build", "verify", "filter", "collect"),
}
_POLARITIES = {"achieve": 0.5, "answer": 0.1, "refuse": 0.2, "clarify": 0.1, "escalate": 0.1}
QUIET: dict[str, float] = {
    "kept_environments": 0.95, "kept_scenarios": 0.93, "error": 0.01, "again": 0.05, "duplicate": 0.04, "tokens": 12_000, "tools": 16,
    "words": 80, "calls": 6, "refuse": 0.2, "suspected": 0.15, "passed": 0.75, "steps": 8,
}  # fmt: skip
DRIFTS: Mapping[str, dict[str, float]] = {
    "yield of scenarios": {"kept_scenarios": 0.7}, "yield of environments": {"kept_environments": 0.5}, "errors": {"error": 0.15},
    "duplicates": {"duplicate": 0.4}, "cost": {"tokens": 40_000}, "shorter paths": {"calls": 2.5}, "longer requests": {"words": 200},
    "polarity": {"refuse": 0.75}, "suspicions": {"suspected": 0.7}, "pass rate": {"passed": 0.1}, "fewer tools": {"tools": 8},
}  # fmt: skip
"""What drifts → how nights are drawn then. Environments of a night are as few as twenty."""


class Luck:
    """Draws of one night: each environment has luck of its own, which its scenarios share."""

    def __init__(
        self, seed: int, environments: int, scenarios: int, told: Mapping[str, float]
    ) -> None:
        self.chance, self.told = np.random.default_rng(seed), told
        self.environments, self.places = environments, environments * scenarios
        self._luck = np.repeat(self.chance.normal(0, 1, environments), scenarios)

    def share(self, name: str, rows: int, sway: float = 0.0) -> Any:
        odds = np.log(self.told[name] / (1 - self.told[name])) + sway * self._of(rows)
        return (self.chance.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)

    def amount(self, name: str, rows: int, spread: float) -> Any:
        return self.told[name] * np.exp(
            self.chance.normal(-(spread**2) / 2, spread, rows) + 0.15 * self._of(rows)
        )

    def _of(self, rows: int) -> Any:
        return self._luck if rows == self.places else 0


def draw_night(
    seed: int, environments: int = 20, scenarios: int = 6, drifted: Mapping[str, float] = QUIET
) -> Frames:
    """The frames of one night."""
    luck = Luck(seed, environments, scenarios, {**QUIET, **drifted})
    exits = [_draw_exits(lap, stage, luck) for lap, stages in _STEPS.items() for stage in stages]
    found = {
        "exits": pd.concat(exits, ignore_index=True),
        "environments": _draw_environments(seed, luck),
        "scenarios": _draw_scenarios(seed, luck),
        "rollouts": _draw_rollouts(luck),
    }
    return {
        frame.name: found[frame.name].loc[:, [one.name for one in frame.columns]]
        for frame in FRAMES
    }


def _draw_environments(seed: int, luck: Luck) -> pd.DataFrame:
    rows = luck.environments
    return pd.DataFrame(
        {
            "id": [f"env_{seed}_{number}" for number in range(rows)],
            "licence": "Apache-2.0",
            "tools": np.maximum(1, luck.amount("tools", rows, 0.2).round()),
            "rules": luck.chance.integers(3, 12, rows),
            "characters": luck.amount("tools", rows, 0.3) * 900,
        }
    )


def _draw_scenarios(seed: int, luck: Luck) -> pd.DataFrame:
    rows = luck.places
    polarity = luck.chance.choice(list(_POLARITIES), rows, p=_sway_polarities(luck.told["refuse"]))
    return pd.DataFrame(
        {
            "id": [f"scn_{seed}_{number}" for number in range(rows)],
            "environment_exists": 1,
            "polarity": polarity,
            **{one: (polarity == one).astype(int) for one in _POLARITIES},
            "words": np.maximum(3, luck.amount("words", rows, 0.35).round()),
            "calls": np.maximum(0, luck.amount("calls", rows, 0.4).round()),
            "demands": luck.chance.integers(1, 9, rows),
            "reference_reward": 1.0,
            "idle_reward": 0.0,
            "suspected": luck.share("suspected", rows, 0.6),
        }
    )


def _draw_exits(lap: str, stage: str, luck: Luck) -> pd.DataFrame:
    rows = luck.environments if lap == "environments" else luck.places
    error, kept = luck.share("error", rows), luck.share(f"kept_{lap}", rows, 0.6)
    columns: dict[str, Any] = {
        "subject": "x", "outcome": np.where(error, "error", np.where(kept, "kept", "dropped")), "reason_is_given": 1,
        **{f"kept_{one}_{other}": np.nan for one, stages in _STEPS.items() for other in stages}, "error": error,
        "again": luck.share("again", rows), "duplicate": luck.share("duplicate", rows).astype(float) if stage == "filter" else np.nan,
        "tokens_environments": np.nan, "tokens_scenarios": np.nan,
    }  # fmt: skip
    columns |= {
        f"kept_{lap}_{stage}": (kept & (1 - error)).astype(float),
        f"tokens_{lap}": luck.amount("tokens", rows, 0.8),
    }
    return pd.DataFrame(columns)


def _draw_rollouts(luck: Luck) -> pd.DataFrame:
    passed = luck.share("passed", luck.places, 1.0)
    return pd.DataFrame(
        {
            "scenario_exists": 1, "outcome": np.where(passed, "pass", "fail"), "reward": passed.astype(float), "error_has_no_reward": 1,
            "steps": np.maximum(0, luck.amount("steps", luck.places, 0.4).round()), "passed": passed, "unjudged": 0,
        }
    )  # fmt: skip


def _sway_polarities(refuse: float) -> list[float]:
    rest = sum(share for name, share in _POLARITIES.items() if name != "refuse")
    return [
        refuse if name == "refuse" else share * (1 - refuse) / rest
        for name, share in _POLARITIES.items()
    ]
