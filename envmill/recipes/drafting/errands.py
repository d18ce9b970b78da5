"""Errand plans: one line for each scenario of a block. Bad lines are drawn again alone, and each
scenario is held to its line.

block ─► errands.md ─► lines ─► good ones are kept word for word
                         └────► bad ones, with what is wrong ─► drawn again, at most twice ─► no line, with the reason
line ─► scenario, executed ─► tools of the line that the path never called
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from envmill.base.errors import BadReply
from envmill.kinds.authoring.complaint import Complaint, number
from envmill.language.similarity import list_runs, share, split_words
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.toolgraph.linking import describe_links
from envmill.toolgraph.references import list_tools
from schemas.chain import Chain
from schemas.environment import Environment, ToolPlan
from schemas.errand_plan import ErrandLine, ErrandPlace, ErrandsInput, ErrandsReply
from schemas.prompts import ScenarioReply
from schemas.scenario import Polarity

BLOCK = 8
"""Scenarios that one call plans."""
REDRAWS = 2
"""How often bad lines are drawn again."""
SOURCE, LEFT, NO_LINE, BAD_REPLY = "errand", "errand_left", "no_line", "bad_reply"
_RUN, _ALIKE = 3, 0.7
"""Two lines with the same tools are the same errand where they share so many of their runs of three
words, as F4 has it of requests."""
_LOOKED_AT = 400
"""Characters of a line that are shown to others."""


@dataclass(frozen=True)
class TakenLine:
    """A line that stands."""

    polarity: Polarity
    line: ErrandLine

    def render(self) -> str:
        """In one line, for the authors of other scenarios."""
        line = self.line
        marks = (
            ("about", ", ".join(line.about)),
            ("tools", ", ".join(line.tools)),
            ("state", line.state),
        )
        told = "; ".join(f"{name}: {text}" for name, text in marks if text)
        said = f"{line.who}: {line.what}" if line.who else line.what
        return _shorten(f"{self.polarity} · {said}{f' ({told})' if told else ''}")


@dataclass(frozen=True)
class ErrandBlock:
    """What a plan is wanted for."""

    environment: Environment
    places: tuple[ErrandPlace, ...]
    taken: tuple[TakenLine, ...] = ()
    """Lines of the environment's earlier blocks."""
    requirements: tuple[str, ...] = ()
    """What the environment was designed from, one errand each, where its recipe asked for that."""
    results: bool = True
    """Whether a path may use results of earlier calls."""


@dataclass(frozen=True)
class BlockPlan:
    """Lines by number, and why a place has none."""

    lines: Mapping[int, ErrandLine] = field(default_factory=dict[int, ErrandLine])
    refused: Mapping[int, Complaint] = field(default_factory=dict[int, Complaint])
    source: Literal["planned", "requirement"] = "planned"


@dataclass(frozen=True)
class ErrandBrief:
    """What the author of one scenario is told of the plan."""

    line: ErrandLine | None = None
    neighbours: tuple[str, ...] = ()


PlanErrands = Callable[[ErrandBlock, ModelSession], Awaitable[BlockPlan]]
FindLineFault = Callable[
    [ErrandLine, ErrandPlace, Environment, Sequence[TakenLine]], tuple[str, str] | None
]
SampleChain = Callable[[Environment, int], Awaitable[Chain | None]]
"""The chain that a recipe suggests for a scenario of an environment; none where there is none."""
UNPLANNED = ErrandBrief()


async def plan_nothing(*_: object) -> BlockPlan:
    """For recipes whose scenarios come with their errands."""
    return BlockPlan()


async def take_requirements(block: ErrandBlock, _: ModelSession) -> BlockPlan:
    """Use the environment's requirements as lines, one for each scenario; no model is asked."""
    known = dict(enumerate(block.requirements))
    numbers = [place.number for place in block.places]
    lines = {
        number: ErrandLine(number=number, who="", what=known[number])
        for number in numbers
        if number in known
    }
    words = (
        f"the environment has {len(known)} requirements, and each of them is the errand of "
        "another scenario"
    )
    return BlockPlan(
        lines,
        {number: Complaint(SOURCE, NO_LINE, words) for number in numbers if number not in known},
        "requirement",
    )


