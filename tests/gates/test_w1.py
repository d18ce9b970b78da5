"""W1: interfaces that some consumer cannot use, and near misses that all can."""

from typing import Any

import pytest

from envmill.gates import GATES, w1
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from tests.specimens import make_environment

pytestmark = pytest.mark.asyncio(loop_scope="module")


def with_tool(tool_name: str, /, **changes: Any) -> Environment:
    shed = make_environment()
    tools = [
        tool.model_copy(update=changes) if tool.name == tool_name else tool for tool in shed.tools
    ]
    return make_environment(tools=tools)


@pytest.mark.parametrize(
    "environment",
    [
        with_tool("lend", name="reset"),
        with_tool("lend", name="_lend"),
        with_tool("lend", name="lend__tool"),
        with_tool("lend", name="Lend"),
        with_tool("lend", name="get_member"),
        with_tool("lend", description=" "),
        with_tool("lend", effect="query"),
        with_tool(
            "lend",
            parameters={
                "type": "object",
                "properties": {"tool_id": {"type": "string"}},
                "additionalProperties": False,
            },
        ),
        with_tool("lend", parameters={"type": "object", "properties": {}}),
        with_tool(
            "list_tools",
            parameters={
                "type": "object",
                "properties": {},
                "additionalProperties": False,
                "patternProperties": {},
            },
        ),
        with_tool("list_tools", actors=[]),
        with_tool("list_tools", actors=["agent", "agent"]),
    ],
)
async def test_drops_an_interface_consumers_cannot_use(
    environment: Environment, sandbox: Sandbox
) -> None:
    finding = await w1.check(EnvironmentCase(environment), GateContext(sandbox))
    assert (finding.outcome, finding.reason) == ("dropped", "interface")


@pytest.mark.parametrize(
    "environment",
    [
        make_environment(),
        with_tool("lend", name="resets"),
        with_tool("lend", name="state_of_loan"),
        with_tool(
            "list_tools",
            parameters={"type": "object", "properties": {}, "additionalProperties": False},
        ),
        with_tool("list_tools", actors=["agent", "user"]),
    ],
)
async def test_keeps_near_misses(environment: Environment, sandbox: Sandbox) -> None:
    assert (await w1.check(EnvironmentCase(environment), GateContext(sandbox))).outcome == "kept"


async def test_rules_that_cannot_all_be_kept_are_no_rules(sandbox: Sandbox) -> None:
    shed = make_environment()
    finding = await w1.check(
        EnvironmentCase(
            make_environment(rules=[*shed.rules, "At most 2 are lent.", "At most 4 are lent."])
        ),
        GateContext(sandbox),
    )
    assert (finding.outcome, finding.reason) == ("dropped", "rival_rules")


async def test_a_short_description_is_a_matter_of_opinion_and_hides_no_fault(
    sandbox: Sandbox,
) -> None:
    finding = await w1.check(
        EnvironmentCase(with_tool("lend", description="Lends tools.")), GateContext(sandbox)
    )
    assert (finding.reason, GATES["W1"].classify(finding.reason)) == (
        "terse_description",
        "suspicion",
    )
    assert "Lends tools." in finding.question
    both = await w1.check(
        EnvironmentCase(with_tool("lend", description="Lends tools.", actors=[])),
        GateContext(sandbox),
    )
    assert [one.reason for one in both.spread()] == ["interface", "terse_description"]
