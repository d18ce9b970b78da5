"""The main value of a step is typed, and the number of a run is resolved in one place."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.architecture.floors import PACKAGES
from tests.architecture.sources import find_sources

LOOSE = re.compile(r"\bSubject\[Any\]|\bseed or 0\b")
_PLACES = {"schemas/run.py"}
"""Where the number of a run is resolved."""


def find_loose(root: Path) -> Iterator[str]:
    for name, path in find_sources(root, PACKAGES):
        if name not in _PLACES:
            yield from (
                f"{name}: {found}" for found in LOOSE.findall(path.read_text(encoding="utf-8"))
            )


def test_subjects_are_typed_and_the_number_of_a_run_is_resolved_once() -> None:
    assert list(find_loose(ROOT)) == []


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("def f(subject: Subject[Any]) -> None: ...\n", True),
        ("seed = context.config.seed or 0\n", True),
        ("def f(subject: Subject[Seed], seed: int) -> None: ...\n", False),
        ("seed = context.config.run_seed\n", False),
    ],
)
def test_what_is_loose_is_found(text: str, caught: bool, tmp_path: Path) -> None:
    (tmp_path / "envmill").mkdir()
    (tmp_path / "envmill/a.py").write_text(text)
    assert bool(list(find_loose(tmp_path))) is caught
