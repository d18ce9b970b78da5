"""Rules that no stored test breaks: the missing call is made. What is accepted goes back to the
author once a judge confirms it."""

import json
from typing import Any, cast

import pytest

from envmill.gates.reading.coverage import BREAKS, PROMPT
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment
from envmill.stages.context import Result, RunContext, Subject
from schemas.coverage import CoverageInput, CoverageReply
from schemas.environment import Build, Call, Environment, Test
from schemas.suspicion import SuspicionReply
from tests.specimens import PROGRAM
from tests.stages.test_build import BLUEPRINT, DEAF, GREEN, Writer, expect, make_config
from tests.stages.test_posing import Nobody

FORGETFUL = [
    *GREEN[:-1],
    expect("success", "lend", tool_id="T1", member_id="M2"),
    expect("rejection", "lend", tool_id="T1", member_id="M9"),
]
"""No test lends what is lent."""
LENT = {
    "rule": 1,
    "state": 1,
    "setup": [],
    "call": {"name": "lend", "arguments": {"tool_id": "T3", "member_id": "M1"}},
    "why": "T3 is lent.",
}
FREE = {**LENT, "call": {"name": "lend", "arguments": {"tool_id": "T2", "member_id": "M2"}}}
STRANGE = [
    {**LENT, "rule": 7},
    {**LENT, "state": 9},
    {**LENT, "call": {"name": "give", "arguments": {}}},
    {**LENT, "setup": [{"name": "lend", "arguments": {"tool_id": "T9", "member_id": "M1"}}]},
    {**LENT, "call": {"name": "lend", "arguments": {"tool_id": 3}}},
]


class Reader(Nobody):
    """A judge that finds some calls missing and answers every question alike."""

    provider = "openai"

    def __init__(self, missing: Any, answer: str = "yes") -> None:
        self.missing, self.answer = missing, answer
        self.asked: list[tuple[str, Any]] = []

    def afresh(self, number: int, warning: str = "") -> "Reader":
        return self

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> Any:
        self.asked.append((prompt.name, inputs))
        if prompt.name == PROMPT.name:
            return CoverageReply.model_validate({"missing": self.missing})
        return SuspicionReply.model_validate(
            {"answer": self.answer, "quotes": [inputs.rules[0]], "reason": "It is lent."}
        )


async def build(
    sandbox: Sandbox, writer: Writer, reader: Reader, **config: Any
) -> tuple[Result, list[str]]:
    context = RunContext(
        "r",
        make_config(suspicions="judge", **config),
        cast(Any, None),
        cast(Any, writer),
        cast(Any, None),
        sandbox,
    )
    result = await build_environment(Subject("x", "", "t", BLUEPRINT), context, cast(Any, reader))
    return result, [one.outcome for one in result.records if isinstance(one, Build)]


def list_more(result: Result) -> list[tuple[str, Call]]:
    return [
        (one.name, one.call)
        for one in result.records
        if isinstance(one, Test) and one.name.startswith(BREAKS)
    ]


async def test_a_call_that_is_refused_becomes_a_test(sandbox: Sandbox) -> None:
    reader, writer = Reader([LENT]), Writer([PROGRAM], [FORGETFUL])
    result, built = await build(sandbox, writer, reader)
    assert built == ["built"]
    assert list_more(result) == [
        (f"{BREAKS}{BLUEPRINT.rules[0]}", Call.model_validate(LENT["call"]))
    ]
    assert [name for name, _ in reader.asked] == ["coverage"]


async def test_a_call_that_is_accepted_goes_back_with_its_rule(sandbox: Sandbox) -> None:
    reader, writer = Reader([LENT]), Writer([DEAF, PROGRAM], [FORGETFUL])
    result, built = await build(sandbox, writer, reader)
    assert built == ["failed", "built"]
    prompt, complaint = writer.asked[-1]
    assert prompt == "program"
    assert BLUEPRINT.rules[0] in complaint
    assert '{"member_id":"M1","tool_id":"T3"}' in complaint
    assert len(list_more(result)) == 1
    assert [name for name, _ in reader.asked] == ["coverage", "suspicion", "suspicion"], (
        "a reader is asked once"
    )
    (environment,) = (one for one in result.records if isinstance(one, Environment))
    assert environment.files == {"program.py": PROGRAM}


async def test_right_work_is_left_alone_where_the_judge_does_not_confirm(sandbox: Sandbox) -> None:
    writer = Writer([PROGRAM], [FORGETFUL])
    result, built = await build(sandbox, writer, Reader([FREE], answer="no"))
    assert built == ["built"]
    assert not list_more(result)
    assert not any(failure for _, failure in writer.asked)


@pytest.mark.parametrize("missing", STRANGE, ids=lambda one: json.dumps(one)[:60])
async def test_what_cannot_be_made_is_passed_over(sandbox: Sandbox, missing: Any) -> None:
    result, built = await build(sandbox, Writer([PROGRAM], [FORGETFUL]), Reader([missing]))
    assert built == ["built"]
    assert not list_more(result)


@pytest.mark.parametrize("config", [{"coverage": False}, {"suspicions": "keep"}])
async def test_it_can_be_switched_off(sandbox: Sandbox, config: dict[str, Any]) -> None:
    reader = Reader([LENT])
    context = RunContext(
        "r",
        make_config(**{"suspicions": "judge", **config}),
        cast(Any, None),
        cast(Any, Writer([DEAF], [FORGETFUL])),
        cast(Any, None),
        sandbox,
    )
    await build_environment(Subject("x", "", "t", BLUEPRINT), context, cast(Any, reader))
    assert not reader.asked


async def test_the_reader_sees_rules_states_and_how_tests_ended_and_no_source(
    sandbox: Sandbox,
) -> None:
    reader = Reader([])
    await build(sandbox, Writer([PROGRAM], [FORGETFUL]), reader)
    shown = reader.asked[0][1]
    assert isinstance(shown, CoverageInput)
    assert shown.rules == [f"1. {BLUEPRINT.rules[0]}"]
    assert {one.ended.partition(":")[0] for one in shown.tests} >= {"ok", "invalid_arguments"}
    assert {one.state for one in shown.tests} == {1}
    assert "def lend" not in PROMPT.render(shown, CoverageReply)
