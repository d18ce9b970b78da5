"""`python -m tests.scale.picture`: write docs/scale-processes.svg, the processes of a run and what they share."""

from collections.abc import Iterator
from dataclasses import dataclass

from envmill.base.settings import ROOT

SVG = ROOT / "docs/scale-processes.svg"
WIDTH, HEIGHT = 760, 400
LINE = 16
OWN, SHARED, OUTSIDE = "#e8f1f4", "#f4ede4", "#eeeeee"


@dataclass(frozen=True)
class Box:
    """A process or a place: its first line is its name."""

    left: int
    top: int
    width: int
    lines: tuple[str, ...]
    fill: str

    @property
    def height(self) -> int:
        return LINE * len(self.lines) + 12

    @property
    def middle(self) -> int:
        return self.left + self.width // 2


MACHINES = tuple(
    Box(left, 20, 340, lines, OWN)
    for left, lines in (
        (20, ("Machine A", "flow process: plan, conclude, night, export", "workers: buckets, jails", "home: journals, locks, bundles")),
        (400, ("Machine B", "", "workers: buckets, jails", "home: journals, locks")),
    )
)  # fmt: skip
SERVER = Box(
    20,
    170,
    200,
    ("Prefect server", "runs, states, 40 task runs a step", "PostgreSQL or SQLite"),
    OUTSIDE,
)
COORDINATOR = Box(
    270,
    170,
    220,
    ("Coordinator", "leases, budgets, rates, signs of life", "PostgreSQL, objects or a folder"),
    SHARED,
)
MODELS = Box(
    540, 170, 200, ("Models", "limits are divided by processes", "a 429 slows all"), OUTSIDE
)
LAKE = Box(
    190,
    300,
    380,
    (
        "Lake",
        "rows, claims of attempts, sealed model calls",
        "a folder or an object store: put-if-absent",
    ),
    SHARED,
)
BOXES = (*MACHINES, SERVER, COORDINATOR, MODELS, LAKE)


def render() -> str:
    """The picture as SVG."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            *_draw_lines(),
            *(line for box in BOXES for line in _draw_box(box)),
            "</svg>\n",
        ]
    )


def _draw_box(box: Box) -> Iterator[str]:
    yield f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="4" fill="{box.fill}" stroke="#333"/>'
    for number, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        top = box.top + LINE * (number + 1)
        yield f'<text x="{box.middle}" y="{top}" text-anchor="middle"{weight}>{line}</text>'


def _draw_lines() -> Iterator[str]:
    """From each machine to all that it asks; only the flow's machine tells the server of tasks."""
    for machine, offset in zip(MACHINES, (-8, 8), strict=True):
        targets = (SERVER, COORDINATOR, MODELS) if machine is MACHINES[0] else (COORDINATOR, MODELS)
        for target in targets:
            yield _draw_line(
                machine.middle, machine.top + machine.height, target.middle + offset, target.top
            )
        side = machine.middle + (60 if offset < 0 else -60)
        yield _draw_line(side, machine.top + machine.height, side, LAKE.top)


def _draw_line(left: int, top: int, right: int, bottom: int) -> str:
    return f'<line x1="{left}" y1="{top}" x2="{right}" y2="{bottom}" stroke="#1f6f8b" stroke-width="1.5"/>'


if __name__ == "__main__":
    SVG.write_text(render(), encoding="utf-8")
