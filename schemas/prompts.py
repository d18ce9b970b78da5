"""What each prompt is given and what it must answer: the author's whole contract."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from schemas.base import Contract, Json
from schemas.calls import LISTED, WrittenCall, WrittenPattern
from schemas.code import Code
from schemas.environment import Call, Tool, ToolPlan
from schemas.errand_plan import ErrandLine, HarderErrand
from schemas.rows import State
from schemas.scenario import Change, Fact, Polarity
from schemas.seed import Brief
from schemas.tool_tests import ToolTest, describe_tests, name_all, read_as, write_tests


class ThemeInput(Contract):
    """Say what environment a text comes from."""

    text: str
    """What somebody asked an assistant to do."""


class ThemeReply(Contract):
    """A judgement, and the environment behind the text."""

    reason: str
    """Why it is judged so, in one or two sentences."""
    stateful: bool
    """Whether records are kept that would have to be read and changed."""
    specific: bool
    """Whether it belongs to one field of work."""
    theme: str = ""
    """The environment's name, one to six words in snake_case; empty where there is none."""
    description: str = ""
    """One or two sentences on what is kept there and what people do with it."""
    usefulness: int = Field(default=1, ge=1, le=10)
    """How much somebody who learns there learns for real work, 1 to 10."""
    modelability: int = Field(default=1, ge=1, le=10)
    """How well a program with records and rules can stand for it, 1 to 10."""
    field: str = ""
    """Field of work that it belongs to, one of those that the prompt lists; empty where there is
    none."""


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


class ProgramReply(Contract):
    """One Python module."""

    fenced: ClassVar[str] = "source"

    source: Code
    """Module text."""
    class_name: str
    """Class whose public methods are the tools."""


class SkeletonInput(ProgramInput):
    """Write the environment's class without its tools."""


class MethodsInput(ProgramInput):
    """Write the methods of some of the environment's tools."""

    skeleton: str
    """The class they belong to, without its tools."""
    class_name: str
    """Its name."""
    wanted: list[str]
    """Tools to write now."""


class MethodsReply(Contract):
    """Methods of one class."""

    fenced: ClassVar[str] = "source"

    source: Code
    """Their text, one after the other, with `self`, without a class around them."""


class TestsInput(Contract):
    """Write procedural tests for the environment."""

    __test__ = False
    brief: Brief
    summary: str = ""
    """What the place is, and what an attribute holds where its name does not say so."""
    rules: list[str]
    tools: list[Tool]
    source: str


class PlannedTest(ToolTest):
    """One test."""

    setup: list[WrittenCall] = []
    """Calls made first; they must succeed."""


Tests: TypeAlias = Annotated[
    list[PlannedTest],
    BeforeValidator(read_as(PlannedTest)),
    AfterValidator(name_all),
    PlainSerializer(write_tests),
    describe_tests(setup={"type": "array", "items": LISTED, "description": "Calls made first."}),
]


class TestsReply(Contract):
    """Tests over one shared initial state."""

    __test__ = False
    initial_state: State
    tests: Tests
    """Tool → its tests."""

    @property
    def exact(self) -> bool:
        """Whether `after` of what is accepted names the whole change."""
        return False

    def begin(self, place: int) -> dict[str, Json]:  # noqa: ARG002
        """The state that a test starts from."""
        return self.initial_state


class ScenarioInput(Contract):
    """Write one scenario: a state, a request, a reference path."""

    brief: Brief
    name: str
    summary: str = ""
    """What the place is, and what an attribute holds where its name does not say so."""
    rules: list[str]
    tools: list[Tool]
    source: str
    policy: str = ""
    """Policy document; whom a matter is passed on to stands there alone."""
    number: int
    """Which scenario of this environment."""
    polarity: Polarity = "achieve"
    """What success must mean here."""
    results: bool = False
    """Whether arguments of the path may be results of earlier calls."""
    errand: HarderErrand | ErrandLine | None = None
    """What it is to be about, as it was planned with the environment's other scenarios."""
    taken: list[str] = []
    """What those scenarios of the environment are about that were planned with it."""


class ScenarioReply(Contract):
    """The scenario's parts. Nothing here says what the end state is: that comes from running the
    oracle."""

    initial_state: State
    request: str
    oracle: list[WrittenCall]
    polarity: Polarity = "achieve"
    facts: dict[str, Json] = {}
    """What the person can say again when asked."""
    opening: str = ""
    """A shorter first message, for a conversation: the request without what is hidden. Empty where
    nothing is."""
    hidden: list[str] = []
    """Names of the facts that the opening leaves out; they are told only when asked for."""
    persona: str = ""
    """Who the person is and how they speak."""
    goals: list[str] = []
    """What they want, one sentence each."""
    fallbacks: dict[str, str] = {}
    """What they say when asked for what they do not know, by a word of what is asked; the empty
    word is for anything else."""
    stop: str = ""
    """When they are content."""
    wordings: dict[str, list[str]] = {}
    """At least five questions for each hidden fact, as different agents might ask for it."""
    say: str = ""
    """Last words of the reference path, where the user must be told something."""
    tell: list[Fact] = []
    """What those words must hold."""
    avoid: list[WrittenPattern] = []
    """Calls that would be wrong to make."""
    variants: dict[str, list[str]] = {}
    """Text that the path writes → other wordings that are as good."""
    left: str = ""
    """Why the planned errand is impossible and another one was chosen, in one sentence. Empty where
    it was followed."""


class ChecksInput(Contract):
    """Write checks for one scenario."""

    brief: Brief
    name: str
    summary: str
    rules: list[str]
    tools: list[Tool]
    number: int
    clock: str
    """When the session of the reference path began."""
    request: str
    initial_state: dict[str, Json]
    changes: list[Change]
    """What the reference path changed."""


class WrittenCheck(Contract):
    """One assertion as a function."""

    name: str
    """What it asserts, in words."""
    source: Code
    """A file that defines `check(initial, final) -> bool`."""


class ChecksReply(Contract):
    """A checklist, each item a function that runs."""

    checks: list[WrittenCheck]


class TesterInput(Contract):
    """Make up calls that show whether a program keeps its rules."""

    __test__ = False
    brief: Brief
    name: str
    rules: list[str]
    tools: list[Tool]
    state: dict[str, Json]
    """State the calls will be made on, each on a fresh copy."""
    wanted: dict[str, int]
    """Tool → how many calls of it are wanted."""
    round: int = 0
    """Which round of the review; another round wants other calls."""


class TesterCall(Contract):
    """One call, and what ought to come of it."""

    __test__ = False
    call: Call
    expect: Literal["success", "rejection"]
    why: str
    """The rule or the use it tries."""


class TesterReply(Contract):
    """Calls to try."""

    __test__ = False
    calls: list[TesterCall]


class CheckerInput(Contract):
    """Judge what a call did, by the rules alone."""

    brief: Brief
    name: str
    rules: list[str]
    tool: Tool
    state: dict[str, Json]
    """State before the call."""
    call: Call
    outcome: Literal["ok", "rejection", "failure"]
    code: str
    message: str
    parts: list[Json]
    """What it answered."""
    changes: list[Change]
    """What it changed."""


class CheckerReply(Contract):
    """An opinion."""

    opinion: Literal["pass", "warning", "fail"]
    reason: str
    """Which rule was kept or broken, and how that shows."""
