"""What an environment is, its kind knows: nobody else compares kinds, and nobody else opens
sandboxes without their hosts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.kinds import KINDS
from tests.architecture.floors import PACKAGES
from tests.architecture.sources import find_sources, parse_file

HOMES = ("envmill/kinds/",)
"""Where kinds are told apart. The embedded author has a table of renderings by kind, and no
branches either."""
OPENING = ("envmill/kinds/", "envmill/sandbox/")
_MARKS = frozenset(("ERRAND",))
"""Names of files by which a kind tells its own variants apart."""


def find_branches(root: Path) -> Iterator[str]:
    """`path:line` of every decision that is a kind's."""
    for name, path in find_sources(root, PACKAGES):
        tree = parse_file(path)
        if not name.startswith(HOMES):
            yield from (
                f"{name}:{node.lineno}"
                for node in ast.walk(tree)
                if isinstance(node, ast.expr) and _compares(node)
            )
            yield from (f"{name}:{line}" for line in _find_matches(tree))
            yield from (f"{name}:{node.lineno}" for node in _find_tests(tree) if _is_tables(node))
        if not name.startswith(OPENING):
            yield from (
                f"{name}:{node.lineno}"
                for node in ast.walk(tree)
                if isinstance(node, ast.expr) and _opens(node)
            )


def _compares(node: ast.expr) -> bool:
    """A comparison with a kind's name, or the question whether a kind's own file is there."""
    if not isinstance(node, ast.Compare):
        return False
    parts = [node.left, *node.comparators]
    names = {
        each.value for part in parts for each in ast.walk(part) if isinstance(each, ast.Constant)
    }
    subject = {_name(part) for part in parts}
    marked = isinstance(node.ops[0], ast.In | ast.NotIn) and _name(node.left) in _MARKS
    return marked or ("kind" in subject and not names.isdisjoint(KINDS))


def _find_matches(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Match) and _name(node.subject) == "kind":
            values = {
                each.value
                for case in node.cases
                for each in ast.walk(case.pattern)
                if isinstance(each, ast.Constant)
            }
            if not values.isdisjoint(KINDS):
                yield node.lineno


def _find_tests(tree: ast.AST) -> Iterator[ast.expr]:
    """Every expression that is asked whether it is true."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Call) and _name(node.func) == "bool":
            yield from node.args


def _is_tables(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "tables"


def _opens(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr == "open" and _name(node.value) == "Sandbox"
    )


def _name(node: ast.AST) -> str:
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def test_only_kinds_tell_kinds_apart() -> None:
    assert list(find_branches(ROOT)) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('if environment.kind == "terminal":\n    pass\n', id="equals"),
        pytest.param('x = [one for one in ones if one.kind != "sql"]\n', id="differs"),
        pytest.param('x = kind in ("sql", "stateful")\n', id="among"),
        pytest.param('x = "sql" == plan.kind\n', id="turned round"),
        pytest.param('match plan.kind:\n    case "sql":\n        pass\n', id="match"),
        pytest.param("x = ERRAND in plan.files\n", id="its file"),
        pytest.param("x = 1 if files.ERRAND not in plan.files else 2\n", id="not its file"),
        pytest.param("if environment.tables:\n    pass\n", id="tables"),
        pytest.param("x = wanted and not environment.tables\n", id="no tables"),
        pytest.param("x = bool(environment.tables)\n", id="tables as bool"),
        pytest.param(
            "async with Sandbox.open(settings) as sandbox:\n    pass\n",
            id="a sandbox without hosts",
        ),
    ],
)
def test_a_branch_is_seen(tmp_path: Path, text: str) -> None:
    for home, found in (("envmill/gates", 1), ("flows/cli", 1), ("envmill/kinds", 0)):
        (tmp_path / home).mkdir(parents=True)
        (tmp_path / home / "a.py").write_text(text)
        assert len(list(find_branches(tmp_path))) == found, home
        (tmp_path / home / "a.py").unlink()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('if fact.kind == "number":\n    pass\n', id="another kind of kind"),
        pytest.param("for table in environment.tables:\n    pass\n", id="tables as data"),
        pytest.param("files = {ERRAND: text}\n", id="writing its file"),
        pytest.param("if kind_of(environment).tabled:\n    pass\n", id="asking the kind"),
    ],
)
def test_what_is_no_branch_passes(tmp_path: Path, text: str) -> None:
    (tmp_path / "envmill").mkdir()
    (tmp_path / "envmill" / "a.py").write_text(text)
    assert list(find_branches(tmp_path)) == []
