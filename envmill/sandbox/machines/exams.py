"""Test files that ask a machine how it is, read before they run: which tests they hold, and what
would keep them from a verdict."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator

from envmill.base.errors import BuildError

_ALLOWED = sys.stdlib_module_names | {"pytest"}
_PLAIN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign)
_CALLS = re.compile(
    r"(https?|ftp)://(?!127\.|localhost|\[::1\])[\w.%{-]+|\b(pip|apt-get|apt|wget|npm)\s+(install|"
    r"update|download)\b"
)


def list_tests(source: str) -> list[str]:
    """Names of the tests, or BuildError where it is no module."""
    try:
        tree = ast.parse(source, feature_version=(3, 11))
    except (SyntaxError, ValueError) as error:
        raise BuildError(
            f"The test file is no Python: {error}. Write the whole module again."
        ) from error
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def find_exam_faults(source: str) -> Iterator[str]:
    """All that would let a test file end without a word on every test, or with another word
    elsewhere."""
    try:
        names = list_tests(source)
    except BuildError as error:
        yield error.message
        return
    tree = ast.parse(source)
    if not names:
        yield "There is no test: write functions whose names begin with test_."
    yield from (
        f"{name} stands there {times} times: give each test a name of its own."
        for name, times in Counter(names).items()
        if times > 1
    )
    yield from _find_statement_faults(tree)
    for node in ast.walk(tree):
        yield from (
            f"{name} is not in the image: import the standard library and pytest alone."
            for name in _list_foreign(node)
        )
    if found := _CALLS.search(source):
        yield f"{found[0]!r} needs a network, and there is none: ask what stands on the machine."
    yield from (
        f"{node.name} asserts nothing."
        for node in tree.body
        if _is_idle(node) and isinstance(node, ast.FunctionDef)
    )


def _find_statement_faults(tree: ast.Module) -> Iterator[str]:
    """What a module does while it is imported depends on what an agent left, and its failure would
    be no verdict."""
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not isinstance(node, _PLAIN) and not is_text:
            yield (
                f"Line {node.lineno} does something while the module is imported: put it into a "
                "function."
            )
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            if {each.arg for each in node.args.args} - {"tmp_path"} or node.decorator_list:
                yield (
                    f"{node.name} takes arguments or is decorated: write plain functions; "
                    "tmp_path alone may be asked for."
                )
        elif isinstance(node, ast.Assign | ast.AnnAssign) and any(
            _may_fail(each) for each in ast.walk(node)
        ):
            yield (
                f"Line {node.lineno} reads or runs something while the module is imported: put "
                "it into a function."
            )


def _may_fail(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and not (
        isinstance(node.func, ast.Name) and node.func.id in ("Path", "frozenset", "set", "dict")
    )


def _list_foreign(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or "."]
    else:
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
    return [name for name in names if name.split(".")[0] not in _ALLOWED]


def _is_idle(node: ast.stmt) -> bool:
    """A test without an assert, a raise, or a call of a function of its own that may hold one."""
    if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
        return False
    return not any(isinstance(each, ast.Assert | ast.Raise | ast.Call) for each in ast.walk(node))
