"""The curve of paraphrases against false alarms: scores are 1 where the gate stands, and a
threshold that falls draws them in order."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from envmill.gates.protecting.same_task import AskedTask, TaskMatch, compare_near
from tests.gates.curve import Seen, draw, read_off, render, score, score_like, score_same
from tests.gates.paraphrasing import Known, make_cases, see_honest, see_paraphrases, write_curves
from tests.gates.test_paraphrasing import known
from tests.gates.test_same_task import (
    ASKED,
    CLONE,
    OTHERS,
    PARAPHRASE,
    RETURN,
    SWAPPED,
    Calls,
    rename,
)

__all__ = ["known"]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (PARAPHRASE, rename(RETURN)),
        (CLONE, rename(RETURN, SWAPPED)),
        (ASKED, rename(RETURN)[:2]),
        (OTHERS[0][0], rename(RETURN)),
    ],
)
def test_a_score_is_one_exactly_where_the_gate_stands(
    text: str, calls: Calls, known: list[Known]
) -> None:
    near = compare_near(known[0].sketch, AskedTask(text, calls))
    assert near or len(calls) < 3
    for match in near:
        assert (score_same(match) >= 1) == (match.reason == "same_task")
        assert (score_like(match) >= 1) == (match.reason != "")


def test_two_rare_values_are_only_a_suspicion_and_all_of_them_are_needed() -> None:
    assert score_like(
        TaskMatch("like_task", "tasks:1", 0.0, None, 0.7, 1.0, None, rare=2)
    ) == pytest.approx(1.0)
    assert score_like(TaskMatch("", "tasks:1", 0.0, None, 0.9, 0.5, None, rare=2)) == 0.0
    assert score_same(TaskMatch("like_task", "tasks:1", 0.0, None, 0.7, 1.0, None, rare=2)) == 0.0


def test_a_curve_has_a_point_for_each_threshold_and_is_read_off_from_the_left() -> None:
    curve = draw([0.9, 0.5, 0.2, 0.0], [0.5, 0.1])
    assert curve == [(0.0, 0.0), (0.0, 0.25), (0.5, 0.5), (0.5, 0.75), (1.0, 0.75)]
    assert read_off(curve, 0.4) == 0.25
    assert read_off(curve, 0.5) == 0.75


def test_a_copy_counts_for_the_gate_and_not_for_likeness() -> None:
    seen = Seen([TaskMatch("", "tasks:1", 0.2, None, 0.0, 0.0, None)], copied=True)
    assert score(seen, "structure: dropped") == float("inf")
    assert score(seen, "likeness of words alone") == 0.2


def test_the_drawing_is_valid_and_marks_where_the_gate_stands() -> None:
    drawn = render(
        {
            "structure: dropped": draw([1.2, 0.4], [0.3] * 30),
            "likeness of words alone": draw([0.4], [0.3]),
        },
        {"structure: dropped": (0.0, 0.5)},
    )
    root = ElementTree.fromstring(drawn)
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3
    assert len(root.findall("{http://www.w3.org/2000/svg}circle")) == 1


def test_curves_are_written_from_answers(known: list[Known], tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "00.json").write_text(json.dumps({"paraphrases": [PARAPHRASE]}))
    told = write_curves(tmp_path, known)
    assert "| kept | structure: dropped | 100% |" in told
    assert "kept: of 1, the source or a variant of it is among the nearest of 1" in told
    assert (tmp_path / "curve.svg").exists()
    assert len(see_honest(known)) == 3
    assert not see_paraphrases(tmp_path, known)["kept"][0].copied


def test_a_judge_is_calibrated_on_a_paraphrase_beside_its_own_task_and_beside_another(
    known: list[Known], tmp_path: Path
) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "00.json").write_text(json.dumps({"paraphrases": [PARAPHRASE]}))
    same, other = make_cases(tmp_path, known)
    assert (same.planted, other.planted) == (True, False)
    assert ASKED in same.question
    assert ASKED not in other.question
    assert same.item == other.item
    assert same.item.request == PARAPHRASE
