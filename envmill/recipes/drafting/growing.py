"""Growing: the world around a reference path, until enough of the environment's tools succeed in
it.

tools of the path ─► breadth-first over the graph of tools ─► calls drawn from the state, executed ─┬─ some succeeds: reached
                                                                                                    └─ none: an author adds rows
rows ─► new records only ─► natural (asked more often in a more complex world) ─► the call succeeds ─► the old path still ends alike

Nothing that is there is changed, and the path never grows: an agent meets more tools that work, and
has to choose among them.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.arguments import Offers
from envmill.gates.exploring.memory import find_program
from envmill.kinds.start import CLOCK
from envmill.kinds.trial import BREAKDOWNS
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.sandbox import Invoke, Observation, Reset, Sandbox
from envmill.sandbox.batches import play_plans
from envmill.toolgraph.chain_player import read_reply
from envmill.toolgraph.graph import ToolGraph
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Environment, Test, Tool
from schemas.growth_prompts import (
    AddedTool,
    GrowInput,
    GrowReply,
    NaturalInput,
    NaturalReply,
    ToolPatch,
    UnreachedTool,
)

_FOLDER = Path(__file__).parent / "prompts"
GROW = Prompt.load(_FOLDER / "grow.md", GrowInput, GrowReply)
NATURAL = Prompt.load(_FOLDER / "natural.md", NaturalInput, NaturalReply)
DRAWS = (4, 16)
"""Calls that are drawn of each tool, and of those of which none of these succeeded."""
_SHOWN, _LONGEST = 3, 200
"""Calls that an author is shown of a tool, and characters of how one ended."""
_SCALE = 50.0
"""Tools, and half of the edges between them, that make a world as complex as can be (ScaleEnv)."""

State = dict[str, Json]


@dataclass(frozen=True)
class Tries:
    """What came of the calls of one tool."""

    done: Call | None = None
    """The first that succeeded."""
    ended: tuple[str, ...] = ()
    """How some of the others ended."""
    crashed: str = ""
    """How the first ended that the program neither carried out nor refused."""


@dataclass(frozen=True)
class WorldTries:
    """What came of the calls of all tools that a path does not use, in the order in which they were
    added."""

    tools: Mapping[str, Tries]

    @property
    def reached(self) -> list[str]:
        return [name for name, tries in self.tools.items() if tries.done is not None]

    @property
    def crashed(self) -> dict[str, str]:
        """Tool → how a call of it ended that the program neither carried out nor refused."""
        return {name: tries.crashed for name, tries in self.tools.items() if tries.crashed}

    @property
    def unreached(self) -> list[str]:
        return [name for name, tries in self.tools.items() if tries.done is None]


def order_outwards(graph: ToolGraph, used: Sequence[str], tools: Sequence[str]) -> list[str]:
    """The tools that a path does not use, neighbours of its tools first; those that nothing ties to
    them last."""
    ties: dict[str, list[str]] = {name: [] for name in tools}
    for first, then in graph.labels:
        one, other = graph.tools[first].name, graph.tools[then].name
        if one in ties and other in ties:
            ties[one].append(other)
            ties[other].append(one)
    found, ahead = list(dict.fromkeys(name for name in used if name in ties)), list(used)
    while ahead:
        ahead = list(
            dict.fromkeys(
                other for name in ahead for other in ties.get(name, ()) if other not in found
            )
        )
        found += ahead
    return [name for name in dict.fromkeys((*found, *tools)) if name not in used]


def measure_complexity(graph: ToolGraph, tools: Sequence[str]) -> float:
    """Of the world so far, from 0 to 1: the tools in it, and half of the edges between them."""
    held = set(tools)
    pairs = {
        frozenset((graph.tools[first].name, graph.tools[then].name)) for first, then in graph.labels
    }
    return min(
        1.0, (len(held) + 0.5 * sum(len(pair) == 2 and pair <= held for pair in pairs)) / _SCALE
    )


async def try_tools(
    environment: Environment,
    tests: Sequence[Test],
    states: Sequence[State],
    names: Sequence[str],
    seed: str,
    sandbox: Sandbox,
) -> WorldTries:
    """Calls of each tool, drawn from the states, each in a session of its own. Actors are those
    that may call the tool."""
    offers = Offers(EnvironmentCase(environment, tuple(tests), tuple(states)))
    tools, found = {tool.name: tool for tool in environment.tools}, dict.fromkeys(names, Tries())
    for most in DRAWS:
        dice = random.Random(f"{seed}/{most}")
        lacking = [name for name, tries in found.items() if tries.done is None]
        drawn = [
            (state, call)
            for state in states
            for name in lacking
            for call in offers.sample_some(tools[name], state, dice, most)
        ]
        for call, seen in await play_calls(environment, drawn, sandbox):
            tries = found[call.name]
            if not tries.crashed and crashes(seen):
                tries = found[call.name] = replace(tries, crashed=_describe_end(call, seen[-1]))
            if tries.done is None and succeeds(tools[call.name], seen):
                found[call.name] = replace(tries, done=call)
            elif len(tries.ended) < _SHOWN:
                found[call.name] = replace(
                    tries, ended=(*tries.ended, _describe_end(call, seen[-1]))
                )
    return WorldTries(found)


async def play_calls(
    environment: Environment, calls: Sequence[tuple[State, Call]], sandbox: Sandbox
) -> list[tuple[Call, list[Observation]]]:
    """Each on its state, with what was seen of start and call."""
    plans = [[Reset(state, CLOCK, 0), Invoke(call)] for state, call in calls]
    played = await play_plans(find_program(environment), plans, sandbox)
    return [(call, seen) for (_, call), seen in zip(calls, played, strict=True)]


def succeeds(tool: Tool, seen: Sequence[Observation]) -> bool:
    """Whether a call did what its tool is for: a change left a mark, a query told something."""
    begun, *_, last = seen
    if begun.outcome != "ok" or last.outcome != "ok":
        return False
    return (
        last.state_hash != begun.state_hash
        if tool.effect == "change"
        else _holds_value(read_reply(last))
    )


def crashes(seen: Sequence[Observation]) -> bool:
    """Whether the program broke on a call that its interface takes: a session that is no more is
    the machine's matter."""
    begun, *_, last = seen
    return begun.outcome == "ok" and last.outcome == "failure" and last.code not in BREAKDOWNS


