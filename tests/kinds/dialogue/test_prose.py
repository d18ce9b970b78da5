"""A policy in prose: its values are held to the clauses by code, its meaning by a second reading."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from envmill.kinds import KINDS
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.prose import (
    find_prose_faults,
    find_reading_faults,
    list_statements,
    write_exam,
)
from envmill.kinds.dialogue.wording import YES, render_clause
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes import tau2
from envmill.stages.build import assemble_environment
from offline.desks.policy import read_prose, reword, write_prose
from schemas.dialogue_prompts import (
    PolicyProseInput,
    PolicyProseReply,
    PolicyReadingInput,
    PolicyReadingReply,
)
from schemas.environment import Blueprint
from schemas.run import RunConfig
from schemas.seed import Brief
from tests.kinds.dialogue.plans import CLAUSES
from tests.recipes.test_hooks import Noting

BRIEF = Brief(theme="line", text="A line.", number=0)
SAID = list_statements(CLAUSES)
PROSE = write_prose(
    PolicyProseInput(brief=BRIEF, name="A desk", summary="Lines.", statements=SAID)
).document


def read(document: str) -> list[str]:
    """The faults that an honest reader leads to."""
    exam = write_exam(CLAUSES, "seed")
    asked = PolicyReadingInput(brief=BRIEF, document=document, statements=dict(exam.statements))
    return find_reading_faults(document, exam, read_prose(asked))


def test_each_clause_in_other_words_is_clean() -> None:
    assert all(render_clause(clause) not in PROSE for clause in CLAUSES)
    assert find_prose_faults(PROSE, CLAUSES) == []
    assert read(PROSE) == []


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: f"1. {text}", id="a number of a list"),
        pytest.param(lambda text: f"## 2.1 Lines\n\n- {text}", id="a heading with a number"),
        pytest.param(lambda text: text.replace("`", ""), id="no backticks"),
        pytest.param(lambda text: text.upper().replace("`", ""), id="capitals"),
    ],
)
def test_form_is_no_fault(spoil: Callable[[str], str]) -> None:
    assert find_prose_faults(spoil(PROSE), CLAUSES) == []


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda text: text.replace("50", "500"), "'50'"),
        (lambda text: text.replace("50", "fifty"), "'50'"),
        (lambda text: f"{text} Wait 3 days.", "'3'"),
        (lambda text: f"{text} Then call `close_line`.", "'close_line'"),
        (lambda text: f"{text} Then call close_all_lines.", "'close_all_lines'"),
        (lambda text: text.replace("fraud", "deceit"), "'fraud'"),
    ],
)
def test_a_value_that_is_lost_or_added_is_named(spoil: Callable[[str], str], told: str) -> None:
    faults = find_prose_faults(spoil(PROSE), CLAUSES)
    assert any(told in fault for fault in faults), faults


@pytest.mark.parametrize("place", range(len(SAID)))
def test_a_clause_that_is_not_said_is_not_found(place: int) -> None:
    name, sentence = [*SAID.items()][place]
    faults = read(PROSE.replace(reword(sentence), ""))
    assert len(faults) == 1
    assert f"did not find clause {name}" in faults[0]


def test_a_stray_rule_is_found() -> None:
    """It names no tool and no number: only a reader sees it."""
    spoilt = f"{PROSE}\n\nNever work on Sundays."
    assert find_prose_faults(spoilt, CLAUSES) == []
    assert read(spoilt) == ["The document says what no clause says: 'Never work on Sundays.'"]


def answer_all(quote: str, stated: bool) -> list[str]:
    exam = write_exam(CLAUSES, "seed")
    lines = [{"number": one, "stated": stated, "quote": quote} for one in exam.statements]
    reading = PolicyReadingReply.model_validate({"stated": lines, "beyond": []})
    return find_reading_faults(PROSE, exam, reading)


def test_a_reader_who_reads_nothing_is_not_believed() -> None:
    """Yes to everything finds the false statements too; a quotation that is not there shows nothing."""
    assert sum("found what no clause says" in fault for fault in answer_all(PROSE[:60], True)) == 3
    assert len(answer_all("as the text says", True)) == len(SAID)
    assert len(answer_all("", False)) == len(SAID)


def test_statements_are_mixed_and_no_false_one_is_a_clauses() -> None:
    exams = [write_exam(CLAUSES, str(seed)) for seed in range(20)]
    assert len({tuple(exam.statements.values()) for exam in exams}) > 10
    for exam in exams:
        false = [said for number, said in exam.statements.items() if number not in exam.clauses]
        assert len(false) == 3
        assert not set(false) & {*SAID.values()}
    assert YES in exams[0].statements.values()


class Author(Noting):
    """The embedded author, whose prose is spoilt the first few times."""

    def __init__(self, spoils: Sequence[Callable[[str], str]]) -> None:
        super().__init__()
        self._spoils, self.told = iter(spoils), list[str]()

    async def ask(self, prompt: Prompt, inputs: Any, reply: Any, **given: Any) -> Any:
        said = await super().ask(prompt, inputs, reply, **given)
        if isinstance(said, PolicyProseReply):
            self.told.append(given["complaint"])
            spoil = next(self._spoils, lambda text: text)
            return PolicyProseReply(document=spoil(said.document))
        return said


async def plan(*spoils: Callable[[str], str]) -> tuple[Blueprint, Author]:
    recipe, author = tau2.make([]), Author(spoils)
    seed = recipe.pick_seeds(RunConfig(recipe="tau2", environments=1, seed=7))[0]
    return await recipe.think_up(seed, FIRST, cast(ModelSession, author)), author


def add_stray(text: str) -> str:
    return f"{text}\n\nNever work on Sundays."


async def test_the_agent_reads_prose_and_the_verifier_has_clauses() -> None:
    made, author = await plan()
    dialogue = read_dialogue(made.files)
    assert dialogue.policy == "prose"
    assert made.policy_document.startswith("# Handbook")
    assert [one.name for one in author.asked] == ["desk", "policy_prose", "policy_reading"]
    assert KINDS["dialogue"].find_plan_faults(made) == []
    program = await tau2.make([]).write_program(made, None, FIRST, cast(ModelSession, Noting()))
    built = assemble_environment(made, program, cast(ModelSession, Noting()))
    assert built.policy_document == made.policy_document
    assert read_dialogue(built.files).clauses == dialogue.clauses


async def test_prose_that_says_more_goes_back_once() -> None:
    made, author = await plan(add_stray)
    assert read_dialogue(made.files).policy == "prose"
    assert "Sundays" not in made.policy_document
    assert [bool(told) for told in author.told] == [False, True]
    assert "Never work on Sundays." in author.told[1]


async def test_the_clauses_sentences_stand_where_prose_does_not_hold() -> None:
    made, author = await plan(add_stray, lambda text: text.replace("`hand_over`", "`send_off`"))
    dialogue = read_dialogue(made.files)
    assert (dialogue.policy, made.policy_document) == ("clauses", "")
    assert "hand_over" in dialogue.unworded
    assert len(author.told) == 2
