"""What the prompts of recipes of dialogues are given and must answer."""

from copy import deepcopy
from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.base import Contract, Json, is_object
from schemas.database import Touch
from schemas.dialogue import (
    Atom,
    AtomStep,
    Break,
    Coupling,
    Dialogue,
    Discovery,
    Goal,
    Persona,
    PolicyClause,
    Repertoire,
    Side,
)
from schemas.environment import Call, Effect, Tool, ToolPlan
from schemas.prompts import ScenarioReply, TestsReply
from schemas.rows import State
from schemas.scenario import CallPattern
from schemas.seed import Brief
from schemas.sketch import Signature


class DeskInput(Contract):
    """Design a place where an agent and a user act together."""

    brief: Brief


class SidedCollection(Contract):
    """Records of one side."""

    side: Side
    attributes: list[str]
    """`id` first."""


class UnlockedBy(Contract):
    """How a tool comes to be offered."""

    tool: str
    arguments: dict[str, Json] = {}
    document: str = ""
    """Key of the document that speaks of it."""


class SidedTool(Contract):
    """A tool of one side."""

    name: str
    side: Side
    effect: Effect
    description: str
    takes: dict[str, Literal["text", "number", "yes_no"]] = {}
    """Parameter → what it holds."""
    reads: list[str] = []
    writes: list[str] = []
    unlocked_by: UnlockedBy | None = None
    """Of the agent: not offered until this call was made."""

    @property
    def plan(self) -> ToolPlan:
        """The tool as every plan has it."""
        return ToolPlan(name=self.name, description=self.description, effect=self.effect)

    @property
    def signature(self) -> Signature:
        """The types of what it takes; nothing is promised of the reply."""
        types = {"text": "string", "number": "integer", "yes_no": "boolean"}
        inputs: Json = {
            "type": "object",
            "properties": {name: {"type": types[kind]} for name, kind in self.takes.items()},
            "required": [*self.takes],
        }
        return Signature(inputs=inputs, outputs={})


class DeskReply(Contract):
    """A place as the records and tools of two sides, what couples them, and its policy."""

    name: str
    summary: str
    collections: dict[str, SidedCollection]
    tools: list[SidedTool]
    couplings: list[Coupling]
    rules: list[str]
    clauses: list[PolicyClause]
    goals: list[Goal]
    personas: list[Persona]

    @property
    def dialogue(self) -> Dialogue:
        """The file that stands beside the program."""
        return Dialogue(
            sides={name: held.side for name, held in self.collections.items()},
            user_tools=[tool.name for tool in self.tools if tool.side == "user"],
            touches={tool.name: Touch(reads=tool.reads, writes=tool.writes) for tool in self.tools},
            couplings=self.couplings,
            discoverable={
                tool.name: Discovery(
                    by=CallPattern(name=by.tool, arguments=by.arguments), document=by.document
                )
                for tool in self.tools
                if (by := tool.unlocked_by)
            },
            clauses=self.clauses,
            goals=self.goals,
            personas=self.personas,
            composed=True,
        )


class PolicyProseInput(Contract):
    """Rewrite the sentences of a policy as a handbook."""

    brief: Brief
    name: str
    summary: str
    statements: dict[str, str]
    """Clause → its sentence."""


class PolicyProseReply(Contract):
    """The policy in prose."""

    document: str = Field(min_length=1)
    """Markdown."""


class PolicyReadingInput(Contract):
    """Say which statements a policy document makes."""

    brief: Brief
    document: str
    statements: dict[str, str]
    """Number → statement; some are made by no document."""


class StatedLine(Contract):
    """Whether the document makes one statement."""

    number: str
    stated: bool
    quote: str = ""
    """Words of the document that make it, letter by letter; empty where it does not."""


class PolicyReadingReply(Contract):
    """What a policy document says."""

    stated: list[StatedLine]
    beyond: list[str]
    """Sentences of the document that oblige, allow or forbid something that no statement does."""


class DeskProgramInput(Contract):
    """Write the program of a place with two sides."""

    brief: Brief
    name: str
    summary: str
    collections: dict[str, SidedCollection]
    rules: list[str]
    tools: list[SidedTool]
    couplings: list[Coupling]
    policy: list[str]
    """The policy's sentences: what the agent is bound to, not the program."""


class DeskTestsReply(TestsReply):
    """Tests of both sides, some of which begin where something of the initial state is otherwise."""

    starts: dict[str, list[Break]] = {}
    """Name of a start → what is otherwise there. A test of that name begins from it."""

    @model_validator(mode="after")
    def _check_starts(self) -> Self:
        named = {test.name for test in self.tests}
        for name, changes in self.starts.items():
            if name not in named:
                raise ValueError(f"starts: no test has the name {name!r}")
            for one in changes:
                collection, _, key = one.row.partition("/")
                record = self.initial_state.get(collection, {}).get(key)
                if not is_object(record) or one.field not in record:
                    raise ValueError(f"starts, {name}: {one.row} has no field {one.field!r}")
        return self

    def begin(self, place: int) -> dict[str, Json]:
        state = deepcopy(self.initial_state)
        for one in self.starts.get(self.tests[place].name, ()):
            collection, _, key = one.row.partition("/")
            state[collection][key][one.field] = one.value
        return state


class AtomsInput(Contract):
    """Write the healthy state, and faults with what mends them."""

    brief: Brief
    name: str
    summary: str
    rules: list[str]
    sides: dict[str, Side]
    """Collection → whose it is."""
    tools: list[Tool]
    goals: list[Goal]
    clauses: list[str]
    """The policy's sentences, each with its clause's name."""
    source: str


class AtomsReply(Contract):
    """What scenarios are composed of."""

    state: State
    facts: dict[str, Json]
    hidden: list[str] = []
    begins: list[AtomStep]
    ends: list[AtomStep] = []
    say: str
    needs: dict[str, list[str]] = {}
    atoms: list[Atom] = Field(min_length=1)

    @property
    def repertoire(self) -> Repertoire:
        """The file that stands beside the program."""
        return Repertoire.model_validate(self.model_dump())


class ComposedReply(ScenarioReply):
    """A scenario that was composed, with what its user can do; its words are the author's."""

    able: list[Call] = []
    needs: dict[str, list[str]] = {}
    reports: list[str] = []
    symptoms: list[str] = []
    """What the user notices and gets mended."""
    handed: list[str] = []
    """What the user notices and nobody mends here: somebody else takes it over."""
    atoms: list[str] = []
    """What it was composed of."""


class WordsInput(Contract):
    """Word the request of a scenario that was composed."""

    brief: Brief
    name: str
    summary: str
    persona: str
    manner: str
    """How this one writes."""
    symptoms: list[str]
    """What the user notices and gets mended."""
    handed: list[str]
    """What the user notices and somebody else takes over; empty where nothing is."""
    facts: dict[str, Json]
    """What they say at once."""
    hidden: dict[str, Json]
    """What they say when asked for it; empty where nothing is."""
    number: int


class WordsReply(Contract):
    """The user's words."""

    opening: str
    goals: list[str] = Field(min_length=1)
    persona: str
    stop: str
    wordings: dict[str, list[str]] = {}
    """Questions that ask for what is hidden."""
    fallbacks: dict[str, str] = {}
