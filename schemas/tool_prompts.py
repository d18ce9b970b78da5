"""What the prompts of recipes that begin with tools are given and must answer, beside those that
all recipes share."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from schemas.base import Contract, Json, is_object
from schemas.calls import WrittenCall
from schemas.chain import Chain, Filling, Infeasible
from schemas.code import Code
from schemas.database import Mention, Promise
from schemas.environment import Tool, ToolPlan
from schemas.prompts import ScenarioInput, ScenarioReply, TestsReply
from schemas.rows import HEADED, Rows
from schemas.seed import Brief
from schemas.shorthand import expand_tools
from schemas.tool_tests import ToolTest, describe_tests, name_all, read_as, write_tests


class ToolsetInput(Contract):
    """Think of the tools of a place of work, before there are any tables."""

    brief: Brief


_Named = Annotated[Mention, WithJsonSchema({"type": "string"})]
"""A column that an author names, `loans.member_id`; what it holds stands in the reply's
`columns`."""


class PromisedTool(ToolPlan, Promise):
    """A tool, and what it promises."""

    takes: dict[str, _Named] = {}
    looks_at: list[_Named] = []
    sets: list[_Named] = []

    @property
    def plan(self) -> ToolPlan:
        """The tool alone."""
        return ToolPlan(name=self.name, description=self.description, effect=self.effect)

    @property
    def promise(self) -> Promise:
        """Its promise alone."""
        return Promise.model_validate(self.model_dump(include=set(Promise.model_fields)))


class ToolsetReply(Contract):
    """A place of work as its tools."""

    name: str
    summary: str
    rules: list[str]
    columns: dict[str, dict[str, str]] = {}
    """Table → column → what it holds."""
    tools: list[PromisedTool]
    policy: str = ""

    @model_validator(mode="before")
    @classmethod
    def _read_short(cls, given: Any) -> Any:
        """Columns by name, with what is said of them once."""
        if not is_object(given) or not given.get("columns"):
            return given
        return given | {"tools": expand_tools(given.get("tools"), given["columns"])}


class MatchedTest(ToolTest):
    """A test with the database that it needs, and no more than that."""

    __test__ = False
    rows: Rows
    """Its own instance: table → key → row. On these rows the call must succeed, or be refused."""


class CasesInput(Contract):
    """Write the tests of one tool, each with an instance of its own."""

    brief: Brief
    rules: list[str]
    ddl: str
    tool: Tool
    rows: dict[str, Json]
    """Rows of the same world, as an example."""


class CasesReply(Contract):
    """Tests of one tool."""

    tests: Annotated[
        list[MatchedTest],
        BeforeValidator(read_as(MatchedTest)),
        AfterValidator(name_all),
        PlainSerializer(write_tests),
        describe_tests("rows", rows=HEADED),
    ]
    """Tool → its tests."""


class MatchedTests(TestsReply):
    """Tests that each begin with rows of their own."""

    instances: list[dict[str, Json]]
    """Rows of each test, in the tests' order."""

    @property
    def exact(self) -> bool:
        return True

    def begin(self, place: int) -> dict[str, Json]:
        return self.instances[place]


class RedTest(Contract):
    """A test that did not end as it should."""

    number: int
    """Which of those told."""
    test: MatchedTest
    seen: str
    """How it ended."""


class DebugInput(Contract):
    """Find out whether a tool or the instances of its tests are at fault, and mend that."""

    brief: Brief
    rules: list[str]
    ddl: str
    tool: Tool
    source: str
    """The tool's method as it stands."""
    red: list[RedTest]
    ended: str
    """How they ended, summed up."""


class BlameVerdict(Contract):
    """Who is to blame for one red test."""

    model_config = ConfigDict(title="Verdict")  # part of the key of a call: it stays

    number: int
    """Which of those told."""
    blame: Literal["tool", "instance"]
    """`instance`: its rows, its call, or what it expects."""
    reason: str
    mended: MatchedTest | None = None
    """The test mended, where it is to blame."""


class DebugReply(Contract):
    """One verdict a red test, and the method mended where it is to blame."""

    fenced: ClassVar[str] = "source"

    verdicts: list[BlameVerdict]
    source: Code = ""

    @model_validator(mode="after")
    def _bring_what_is_mended(self) -> Self:
        if any(one.blame == "tool" for one in self.verdicts) and not self.source.strip():
            raise ValueError("the tool is blamed and `source` is empty: send its method, mended")
        if lacking := [
            one.number for one in self.verdicts if one.blame == "instance" and one.mended is None
        ]:
            raise ValueError(f"test {lacking[0]} is blamed and not mended: send it in `mended`")
        return self


class SampledInput(ScenarioInput):
    """Write one scenario along a chain of tools that was sampled."""

    sampled: Chain | None = None
    """The chain; null where the author chooses the path."""
    binding: bool = False
    """Whether the path must contain the chain. It was carried out in this environment then."""
    carried_out: list[WrittenCall] = []
    """The calls with which a binding chain was carried out, on other records."""


class SampledReply(ScenarioReply):
    """A scenario, or why none can follow the sampled chain."""

    infeasible: Infeasible | None = None
    """In place of a scenario: the node of a binding chain that no scenario can carry out, and why.
    Null otherwise."""

    @model_validator(mode="before")
    @classmethod
    def _fill_nothing(cls, given: Any) -> Any:
        """An author that finds a chain infeasible writes nothing else."""
        if not is_object(given) or not given.get("infeasible"):
            return given
        return {"initial_state": {}, "request": "", "oracle": [], **cls._nothing(), **given}

    @classmethod
    def _nothing(cls) -> dict[str, Json]:
        return {}


class ChainInput(SampledInput):
    """Write one scenario whose reference path is a program over the tools: data, with values that
    flow from call to call."""


class ChainReply(SampledReply):
    """A scenario with a chain. Its calls come from carrying the chain out."""

    oracle: list[WrittenCall] = []
    """Left empty: nobody writes the calls."""
    chain: Chain
    """What is done, and where each value comes from."""
    filling: Filling = Filling()
    """The values themselves, where the user or a record gives them."""

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, given: Any) -> Any:
        """Replies to earlier prompts counted the nodes that they began with; an expansion is asked
        for by itself now."""
        return (
            {name: value for name, value in given.items() if name != "core"}
            if is_object(given)
            else given
        )

    @classmethod
    def _nothing(cls) -> dict[str, Json]:
        return {"chain": {"sampler": "author", "nodes": []}}


class DagInput(ChainInput):
    """Write one scenario as a graph of tool calls and of what is worked out between them."""


class DagReply(ChainReply):
    """A scenario whose chain is a graph in which every node is needed, with what its author worked
    out for it."""

    claims: dict[str, Json] = {}
    """Id of each `reason` → what it gives."""
    needed: dict[str, list[str]] = {}
    """Table → ids of the rows without which the graph cannot be carried out. All other rows are
    distractors."""