async def plan_block(
    prompt: Prompt, sample: SampleChain | None, block: ErrandBlock, models: ModelSession
) -> BlockPlan:
    """Asked for in one call; what is wrong with single lines is told, and only these are asked for
    again."""
    if sample is not None:
        # What is offered and binds comes before what a recipe suggests.
        found = [
            place
            if place.tools
            else describe_chain(place, await sample(block.environment, place.number))
            for place in block.places
        ]
        block = replace(block, places=tuple(found))

    async def ask(complaint: str) -> Sequence[ErrandLine]:
        return (
            await models.ask(prompt, _describe_block(block), ErrandsReply, complaint=complaint)
        ).errands

    return await ask_for_lines(block, ask, find_line_fault)


async def ask_for_lines(
    block: ErrandBlock,
    ask: Callable[[str], Awaitable[Sequence[ErrandLine]]],
    find_fault: FindLineFault,
) -> BlockPlan:
    """`ask` is given a complaint, empty at first. Lines that stand are kept word for word; the
    others are drawn again."""
    kept, complaint, refused = dict[int, ErrandLine](), "", dict[int, Complaint]()
    for _ in range(1 + REDRAWS):
        try:
            drawn = {line.number: line for line in await ask(complaint)}
        except BadReply as error:
            lacking = [place.number for place in block.places if place.number not in kept]
            return BlockPlan(
                kept,
                {
                    one: refused.get(one, Complaint(SOURCE, BAD_REPLY, error.message))
                    for one in lacking
                },
            )
        kept, refused = sort_lines(block, drawn, kept, find_fault)
        if not refused:
            break
        complaint = _ask_again(refused)
    return BlockPlan(kept, refused)


def describe_chain(place: ErrandPlace, chain: Chain | None) -> ErrandPlace:
    """The place with the tools of its chain, and how they link."""
    return (
        place.model_copy(update={"tools": list_tools(chain), "links": describe_links(chain)})
        if chain
        else place
    )


def _shorten(text: str) -> str:
    """At most so many characters, cut behind a word."""
    if len(text) <= _LOOKED_AT:
        return text
    cut = text[: _LOOKED_AT - 1]
    return f"{(cut.rpartition(' ')[0] or cut).rstrip(' ,;:(·')} …"[:_LOOKED_AT]


def _describe_block(block: ErrandBlock) -> ErrandsInput:
    environment = block.environment
    return ErrandsInput(
        brief=environment.brief,
        name=environment.name,
        summary=environment.summary,
        rules=environment.rules,
        policy=environment.policy_document,
        tools=[
            ToolPlan(name=tool.name, description=tool.description, effect=tool.effect)
            for tool in environment.tools
        ],
        places=list(block.places),
        taken=[one.render() for one in block.taken],
        results=block.results,
    )


def _ask_again(refused: Mapping[int, Complaint]) -> str:
    """The message that goes on from a plan: the lines that are wanted again, and nothing about the
    others."""
    numbers = ", ".join(map(str, refused))
    told = number(
        [replace(complaint, item="line", index=place) for place, complaint in refused.items()]
    )
    return (
        f"Some lines of your plan cannot be used:\n\n{told}\n\nWrite new lines for these numbers "
        f"alone: {numbers}. "
        "All other lines stand as you wrote them; do not repeat them. Reply in the same form."
    )


def sort_lines(
    block: ErrandBlock,
    drawn: Mapping[int, ErrandLine],
    kept: Mapping[int, ErrandLine],
    find_fault: FindLineFault | None = None,
) -> tuple[dict[int, ErrandLine], dict[int, Complaint]]:
    """The lines that stand, those of before unchanged; for every other place what is wrong with its
    line."""
    stands, refused = dict(kept), dict[int, Complaint]()
    polarity: dict[int, Polarity] = {place.number: place.polarity for place in block.places}
    for place in block.places:
        if place.number in kept:
            continue
        line = drawn.get(place.number)
        if line is None:
            refused[place.number] = Complaint(
                SOURCE, "line_missing", "there is no line for this number"
            )
            continue
        others = [
            *block.taken,
            *(TakenLine(polarity[number], other) for number, other in stands.items()),
        ]
        if fault := (find_fault or find_line_fault)(line, place, block.environment, others):
            refused[place.number] = Complaint(SOURCE, *fault)
        else:
            # A chain that was sampled is offered apart, and may turn out to be another one: the
            # line names no tools then.
            stands[place.number] = line.model_copy(update={"tools": []}) if place.tools else line
    return stands, refused