def _holds_value(reply: Json) -> bool:
    """Whether a reply holds any record or value."""
    if is_object(reply):
        return any(map(_holds_value, reply.values()))
    return bool(reply) if is_array(reply) else reply not in (None, "")


def _describe_end(call: Call, end: Observation) -> str:
    told = (
        "found or changed nothing"
        if end.outcome == "ok"
        else f"{end.outcome}: {end.code} {end.message}"
    )
    return f"{canonical_json(call.arguments)} {told}"[:_LONGEST]


async def ask_rows(
    environment: Environment, number: int, request: str, state: State, oracle: Sequence[Call], tries: WorldTries, models: ModelSession,
    complaint: str = "",
) -> GrowReply:  # fmt: skip
    """What the tools lack of which no call succeeded. One call for all of them."""
    tools = {tool.name: tool for tool in environment.tools}
    asked = [
        UnreachedTool(tool=tools[name], tried=list(tries.tools[name].ended))
        for name in tries.unreached
    ]
    about = environment.model_dump(include={"brief", "name", "rules"})
    told = {
        "number": number,
        "request": request,
        "initial_state": state,
        "oracle": list(oracle),
        "unreached": asked,
    }
    return await models.ask(
        GROW, GrowInput.model_validate(about | told), GrowReply, complaint=complaint
    )


async def ask_natural(
    environment: Environment, request: str, patches: Sequence[ToolPatch], models: ModelSession
) -> dict[str, str]:  # fmt: skip
    """Tool → why its addition does not belong there, of those that a model objects to."""
    tools = {tool.name: tool.description for tool in environment.tools}
    added = [
        AddedTool(tool=one.tool, description=tools[one.tool], call=one.call, rows=one.rows)
        for one in patches
        if one.call is not None
    ]
    about = environment.model_dump(include={"brief", "name", "rules"})
    reply = await models.ask(
        NATURAL,
        NaturalInput.model_validate(about | {"request": request, "added": added}),
        NaturalReply,
        role="judge",
    )
    return {
        one.tool: one.reason or "it does not belong there"
        for one in reply.verdicts
        if not one.natural
    }


def find_patch_fault(patch: ToolPatch, environment: Environment, state: State) -> str:
    """What can be seen without running anything; empty where nothing is wrong."""
    if patch.call is None or patch.call.name != patch.tool:
        return f"`call` is no call of {patch.tool}"
    columns = {
        table.name: [column.name for column in table.columns] for table in environment.tables
    }
    for table, rows in patch.rows.items():
        if table not in columns:
            return f"there is no table {table}"
        for key, row in rows.items():
            if key in state.get(table, {}):
                return f"{key} of {table} is there already: add new records only"
            if lacking := [name for name in columns[table] if name not in row]:
                return f"the new record {key} of {table} lacks {', '.join(lacking)}"
    return ""


def add_rows(state: State, patch: ToolPatch) -> State:
    """The state with a patch's records."""
    grown = {table: dict(rows) for table, rows in state.items()}
    for table, rows in patch.rows.items():
        grown[table] = grown.get(table, {}) | rows
    return grown
