"""Gates inside the repair loop: what they find goes back to the author, what held is known to
verify, and weaker repairs are refused."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, Finding, GateContext, ScenarioCase, drop, keep
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST, Repair
from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment
from envmill.stages.context import EnvironmentWithTests as Candidate
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.passing import name_content, run_gates
from envmill.stages.places import ScenarioSlot
from envmill.stages.rehearsal import LOOP, WeakeningGuard, doubt_questions, doubt_request
from envmill.stages.verify import verify_environment
from schemas.environment import Build, Call, Environment, Test
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from schemas.scenario import Draft
from tests.specimens import PROGRAM, make_environment, make_tests
from tests.stages.test_build import BLUEPRINT, GREEN, Writer
from tests.stages.test_posing import ANSWER, SHED, Nobody

HASTY = PROGRAM.replace(
    '        if not self.tools[tool_id]["free"]:',
    '        self.loans["last"] = {"tool": tool_id}\n        if not self.tools[tool_id]["free"]:',
)
"""It writes before it checks: every stored test is green, and W7 sees it."""


def make_mill(sandbox: Sandbox, recipe: Any, **config: Any) -> RunContext:
    return RunContext(
        "r", RunConfig(seed=3, **config), cast(Any, None), recipe, cast(Any, None), sandbox
    )


async def build(sandbox: Sandbox, writer: Writer, **config: Any) -> Result:
    context = make_mill(sandbox, writer, **config)
    return await build_environment(Subject("x", "", "t", BLUEPRINT), context, cast(Any, Nobody()))


def list_builds(result: Result) -> list[Build]:
    return [record for record in result.records if isinstance(record, Build)]


async def test_what_a_gate_finds_is_sent_back_and_mended(sandbox: Sandbox) -> None:
    writer = Writer([HASTY, PROGRAM], [GREEN])
    result = await build(sandbox, writer)
    first, last = list_builds(result)
    assert ("W7", "change_before_check") in [(each.gate, each.reason) for each in first.sent_back]
    assert last.outcome == "built"
    repair = writer.asked[-1][1]
    assert "lend" in repair
    assert "W7" not in repair, "a complaint names the contract, not the gate"
    (environment,) = (record for record in result.records if isinstance(record, Environment))
    tests = tuple(record for record in result.records if isinstance(record, Test))
    assert environment.files == {"program.py": PROGRAM}
    (held,) = (finding for finding in result.findings if finding.gate == LOOP)
    assert held.evidence["content"] == name_content(EnvironmentCase(environment, tests))
    assert held.evidence["gates"]["W7"] == "kept"


async def test_without_the_loop_nothing_is_sent_back_and_the_gate_drops(sandbox: Sandbox) -> None:
    result = await build(sandbox, Writer([HASTY, PROGRAM], [GREEN]), rehearse=False)
    assert [each.outcome for each in list_builds(result)] == ["built"]
    (environment,) = (record for record in result.records if isinstance(record, Environment))
    tests = tuple(record for record in result.records if isinstance(record, Test))
    assert [
        each.gate
        for each in await run_gates(EnvironmentCase(environment, tests), GateContext(sandbox))
        if each.outcome == "dropped"
    ] == ["W7"]


async def test_what_no_repair_mends_goes_on_to_verify_which_drops_it(sandbox: Sandbox) -> None:
    result = await build(sandbox, Writer([HASTY], [GREEN]))
    assert [each.outcome for each in list_builds(result)] == ["failed"] * 4
    (environment,) = (record for record in result.records if isinstance(record, Environment))
    tests = tuple(record for record in result.records if isinstance(record, Test))
    (held,) = (finding.evidence["gates"] for finding in result.findings if finding.gate == LOOP)
    tested = Candidate(environment, tests, held=held)
    verified = await verify_environment(
        Subject("e", "b", "t", tested), make_mill(sandbox, None), cast(Any, Nobody())
    )
    assert [finding.gate for finding in verified.findings if finding.outcome == "dropped"] == ["W7"]


async def test_a_repair_with_fewer_tests_is_refused(sandbox: Sandbox) -> None:
    wrong = [*GREEN, GREEN[-1].model_copy(update={"name": "the same again", "expect": "success"})]
    less = GREEN[: -len(GREEN) // 3]
    result = await build(sandbox, Writer([PROGRAM], [wrong, less, GREEN]))
    refused = [
        each
        for record in list_builds(result)
        for each in record.sent_back
        if each.gate in (LOOP, "W3")
    ]
    assert refused
    assert len([record for record in result.records if isinstance(record, Test)]) >= len(GREEN)


@dataclass
class Poser:
    """A recipe with its scenarios ready, one after the other."""

    replies: list[ScenarioReply]
    told: list[str] = field(default_factory=list[str])
    operators = ()
    samplers = ()
    poses = True

    async def pose(self, brief: ScenarioBrief, repair: Any, models: Any) -> ScenarioReply:
        self.told.append(repair.render())
        return self.replies[min(len(self.told), len(self.replies)) - 1]


TELLING = "How many tools does Ada, card M1, have? Use get_member."


async def blame_telling(posed: ScenarioCase, _: GateContext) -> Finding:
    return (
        drop("S9", "expected_value", "it tells")
        if posed.scenario.request == TELLING
        else keep("S9")
    )


async def pose_telling(sandbox: Sandbox) -> tuple[Poser, Draft, set[str]]:
    """A scenario that names a tool, then one that does not: what was asked, what was drafted, which
    gates sent back."""
    right = ScenarioReply.model_validate(ANSWER)
    poser = Poser([right.model_copy(update={"request": TELLING}), right])
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(SHED, 0)),
        make_mill(sandbox, poser),
        cast(Any, Nobody()),
    )
    (draft,) = (record for record in result.records if isinstance(record, Draft))
    return poser, draft, {each.gate for record in list_builds(result) for each in record.sent_back}


async def test_a_scenario_is_put_to_the_gates_before_it_is_a_draft(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", only("S9", blame_telling))
    poser, draft, sent_back = await pose_telling(sandbox)
    assert draft.request == ANSWER["request"]
    assert poser.told[0] == ""
    assert len(poser.told) == 2
    assert sent_back == {"S9"}


async def test_a_suspicion_that_no_judge_confirmed_is_not_sent_back(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", (GATES["S9"],))
    poser, draft, sent_back = await pose_telling(sandbox)
    assert draft.request == TELLING
    assert (poser.told, sent_back) == ([""], set())


async def test_a_weaker_scenario_is_refused_and_the_reason_is_told(sandbox: Sandbox) -> None:
    right = ScenarioReply.model_validate(ANSWER)
    fuller = right.model_copy(
        update={
            "request": "How many tools does Ada have? Use get_member.",
            "goals": [f"Wish {n}." for n in range(9)],
        }
    )
    poser = Poser([fuller, right, fuller.model_copy(update={"request": right.request})])
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(SHED, 0)),
        make_mill(sandbox, poser),
        cast(Any, Nobody()),
    )
    codes = [each.reason for record in list_builds(result) for each in record.sent_back]
    assert "weakened" in codes
    assert any("0 goals instead of 9" in words for words in poser.told)


def tell(goals: int) -> ScenarioReply:
    return ScenarioReply.model_validate(
        ANSWER | {"goals": [f"Wish {number}." for number in range(goals)]}
    )


def complain(gate: str, words: str) -> Repair:
    return Repair((Complaint(gate, "some_code", words),))


def test_a_repair_that_was_refused_does_not_lower_what_is_asked_of_the_next() -> None:
    guard = WeakeningGuard()
    assert not guard.refuse(tell(3), FIRST)
    refused = guard.refuse(tell(1), complain("S4", "A mutant survives."))
    assert [one.words for one in refused] == ["1 goals instead of 3"]
    assert guard.refuse(tell(1), Repair(refused)), "the same again is as weak as it was"
    assert not guard.refuse(tell(3), Repair(refused))


def test_what_one_complaint_asked_for_stays_permitted_in_later_repairs() -> None:
    guard = WeakeningGuard()
    guard.refuse(tell(3), FIRST)
    assert not guard.refuse(tell(2), complain("S12", "A wish is exempt."))
    assert not guard.refuse(tell(2), complain("S4", "A mutant survives."))
    assert guard.refuse(tell(1), complain("S4", "Another mutant survives."))


def test_a_version_that_was_asked_for_afresh_is_measured_by_itself() -> None:
    guard = WeakeningGuard()
    guard.refuse(tell(3), FIRST)
    assert not guard.refuse(tell(1), Repair((), ("rule: stays",)))


def only(gate: str, ask: Any) -> tuple[Any, ...]:
    return (replace(GATES[gate], check=ask),)


@pytest.mark.parametrize(
    ("held", "probes"),
    [({}, ["all"]), ({"W12": "kept"}, ["sealed"]), ({"W12": "dropped"}, ["all"])],
)
async def test_of_what_held_in_the_loop_verify_asks_the_sealed_probes(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, held: Any, probes: list[str]
) -> None:
    asked: list[str] = []

    async def ask(_: EnvironmentCase, means: GateContext) -> Finding:
        asked.append(means.probes)
        return keep("W12")

    for module in ("passing", "verify"):
        monkeypatch.setattr(f"envmill.stages.{module}.ENVIRONMENT_GATES", only("W12", ask))
    monkeypatch.setattr("envmill.stages.verify.AGAIN", 10**9)
    house = make_environment()
    tested = Candidate(house, tuple(make_tests(house)), held=held)
    await verify_environment(
        Subject("e", "b", "t", tested), make_mill(sandbox, None), cast(Any, Nobody())
    )
    assert asked == probes


async def test_a_loop_that_cannot_be_repeated_is_an_error(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask(_: EnvironmentCase, means: GateContext) -> Finding:
        return (
            drop("W12", "order_matters", "rows come otherwise")
            if means.probes == "open"
            else keep("W12")
        )

    for module in ("passing", "verify"):
        monkeypatch.setattr(f"envmill.stages.{module}.ENVIRONMENT_GATES", only("W12", ask))
    monkeypatch.setattr("envmill.stages.verify.AGAIN", 1)
    monkeypatch.setattr("envmill.stages.passing.settle", lambda _, finding: finding)
    house = make_environment()
    tested = Candidate(house, tuple(make_tests(house)), held={"W12": "kept"})
    verified = await verify_environment(
        Subject("e", "b", "t", tested), make_mill(sandbox, None), cast(Any, Nobody())
    )
    assert (
        verified.findings[-1].gate,
        verified.findings[-1].outcome,
        verified.findings[-1].reason,
    ) == (LOOP, "error", "not_repeated")


QUESTIONS = ["Whom is it for?", "Who asks?", "What is the name?", "Which member?", "For whom?"]


@pytest.mark.parametrize(
    ("questions", "found"),
    [
        pytest.param(QUESTIONS, 5, id="five"),
        pytest.param(QUESTIONS[:4], 4, id="four"),
        pytest.param([*QUESTIONS[:4], QUESTIONS[0]], 4, id="one of them twice"),
        pytest.param([*QUESTIONS[:4], "Is it Ada Moor?"], 4, id="one that names the value"),
        pytest.param([], 0, id="none"),
    ],
)
def test_a_hidden_fact_with_too_few_questions_is_sent_back_and_drops_nothing(
    questions: list[str], found: int
) -> None:
    told = {
        "facts": {"member": "Ada Moor"},
        "hidden": ["member"],
        "opening": "A member wants it.",
        "wordings": {"member": questions},
    }
    complaints = doubt_questions(ScenarioReply.model_validate(ANSWER).model_copy(update=told))
    assert [one.code for one in complaints] == ["few_questions"] * (found < 5)
    assert all(f"holds {found} questions for 'member'" in one.words for one in complaints)
    assert doubt_questions(ScenarioReply.model_validate(ANSWER)) == ()


async def test_an_author_who_writes_too_few_questions_is_asked_again_and_the_draft_stands(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", only("S9", blame_telling))
    told = {
        "facts": {"name": "Ada"},
        "hidden": ["name"],
        "opening": "How many tools does a member have?",
    }
    poser = Poser(
        [ScenarioReply.model_validate(ANSWER | {"request": "How many tools does Ada have?"} | told)]
    )
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(SHED, 0)),
        make_mill(sandbox, poser),
        cast(Any, Nobody()),
    )
    assert "holds 0 questions for 'name'" in poser.told[1]
    assert any(isinstance(record, Draft) for record in result.records)


def test_a_vaguer_request_is_sent_back_and_drops_nothing() -> None:
    right = ScenarioReply.model_validate(ANSWER)
    before, after = (
        right.model_copy(update={"request": words})
        for words in ("How many tools has Ada Moor?", "How many tools has she?")
    )
    path = [Call(name="get_member", arguments={"member_id": "Ada Moor"})]
    asked = Repair((Complaint("S8", "underivable_argument", "It cannot be known."),))
    (told,) = doubt_request(before, after.model_copy(update={"oracle": path}), asked)
    assert (told.source, told.code) == (LOOP, "vaguer")
    assert "Ada Moor" in told.words
    leak = Repair((Complaint("S9", "unseen_id", "It tells an id."),))
    assert doubt_request(before, after.model_copy(update={"oracle": path}), leak) == ()
    assert doubt_request(None, after, asked) == ()
