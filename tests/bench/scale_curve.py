"""Memory and time over the size of a run: `python -m tests.bench.scale_curve` draws `docs/scale.svg` from what was measured.

scale_measured.json holds one line for each run of `python -m tests.bench.growth SCENARIOS FOLDER`: its parts as they were
printed, and how many scenarios were made. A run whose attempts were played stands in the page's table and not in the picture. A run on a
slower machine is left out of the right-hand picture.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT

MEASURED = Path(__file__).with_name("scale_measured.json")
SVG = ROOT / "docs/scale.svg"
LIMIT = 2048.0
"""MB that a process may take."""
_WIDTH, _HEIGHT, _LEFT, _TOP, _SIDE = 760, 300, 60, 30, 250
_HIGH = _HEIGHT - _TOP - 50
_COLOURS = ("#1f6f8b", "#7a4d9a", "#4d7c3a", "#b5541c", "#8a6d1f")
GROUPS: Mapping[str, Sequence[str]] = {
    "environments": ("environments-build", "environments-verify", "environments-filter"),
    "scenarios": ("scenarios-generate", "scenarios-build", "scenarios-verify", "scenarios-filter"),
    "collection, night": ("scenarios-collect", "night", "quality of the run"),
    "export": ("scenarios-export",),
    "report, compaction": ("report", "compaction"),
}
"""Line of the picture → parts of a run."""

Run = Mapping[str, Any]


def render(runs: Sequence[Run]) -> str:
    """Peaks of resident memory on the left, processor time of the process on the right."""
    alike = [run for run in runs if not run.get("slower")]
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        *_render_panel(_LEFT, "peak of resident memory, MB", runs, "peak", max, LIMIT),
        *_render_panel(_LEFT + _SIDE + 160, "processor time, s", alike, "own", sum, None),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _render_panel(
    left: int, title: str, runs: Sequence[Run], name: str, join: Any, top: float | None
) -> Iterator[str]:
    ordered = sorted(runs, key=lambda run: run["scenarios"])
    values = {
        group: [join(run["parts"][part][name] for part in parts) for run in ordered]
        for group, parts in GROUPS.items()
    }
    high = top or max(value for line in values.values() for value in line)
    wide = ordered[-1]["scenarios"]
    low = _TOP + _HIGH
    yield f'<polyline points="{left},{_TOP} {left},{low} {left + _SIDE},{low}" fill="none" stroke="#333"/>'
    yield f'<text x="{left}" y="{_TOP - 10}">{escape(title)}</text>'
    for quarter in range(5):
        y = low - quarter / 4 * _HIGH
        yield f'<text x="{left - 6}" y="{y:.1f}" dy="4" text-anchor="end">{high * quarter / 4:,.0f}</text>'
    for run in ordered:
        x = left + run["scenarios"] / wide * (_SIDE - 10)
        yield f'<text x="{x:.1f}" y="{low + 16}" text-anchor="middle">{run["scenarios"]:,}</text>'
    yield f'<text x="{left + _SIDE / 2}" y="{_HEIGHT - 10}" text-anchor="middle">scenarios</text>'
    for number, (group, line) in enumerate(values.items()):
        points = " ".join(
            f"{left + run['scenarios'] / wide * (_SIDE - 10):.1f},{low - value / high * _HIGH:.1f}"
            for run, value in zip(ordered, line, strict=True)
        )
        colour = _COLOURS[number]
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<text x="{left + _SIDE + 6}" y="{_TOP + 12 + 16 * number}" fill="{colour}">{escape(group)}</text>'


def read_measured() -> list[Run]:
    """What was measured, without runs that were played."""
    runs = [json.loads(line) for line in MEASURED.read_text(encoding="utf-8").splitlines()]
    return [run for run in runs if not run["played"]]


if __name__ == "__main__":
    SVG.write_text(render(read_measured()), encoding="utf-8")
