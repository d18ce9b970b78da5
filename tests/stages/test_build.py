"""Environments built: a failing program is sent back, and so are tests that are at fault
themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from envmill.base.errors import BadReply
from envmill.gates.base import EnvironmentCase, Finding, GateContext, drop, keep
from envmill.models.prompt import Prompt
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment, store_tests
from envmill.stages.context import Result, RunContext, Subject
from schemas.environment import Blueprint, Build, Call, Environment, Test, ToolPlan
from schemas.prompts import PlannedTest, ProgramReply, TestsReply
from schemas.run import RunConfig
from tests.agents.talks import OWN
from tests.specimens import EFFECTS, LEND, ORIGIN, PROGRAM, STATE, make_environment
from tests.stages.test_posing import Nobody

BLUEPRINT = Blueprint(
    kind="stateful",
    brief=make_environment().brief,
    name="Shed",
    summary="Tools that members borrow.",
    collections={
        "tools": ["name", "free"],
        "members": ["name"],
        "loans": ["tool", "member", "since"],
    },
    rules=["A tool that is lent cannot be lent again."],
    tools=[
        ToolPlan(name=name, description="It does.", effect=effect)
        for name, effect in EFFECTS.items()
    ],
    policy_document="",
    licence="Apache-2.0",
    origin=ORIGIN,
)
UNLOADABLE = PROGRAM.replace("class Shed:", "class Shed(Nothing):")
DEAF = PROGRAM.replace('if not self.tools[tool_id]["free"]:', "if False:")


def expect(outcome: str, name: str, **arguments: object) -> PlannedTest:
    return PlannedTest.model_validate(
        {
            "name": f"{name} {arguments}",
            "setup": [],
            "call": Call(name=name, arguments=arguments),
            "expect": outcome,
        }
    )


GREEN = [
    *(expect("success", "list_tools", free_only=free) for free in (True, False)),
    expect("rejection", "list_tools", free_only="maybe"),
    *(expect("success", "get_member", member_id=member) for member in STATE["members"]),
    expect("rejection", "get_member", member_id="M9"),
    expect("success", "lend", **LEND.arguments),
    expect("success", "lend", tool_id="T2", member_id="M2"),
    expect("rejection", "lend", tool_id="T3", member_id="M1"),
]
TOO_FEW = GREEN[:-1]
UNFITTING = [*GREEN, expect("success", "lend", tool_id="T1")]
WRONG = [*GREEN, expect("success", "lend", tool_id="T3", member_id="M2")]


@dataclass
class Writer:
    """A recipe with its programs and tests ready, one after the other; the last comes again."""

    programs: Sequence[str | None]
    plans: Sequence[Sequence[PlannedTest]]
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def write_program(
        self, blueprint: Any, before: Any, repair: Any, models: Any
    ) -> ProgramReply:
        source = self._next("program", self.programs, repair.render())
        models.last_asked = Prompt("code", "", "hash of code")
        if source is None:
            raise BadReply("no JSON in it")
        return ProgramReply(source=source, class_name="Shed")

    async def write_tests(
        self, environment: Any, before: Any, repair: Any, models: Any, rows: Any = None
    ) -> TestsReply:
        models.last_asked = Prompt("trials", "", "hash of trials")
        return TestsReply(
            initial_state=STATE, tests=list(self._next("tests", self.plans, repair.render()))
        )

    async def sum_errors(self, _plan: Any, _failed: Any, repair: Any, _models: Any) -> Any:
        return repair

    async def debug(self, *_: Any) -> None:
        """Nobody looks into it: what is at fault is written anew."""

    def _next(self, prompt: str, ready: Sequence[Any], failure: str) -> Any:
        self.asked.append((prompt, failure))
        return ready[min(sum(name == prompt for name, _ in self.asked), len(ready)) - 1]


def make_config(**config: Any) -> RunConfig:
    """The gates are not asked inside the loop: `tests/stages/test_rehearsal.py` has those."""
    return RunConfig(**{"seed": 3, "rehearse": False, **config})


async def build(
    sandbox: Sandbox, writer: Writer, **config: Any
) -> tuple[Result, list[tuple[int, str, str]]]:
    context = RunContext(
        "r", make_config(**config), cast(Any, None), cast(Any, writer), cast(Any, None), sandbox
    )
    result = await build_environment(Subject("x", "", "t", BLUEPRINT), context, cast(Any, Nobody()))
    return result, [
        (one.repair, one.outcome, one.fault) for one in result.records if isinstance(one, Build)
    ]


@pytest.mark.parametrize(
    ("programs", "plans", "versions", "asked", "quoted"),
    [
        pytest.param([PROGRAM], [GREEN], ["none"], [], "", id="right at once"),
        pytest.param(
            [UNLOADABLE, PROGRAM],
            [GREEN],
            ["code", "none"],
            ["program"],
            "Nothing",
            id="does not load",
        ),
        pytest.param(
            [DEAF, PROGRAM],
            [GREEN],
            ["unknown", "none"],
            ["program"],
            "should end in rejection",
            id="breaks a rule",
        ),
        pytest.param(
            [PROGRAM],
            [TOO_FEW, GREEN],
            ["test", "none"],
            ["tests"],
            "lend has 2 tests of 3",
            id="too few tests",
        ),
        pytest.param(
            [PROGRAM],
            [UNFITTING, GREEN],
            ["test", "none"],
            ["tests"],
            "invalid_arguments",
            id="a test that fits no tool",
        ),
        pytest.param(
            [PROGRAM],
            [WRONG, GREEN],
            ["unknown", "test", "none"],
            ["program", "tests"],
            "taken",
            id="a test that is wrong",
        ),
    ],
)
async def test_what_is_at_fault_is_written_anew(
    sandbox: Sandbox,
    programs: list[str],
    plans: list[Any],
    versions: list[str],
    asked: list[str],
    quoted: str,
) -> None:
    writer = Writer(programs, plans)
    result, built = await build(sandbox, writer)
    assert [fault for _, _, fault in built] == versions
    assert [number for number, _, _ in built] == list(range(len(versions)))
    repairs = [(prompt, failure) for prompt, failure in writer.asked if failure]
    assert [prompt for prompt, _ in repairs] == asked
    assert all(quoted in failure for _, failure in repairs)
    (environment,) = (one for one in result.records if isinstance(one, Environment))
    assert environment.files == {"program.py": PROGRAM}
    stored = [one for one in result.records if isinstance(one, Test)]
    assert len(stored) == len(GREEN)
    assert (environment.origin.prompt, environment.origin.prompt_hash) == (
        "code",
        "hash of code",
    ), "also where only its tests came anew"
    assert {(one.origin.prompt, one.origin.prompt_hash) for one in stored} == {
        ("trials", "hash of trials")
    }


async def test_the_best_version_goes_on_when_repairs_are_used_up(sandbox: Sandbox) -> None:
    result, built = await build(sandbox, Writer([PROGRAM], [WRONG]))
    assert [outcome for _, outcome, _ in built] == ["failed"] * 4
    assert result.findings == ()
    assert any(isinstance(one, Environment) for one in result.records)


async def test_a_program_that_never_loads_is_dropped_with_its_failure(sandbox: Sandbox) -> None:
    result, built = await build(sandbox, Writer([UNLOADABLE], [GREEN]))
    assert [fault for _, _, fault in built] == ["code"] * 4
    assert [finding.reason for finding in result.findings] == ["does_not_build"]
    assert "Nothing" in result.findings[0].detail


async def test_after_a_repair_nobody_can_read_one_is_asked_for_afresh(sandbox: Sandbox) -> None:
    writer = Writer([DEAF, None, PROGRAM], [GREEN])
    result, built = await build(sandbox, writer)
    assert built == [(0, "failed", "unknown"), (1, "failed", "unknown"), (2, "built", "none")]
    assert [failure != "" for prompt, failure in writer.asked if prompt == "program"] == [
        False,
        True,
        False,
    ]
    (environment,) = (one for one in result.records if isinstance(one, Environment))
    assert environment.files == {"program.py": PROGRAM}


async def test_what_nobody_can_read_at_all_is_dropped_as_such_with_its_history(
    sandbox: Sandbox,
) -> None:
    result, built = await build(sandbox, Writer([None], [GREEN]))
    assert built == [(0, "failed", "unknown"), (1, "failed", "unknown")]
    assert [finding.reason for finding in result.findings] == ["bad_reply"]
    result, _ = await build(sandbox, Writer([DEAF, None], [GREEN]))
    assert any(isinstance(one, Environment) for one in result.records), (
        "the best version there was goes on"
    )


async def test_what_readers_find_is_sent_back_where_they_are_asked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {
        "call": {"name": "lend", "arguments": {}},
        "outcome": "ok",
        "reason": "the tool was out",
    }
    findings = iter(
        [
            drop(
                "W4", "rules_broken", "0.60 of 30 calls keep the rules", {"failures": [case, case]}
            ),
            keep("W4"),
        ]
    )

    async def review(built: EnvironmentCase, means: GateContext) -> Finding:
        assert means.models is not None
        return next(findings)

    monkeypatch.setattr("envmill.gates.w4.check", review)
    writer = Writer([PROGRAM], [GREEN])
    _, built = await build(sandbox, writer, review=True)
    assert built == [(0, "failed", "code"), (1, "built", "none")]
    assert "the tool was out" in writer.asked[-1][1]


async def test_a_red_test_is_told_by_its_place_among_those_of_its_tool(sandbox: Sandbox) -> None:
    """An author writes tests under tools and counts them there."""
    writer = Writer([PROGRAM], [WRONG, GREEN])
    await build(sandbox, writer)
    assert "test 4, lend " in writer.asked[-1][1]


def test_a_call_is_made_by_who_may_make_it() -> None:
    """An author of tests is not asked who calls; one who says so is believed."""
    told = [("lend", "agent"), ("list_tools", "agent"), ("lend", "warden")]
    tests = [
        PlannedTest(call=Call(name=name, actor=actor), setup=[Call(name="lend")])
        for name, actor in told
    ]
    stored = store_tests(OWN, TestsReply(initial_state=STATE, tests=tests))
    assert [test.call.actor for test in stored] == ["user", "agent", "warden"]
    assert {call.actor for test in stored for call in test.setup} == {"user"}
    assert [test.name for test in stored] == ["lend 1", "list_tools 1", "lend 2"]
