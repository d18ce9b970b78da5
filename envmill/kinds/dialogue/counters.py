"""Fields of the user's thing that only count how often a tool was used, such as test pages printed.

A user who tries whether it works again does nothing that was not asked for. Such a field may change
beside what the reference path changes: played three times in the healthy state, the tool adds one
each time and changes nothing else; and no atom, clause or coupling speaks of the tool or the field.
"""

from collections.abc import Iterator
from itertools import pairwise

from envmill.kinds.dialogue.atoms import make_calls, read_repertoire
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.dialogue import AtomStep, Dialogue, Repertoire, StateCondition
from schemas.environment import Environment, Tool
from schemas.scenario import Change

_TIMES = 3
_MOST = 256
_FOUND: dict[str, list[list[str]]] = {}
"""Environment → its counters: each of its scenarios is asked for them, and an id names its content."""


async def find_counters(environment: Environment, sandbox: Sandbox) -> list[list[str]]:
    """Paths of the counters; none where scenarios are not composed."""
    if environment.id not in _FOUND:
        if len(_FOUND) >= _MOST:
            _FOUND.clear()
        _FOUND[environment.id] = await _list_counters(environment, sandbox)
    return _FOUND[environment.id]


async def _list_counters(environment: Environment, sandbox: Sandbox) -> list[list[str]]:
    repertoire = read_repertoire(environment.files)
    if repertoire is None:
        return []
    dialogue = read_dialogue(environment.files)
    names = [tool.name for tool in environment.tools if _may_count(tool, dialogue, repertoire)]
    reset = Reset(state=repertoire.state, clock=CLOCK, seed=0)
    plans = [
        [reset, *(step for _ in range(_TIMES) for step in (Invoke(call), Look()))]
        for call in make_calls([AtomStep(tool=name) for name in names], dialogue)
    ]
    program = Program.of(environment)
    found = [_read_counter(await sandbox.play(program, plan)) for plan in plans]
    named = set(_list_named(dialogue, repertoire))
    return [
        path
        for path in found
        if len(path) == 3 and dialogue.sides[path[0]] == "user" and path[2] not in named
    ]


def _may_count(tool: Tool, dialogue: Dialogue, repertoire: Repertoire) -> bool:
    """A change of the user alone that takes nothing, and that the policy does not speak of."""
    spoken = {clause.call.name for clause in dialogue.clauses}
    mending = {step.tool for atom in repertoire.atoms for step in atom.fix}
    return (
        tool.effect == "change"
        and tool.name in dialogue.user_tools
        and not tool.parameters.get("required")
        and tool.name not in spoken | mending
    )


def _list_named(dialogue: Dialogue, repertoire: Repertoire) -> Iterator[str]:
    """Fields that mean something to somebody."""
    for atom in repertoire.atoms:
        yield from (one.field for one in atom.breaks)
        yield from (one.field for one in atom.mended)
    for clause in dialogue.clauses:
        yield from (one.field for one in clause.when if isinstance(one, StateCondition))
        yield from [clause.told.field] if clause.told else []


def _read_counter(seen: list[Observation]) -> list[str]:
    """The path to which each use added one, or nothing."""
    if any(one.outcome != "ok" for one in seen):
        return []
    states = [one.state or {} for one in seen[2::2]]
    steps = [diff_states(before, after) for before, after in pairwise(states)]
    if not all(len(step) == 1 and _adds_one(step[0]) for step in steps):
        return []
    paths = [step[0].path for step in steps]
    return paths[0] if all(path == paths[0] for path in paths) else []


def _adds_one(change: Change) -> bool:
    before, after = change.before, change.after
    return (
        isinstance(before, int)
        and isinstance(after, int)
        and not isinstance(before, bool)
        and not isinstance(after, bool)
        and change.op == "set"
        and after == before + 1
    )
