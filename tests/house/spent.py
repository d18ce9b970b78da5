"""`make test ARGS="-p tests.house.spent"`: seconds of the workers by the age of each test, and by folder.

reports of all workers ──test function──► known at START, at HOUSE, or later ──► table

START and HOUSE are the commits before and after the packages were moved. A function counts as known
if the tests of the commit define one of its name; files were moved since.
"""

import re
import subprocess
from collections import Counter, defaultdict

import pytest

from envmill.base.settings import ROOT

START, HOUSE = "307911b", "0c8213e2"
AGES = ("at the start", "during the house", "later")
_FOLDERS = 12

_spent = defaultdict[str, float](float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _spent[report.nodeid] += report.duration


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if hasattr(config, "workerinput") or not _spent:
        return
    known = [_find_functions(commit) for commit in (START, HOUSE)]
    tests = Counter[str]()
    seconds, folders = defaultdict[str, float](float), defaultdict[str, float](float)
    for node, spent in _spent.items():
        age = find_age(node, *known)
        seconds[age] += spent
        tests[age] += 1
        folders[node.split("/")[1]] += spent
    whole = sum(seconds.values())
    terminalreporter.section("seconds of all workers by the age of the tests")
    for age in AGES:
        terminalreporter.write_line(
            f"{age:18} {tests[age]:6} tests {seconds[age]:7.0f} s {seconds[age] / whole:5.0%}"
        )
    terminalreporter.write_line(
        "  ".join(
            f"{folder} {folders[folder]:.0f}"
            for folder in sorted(folders, key=lambda name: -folders[name])[:_FOLDERS]
        )
    )


def find_age(node: str, start: set[str], house: set[str]) -> str:
    """The age of a test, by the name of its function."""
    name = re.sub(r"\[.*", "", node.partition("::")[2])
    return AGES[0] if name in start else AGES[1] if name in house else AGES[2]


def _find_functions(commit: str) -> set[str]:
    found = subprocess.run(
        ["git", "grep", "-hoE", r"def test_\w+", commit, "--", "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.split()[-1] for line in found.stdout.splitlines()}
