"""A curve as an SVG text: how many distinct things there are after so many draws, one line for each
series."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 56, 150, 24, 48
_COLOURS = ("#1f6f8b", "#b5541c", "#4d7c3a", "#7a4d9a", "#8a6d1f", "#5a5a5a")
_MOST = 400
"""Points of a drawn line; of more, some are left out."""

Points = Sequence[tuple[int, int]]


def render_curve(series: Mapping[str, Points], across: str, up: str) -> str:
    """Lines over (draws, distinct), with a dotted line where every draw is new. Names of series are
    escaped: models write them."""
    points = [point for line in series.values() for point in line]
    wide, high = (
        max((x for x, _ in points), default=1) or 1,
        max((y for _, y in points), default=1) or 1,
    )
    return (
        "\n".join(
            [
                "<svg " + _ATTRIBUTES + ">",
                *_render_axes(wide, high, across, up),
                *_render_lines(series, wide, high),
                "</svg>",
            ]
        )
        + "\n"
    )


_SIZE = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
_ATTRIBUTES = f'xmlns="http://www.w3.org/2000/svg" {_SIZE} font-family="sans-serif" font-size="12"'


def _place(x: int, y: int, wide: int, high: int) -> str:
    across = LEFT + x / wide * (WIDTH - LEFT - RIGHT)
    return f"{across:.1f},{HEIGHT - BOTTOM - y / high * (HEIGHT - TOP - BOTTOM):.1f}"


def _render_axes(wide: int, high: int, across: str, up: str) -> Iterator[str]:
    least = min(wide, high)
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    corner = " ".join(_place(x, y, wide, high) for x, y in ((0, high), (0, 0), (wide, 0)))
    yield f'<polyline points="{corner}" fill="none" stroke="#333"/>'
    diagonal = f"{_place(0, 0, wide, high)} {_place(least, least, wide, high)}"
    yield f'<polyline points="{diagonal}" fill="none" stroke="#999" stroke-dasharray="3 3"/>'
    for quarter in range(5):
        x, y = wide * quarter // 4, high * quarter // 4
        left, low = _place(x, 0, wide, high).split(",")[0], _place(0, y, wide, high).split(",")[1]
        yield f'<text x="{left}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x}</text>'
        yield f'<text x="{LEFT - 6}" y="{low}" dy="4" text-anchor="end">{y}</text>'
    yield (
        f'<text x="{(WIDTH - RIGHT + LEFT) / 2}" y="{HEIGHT - 10}" '
        f'text-anchor="middle">{escape(across)}</text>'
    )
    yield f'<text x="{LEFT}" y="{TOP - 8}">{escape(up)}</text>'


def _render_lines(series: Mapping[str, Points], wide: int, high: int) -> Iterator[str]:
    for number, (name, points) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        every = max(1, len(points) // _MOST)
        drawn = [(0, 0), *points[::every][:-1], *points[-1:]]
        placed = " ".join(_place(x, y, wide, high) for x, y in drawn)
        yield f'<polyline points="{placed}" fill="none" stroke="{colour}" stroke-width="2"/>'
        last = f", {points[-1][1]} of {points[-1][0]}" if points else ""
        place = f'x="{WIDTH - RIGHT + 8}" y="{TOP + 12 + 16 * number}"'
        yield f'<text {place} fill="{colour}">{escape(name)}{last}</text>'
