"""Chains of built environments held to the one validator, over a graph of what their tools took and
replied when they were carried out.

calls, replies, records ─► schemas, keys named after their table ─► graph ─► faults, before anything is accepted
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.language.mentions import is_told
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import KEY_OF
from envmill.toolgraph.sketching import ACTORS, sketch_environment
from envmill.toolgraph.validity import SETTLED, find_faults, limit_written
from envmill.toolgraph.weaving import weave
from schemas.base import Json, is_array, is_object
from schemas.chain import Chain
from schemas.environment import Call, Environment
from schemas.prompts import ScenarioReply
from schemas.sketch import ToolSketch


@dataclass(frozen=True)
class PlayedChain:
    """A chain as it was carried out."""

    calls: Sequence[Call]
    replies: Sequence[Json]
    states: Sequence[Mapping[str, Json]]
    """At the beginning, and at the end: whose keys there are."""
    words: str
    """All that the user can say."""


def list_words(reply: ScenarioReply) -> str:
    """What the person of a scenario says or tells when asked."""
    return "\n".join(
        [reply.request, reply.opening, *(str(value) for value in reply.facts.values())]
    )


async def hold(chain: Chain, environment: Environment, seen: PlayedChain) -> None:
    """BuildError, with the validator's code as its reason, for a chain that it refuses."""
    # A request may want two things that have nothing to do with each other.
    found = find_faults(
        await weave_seen(environment, seen),
        chain,
        replace(limit_written(environment.brief), apart=True),
    )
    faults = [fault for fault in found if fault.code not in SETTLED]
    if faults:
        told = "; ".join(
            f"{fault.node or 'the whole'}: {fault.code} {fault.detail}".rstrip() for fault in faults
        )
        raise BuildError(
            f"The chain was carried out, and the validator of chains refuses it: {told}.",
            reason=faults[0].code,
        )


async def weave_seen(environment: Environment, seen: PlayedChain) -> ToolGraph:
    """The environment's tools, with what was seen of them."""
    keys = find_keys(seen.states)
    calls, replies = defaultdict[str, list[Call]](list), defaultdict[str, list[Json]](list)
    for call, reply in zip(seen.calls, seen.replies, strict=True):
        calls[call.name].append(call)
        replies[call.name].append(reply)
    sketches = [
        _mark(sketch, calls[sketch.name], keys, seen.words)
        for sketch in sketch_environment(environment, replies, ACTORS, keys)
    ]
    return await weave(sketches, [NameEvidence(), TableEvidence()], environment.tables)


def find_keys(states: Sequence[Mapping[str, Json]]) -> dict[str, str]:
    """Key → its table; what is a key of two tables says nothing."""
    homes = {
        (key, table)
        for state in states
        for table, rows in state.items()
        if is_object(rows)
        for key in rows
    }
    counts = Counter(key for key, _ in homes)
    return {key: table for key, table in homes if counts[key] == 1}


def _mark(
    sketch: ToolSketch, calls: Sequence[Call], keys: Mapping[str, str], words: str
) -> ToolSketch:
    """Inputs by what was put into them: a key of a table, or something that the user says."""
    marker = _Marker(keys, words, dict(sketch.told))
    inputs = marker.mark(sketch.inputs, [call.arguments for call in calls], "")
    return sketch.model_copy(update={"inputs": inputs, "told": marker.told})


@dataclass(frozen=True)
class _Marker:
    """Schemas of arguments, marked by the values that were put there."""

    keys: Mapping[str, str]
    words: str
    told: dict[str, bool]
    """Path → whether a user says it."""

    def mark(self, schema: Json, values: Sequence[Json], path: str) -> Json:
        properties, items = schema.get("properties"), schema.get("items")
        if is_object(properties):
            held = [value for value in values if is_object(value)]
            marked = {
                name: self.mark(
                    part,
                    [value[name] for value in held if name in value],
                    f"{path}.{name}" if path else name,
                )
                for name, part in properties.items()
            }
            return schema | {"properties": marked}
        if is_object(items) and any(is_array(value) for value in values):
            parts = [one for value in values for one in (value if is_array(value) else [value])]
            return schema | {"items": self.mark(items, parts, f"{path}[]")}
        return self._mark_leaf(
            schema, [part for value in values for part in _list_parts(value)], path
        )

    def _mark_leaf(self, schema: Json, parts: Sequence[Json], path: str) -> Json:
        tables = {self.keys.get(part) if isinstance(part, str) else None for part in parts}
        is_said = bool(parts) and all(mentions(self.words, part) for part in parts)
        if len(tables) == 1 and (table := tables.pop()):
            self.told[path] = is_said
            return schema | {KEY_OF: table}
        if is_said:
            self.told[path] = True
        return schema


def mentions(words: str, value: Json) -> bool:
    """Whether somebody who says these words says the value; a short one, such as `no`, by a word of
    its own."""
    if is_told(value, words):
        return True
    spoken = value.casefold() if isinstance(value, str) else ""
    return 0 < len(spoken) < _SHORT and spoken in re.findall(r"\w+", words.casefold())


_SHORT = 3
"""Characters of a text that carries no word."""


def _list_parts(value: Json) -> Iterator[Json]:
    if is_array(value):
        for one in value:
            yield from _list_parts(one)
    else:
        yield value
