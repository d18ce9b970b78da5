"""What the linter of prompts must see, and what it must leave alone."""

import json
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.models.lint import lint
from envmill.models.prompt import Prompt
from schemas.base import Contract


class Question(Contract):
    word: str
    colour: str = "red"


class Answer(Contract):
    length: int


GOOD = (
    'How long is {{word}}, and is it {{colour}}? Not {"a": {"b": 1}}, {x} or { }. Answer as '
    "{{reply_schema}}"
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            GOOD.replace("{{word}}", "{{wrod}}"),
            r"unknown slot \{\{wrod\}\}: its input has colour, word",
        ),
        (GOOD.replace("{{colour}}", "red"), r"unused slot \{\{colour\}\}"),
        (GOOD.replace("{{reply_schema}}", "JSON"), "missing schema"),
        (GOOD + " {{ word }}", r"'\{\{ word \}\}' is no slot"),
        (GOOD + " {{wo-rd}}", "is no slot"),
        (GOOD + " {{{word}}}", "is no slot"),
        (GOOD + " {{word", "is no slot"),
        (GOOD + " {word}", r"'\{word\}' is no slot"),
        (GOOD + " {word}}", "is no slot"),
        (" \n", "it says nothing"),
    ],
)
def test_a_fault_is_named_and_keeps_the_prompt_from_loading(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "count.md"
    path.write_text(text)
    with pytest.raises(SettingsError, match=told):
        Prompt.load(path, Question, Answer)


def test_a_sound_prompt_is_left_alone() -> None:
    assert lint(GOOD, Question, Answer) == []
    assert lint("{{word}} {{colour}}", Question, None) == []


def test_a_prompt_for_free_text_shows_no_schema() -> None:
    assert lint(GOOD, Question, None) == [
        "{{reply_schema}} stands in a prompt whose reply is free text"
    ]


def test_an_input_may_not_take_the_schemas_name() -> None:
    class Clash(Contract):
        reply_schema: str

    assert lint("{{reply_schema}}", Clash, Answer) == [
        "its input has a field reply_schema, which is the name of the reply's schema"
    ]


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "count.md"
    path.write_text("{{wrod}} {{ word }}")
    with pytest.raises(SettingsError) as told:
        Prompt.load(path, Question, Answer)
    assert len(told.value.facts["faults"]) == 5


def test_the_hash_is_of_the_text_alone(tmp_path: Path) -> None:
    path = tmp_path / "count.md"
    path.write_text(GOOD)
    first = Prompt.load(path, Question, Answer)
    path.with_suffix(".example.json").write_text("{}")
    assert Prompt.load(path).hash == first.hash
    path.write_text(GOOD + "!")
    assert Prompt.load(path).hash != first.hash


@pytest.mark.parametrize("example", ["", "{}", '{"word": 1}', '{"word": "cat", "size": 3}', "cat"])
def test_an_example_that_does_not_fit_is_refused(tmp_path: Path, example: str) -> None:
    path = tmp_path / "count.md"
    path.write_text(GOOD)
    path.with_suffix(".example.json").write_text(example)
    with pytest.raises(SettingsError, match=r"count\.example\.json"):
        Prompt.load(path, Question, Answer).exemplify()


def test_a_filled_slot_is_not_filled_again(tmp_path: Path) -> None:
    path = tmp_path / "count.md"
    path.write_text(GOOD)
    path.with_suffix(".example.json").write_text(json.dumps({"word": "{{colour}}"}))
    prompt = Prompt.load(path, Question, Answer)
    assert "How long is {{colour}}, and is it red?" in prompt.render(prompt.exemplify(), Answer)
