"""A repair answers a conversation: mostly the fault is mended, sometimes the reply comes again, or
something else is spoilt."""

import json
from collections import Counter

import pytest

import offline as author
from tests.offline.questions import SEED, THEMES, pose
from tests.soak import count

THEME = sorted(THEMES)[0]
COMPLAINT = "1. list_breads: should end in success, and ended in bad_arguments"
PROMPTS = ["checks", "tests", "scenario"][: count(2, 3)]
SAMPLES = count(120, 400)
pytestmark = pytest.mark.soak(area="author")


def fail(prompt: str, mistakes: float) -> dict[int, list[str]]:
    """Sample → a conversation whose reply holds a mistake."""
    inputs = pose(prompt, THEME, 0)
    faulty = [
        sample
        for sample in range(SAMPLES)
        if author.planted(prompt, inputs, SEED, sample, mistakes)
    ]
    return {
        sample: [author.answer(prompt, inputs, SEED, sample, mistakes), COMPLAINT]
        for sample in faulty
    }


@pytest.mark.long
@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_repair_mends_mostly_and_sometimes_wrongly(prompt: str) -> None:
    inputs, endings = pose(prompt, THEME, 0), Counter[str]()
    for sample, talk in fail(prompt, 0.9).items():
        name, reply = (
            ask(prompt, inputs, SEED, sample, 0.9, talk) for ask in (author.planted, author.answer)
        )
        assert (reply == talk[0]) is (name == "unmended")
        assert name or reply == author.answer(prompt, inputs, SEED, sample, 0.0)
        endings[name if name in ("", "unmended") else "wrongly"] += 1
    assert 0.7 <= endings[""] / endings.total() <= 0.9
    assert endings["unmended"] >= 3
    assert endings["wrongly"] >= 2


@pytest.mark.long
@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_is_unmended_may_be_mended_by_the_next_complaint(prompt: str) -> None:
    inputs, names = pose(prompt, THEME, 0), set[str]()
    for sample, talk in fail(prompt, 0.9).items():
        if author.planted(prompt, inputs, SEED, sample, 0.9, talk) == "unmended":
            names.add(
                author.planted(
                    prompt, inputs, SEED, sample, 0.9, [*talk, talk[0], "Again: " + COMPLAINT]
                )
            )
    assert "" in names


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_was_right_is_not_made_wrong(prompt: str) -> None:
    inputs = pose(prompt, THEME, 0)
    right = [
        sample for sample in range(60) if not author.planted(prompt, inputs, SEED, sample, 0.5)
    ]
    assert right
    talks = {
        sample: [author.answer(prompt, inputs, SEED, sample, 0.5), COMPLAINT] for sample in right
    }
    assert {
        author.planted(prompt, inputs, SEED, sample, 0.5, talk) for sample, talk in talks.items()
    } == {""}


def test_a_clean_scenario_that_is_complained_about_comes_as_another_variant_by_the_number_of_complaints() -> (
    None
):
    """What failed may lie in the state, so another version comes with another; the words of the
    complaint do not choose it."""
    inputs, said = pose("scenario", THEME, 0), list[str]()
    for _ in range(3):
        said.append(
            author.answer(
                "scenario",
                inputs,
                SEED,
                0,
                0.0,
                [word for reply in said for word in (reply, COMPLAINT)],
            )
        )
    assert len({json.loads(text)["request"] for text in said}) == 3
    other = author.answer("scenario", inputs, SEED, 0, 0.0, [said[0], "something else"])
    assert other == said[1]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_without_mistakes_every_repair_mends(prompt: str) -> None:
    inputs = pose(prompt, THEME, 0)
    clean = author.answer(prompt, inputs, SEED, 0, 0.0)
    assert author.answer(prompt, inputs, SEED, 0, 0.0, ["{}", COMPLAINT]) == clean
