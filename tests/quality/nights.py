"""Nights as frames, drawn by chance: candidates share their environment's luck, as real ones do, and one thing may have drifted."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pandas ships loose types)

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from quality.nights.frames import FRAMES

Frames = dict[str, pd.DataFrame]
_STEPS = {"environments": ("generate", "build", "verify", "filter"), "scenarios": ("generate", "build", "verify", "filter", "collect")}
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


def draw_night(seed: int, environments: int = 20, scenarios: int = 6, drifted: Mapping[str, float] = QUIET) -> Frames:
    """The frames of one night."""
    chance, told = np.random.default_rng(seed), {**QUIET, **drifted}
    places = environments * scenarios
    luck = np.repeat(chance.normal(0, 1, environments), scenarios)

    def share(name: str, rows: int, sway: float = 0.0) -> Any:
        odds = np.log(told[name] / (1 - told[name])) + sway * (luck if rows == places else 0)
        return (chance.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)

    def amount(name: str, rows: int, spread: float) -> Any:
        return told[name] * np.exp(chance.normal(-(spread**2) / 2, spread, rows) + (0.15 * luck if rows == places else 0))

    parts = [
        _draw_exits(lap, stage, environments if lap == "environments" else places, share, amount)
        for lap, stages in _STEPS.items()
        for stage in stages
    ]
    polarity = chance.choice(list(_POLARITIES), places, p=_sway_polarities(told["refuse"]))
    found = {
        "exits": pd.concat(parts, ignore_index=True),
        "environments": pd.DataFrame(
            {
                "id": [f"env_{seed}_{number}" for number in range(environments)],
                "licence": "Apache-2.0",
                "tools": np.maximum(1, amount("tools", environments, 0.2).round()),
                "rules": chance.integers(3, 12, environments),
                "characters": amount("tools", environments, 0.3) * 900,
            }
        ),
        "scenarios": pd.DataFrame(
            {
                "id": [f"scn_{seed}_{number}" for number in range(places)],
                "at_home": 1,
                "polarity": polarity,
                **{one: (polarity == one).astype(int) for one in _POLARITIES},
                "words": np.maximum(3, amount("words", places, 0.35).round()),
                "calls": np.maximum(0, amount("calls", places, 0.4).round()),
                "demands": chance.integers(1, 9, places),
                "reference_reward": 1.0,
                "idle_reward": 0.0,
                "suspected": share("suspected", places, 0.6),
            }
        ),
        "rollouts": _draw_rollouts(places, share, amount),
    }
    return {frame.name: found[frame.name].loc[:, [one.name for one in frame.columns]] for frame in FRAMES}


def _draw_exits(lap: str, stage: str, rows: int, share: Callable[..., Any], amount: Callable[..., Any]) -> pd.DataFrame:
    error, kept = share("error", rows), share(f"kept_{lap}", rows, 0.6)
    columns: dict[str, Any] = {
        "subject": "x", "outcome": np.where(error, "error", np.where(kept, "kept", "dropped")), "told": 1,
        **{f"kept_{one}_{other}": np.nan for one, stages in _STEPS.items() for other in stages}, "error": error,
        "again": share("again", rows), "duplicate": share("duplicate", rows).astype(float) if stage == "filter" else np.nan,
        "tokens_environments": np.nan, "tokens_scenarios": np.nan,
    }  # fmt: skip
    columns |= {f"kept_{lap}_{stage}": (kept & (1 - error)).astype(float), f"tokens_{lap}": amount("tokens", rows, 0.8)}
    return pd.DataFrame(columns)


def _draw_rollouts(places: int, share: Callable[..., Any], amount: Callable[..., Any]) -> pd.DataFrame:
    passed = share("passed", places, 1.0)
    return pd.DataFrame(
        {
            "at_home": 1, "outcome": np.where(passed, "pass", "fail"), "reward": passed.astype(float), "unpaid": 1,
            "steps": np.maximum(0, amount("steps", places, 0.4).round()), "passed": passed, "unjudged": 0,
        }
    )  # fmt: skip


def _sway_polarities(refuse: float) -> list[float]:
    rest = sum(share for name, share in _POLARITIES.items() if name != "refuse")
    return [refuse if name == "refuse" else share * (1 - refuse) / rest for name, share in _POLARITIES.items()]
