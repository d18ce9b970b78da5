"""`python -m tests.house.measures START HOUSE`: how much code there is, by package and by age.

START, HOUSE ──git archive, git blame──► lines at START | lines now: written by HOUSE, written since ──► table

A line of code is neither blank nor a comment nor a docstring, in a file that is formatted at 88
columns. `written since` holds new features, and also what was written again. It takes ten minutes.
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator

from envmill.base.settings import ROOT

ENGINE = ("envmill", "flows", "quality", "schemas", "tasks")
BESIDE = ("offline", "tests", "examples")
THEN_BESIDE = ("envmill/author/", "envmill/models/offline.py")
"""Where the embedded author stood before it moved out of the engine."""
_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def main(start: str, house: str) -> None:
    then = Counter[str]()
    for path in _git("ls-tree", "-r", "--name-only", start).splitlines():
        if path.endswith(".py") and not path.startswith(THEN_BESIDE):
            then[_name_package(path)] += len(find_code(_format(_git("show", f"{start}:{path}"))))
    old, new = Counter[str](), Counter[str]()
    for path in _git("ls-files", "*.py").splitlines():
        text = (ROOT / path).read_text(encoding="utf-8")
        room, lines = _name_package(path), len(find_code(_format(text)))
        if path.split("/")[0] not in ENGINE:
            new[room] += lines
        elif code := find_code(text):
            aged = len(code & _find_lines_of(path, house)) * lines // len(code)
            old[room], new[room] = old[room] + aged, new[room] + lines - aged
    sys.stdout.write("\n".join(_render(then, old, new)) + "\n")


def _render(then: Counter[str], old: Counter[str], new: Counter[str]) -> Iterator[str]:
    yield "| package | at the start | written by the end of the house | written since | now |"
    yield "|---|---|---|---|---|"
    rooms = sorted({*then, *old, *new} - {*BESIDE, ""})
    for room in rooms:
        yield _render_row(room, then[room], old[room], new[room])
    counts = [sum(column[room] for room in rooms) for column in (then, old, new)]
    yield _render_row("**engine**", *counts)
    yield f"| ratio | 1 | {counts[1] / counts[0]:.2f} | {counts[2] / counts[0]:.2f} | |"
    for room in BESIDE:
        yield f"| {room} | {then[room]} | | | {new[room]} |"


def _render_row(name: str, then: int, old: int, new: int) -> str:
    return f"| {name} | {then} | {old} | {new} | {old + new} |"


def find_code(text: str) -> set[int]:
    """Numbers of the lines that hold code."""
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    } - documented


def _find_lines_of(path: str, house: str) -> set[int]:
    """Lines that stood, here or elsewhere, at the commit or before it."""
    ignored = ("--ignore-revs-file", ".git-blame-ignore-revs")
    told = _git("blame", "-w", "-M", "-C", "-s", "-l", *ignored, f"{house}..HEAD", "--", path)
    return {number for number, line in enumerate(told.splitlines(), 1) if line.startswith("^")}


def _name_package(path: str) -> str:
    parts = path.split("/")
    if parts[0] not in (*ENGINE, *BESIDE):
        return ""
    return "/".join(parts[:2]) if parts[0] == "envmill" and len(parts) > 2 else parts[0]


def _format(text: str) -> str:
    """Empty for what is no Python: some tests keep such files."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "88", "-q", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main(*sys.argv[1:3])
