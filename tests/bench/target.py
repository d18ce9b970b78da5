"""A measurement, the target it is held to, and the verdict. Ratios are judged: absolute times
belong to one machine."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Verdict = Literal["ok", "short", "no target"]


@dataclass(frozen=True)
class Measurement:
    """One row of an area, medians of the same run."""

    id: str
    what: str
    measured: float
    baseline: float | None = None
    """The same work done the plain way; null when the target is an absolute number."""
    unit: str = ""

    @property
    def ratio(self) -> float | None:
        """Measured over baseline."""
        return self.measured / self.baseline if self.baseline else None

    def render(self, value: float | None) -> str:
        return "" if value is None else f"{value:.4g} {self.unit}".strip()


@dataclass(frozen=True)
class Target:
    """A bound, from above or below, on the ratio or on the number itself."""

    bound: float
    direction: Literal["at_most", "at_least"]
    of: Literal["ratio", "measured"] = "ratio"

    def render(self) -> str:
        sign = "≤" if self.direction == "at_most" else "≥"
        return f"{sign} {self.bound:g}{'×' if self.of == 'ratio' else ''}"


def read_targets(path: Path) -> dict[str, Target]:
    """`area.id` → target."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        f"{area}.{name}": Target(**target)
        for area, found in tables.items()
        for name, target in found.items()
    }


def judge(measurement: Measurement, target: Target | None) -> Verdict:
    """A ratio that could not be formed is short: a target without its baseline was not met."""
    if target is None:
        return "no target"
    value = measurement.ratio if target.of == "ratio" else measurement.measured
    if value is None:
        return "short"
    met = value <= target.bound if target.direction == "at_most" else value >= target.bound
    return "ok" if met else "short"
