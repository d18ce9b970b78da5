"""W gates: what they must drop, and the near misses they must keep."""

from typing import Any

import pytest

from envmill.gates.w1 import lint_interface
from envmill.gates.w2 import construct
from envmill.gates.w3 import run_tests
from envmill.gates.w10 import find_duplicates
from envmill.sandbox import Sandbox
from schemas.environment import Call, Environment
from tests.specimens import PROGRAM, make_environment, make_tests


def with_tool(tool_name: str, /, **changes: Any) -> Environment:
    shed = make_environment()
    tools = [tool.model_copy(update=changes) if tool.name == tool_name else tool for tool in shed.tools]
    return make_environment(tools=tools)


@pytest.mark.parametrize(
    "environment",
    [
        with_tool("lend", name="reset"),
        with_tool("lend", name="_lend"),
        with_tool("lend", name="lend__tool"),
        with_tool("lend", name="Lend"),
        with_tool("lend", name="get_member"),
        with_tool("lend", description="Lends."),
        with_tool("lend", effect="query"),
        with_tool("lend", parameters={"type": "object", "properties": {"tool_id": {"type": "string"}}, "additionalProperties": False}),
        with_tool("lend", parameters={"type": "object", "properties": {}}),
        with_tool("list_tools", parameters={"type": "object", "properties": {}, "additionalProperties": False, "patternProperties": {}}),
        with_tool("list_tools", actors=[]),
        with_tool("list_tools", actors=["agent", "agent"]),
    ],
)
def test_w1_drops_an_interface_consumers_cannot_use(environment: Environment) -> None:
    assert lint_interface(environment).outcome == "dropped"


@pytest.mark.parametrize(
    "environment",
    [
        make_environment(),
        with_tool("lend", name="resets"),
        with_tool("lend", name="state_of_loan"),
        with_tool("list_tools", parameters={"type": "object", "properties": {}, "additionalProperties": False}),
        with_tool("list_tools", actors=["agent", "user"]),
    ],
)
def test_w1_keeps_near_misses(environment: Environment) -> None:
    assert lint_interface(environment).outcome == "kept"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("class Shed:", "class Shed(:", "does_not_load"),
        ("from envmill.runtime import", "from nowhere import", "does_not_load"),
        ("class Shed:", "1 / 0\n\n\nclass Shed:", "does_not_load"),
        ("class Shed:", "class Barn:", "does_not_load"),
        ('state["loans"]', 'state["debts"]', "does_not_construct"),
        ('state["loans"]', "{1, 2}", "does_not_construct"),
        ('state["loans"]', '{"stale": {}}', "state_not_kept"),
    ],
)
async def test_w2_drops_what_does_not_load_construct_or_keep_state(sandbox: Sandbox, old: str, new: str, reason: str) -> None:
    environment = make_environment(PROGRAM.replace(old, new))
    finding = await construct(environment, make_tests(environment), sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", reason), finding


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("class Shed:", "import math\n\n\nclass Shed:"),
        ('self.loans = state["loans"]', 'self.loans = state["loans"]\n        self._cache = {1, 2}'),
        ('self.loans = state["loans"]', 'self.loans = dict(state["loans"])'),
    ],
)
async def test_w2_keeps_near_misses(sandbox: Sandbox, old: str, new: str) -> None:
    environment = make_environment(PROGRAM.replace(old, new))
    assert (await construct(environment, make_tests(environment), sandbox)).outcome == "kept"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('if not self.tools[tool_id]["free"]:', "if False:"),
        ('raise Rejection("unknown", "No such tool or member.")', 'raise KeyError("unknown")'),
        ("if tool_id not in self.tools or member_id not in self.members:", "while True:"),
        ('return {"loan": key}', "return {key}"),
        ("return dict(self.members[member_id])", "return self.members[member_id].name"),
    ],
)
async def test_w3_drops_a_program_that_does_not_do_what_its_tests_say(sandbox: Sandbox, old: str, new: str) -> None:
    assert old in PROGRAM
    environment = make_environment(PROGRAM.replace(old, new))
    finding = await run_tests(environment, make_tests(environment), sandbox)
    assert (finding.outcome, finding.reason) == ("dropped", "test_failed")


async def test_w3_keeps_the_shed_and_counts_its_tests(sandbox: Sandbox) -> None:
    shed = make_environment()
    finding = await run_tests(shed, make_tests(shed), sandbox)
    assert (finding.outcome, finding.evidence) == ("kept", {"tests": 9})


async def test_w3_drops_too_few_tests_and_tests_that_never_expect_a_rejection(sandbox: Sandbox) -> None:
    shed = make_environment()
    tests = make_tests(shed)
    assert (await run_tests(shed, tests[1:], sandbox)).reason == "too_few_tests"
    fearless = [test for test in tests if test.expect == "success" or test.call.name != "lend"]
    assert "rejection" in (await run_tests(shed, [*fearless, fearless[-1], fearless[-1]], sandbox)).detail


async def test_w3_wants_a_rule_of_the_programs_own_to_refuse(sandbox: Sandbox) -> None:
    lawless = PROGRAM.replace('if not self.tools[tool_id]["free"]:', "if False:").replace("tool_id not in self.tools or", "False and")
    environment = make_environment(lawless)
    typed = [test for test in make_tests(environment) if test.expect == "success" or test.call.name != "lend"]
    lend = next(test for test in typed if test.call.name == "lend")
    mistyped = Call(name="lend", arguments={"tool_id": 7, "member_id": "M1"})
    again = lend.model_copy(update={"id": "", "call": mistyped, "expect": "rejection"})
    finding = await run_tests(environment, [*typed, lend, again], sandbox)
    assert finding.reason == "no_rule_tested", finding


def test_w10_takes_a_program_deeper_than_our_stack() -> None:
    deep = "def pick(x):\n    if x == 0: return 0\n" + "".join(f"    elif x == {n}: return {n}\n" for n in range(1, 3000))
    assert find_duplicates([make_environment(PROGRAM + deep), make_environment()]).values()


def test_w10_keeps_the_first_of_a_structure_in_id_order() -> None:
    twins = [make_environment(PROGRAM.replace("drill", "x").replace("Shed", "Barn").replace("lent", "gone")), make_environment()]
    other = make_environment(PROGRAM.replace("if not self.tools", "if self.loans or not self.tools"))
    findings = find_duplicates([*twins, other])
    first, second = sorted(twins, key=lambda one: one.id)
    assert [findings[one.id].outcome for one in (first, second, other)] == ["kept", "dropped", "kept"]
    assert find_duplicates([other, *reversed(twins)]) == findings
