"""The author is a pure function of what it is asked."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

import offline as author
from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.models.prompt import Prompt
from offline.faults import KINDS
from schemas.prompts import BlueprintInput, ChecksInput, ProgramInput, ScenarioInput, TestsInput
from tests.offline.questions import SAMPLE, SEED, pose
from tests.soak import count

ASK = """
import hashlib, json, sys
import offline as author
questions = json.load(sys.stdin)
print(hashlib.sha256("".join(author.answer(p, i, 11, s, m) for p, i, s, m in questions).encode()).hexdigest())
"""
SIZES: list[dict[str, int]] = [
    {"tools": 40, "collections": 12},
    {"collections": 3},
    {"tools": 12, "rows": 300},
]
"""What a brief may ask for besides its theme."""
Question = tuple[str, dict[str, Any], int, float]


def list_questions() -> list[Question]:
    """Every prompt with mistakes, and those that a brief's sizes reach without."""
    themes = SAMPLE[: count(3, len(SAMPLE))]
    plain = [(prompt, pose(prompt, theme, 1), 3, 0.5) for prompt in KINDS for theme in themes]
    sized = [
        (prompt, asked | {"brief": asked["brief"] | size}, 3, 0.0)
        for theme, size in zip(themes, SIZES, strict=False)
        for prompt in ("blueprint", "program", "tests", "scenario")
        for asked in [pose(prompt, theme, 1)]
    ]
    return plain + sized


def ask_elsewhere(python: str, questions: list[Question], hash_seed: str) -> str:
    environ = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [python, "-c", ASK],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        env=environ,
        cwd=ROOT,
        check=True,
    )
    return done.stdout.strip()


def ask_here(questions: list[Question]) -> str:
    said = (
        author.answer(prompt, inputs, SEED, sample, mistakes)
        for prompt, inputs, sample, mistakes in questions
    )
    return hashlib.sha256("".join(said).encode()).hexdigest()


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_same_question_gives_the_same_bytes_in_other_processes_with_other_hash_seeds() -> None:
    questions = list_questions()[:: count(3, 1)]
    assert {
        ask_elsewhere(sys.executable, questions, each) for each in ("0", "4711")[: count(1, 2)]
    } == {ask_here(questions)}


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_same_question_gives_the_same_bytes_in_other_versions_of_python(version: str) -> None:
    python = shutil.which(f"python{version}")
    if (
        not python
        or subprocess.run(
            [python, "-c", "import offline"], capture_output=True, cwd=ROOT, check=False
        ).returncode
    ):
        pytest.skip(f"no python{version} on the path that has the packages the author imports")
    questions = list_questions()[:: count(4, 1)]
    assert ask_elsewhere(python, questions, "7") == ask_here(questions)


def test_seed_changes_what_is_composed() -> None:
    inputs = pose("blueprint", "tool_lending", 0)
    assert len({author.answer("blueprint", inputs, seed, 0, 0.0) for seed in range(5)}) == 5


def test_unknown_prompt_lists_the_known_ones() -> None:
    with pytest.raises(
        SettingsError, match=r"use one of blueprint, .* scenario, .* theme, .* walk\.$"
    ):
        author.answer("poem", {}, 1, 0, 0.0)


@pytest.mark.parametrize(
    ("prompt", "inputs"),
    [
        ("blueprint", BlueprintInput),
        ("program", ProgramInput),
        ("tests", TestsInput),
        ("scenario", ScenarioInput),
        ("checks", ChecksInput),
    ],
)
def test_prompt_text_has_a_slot_for_every_field_and_no_other(
    prompt: str, inputs: type[BlueprintInput]
) -> None:
    (path,) = (
        one
        for folder in ("envscaler", "shared")
        for one in (ROOT / "envmill/recipes/prompts" / folder).glob(f"{prompt}.md")
    )
    text = Prompt.load(path).text
    slots = {part.split("}}")[0] for part in text.split("{{")[1:]}
    assert slots == {*inputs.model_fields, "reply_schema"}
