"""Runs a test file and tells test by test what is wrong. It runs in the container.

Standard library and pytest only.
The file lies nowhere: it is compiled out of what this program was given. pytest's exit code decides
whether there is a report at all: 0 and 1 say that every test ran. Whatever else it ends with,
nothing is known, and nothing is reported.
"""

import ast
import json
import linecache
import os
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

NAME = "test_exam.py"
LONGEST = 600


LATE = ("_strptime", *(f"encodings.{name}" for name in (
            "ascii", "cp437", "cp850", "cp1250", "cp1251", "cp1252", "idna", "iso8859_15", "koi8_r", "latin_1", "punycode",
            "unicode_escape", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_7", "utf_8_sig")),
        "gzip", "http.client")  # fmt: skip
"""What the library imports when it is needed."""


class Reporter:
    """What pytest collects and tells while it runs."""

    def __init__(self, source: str, folder: str, held: bool) -> None:
        self.source, self.folder, self.held = source, folder, held
        self.collected: list[str] = []
        self.said: dict[str, str] = {}

    def pytest_collect_file(self, file_path: Path, parent: Any) -> Any:
        return InMemory.from_parent(parent, path=file_path, source=self.source)  # pyright: ignore[reportUnknownMemberType]

    def pytest_collection_finish(self, session: Any) -> None:
        self.collected = [item.name for item in session.items]
        if self.held:
            from probing import go_on, list_imports, shut  # pyright: ignore

            shut([*LATE, *list_imports(self.source)])
            go_on()

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.rpartition("::")[2]
        told = report.longreprtext.replace(self.folder.lstrip("/"), "")[-LONGEST:]
        wrong = "" if report.passed else "skipped" if report.skipped else told or "failed"
        if report.when == "call" or wrong:
            self.said[name] = self.said.get(name) or wrong


class InMemory(pytest.Module):
    """A test file that is text and no file."""

    def __init__(self, source: str, **more: Any) -> None:
        super().__init__(**more)
        self.source = source

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType("test_exam")
        module.__file__ = NAME
        linecache.cache[NAME] = (
            len(self.source),
            None,
            self.source.splitlines(keepends=True),
            NAME,
        )
        tree = ast.parse(self.source, NAME)
        rewrite_asserts(tree, self.source.encode(), NAME, self.config)
        exec(compile(tree, NAME, "exec", dont_inherit=True), module.__dict__)
        return module


def main(source: str, marker: str, folder: str, held: bool) -> int:
    reporter = Reporter(source, folder, held)
    Path(folder).mkdir(mode=0o700)
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "--tb=short",
        f"-c{os.devnull}",
        f"--rootdir={folder}",
    ]
    code = pytest.main([*options, f"--basetemp={folder}/tmp", sys.path[0]], plugins=[reporter])
    shutil.rmtree(folder, ignore_errors=True)
    if code not in (0, 1) or set(reporter.said) != set(reporter.collected):
        return 2
    sys.stdout.write(f"\n{marker}{json.dumps(reporter.said)}\n")
    return 0


given = json.loads(sys.argv[1])
sys.exit(main(given["source"], given["marker"], given["folder"], bool(given["held"])))
