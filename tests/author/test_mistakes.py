"""Planted mistakes are what their names say, as frequent as asked for, and mended as promised."""

import ast
import json
from collections import Counter
from typing import Any

import pytest

from envmill import author
from envmill.author.mistakes import CATALOGUE
from schemas.prompts import ProgramReply, ScenarioReply
from tests.author.questions import ENVIRONMENTS, SEED, ask_program, ask_tests, pose, run

PROMPTS = sorted(CATALOGUE)


def find_sample(prompt: str, mistake: str, inputs: dict[str, Any]) -> int:
    return next(sample for sample in range(99) if author.planted(prompt, inputs, SEED, sample, 1.0) == mistake)


def ask_with(mistake: str, prompt: str, theme: str, number: int) -> str:
    inputs = pose(prompt, theme, number)
    return author.answer(prompt, inputs, SEED, find_sample(prompt, mistake, inputs), 1.0)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_rate_is_the_share_of_spoilt_replies(prompt: str) -> None:
    found = Counter(author.planted(prompt, pose(prompt, "tool_lending", number), SEED, 0, 0.3) for number in range(400))
    assert 0.2 <= 1 - found[""] / 400 <= 0.4
    assert set(found) == {"", *CATALOGUE[prompt]}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_rate_zero_is_clean(prompt: str) -> None:
    assert not any(author.planted(prompt, pose(prompt, "tool_lending", number), SEED, 0, 0.0) for number in range(100))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_prose_around_leaves_the_reply_inside(prompt: str) -> None:
    text = ask_with("prose_around", prompt, "clinic_scheduling", 1)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
    assert json.loads(text.split("```json\n")[1].split("\n```")[0])


@pytest.mark.parametrize("prompt", PROMPTS)
def test_truncated_json_is_beyond_parsing(prompt: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(ask_with("truncated_json", prompt, "clinic_scheduling", 1))


def test_syntax_error_keeps_the_program_from_compiling() -> None:
    reply = ProgramReply.model_validate_json(ask_with("syntax_error", "program", "tool_lending", 0))
    with pytest.raises(SyntaxError):
        ast.parse(reply.source)


@pytest.mark.parametrize(("theme", "number"), ENVIRONMENTS)
def test_an_unenforced_rule_is_shown_by_a_stored_test(theme: str, number: int) -> None:
    faulty = ProgramReply.model_validate_json(ask_with("unenforced_rule", "program", theme, number))
    assert faulty.source != ask_program(theme, number).source
    reply = ask_tests(theme, number)
    seen = run(theme, number, [(reply.initial_state, [*test.setup, test.call]) for test in reply.tests], faulty)
    wrong = [test.name for test, play in zip(reply.tests, seen, strict=True) if (test.expect == "rejection") == (play.outcomes[-1] == "")]
    assert wrong


@pytest.mark.parametrize(("theme", "number"), ENVIRONMENTS)
def test_a_rejected_oracle_has_a_call_that_is_rejected(theme: str, number: int) -> None:
    reply = ScenarioReply.model_validate_json(ask_with("rejected_oracle", "scenario", theme, number))
    outcomes = run(theme, number, [(reply.initial_state, reply.oracle)])[0].outcomes
    assert [each for each in outcomes if each]
    assert not [each for each in outcomes if each.startswith("failure")]


def test_a_repair_mends_four_times_in_five() -> None:
    faulty = ProgramReply.model_validate_json(ask_with("unenforced_rule", "program", "tool_lending", 0))
    named = Counter[str]()
    for sample in range(300):
        inputs = pose("program", "tool_lending", 0, failed_source=faulty.source, failure="lend_tool was expected to be rejected")
        source = ProgramReply.model_validate_json(author.answer("program", inputs, SEED, sample, 0.2)).source
        mistake = author.planted("program", inputs, SEED, sample, 0.2)
        named[mistake] += 1
        assert source == (faulty.source if mistake else ask_program("tool_lending", 0).source)
    assert set(named) == {"", "unenforced_rule"}
    assert 0.72 <= named[""] / 300 <= 0.88