def find_line_fault(
    line: ErrandLine, place: ErrandPlace, environment: Environment, others: Sequence[TakenLine]
) -> tuple[str, str] | None:
    """(reason code, words) of the first fault of a line; None for one that stands."""
    if not line.what.strip() or not line.who.strip():
        return "line_empty", "`who` and `what` must say who asks and for what"
    if not line.about:
        return (
            "line_empty",
            "`about` must name the records, or kinds of records, that the errand is about",
        )
    if not place.tools and (fault := _find_tool_fault(line, place.polarity, environment)):
        return fault
    mine = _name_targets(line)
    for other in others:
        if other.polarity == place.polarity and _name_targets(other.line) == mine:
            return (
                "line_same_target",
                f"its polarity and `about` are those of another line: {other.render()}",
            )
        if _is_same(line, other.line):
            return (
                "line_repeated",
                f"its tools and words are those of another line: {other.render()}",
            )
    return None


def _find_tool_fault(
    line: ErrandLine, polarity: Polarity, environment: Environment
) -> tuple[str, str] | None:
    effects = {tool.name: tool.effect for tool in environment.tools}
    if unknown := [name for name in line.tools if name not in effects]:
        return "line_unknown_tool", f"the environment has no tool {', '.join(unknown)}"
    if not line.tools:
        return "line_too_few_tools", "`tools` names none"
    if polarity == "achieve" and not any(effects[name] == "change" for name in line.tools):
        return (
            "line_too_few_tools",
            "under `achieve` something is changed, and no tool of the line changes anything",
        )
    return None


def _name_targets(line: ErrandLine) -> frozenset[str]:
    return frozenset(" ".join(split_words(text)) for text in line.about)


def _is_same(line: ErrandLine, other: ErrandLine) -> bool:
    """Whether both take the same tools and say nearly the same."""
    if set(line.tools) != set(other.tools):
        return False
    mine, theirs = split_words(line.what), split_words(other.what)
    return mine == theirs or share(list_runs(mine, _RUN), list_runs(theirs, _RUN)) >= _ALIKE


def find_left(
    line: ErrandLine, reply: ScenarioReply, effects: Mapping[str, str]
) -> Complaint | None:
    """What a scenario left out of its line. Every call of its path was carried out, so the path
    shows it. An author who says in `left` why
    the errand is impossible is believed, and counted.

    Under `achieve` the path makes the changes of the line and no others, by whatever lookups.
    Otherwise it makes each lookup of the line,
    since nothing else shows what it is about, and `avoid` names the changes.
    """
    if reply.left.strip() or not line.tools:
        return None
    called, shunned = (
        [call.name for call in reply.oracle],
        {pattern.name for pattern in reply.avoid},
    )
    changes = [name for name in line.tools if effects.get(name) == "change"]
    acts = reply.polarity == "achieve"
    wanted = changes if acts else [name for name in line.tools if name not in changes]
    uncalled = [name for name in wanted if name not in called]
    besides = [
        name
        for name in dict.fromkeys(called)
        if acts and effects.get(name) == "change" and name not in changes
    ]
    unnamed = (
        []
        if acts or reply.polarity == "answer" or "" in shunned
        else [name for name in changes if name not in shunned]
    )
    faults = (
        ("the reference path never calls", uncalled),
        ("it makes changes that the line does not name:", besides),
        ("`avoid` does not name", unnamed),
    )
    missing = "; ".join(f"{words} {', '.join(names)}" for words, names in faults if names)
    if not missing:
        return None
    return Complaint(
        "oracle",
        LEFT,
        f"the planned errand was left: {missing}",
        contract=f"The errand of this scenario is: {line.what} Other scenarios were planned beside "
        "it. If it is impossible in this "
        "environment, say why in `left` and choose an errand that none of the others has.",
    )
