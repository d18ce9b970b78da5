"""Class of every reason code in the gate pages, and the page with the table of all gates: `python
-m tests.gates.pages` renews both."""

import re
from collections.abc import Iterator

from envmill.base.settings import ROOT
from envmill.gates import DECISIONS, GATES, WHEN
from envmill.gates.codes import CODES, find_class

PAGES = ROOT / "docs" / "gates"
HEAD, RULE = "| reason code | class | meaning |", "|---|---|---|"
NONE = "–"
"""Of a code that drops nothing: not measured, or not applicable."""
TABLE = (
    "| gate | lap | asked | proof | suspicion | bookkeeping | question |\n"
    "|---|---|---|---|---|---|---|\n"
)
_HEADS = {"| code | meaning |", "| reason code | means |", HEAD}
_ROW = re.compile(
    r"\| `(?P<code>[a-z_0-9]+)` \| (?:(?:proof|suspicion|bookkeeping|–) \| )?(?P<meaning>.*) \|"
)


def write_page(name: str, text: str) -> str:
    """A gate's page with the class of each code. A gate that declares no codes keeps its page."""
    return "\n".join(_write_lines(name, text.split("\n"))) if CODES.get(name) else text


def _write_lines(name: str, lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        inside = line in _HEADS or (inside and line.startswith("|"))
        if line in _HEADS:
            yield HEAD
        elif inside and set(line) <= set("|-"):
            yield RULE
        elif inside and (row := _ROW.fullmatch(line)):
            yield (
                f"| `{row['code']}` | {find_class(name, row['code']) or NONE} | {row['meaning']} |"
            )
        else:
            yield line


def write_index(text: str) -> str:
    """The page about all gates, with its table renewed."""
    titles = {name: gate.title for name, gate in GATES.items()} | DECISIONS
    order = sorted(titles, key=lambda name: ("WSF".index(name[0]), int(name[1:])))
    prose = text[: text.index(TABLE)]
    return f"{prose}{TABLE}" + "".join(f"{_tell_gate(name, titles[name])}\n" for name in order)


def _tell_gate(name: str, title: str) -> str:
    lap = "environments" if name.startswith("W") else "scenarios"
    classes = list(CODES.get(name, {}).values())
    counts = [str(classes.count(kind) or NONE) for kind in ("proof", "suspicion", "bookkeeping")]
    return f"| [{name}]({name}.md) | {lap} | {WHEN[name]} | {' | '.join(counts)} | {title} |"


def main() -> None:
    for name in WHEN:
        path = PAGES / f"{name}.md"
        path.write_text(write_page(name, path.read_text(encoding="utf-8")), encoding="utf-8")
    index = PAGES / "README.md"
    index.write_text(write_index(index.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
