"""What each prompt is given and what it must answer: the author's whole contract."""

from typing import Literal

from schemas.base import Contract, Json
from schemas.code import Code
from schemas.environment import Call, Tool, ToolPlan
from schemas.scenario import Polarity
from schemas.seed import Brief


class BlueprintInput(Contract):
    """Think up one environment."""

    brief: Brief
    """What is wanted."""


class BlueprintReply(Contract):
    """The idea: state, rules, tools."""

    name: str
    summary: str
    collections: dict[str, list[str]]
    rules: list[str]
    tools: list[ToolPlan]
    policy: str = ""


class ProgramInput(Contract):
    """Write the environment's program."""

    brief: Brief
    name: str
    summary: str
    collections: dict[str, list[str]]
    rules: list[str]
    tools: list[ToolPlan]
    failed_source: str = ""
    """The version that failed, when this is a repair."""
    failure: str = ""
    """The failing case, when this is a repair."""


class ProgramReply(Contract):
    """One Python module."""

    source: Code
    """Module text."""
    class_name: str
    """Class whose public methods are the tools."""


class TestsInput(Contract):
    """Write procedural tests for the environment."""

    __test__ = False
    brief: Brief
    rules: list[str]
    tools: list[Tool]
    source: str


class PlannedTest(Contract):
    """One test."""

    name: str
    setup: list[Call] = []
    call: Call
    expect: Literal["success", "rejection"]
    """Success, or an anticipated rejection."""


class TestsReply(Contract):
    """Tests over one shared initial state."""

    __test__ = False
    initial_state: dict[str, Json]
    tests: list[PlannedTest]


class ScenarioInput(Contract):
    """Write one scenario: a state, a request, a reference path."""

    brief: Brief
    name: str
    rules: list[str]
    tools: list[Tool]
    source: str
    number: int
    """Which scenario of this environment; each must differ."""


class ScenarioReply(Contract):
    """The scenario's parts. Nothing here says what the end state is: that comes from running the oracle."""

    initial_state: dict[str, Json]
    request: str
    oracle: list[Call]
    polarity: Polarity = "achieve"
    facts: dict[str, Json] = {}
