"""The page about rules that read text, its counts and the results that they are counted from agree."""

import pytest

from envmill.gates.codes import CODES, find_class
from tests.gates.reading import DELETED, PAGE, RULES, STORE, measure, read_counts, render


def test_page_is_written_from_the_counts() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(read_counts()), "make docs"


def test_counts_are_those_of_the_results() -> None:
    assert read_counts() == measure(), f"{STORE.name}: python -m tests.gates.reading measure"


def test_results_hold_counts_of_every_sort() -> None:
    """A table whose form changed would count nothing, and nothing equals nothing."""
    counts = read_counts().values()
    for name in ("caught", "honest_dropped", "planted", "cleared", "undecided", "released"):
        assert any(getattr(found, name) for found in counts), name


@pytest.mark.parametrize(("gate", "reason"), RULES)
def test_rule_is_a_suspicion(gate: str, reason: str) -> None:
    assert find_class(gate, reason) == "suspicion"


@pytest.mark.parametrize(("gate", "reason"), DELETED)
def test_deleted_rule_is_gone(gate: str, reason: str) -> None:
    assert reason not in CODES[gate]
