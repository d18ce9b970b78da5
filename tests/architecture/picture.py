"""`python -m tests.architecture.picture`: write docs/architecture.md, the picture of the packages
and their imports.

*.py ──imports──► rooms and arrows ──► floors; arrows that a longer way implies are left out ──► mermaid
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES
from tests.architecture.imports import Imports, read_imports
from tests.architecture.sources import parse_file

PAGE = ROOT / "docs/architecture.md"
Arrows = Mapping[str, frozenset[str]]
"""Room → rooms that it imports."""


def name_room(module: str) -> str:
    """The package of a module; in the engine, the package or the single module below `envmill`."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "envmill" else parts[0]


def read_arrows(imports: Imports) -> Arrows:
    rooms = {name_room(module) for module in imports} - {"envmill"}
    drawn: dict[str, set[str]] = {room: set() for room in sorted(rooms)}
    for module, targets in imports.items():
        for target in targets:
            start, end = name_room(module), name_room(target)
            if start != end and start in rooms and end in rooms:
                drawn[start].add(end)
    return {room: frozenset(targets) for room, targets in drawn.items()}


def count_floors(arrows: Arrows) -> dict[str, int]:
    """Room → floor: one above the highest room that it imports. There is no cycle."""
    floors: dict[str, int] = {}

    def climb(room: str) -> int:
        if room not in floors:
            floors[room] = 1 + max((climb(target) for target in arrows[room]), default=0)
        return floors[room]

    for room in arrows:
        climb(room)
    return floors


def reduce_arrows(arrows: Arrows) -> Arrows:
    """The arrows that no longer way implies."""
    below: dict[str, frozenset[str]] = {}
    for room in sorted(arrows, key=count_floors(arrows).__getitem__):
        below[room] = arrows[room].union(*(below[target] for target in arrows[room]))
    return {
        room: frozenset(
            target
            for target in targets
            if not any(target in below[other] for other in targets - {target})
        )
        for room, targets in arrows.items()
    }


def render_picture(arrows: Arrows) -> str:
    floors = count_floors(arrows)
    lines = ["```mermaid", "flowchart TD"]
    for room in sorted(arrows, key=lambda name: (-floors[name], name)):
        lines.append(f'    {_name(room)}["{room.removeprefix("envmill.")}"]')
    for room, targets in reduce_arrows(arrows).items():
        lines += [f"    {_name(room)} --> {_name(target)}" for target in sorted(targets)]
    return "\n".join([*lines, "```"])


def _name(room: str) -> str:
    return room.replace(".", "_")


def render_page(root: Path) -> str:
    arrows = read_arrows(read_imports(root, PACKAGES))
    floors, total = count_floors(arrows), sum(map(len, arrows.values()))
    table = ["| floor | package | holds |", "|---|---|---|"]
    for room in sorted(arrows, key=lambda name: (-floors[name], name)):
        table.append(
            f"| {floors[room]} | `{room.replace('.', '/')}` | {_read_sentence(root, room)} |"
        )
    return "\n".join(
        [
            "# Architecture",
            "",
            "This page is generated: `python -m tests.architecture.picture`. A test compares it "
            "with the code.",
            "",
            f"{len(arrows)} packages stand on {max(floors.values())} floors. A package imports "
            "only from lower floors.",
            f"Of the {total} arrows the picture shows those that no longer way implies.",
            "`tests/architecture/floors.py` lists what may import what.",
            "",
            render_picture(arrows),
            "",
            *table,
            "",
        ]
    )


def _read_sentence(root: Path, room: str) -> str:
    """The first sentence of the package's or module's docstring."""
    place = root / room.replace(".", "/")
    path = next(
        (path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None
    )
    docstring = ast.get_docstring(parse_file(path)) if path else None
    return " ".join(_until_stop((docstring or "").split("\n\n")[0]).split())


def _until_stop(text: str) -> str:
    return text.split(". ")[0].rstrip(".")


def list_measures(root: Path) -> Iterator[str]:
    """Rooms, floors and arrows of any version of the code, and its picture."""
    packages = tuple(name for name in PACKAGES if (root / name).is_dir())
    arrows = read_arrows(read_imports(root, packages))
    yield (
        f"{len(arrows)} rooms, {max(count_floors(arrows).values())} floors, "
        f"{sum(map(len, arrows.values()))} arrows"
    )
    yield render_picture(arrows)


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write("\n".join([*list_measures(Path(sys.argv[1])), ""]))
    else:
        PAGE.write_text(render_page(ROOT), encoding="utf-8")
