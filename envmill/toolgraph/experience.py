"""Experience: calls of an environment's stored tests, their replies and their start states.

stored tests ─► played in the jail ─► calls and replies of each tool, start states ─► graph of tools with what they reply
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Program, Reset, Sandbox
from envmill.toolgraph.chain_player import read_reply
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.sketching import ACTORS, sketch_environment
from envmill.toolgraph.weaving import weave
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Environment, Test

TESTS = 80
"""Maximal number of stored tests that are played."""
STATES = 3
"""Maximal number of start states that are kept, the fullest first."""


@dataclass(frozen=True)
class Experience:
    """Successful calls, and the states in which they were made."""

    states: tuple[dict[str, Json], ...] = ()
    calls: Mapping[str, Sequence[Call]] = field(default_factory=dict[str, Sequence[Call]])
    """Tool → its successful calls."""
    replies: Mapping[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])


async def gather_experience(
    environment: Environment, tests: Sequence[Test], rows: Mapping[str, Json], sandbox: Sandbox
) -> Experience:
    """`rows`: the environment's own rows, if it has any. They become the first start state."""
    calls, replies = defaultdict[str, list[Call]](list), defaultdict[str, list[Json]](list)
    program = Program.of(environment)
    for test in [one for one in tests if one.expect == "success"][:TESTS]:
        made = [*test.setup, test.call]
        begun, *seen = await sandbox.play(
            program, [Reset(test.initial_state, CLOCK, 0), *map(Invoke, made)]
        )
        for call, one in zip(made, seen, strict=True):
            if begun.outcome == one.outcome == "ok":
                calls[call.name].append(call)
                replies[call.name].append(read_reply(one))
    return Experience(_list_states(tests, rows), calls, replies)


async def weave_experience(environment: Environment, experience: Experience) -> ToolGraph:
    """The graph built from the output types that tools declare, else from observed replies."""
    keys = {
        key: table
        for state in experience.states
        for table, held in state.items()
        if is_object(held)
        for key in held
    }
    drawn = sketch_environment(environment, experience.replies, ACTORS, keys)
    sketches = [
        one.model_copy(
            update={"outputs": _drop_null(one.outputs, experience.replies.get(one.name, ()))}
        )
        for one in drawn
    ]
    return await weave(sketches, [NameEvidence(), TableEvidence()], environment.tables)


def _drop_null(schema: Json, seen: Sequence[Json]) -> Json:
    """The schema without properties that were null in every reply. Such a value cannot supply an
    argument, for example the slot of a defect that was just reported."""
    if not is_object(schema):
        return schema
    if is_object(items := schema.get("items")):
        return schema | {
            "items": _drop_null(items, [one for value in seen if is_array(value) for one in value])
        }
    objects, properties = [value for value in seen if is_object(value)], schema.get("properties")
    if not objects or not is_object(properties):
        return schema
    held = {
        name: [value[name] for value in objects if value.get(name) is not None]
        for name in properties
    }
    return schema | {
        "properties": {
            name: _drop_null(part, held[name]) for name, part in properties.items() if held[name]
        }
    }


def _list_states(tests: Sequence[Test], rows: Mapping[str, Json]) -> tuple[dict[str, Json], ...]:
    found = {canonical_json(test.initial_state): test.initial_state for test in tests}
    full = sorted(found.values(), key=_count_rows, reverse=True)
    return tuple([*([dict(rows)] if rows else []), *full][:STATES])


def _count_rows(state: Mapping[str, Json]) -> int:
    return sum(len(held) for held in state.values() if is_object(held))
