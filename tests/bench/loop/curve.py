"""Latency and memory over sessions: `python -m tests.bench.loop.curve` draws `docs/serving.svg`
from what the bench measured.

measured.json holds the rows of one run of `make bench AREA=serving`: id → row, the load of the
machine in its words.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT

MEASURED = Path(__file__).with_name("measured.json")
SVG = ROOT / "docs/serving.svg"
SESSIONS = (64, 256, 1024)
_WIDTH, _HEIGHT, _LEFT, _TOP, _SIDE = 760, 300, 60, 30, 250
_HIGH = _HEIGHT - _TOP - 50
_DECADES = range(5)
"""Powers of ten of a millisecond on the axis of latencies."""
_GIGABYTES = 3
_LATENCIES = {
    "step": ("step p50", "#1f6f8b"),
    "step_p99": ("step p99", "#7a4d9a"),
    "reset": ("reset p50", "#4d7c3a"),
    "score_declarative": ("score p50", "#b5541c"),
    "score_declarative_p99": ("score p99", "#8a6d1f"),
}

Rows = Mapping[str, Mapping[str, Any]]


def render(rows: Rows) -> str:
    """Latencies on the left, on a logarithmic scale; memory on the right."""
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    )
    background = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    return (
        "\n".join([head, background, *_render_latencies(rows), *_render_memory(rows), "</svg>"])
        + "\n"
    )


def _render_latencies(rows: Rows) -> Iterator[str]:
    def place(value: float) -> float:
        return math.log10(max(value, 1.0)) / _DECADES[-1]

    yield from _render_axes(
        _LEFT, "milliseconds", [(place(10**power), f"{10**power:,}") for power in _DECADES]
    )
    for number, (name, (title, colour)) in enumerate(_LATENCIES.items()):
        yield _render_line(
            _LEFT, [place(rows[f"{name}_{sessions}"]["measured"]) for sessions in SESSIONS], colour
        )
        yield (
            f'<text x="{_LEFT + _SIDE + 10}" y="{_TOP + 12 + 16 * number}" '
            f'fill="{colour}">{escape(title)}</text>'
        )


def _render_memory(rows: Rows) -> Iterator[str]:
    left = _LEFT + _SIDE + 150
    yield from _render_axes(
        left,
        "GB above the idle server",
        [(value / _GIGABYTES, str(value)) for value in range(_GIGABYTES + 1)],
    )
    yield _render_line(
        left,
        [rows[f"memory_{sessions}"]["measured"] / _GIGABYTES for sessions in SESSIONS],
        "#1f6f8b",
    )


def _render_axes(left: int, title: str, marks: Sequence[tuple[float, str]]) -> Iterator[str]:
    low = _TOP + _HIGH
    yield (
        f'<polyline points="{left},{_TOP} {left},{low} {left + _SIDE},{low}" fill="none" '
        'stroke="#333"/>'
    )
    for share, words in marks:
        yield (
            f'<text x="{left - 6}" y="{low - share * _HIGH:.1f}" dy="4" '
            f'text-anchor="end">{words}</text>'
        )
    for sessions in SESSIONS:
        yield (
            f'<text x="{_find_x(left, sessions):.1f}" y="{low + 16}" '
            f'text-anchor="middle">{sessions}</text>'
        )
    yield f'<text x="{left + _SIDE / 2}" y="{_HEIGHT - 10}" text-anchor="middle">sessions</text>'
    yield f'<text x="{left}" y="{_TOP - 10}">{escape(title)}</text>'


def _render_line(left: int, shares: Sequence[float], colour: str) -> str:
    points = [
        f"{_find_x(left, sessions):.1f},{_TOP + (1 - share) * _HIGH:.1f}"
        for sessions, share in zip(SESSIONS, shares, strict=True)
    ]
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _find_x(left: int, sessions: int) -> float:
    return left + sessions / SESSIONS[-1] * (_SIDE - 10)


if __name__ == "__main__":
    SVG.write_text(render(json.loads(MEASURED.read_text(encoding="utf-8"))), encoding="utf-8")
