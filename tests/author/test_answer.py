"""The author is a pure function of what it is asked."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from envmill import author
from envmill.author.faults import KINDS
from envmill.errors import SettingsError
from envmill.settings import ROOT
from schemas.prompts import BlueprintInput, ChecksInput, ProgramInput, ScenarioInput, TestsInput
from tests.author.questions import SAMPLE, SEED, pose

ASK = """
import hashlib, json, sys
from envmill import author
questions = json.load(sys.stdin)
print(hashlib.sha256("".join(author.answer(p, i, 11, s, 0.5) for p, i, s in questions).encode()).hexdigest())
"""


def test_same_question_gives_the_same_bytes_in_another_process_with_another_hash_seed() -> None:
    questions = [(prompt, pose(prompt, theme, 1), 3) for prompt in KINDS for theme in SAMPLE]
    here = hashlib.sha256("".join(author.answer(prompt, inputs, SEED, sample, 0.5) for prompt, inputs, sample in questions).encode())
    environ = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ASK], input=json.dumps(questions), capture_output=True, text=True, env=environ, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == here.hexdigest()


def test_seed_changes_what_is_composed() -> None:
    inputs = pose("blueprint", "tool_lending", 0)
    assert len({author.answer("blueprint", inputs, seed, 0, 0.0) for seed in range(5)}) == 5


def test_unknown_prompt_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="blueprint, checker, checks, program, scenario, tester, tests"):
        author.answer("poem", {}, 1, 0, 0.0)


@pytest.mark.parametrize(
    ("prompt", "inputs"),
    [("blueprint", BlueprintInput), ("program", ProgramInput), ("tests", TestsInput), ("scenario", ScenarioInput), ("checks", ChecksInput)],
)
def test_prompt_text_has_a_slot_for_every_field_and_no_other(prompt: str, inputs: type[BlueprintInput]) -> None:
    text = (ROOT / f"envmill/recipes/prompts/envscaler/{prompt}.md").read_text(encoding="utf-8")
    slots = {part.split("}}")[0] for part in text.split("{{")[1:]}
    assert slots == {*inputs.model_fields, "reply_schema"}
