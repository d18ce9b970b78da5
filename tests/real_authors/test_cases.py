"""The shipped cases: enough of each code, and no side that shows by its form."""

import re
from collections import Counter

import pytest

from envmill.gates import GATES
from envmill.gates.reading.calibrations import SHIPPED, read_cases
from envmill.gates.reading.suspicions import LEAST_CASES
from schemas.base import is_array
from schemas.suspicion import SuspicionCase
from tests.real_authors.cases import choose

CASES = read_cases(SHIPPED)
CODES = sorted({(case.gate, case.reason) for case in CASES})


def _cut_form(question: str) -> str:
    """A question without the values that are put into it."""
    return " ".join(re.sub(r"'[^']*'|\"[^\"]*\"|[\d.-]+|\{.*\}", " ", question).split()[:6])


@pytest.mark.parametrize(("gate", "reason"), CODES)
def test_a_code_can_be_calibrated(gate: str, reason: str) -> None:
    sides = Counter(case.planted for case in CASES if (case.gate, case.reason) == (gate, reason))
    assert GATES[gate].classify(reason) == "suspicion"
    assert min(sides[True], sides[False]) >= LEAST_CASES


@pytest.mark.parametrize(("gate", "reason"), CODES)
def test_no_form_of_question_is_on_one_side_alone(gate: str, reason: str) -> None:
    own = [case for case in CASES if (case.gate, case.reason) == (gate, reason)]
    planted, honest = (
        {_cut_form(case.question) for case in own if case.planted is side} for side in (True, False)
    )
    assert planted & honest


def test_no_case_stands_there_twice() -> None:
    assert len({case.model_dump_json() for case in CASES}) == len(CASES)


def _repeat(case: SuspicionCase, count: int, *, planted: bool) -> list[tuple[str, SuspicionCase]]:
    return [
        (
            f"source {n % 3}",
            case.model_copy(update={"planted": planted, "question": f"{case.question} {n}"}),
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("planted", "honest", "kept"), [(30, 30, 60), (29, 40, 0), (50, 35, 70), (60, 60, 80)]
)
def test_as_many_planted_cases_are_chosen_as_honest_ones(
    planted: int, honest: int, kept: int
) -> None:
    found = [*_repeat(CASES[0], planted, planted=True), *_repeat(CASES[0], honest, planted=False)]
    chosen = list(choose([*found, *found]))
    assert len(chosen) == kept
    assert sum(case.planted for case in chosen) * 2 == kept


def test_an_item_shows_the_tools_of_its_path_and_of_its_question() -> None:
    for case in CASES:
        path = case.item.path
        assert isinstance(path, dict)
        assert is_array(path["calls"])
        called = {call["name"] for call in path["calls"]}
        shown = {tool.name for tool in case.item.tools}
        assert called <= shown
        assert all(name in case.question for name in shown - called)
