"""Names and sizes: no module named after nothing, no function named by a metaphor, and nothing long
without a reason written here."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES
from tests.architecture.sources import find_sources, parse_file

BANNED = {"utils", "util", "helpers", "helper", "manager", "misc", "common", "core", "stuff"}
FILE_LINES = 560
VERBS: dict[str, str] = {
    "tell": "describe, render, report or send",
    "tells": "reveals or states",
    "spell": "render",
    "look": "check, poll, observe or find",
    "hear": "read, ask or handle",
    "listen": "read, ask or bind",
    "say": "render, describe or report",
    "says": "mentions or communicates",
    "think": "make",
    "draw": "sample, where chance decides; pictures are drawn",
}
"""First word of a function's name → the verb of the glossary to use instead."""
METAPHORS: dict[str, str] = {
    "envmill/interop/bundles/envrun/episode.py:say": "what players of a bundle call, beside `call`",
    "envmill/interop/consumers/sessions/session.py:say": "what adapters of consumers call, beside `call`, as players of a bundle do",
    "envmill/front/session.py:say": "an agent says something to the user",
    "envmill/report/folder.py:_draw": "it draws pictures",
    "envmill/report/graphs.py:draw_graph": "it draws a picture",
    "envmill/report/terrain.py:draw_map": "it draws a picture",
    "flows/cli/live.py:draw": "it draws a table",
    "flows/cli/table.py:_draw": "it draws a table",
    "quality/promises/shared.py:says": "promises are read as sentences: column `reason` says why",
}
"""`path:function` → the reason it keeps such a verb."""
TOPS = frozenset({"envmill/front/settings.py", "envmill/interop/consumers/sessions/recalls.py"})
"""Modules that read the process's environment for a user's program, or in an exported folder: no
flow or command is above them."""
LONG: dict[str, str] = {
    "envmill/interop/importers/tau2/domains/telecom.py": "it goes into the jail as one text",
    "envmill/runtime/box/init.py": "it goes as one text into images that have Python and nothing of ours",
    "tests/interop/bundles/test_escapes.py": "one table of attempts to leave a folder",
    "tests/models/test_dialects.py": "one table of what vendors' replies look like",
    "tests/recipes/multiplied/desks.py": "one table of changes to a desk and what becomes of each",
    "tests/recipes/test_endless_terminals.py": "its tests share machines and errands that the module makes once",
    "tests/recipes/test_tau2.py": "its tests share dialogues that the module composes once",
}
"""`path` or `path:function` → the reason it is long."""


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    return find_sources(root, (*PACKAGES, "tests"))


def find_banned(root: Path) -> list[str]:
    return [name for name, _ in _sources(root) if BANNED & set(Path(name).with_suffix("").parts)]


def find_long(root: Path) -> Iterator[str]:
    for name, path in _sources(root):
        if path.read_text(encoding="utf-8").count("\n") > FILE_LINES:
            yield name


def find_metaphors(root: Path) -> Iterator[str]:
    for name, path in _sources(root):
        if not name.startswith("tests/"):
            for node in ast.walk(parse_file(path)):
                if (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                    and node.name.strip("_").split("_")[0] in VERBS
                ):
                    yield f"{name}:{node.name}"


def find_environment_reads(root: Path) -> Iterator[str]:
    """The engine is handed its settings. Flows and the command line read the process's environment
    once, at the top."""
    for name, path in _sources(root):
        if (
            name.startswith(("envmill", "offline", "schemas", "tasks", "quality"))
            and name not in TOPS
        ):
            reads = [
                node
                for node in ast.walk(parse_file(path))
                if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
            ]
            yield from (
                f"{name}:{node.lineno}"
                for node in reads
                if isinstance(node.value, ast.Name) and node.value.id == "os"
            )


def test_no_module_is_named_after_nothing() -> None:
    assert find_banned(ROOT) == []


def test_what_is_long_says_why() -> None:
    assert sorted(set(find_long(ROOT))) == sorted(LONG)


def test_one_verb_names_one_act() -> None:
    assert sorted(set(find_metaphors(ROOT))) == sorted(METAPHORS)


def test_only_the_top_reads_the_environment() -> None:
    assert list(find_environment_reads(ROOT)) == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        pytest.param("envmill/utils/a.py", "", "envmill/utils/a.py", id="banned"),
        pytest.param("tasks/a.py", "\n" * 561, "tasks/a.py", id="long-file"),
        pytest.param(
            "schemas/a.py",
            "class A:\n    def _tell_row(self): ...\n",
            "schemas/a.py:_tell_row",
            id="metaphor",
        ),
        pytest.param(
            "envmill/a.py", "import os\nx = os.environ['X']\n", "envmill/a.py:2", id="environment"
        ),
    ],
)
def test_a_breach_is_seen(tmp_path: Path, name: str, text: str, found: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert found in [
        *find_banned(tmp_path),
        *find_long(tmp_path),
        *find_metaphors(tmp_path),
        *find_environment_reads(tmp_path),
    ]
