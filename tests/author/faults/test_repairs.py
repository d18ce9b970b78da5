"""A repair that quotes what failed mends it mostly; sometimes it does not, or spoils something else."""

import json
from collections import Counter

import pytest

from envmill import author
from tests.author.questions import SEED, THEMES, pose
from tests.soak import count

THEME = sorted(THEMES)[0]
FAILURE = "W3: list_breads is rejected: should end in success, and ended in bad_arguments"
PROMPTS = ["checks", "tests", "scenario"][: count(2, 3)]
SAMPLES = count(120, 400)
pytestmark = pytest.mark.soak(area="author")


def repair(prompt: str, failure: str, mistakes: float) -> Counter[str]:
    """How repairs end of replies that held a mistake."""
    endings = Counter[str]()
    for sample in range(SAMPLES):
        inputs = pose(prompt, THEME, 0)
        if author.planted(prompt, inputs, SEED, sample, mistakes):
            name = author.planted(prompt, inputs | {"failure": failure}, SEED, sample, mistakes)
            endings[name if name in ("", "unmended") else "wrongly"] += 1
    return endings


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_repair_mends_mostly_and_sometimes_wrongly(prompt: str) -> None:
    endings = repair(prompt, FAILURE, 0.9)
    assert 0.7 <= endings[""] / endings.total() <= 0.9
    assert endings["unmended"] >= 3
    assert endings["wrongly"] >= 2


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_repair_that_is_told_nothing_mends_seldom(prompt: str) -> None:
    endings = repair(prompt, "failed", 0.9)
    assert endings[""] / endings.total() <= 0.45


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_was_right_is_not_made_wrong(prompt: str) -> None:
    inputs = pose(prompt, THEME, 0)
    right = [sample for sample in range(60) if not author.planted(prompt, inputs, SEED, sample, 0.5)]
    assert right
    assert {author.planted(prompt, inputs | {"failure": FAILURE}, SEED, sample, 0.5) for sample in right} == {""}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_an_unmended_repair_sends_the_same_once_more(prompt: str) -> None:
    inputs = pose(prompt, THEME, 0)
    again = inputs | {"failure": FAILURE}
    sample = next(each for each in range(SAMPLES) if author.planted(prompt, again, SEED, each, 0.9) == "unmended")
    assert author.answer(prompt, again, SEED, sample, 0.9) == author.answer(prompt, inputs, SEED, sample, 0.9)


def test_a_scenario_found_wrong_is_written_on_another_state() -> None:
    """What failed may lie in the state, so another version comes with another."""
    inputs = pose("scenario", THEME, 0)
    one, other = (json.loads(author.answer("scenario", inputs | {"failure": failure}, SEED, 0, 0.0)) for failure in ("", FAILURE))
    assert one["initial_state"] != other["initial_state"]
    assert one["request"] != other["request"]
