"""`python -m tests.real_authors.catching [--draw]`: runs the gates on the fixed list of faults,
and writes what caught each of them and the page.

With --draw the list is drawn again first.
"""

import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from envmill.base.settings import ROOT, Settings
from envmill.gates.base import EnvironmentCase, Finding, Gate
from envmill.sandbox import Sandbox
from tests.real_authors.corpus import list_items
from tests.real_authors.faults import PATH, Fault, ask, draw_faults, find_catch, read_faults
from tests.real_authors.making import Made, make
from tests.real_authors.operators import FAMILIES
from tests.real_authors.outcomes import MACHINES
from tests.real_authors.planted import list_lines

CAUGHT = Path(__file__).parent / "caught.json"
PAGE = ROOT / "docs/audit/planted-in-real-work.md"
TARGET = 0.92
"""Share that must be caught."""
INTRODUCTION = """
Each fault is one change of the syntax tree, or of the SQL in it, in one of nine programs that a strong model wrote (`tests/real_authors`).
The list is fixed (`faults.json`). A change that altered no reply and no state in 200 random calls is equivalent; it was left out when the
list was drawn. **Caught**: a stored test or a W gate finds something that it does not find in the unchanged program.
`python -m tests.real_authors.catching` generates this page.
"""
TEXT_FAULTS = """
Each fault changes what the person says in one of twenty scenarios that the same model wrote (`tests/real_authors/texts.py`,
`referents.py`). The program and the reference path do not change. **Planted** counts every change, also those that no gate notices.
**Noticed**: the gate to which the fault belongs asks a question about it. **Read**: the question is one of the shipped cases, and a judge
answered it twice. **Confirmed**: both answers are yes. **Caught** is the share noticed times the share confirmed of those read. An honest
look-alike is the original text, or that text with harmless words, together with a question that a fault would get. A look-alike that is
confirmed would be dropped wrongly. A fault that only another gate or another reason code asks about counts as not noticed.

The judge was two careful readers of the authors' strong model family. Neither knew what was planted, nor the other's answers. Other models
may answer differently, so a judge decides in a run only after its own calibration (`envmill calibrate`). The answers are
`tests/real_authors/readings.json`; `python -m tests.real_authors.planted` plants the faults again.
"""


class Catcher:
    """Runs the gates on faults. Each program is built once. A gate that finds something in one of
    its faults also runs once on the unchanged program."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._built: dict[str, Made] = {}
        self._known: dict[tuple[str, str], Sequence[Finding]] = {}

    async def catch(self, fault: Fault) -> str:
        """`<outcome> <gate> <reason>` of the finding that catches the fault, or an empty text."""
        if fault.item not in self._built:
            item = next(item for item in list_items() if item.id == fault.item)
            self._built[fault.item] = await make(item, self._sandbox, numbers=())
        made = self._built[fault.item]
        found = await find_catch(made, fault.place, partial(self._list_known, made), self._sandbox)
        return f"{found.outcome} {found.gate} {found.reason}" if found else ""

    async def _list_known(self, made: Made, gate: Gate[EnvironmentCase]) -> Sequence[Finding]:
        key = made.item.id, gate.name
        if key not in self._known:
            assert made.environment is not None
            written = EnvironmentCase(made.environment, made.tests)
            self._known[key] = await ask(gate, written, self._sandbox)
        return self._known[key]


def read_caught() -> list[str]:
    """One line a fault, in the order of the list."""
    return json.loads(CAUGHT.read_text(encoding="utf-8"))


def write_page(faults: Sequence[Fault], caught: Sequence[str]) -> str:
    return "\n".join(_list_lines(faults, caught)) + "\n"


def _list_lines(faults: Sequence[Fault], caught: Sequence[str]) -> Iterator[str]:
    left_out = json.loads(PATH.read_text(encoding="utf-8"))["left_out_as_equivalent"]
    yield "# Faults planted in programs of a real model"
    yield ""
    yield from INTRODUCTION.strip().splitlines()
    yield ""
    yield "| family | operator | n | caught | left out as equivalent | by |"
    yield "|---|---|---|---|---|---|"
    rows = Counter((fault.place.family, fault.place.operator) for fault in faults)
    for (family, operator), n in sorted(
        rows.items(), key=lambda row: (list(FAMILIES).index(row[0][0]), row[0][1])
    ):
        own = [
            line
            for fault, line in zip(faults, caught, strict=True)
            if (fault.place.family, fault.place.operator) == (family, operator)
        ]
        yield f"| {family} | {operator} | {n} | {sum(map(bool, own))} |  | {_tell_gates(own)} |"
    for family in FAMILIES:
        own = [
            line for fault, line in zip(faults, caught, strict=True) if fault.place.family == family
        ]
        yield (
            f"| **{family}** |  | {len(own)} | {_tell_share(own)} | {left_out.get(family, 0)} | "
            f"{_tell_gates(own)} |"
        )
    yield (
        f"| **all** |  | {len(caught)} | {_tell_share(caught)} | {sum(left_out.values())} | "
        f"{_tell_gates(caught)} |"
    )
    yield ""
    share = sum(map(bool, caught)) / len(caught)
    yield f"The target is {TARGET:.0%}: {'ok' if share >= TARGET else 'short'}."
    suspected = sum(line.startswith("suspected") for line in caught)
    yield (
        f"Of those caught, {suspected} are caught only by a suspicion, which drops nothing "
        "without a judge."
    )
    yield ""
    yield "## Missed"
    yield ""
    for fault, line in zip(faults, caught, strict=True):
        if not line:
            place, change = (
                fault.place,
                f"`{_shorten(fault.place.old)}` → `{_shorten(fault.place.new)}`",
            )
            yield (
                f"- {fault.item}, `{place.function}`, line {place.line}, {place.operator}: {change}"
            )
    yield ""
    yield "# Text faults"
    yield ""
    yield from TEXT_FAULTS.strip().splitlines()
    yield ""
    yield from list_lines()


def _tell_gates(lines: Sequence[str]) -> str:
    return ", ".join(
        f"{gate} {n}"
        for gate, n in Counter(line.split()[1] for line in lines if line).most_common()
    )


def _tell_share(lines: Sequence[str]) -> str:
    found = sum(map(bool, lines))
    return f"{found} ({found / len(lines):.0%})" if lines else "0"


def _shorten(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'").replace("|", "/")
    return line if len(line) <= 70 else f"{line[:67]}…"


async def main(draw: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": folder})) as sandbox:
            catcher = Catcher(sandbox)
            if draw:
                made = {
                    item.id: await make(item, sandbox)
                    for item in list_items()
                    if item.recipe not in MACHINES
                }
                caught = await draw_faults(made, sandbox, catcher.catch)
            else:
                caught = [await catcher.catch(fault) for fault in read_faults()]
    CAUGHT.write_text(json.dumps(caught, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(write_page(read_faults(), caught), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main("--draw" in sys.argv))
