"""What the prompts of recipes over tables are given and must answer, beside those that all recipes
share."""

from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Json, leave_out
from schemas.code import Code
from schemas.database import Touch
from schemas.environment import ToolPlan
from schemas.prompts import Tests, TestsInput, ThemeReply
from schemas.rows import Rows
from schemas.seed import Brief


class NamesInput(Contract):
    """Think of places of work that are not known yet."""

    known: dict[str, str]
    """Places that are known, as examples: name → what is kept there. None of them may come
    again."""
    taken: list[str] = []
    """Names of further places that exist, and may not come again either."""
    focus: list[str]
    """Of the examples, the ones whose neighbourhood is wanted most; empty where anything is."""
    wanted: int
    """How many are wanted."""
    round: int
    """Which call it is; another one wants other places."""


class NamesChain(Contract):
    """Calls that follow each other, the later ones with what the earlier ones named."""

    inputs: NamesInput
    """What the first is given."""
    calls: int
    """How many."""


class NamesReply(Contract):
    """Places of work, each with a judgement of its own."""

    names: list[ThemeReply]


class RequirementsInput(Contract):
    """Say what people ask for in a place, and under which rules."""

    brief: Brief


class RequirementsReply(Contract):
    """What the database and the tools will have to serve."""

    name: str
    summary: str
    requirements: list[str]
    """What people ask for, one sentence each."""
    rules: list[str]
    policy: str = ""


class SchemaInput(Contract):
    """Write the database's schema."""

    brief: Brief
    name: str
    summary: str
    requirements: list[str]
    rules: list[str]


class SchemaReply(Contract):
    """Tables, and what an end state has to agree on."""

    fenced: ClassVar[str] = "ddl"

    ddl: Code
    """CREATE TABLE statements, and indexes."""
    policies: dict[str, Literal["hard", "exempt", "semantic"] | float] = {}
    """`table.column` → its policy; a number is a tolerance."""


class RowsInput(Contract):
    """Fill the tables."""

    brief: Brief
    summary: str
    ddl: str
    requirements: list[str]
    rules: list[str]


class RowsReply(Contract):
    """Rows."""

    rows: Rows = Field(min_length=1)
    """Table → its header and rows."""


class InterfaceInput(Contract):
    """Plan the tools."""

    brief: Brief
    summary: str
    requirements: list[str]
    rules: list[str]
    ddl: str


class PlannedTool(ToolPlan, Touch):
    """A tool, and the tables it may read and write."""

    @property
    def touch(self) -> Touch:
        """Its tables alone."""
        return Touch(reads=self.reads, writes=self.writes)


class InterfaceReply(Contract):
    """The interface."""

    tools: list[PlannedTool]


class CodedTool(PlannedTool):
    """A tool, its tables, and the types that its program is held to; these are left out where
    nobody settled them."""

    inputs: Json = {}
    """JSON Schema of the arguments object: the method takes exactly these parameters."""
    outputs: Json = {}
    """JSON Schema of the reply: every success is checked against it."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "inputs", "outputs")


class CodeInput(Contract):
    """Write the program over the tables."""

    brief: Brief
    name: str
    summary: str
    ddl: str
    rows: dict[str, Json]
    rules: list[str]
    tools: list[CodedTool]


class ErrorsInput(Contract):
    """Sum up what is wrong with the versions of a program so far."""

    brief: Brief
    name: str
    rules: list[str]
    tools: list[ToolPlan]
    versions: list[list[str]]
    """Complaints about each version, the oldest first."""


class ErrorsReply(Contract):
    """What went wrong, and why."""

    summary: str = Field(min_length=1)


class TrialsInput(TestsInput):
    """Write procedural tests that begin with the rows there are."""

    rows: dict[str, Json]


class TrialsReply(Contract):
    """Tests; the rows they begin with are known."""

    tests: Tests
    """Tool → its tests."""
