"""Every reason code that the source can report has a class, and the pages say which."""

import ast
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.gates import DECISIONS, GATES, WHEN
from envmill.gates.codes import CODES, STAGES, find_class
from tests.gates.pages import HEAD, NONE, PAGES, write_index, write_page
from tests.gates.specimens.faults import DROPPED
from tests.gates.test_contract import FILTERED

ENGINE = ROOT / "envmill"
_OTHERS = ("models", "sandbox", "verifiers", "runtime")
"""Packages whose `drop` is another one, or that report nothing."""
CARRIERS = {
    "BrokenRelation": "W12",
    "PathDisagreement": "S16",
    "ProtectedMatch": "F3",
    "_Idea": "blueprint",
    "_Heard": "verifier",
    "ErrandTrial": "build",
}
"""Records that carry a reason code to a drop elsewhere, by the gate or stage that drops."""
HELPERS = {
    "stages/mine.py": "theme",
    "kinds/terminal/errands/trying.py": "build",
    "recipes/drafting/contract.py": "oracle",
    "kinds/authoring/state.py": "oracle",
    "stages/generate.py": "oracle",
}
"""Modules whose functions return (code, words) to the drop of a stage."""
RAISED = {"recipes/drafting/finishing.py": "verifier"}
"""Modules whose errors carry the reason code of a stage's drop."""
SPARE = {("oracle", "does_otherwise"), ("build", "")}
"""Codes of a round that leaves the old version in place: nothing is dropped."""
IDLE = ("(not measured)", "(not applicable)", "(error)")
"""Outcomes that drop nothing: codes that report them have no class."""

Report = tuple[str, str]
"""Gate or stage (`*` where the source does not tell), and a reason code, with `*` for what is
filled in when it runs."""


def list_reports(text: str, path: str) -> Iterator[Report]:
    """What a module can report, as far as its text tells."""
    tree = ast.parse(text)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from _read_call(node.func.id, node.args, constants)
            if path in RAISED and node.func.id == "BuildError":
                yield from (
                    (RAISED[path], code)
                    for word in node.keywords
                    if word.arg == "reason"
                    for code in _read_codes(word.value)
                )
        elif isinstance(node, ast.Return) and path in HELPERS and isinstance(node.value, ast.Tuple):
            yield from ((HELPERS[path], code) for code in _read_codes(node.value.elts[0]))


def _read_call(
    name: str, args: list[ast.expr], constants: Mapping[str, object]
) -> Iterator[Report]:
    if name == "drop" and len(args) > 1:
        gate = (
            args[0].value
            if isinstance(args[0], ast.Constant)
            else constants.get(getattr(args[0], "id", ""), "*")
        )
        yield from ((str(gate), code) for code in _read_codes(args[1]))
    elif name == "Complaint" and len(args) > 1 and isinstance(args[0], ast.Constant):
        yield from ((str(args[0].value), code) for code in _read_codes(args[1]))
    elif name in CARRIERS and args:
        place = 2 if name in ("_Idea", "_Heard") else 0
        yield from (
            (CARRIERS[name], code) for arg in args[place : place + 1] for code in _read_codes(arg)
        )


def _read_codes(value: ast.expr) -> Iterator[str]:
    """Codes that an expression can come to; none for one that only a run knows."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield "".join(
            str(part.value) if isinstance(part, ast.Constant) else "*" for part in value.values
        )
    elif isinstance(value, ast.IfExp):
        yield from (*_read_codes(value.body), *_read_codes(value.orelse))


def has_class(report: Report) -> bool:
    name, code = report
    tables = CODES.values() if name == "*" else [CODES.get(name, {})]
    if "*" in code:
        return any(
            fnmatch(known, code) or (known.endswith("*") and code.startswith(known[:-1]))
            for table in tables
            for known in table
        )
    return any(find_class(one, code) for one in (CODES if name == "*" else [name]))


def scan() -> dict[Report, Path]:
    found: dict[Report, Path] = {}
    for path in sorted(ENGINE.rglob("*.py")):
        inner = path.relative_to(ENGINE)
        if inner.parts[0] not in _OTHERS:
            found |= dict.fromkeys(list_reports(path.read_text(encoding="utf-8"), str(inner)), path)
    return found


def test_every_code_that_can_be_reported_has_a_class() -> None:
    found = scan()
    assert len(found) > 100
    assert {
        ("W2", "does_not_load"),
        ("F3", "quotation"),
        ("verifier", "*_misjudged"),
        ("verifier", "oracle_unstable"),
    } <= found.keys()
    unknown = {report for report in found.keys() - SPARE if not has_class(report)}
    assert unknown == set()


def test_every_gate_declares_its_codes() -> None:
    assert [name for name, gate in GATES.items() if not gate.codes] == []


@pytest.mark.parametrize("name", sorted({*GATES, *DECISIONS}))
def test_codes_of_specimens_and_pages_have_a_class(name: str) -> None:
    """Codes that only a run knows are met by specimens; and no page explains a code of no class as
    one that drops."""
    reasons = {reason for _, reason, _ in DROPPED.get(name, ())} | set(FILTERED.get(name, ()))
    assert {reason for reason in reasons - {""} if find_class(name, reason) is None} == set()
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    told = {code for code in CODES[name] if not code.endswith("*") and f"| `{code}` |" not in page}
    assert told == set(), "codes that its page does not explain"
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    dropping = [
        line
        for line in rows
        if f"| {NONE} |" in line and not any(f"| {mark} " in line for mark in IDLE)
    ]
    assert dropping == [], (
        f"codes without a class; those that drop nothing begin their meaning with one of {IDLE}"
    )


@pytest.mark.parametrize("name", sorted({*GATES, *DECISIONS}))
def test_its_page_shows_the_class_of_each_code(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page == write_page(name, page), "make docs"
    assert HEAD in page


def test_the_table_of_gates_is_current() -> None:
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert index == write_index(index), "make docs"
    assert set(WHEN) == {*GATES, *DECISIONS}
    assert {name for name, when in WHEN.items() if when == "set"} == {"W10", "S14", "F4"}
    assert {name for name, when in WHEN.items() if when == "late"} == {
        "S13",
        "S18",
        "F1",
        "F2",
        "F3",
        "F5",
    }


def test_an_unknown_code_is_seen() -> None:
    text = (
        'GATE = "F4"\ndrop(GATE, "repeat", "")\ndrop(GATE, "heard_of_it", "")\ndrop("verifier", '
        'f"{name}_odd", "")\n'
    )
    assert [report for report in list_reports(text, "x.py") if not has_class(report)] == [
        ("F4", "heard_of_it"),
        ("verifier", "*_odd"),
    ]
    assert (
        find_class("oracle", "chain_loops"),
        find_class("oracle", "heard_of_it"),
        find_class("W99", "x"),
    ) == ("proof", None, None)
    assert not {*STAGES} & {*GATES}
