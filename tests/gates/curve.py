"""Paraphrases found against false alarms, over all thresholds at once, as an SVG; what a judge of
suspicions could add.

    python -m tests.gates.paraphrasing curve FOLDER BENCHMARK...     FOLDER/answers/N.json ─► FOLDER/curve.svg and a table

A score is 1 where gate F3 stands: every share is divided by its threshold, and the least of the
quotients counts. A threshold that falls from above to 0 draws the curve.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.gates.protecting.same_task import (
    CALLS,
    CLONE_CALLS,
    CLONE_COSINE,
    CLONE_WORDS,
    FEW,
    VALUES,
    TaskMatch,
)

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 380, 56, 230, 24, 48
MOST = 0.1
"""False alarms up to which the curve is drawn."""
COLOURS = ("#1f6f8b", "#b5541c", "#4d7c3a", "#7a4d9a")

Curve = Sequence[tuple[float, float]]
"""(share of honest tasks flagged, share of paraphrases found), in order."""


def score_same(match: TaskMatch) -> float:
    """What is dropped: calls and three or more rare values."""
    return min(match.calls / CALLS, match.values / VALUES) if match.rare > FEW else 0.0


def score_like(match: TaskMatch) -> float:
    """What is dropped or suspected."""
    few = match.calls / CALLS if match.rare == FEW and match.values == 1.0 else 0.0
    alike = max(match.words / CLONE_WORDS, (match.cosine or 0.0) / CLONE_COSINE)
    clone = min(match.calls / CLONE_CALLS, alike, 9.0 if match.end is None else match.end / CALLS)
    return max(score_same(match), few, clone)


SCORES = {
    "structure: dropped": score_same,
    "structure: dropped or suspected": score_like,
    "likeness of words alone": lambda match: match.words,
    "likeness of embeddings alone": lambda match: match.cosine or 0.0,
}


@dataclass(frozen=True)
class Seen:
    """A text as F3 saw it."""

    near: Sequence[TaskMatch]
    """The nearest tasks; of an honest text, its own is not among them."""
    copied: bool = False
    """Its words alone dropped it."""
    retrieved: bool = False
    """Its source is among the nearest."""


def score(seen: Seen, name: str) -> float:
    if seen.copied and name.startswith("structure"):
        return float("inf")
    return max((SCORES[name](match) for match in seen.near), default=0.0)


def draw(found: Sequence[float], honest: Sequence[float]) -> Curve:
    """One point for each threshold."""
    points = {(0.0, 0.0)}
    for bound in sorted({one for one in (*found, *honest) if one > 0}, reverse=True):
        points.add(
            (
                sum(one >= bound for one in honest) / len(honest),
                sum(one >= bound for one in found) / len(found),
            )
        )
    return sorted(points)


def read_off(curve: Curve, most: float) -> float:
    """The most that is found at so many false alarms."""
    return max(found for alarms, found in curve if alarms <= most)


def render(curves: Mapping[str, Curve], stands: Mapping[str, tuple[float, float]]) -> str:
    """The curves; a circle where the gate stands."""
    lines = [*_render_axes()]
    for number, (name, curve) in enumerate(curves.items()):
        drawn = " ".join(_place(*point) for point in _step(curve))
        lines.append(
            f'<polyline points="{drawn}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>'
        )
        if name in stands:
            x, y = _place(*stands[name]).split(",")
            lines.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{COLOURS[number]}"/>')
        lines.append(
            f'<text x="{WIDTH - RIGHT + 8}" y="{TOP + 12 + 18 * number}" '
            f'fill="{COLOURS[number]}">{name}</text>'
        )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        + "\n".join([*lines, "</svg>"])
        + "\n"
    )


def _step(curve: Curve) -> Iterator[tuple[float, float]]:
    """Level between two thresholds, and cut where the drawing ends."""
    before = 0.0
    for alarms, found in curve:
        if alarms > MOST:
            break
        yield from ((alarms, before), (alarms, found))
        before = found
    yield MOST, before


def _place(alarms: float, found: float) -> str:
    return f"{LEFT + alarms / MOST * (WIDTH - LEFT - RIGHT):.1f},{HEIGHT - BOTTOM - found * (HEIGHT - TOP - BOTTOM):.1f}"


def _render_axes() -> Iterable[str]:
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    yield (
        f'<polyline points="{" ".join(_place(*one) for one in ((0, 1), (0, 0), (MOST, 0)))}" '
        'fill="none" stroke="#333"/>'
    )
    for fifth in range(6):
        x, y = _place(MOST * fifth / 5, 0).split(",")[0], _place(0, fifth / 5).split(",")[1]
        yield (
            f'<text x="{x}" y="{HEIGHT - BOTTOM + 16}" '
            f'text-anchor="middle">{100 * MOST * fifth / 5:.0f} %</text>'
        )
        yield f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">{20 * fifth} %</text>'
    yield (
        f'<text x="{(WIDTH - RIGHT + LEFT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">honest '
        "tasks flagged</text>"
    )
    yield f'<text x="{LEFT}" y="{TOP - 8}">paraphrases found</text>'
