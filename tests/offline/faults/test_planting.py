"""Faults come as often as asked for, are the same for the same question, and go again when they are
quoted."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter

import pytest

import offline as author
from envmill.base.settings import ROOT
from offline.faults import ANYWHERE, KINDS
from schemas import prompts, table_prompts, tool_prompts, typed_prompts
from schemas.prompts import BlueprintReply, ChecksReply, ProgramReply, ScenarioReply, TestsReply
from schemas.ruling import RulingReply
from schemas.suspicion import SuspicionReply
from tests.offline.faults.cases import ENVIRONMENTS, EVERY, SEED, THEMES, plant
from tests.offline.questions import ask, pose

REPLIES = {
    "blueprint": BlueprintReply, "program": ProgramReply, "tests": TestsReply, "scenario": ScenarioReply, "checks": ChecksReply,
    "skeleton": ProgramReply, "methods": prompts.MethodsReply, "theme": prompts.ThemeReply,
    "tester": prompts.TesterReply, "checker": prompts.CheckerReply,
    "ruling": RulingReply, "suspicion": SuspicionReply,
    "names": table_prompts.NamesReply, "requirements": table_prompts.RequirementsReply, "schema": table_prompts.SchemaReply,
    "toolset": tool_prompts.ToolsetReply, "cases": tool_prompts.CasesReply, "debug": tool_prompts.DebugReply,
    "chain": tool_prompts.ChainReply,
    "sketch": typed_prompts.SketchReply, "metadata": typed_prompts.MetadataReply, "reword": typed_prompts.RewordReply,
    "rows": table_prompts.RowsReply, "interface": table_prompts.InterfaceReply, "code": ProgramReply, "trials": table_prompts.TrialsReply,
}  # fmt: skip
THEME = sorted(THEMES)[0]

PLANT = """
import hashlib, sys
from schemas.ruling import RulingReply
from tests.offline.faults.cases import EVERY, plant
texts = (fault.text for prompt, kind in EVERY[::3] for theme, number in [(sys.argv[1], 1)] if (fault := plant(prompt, kind, theme, number)))
print(hashlib.sha256("".join(texts).encode()).hexdigest())
"""


def test_the_catalogue_holds_what_it_promises() -> None:
    assert len(ANYWHERE) + len(EVERY) >= 70
    assert {prompt for prompt, kinds in KINDS.items() if len(kinds) < 5} == {"requirements"}
    assert all(
        len(KINDS[prompt]) >= 10
        for prompt in ("blueprint", "program", "code", "tests", "scenario", "checks", "methods")
    )
    assert len({kind for _, kind in EVERY} | set(ANYWHERE)) >= 70


@pytest.mark.long
@pytest.mark.parametrize("prompt", ["blueprint", "scenario"])
def test_rate_is_the_share_of_spoilt_replies(prompt: str) -> None:
    found = Counter(
        author.planted(prompt, pose(prompt, THEME, number % 8), SEED, number, 0.3)
        for number in range(120)
    )
    assert 0.15 <= 1 - found[""] / 120 <= 0.45
    assert set(found) <= {"", *ANYWHERE, *KINDS[prompt]}
    assert len(found) > 10


@pytest.mark.parametrize("prompt", sorted(KINDS))
def test_rate_zero_is_clean_and_rate_one_never(prompt: str) -> None:
    for number in range(3):
        inputs = pose(prompt, THEME, number)
        assert author.planted(prompt, inputs, SEED, 0, 0.0) == ""
        assert author.answer(prompt, inputs, SEED, 0, 0.0) == ask(prompt, THEME, number)
        assert author.planted(prompt, inputs, SEED, 0, 1.0) in {*ANYWHERE, *KINDS[prompt]}
        assert author.answer(prompt, inputs, SEED, 0, 1.0) != ask(prompt, THEME, number)


@pytest.mark.parametrize(("prompt", "kind"), EVERY)
def test_every_kind_finds_a_place_and_spoils_the_reply(prompt: str, kind: str) -> None:
    found = next(
        fault for theme, number in ENVIRONMENTS if (fault := plant(prompt, kind, theme, number))
    )
    assert found.text != found.clean
    assert json.loads(found.text) != json.loads(found.clean)
    assert found.words or found.pairs


@pytest.mark.parametrize("kind", ANYWHERE)
@pytest.mark.parametrize("prompt", sorted(KINDS))
def test_a_fault_of_writing_makes_no_valid_reply(prompt: str, kind: str) -> None:
    fault = plant(prompt, kind, THEME, 1)
    assert fault is not None
    REPLIES[prompt].model_validate_json(fault.clean)
    with pytest.raises(ValueError, match="validation error"):
        REPLIES[prompt].model_validate_json(fault.text)


@pytest.mark.parametrize("prompt", sorted(KINDS))
def test_prose_around_leaves_the_reply_inside(prompt: str) -> None:
    fault = plant(prompt, "prose_around", THEME, 1)
    assert fault is not None
    assert fault.text.split("```json\n")[1].split("\n```")[0] == fault.clean


@pytest.mark.long
def test_the_same_faults_come_in_another_process_with_another_hash_seed() -> None:
    here = "".join(
        fault.text for prompt, kind in EVERY[::3] if (fault := plant(prompt, kind, THEME, 1))
    )
    environ = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PLANT, THEME],
        capture_output=True,
        text=True,
        env=environ,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_a_program_that_was_right_is_not_made_wrong_by_a_repair() -> None:
    inputs = pose("program", THEME, 0)
    talk = [author.answer("program", inputs, SEED, 0, 0.0), "a test that is itself wrong says so"]
    assert {author.planted("program", inputs, SEED, sample, 1.0, talk) for sample in range(30)} == {
        ""
    }
