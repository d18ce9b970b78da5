"""A repair that weakens: fewer of what was promised, instead of the fault mended. It is refused
unless the complaint asked for it.

earlier version, repaired version ─► what there is less of ─► none, or words for a complaint
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from envmill.kinds.authoring.complaint import Complaint
from envmill.toolgraph.references import walk_nodes
from schemas.base import Contract, Json, is_array, is_object
from schemas.chain import ChainStep
from schemas.environment import Blueprint
from schemas.prompts import ScenarioReply, TestsReply
from schemas.tool_prompts import ChainReply

REASON = "weakened"

ASKED_FOR: Mapping[str, frozenset[str]] = {
    "S3": frozenset(("calls of the reference path", "facts to tell")),
    "S8": frozenset(("calls of the reference path", "facts to tell")),
    "S10": frozenset(("calls of the reference path",)),
    "S12": frozenset(("calls of the reference path", "facts to tell", "goals")),
    "S16": frozenset(("calls of the reference path", "facts to tell", "goals")),
    "S17": frozenset(("hidden facts",)),
    "W3": frozenset(("tests",)),
    "oracle": frozenset(("calls of the reference path", "facts to tell", "goals", "hidden facts")),
    "contract": frozenset(("facts to tell", "goals", "hidden facts")),
    "plan": frozenset(("rules", "tools", "collections")),
    "database": frozenset(("rules", "tools", "collections")),
}
"""What may be mended by having less of it, by the gate or stage that complained: as much less as
there are such complaints."""


def find_weakening(before: Contract, after: Contract, complaints: Sequence[Complaint]) -> list[str]:
    """What the repaired version has less of than complaints asked for, in words."""
    had, has = _count(before), _count(after)
    less: list[str] = []
    for name, number in had.items():
        permitted = sum(name in ASKED_FOR.get(complaint.source, ()) for complaint in complaints)
        if has.get(name, 0) < number - permitted:
            less.append(f"{has.get(name, 0)} {name} instead of {number}")
    return less


def _count(version: Contract) -> dict[str, int]:
    if isinstance(version, Blueprint):
        return {
            "rules": len(version.rules),
            "tools": len(version.tools),
            "collections": len(version.collections),
        }
    if isinstance(version, TestsReply):
        return {"tests": len(version.tests)}
    return _count_scenario(version) if isinstance(version, ScenarioReply) else {}


def _count_scenario(reply: ScenarioReply) -> dict[str, int]:
    walked = walk_nodes(reply.chain.nodes) if isinstance(reply, ChainReply) else ()
    steps = sum(isinstance(one.node, ChainStep) for one in walked)
    return {
        "calls of the reference path": steps or len(reply.oracle),
        "facts to tell": len(reply.tell),
        "goals": len(reply.goals),
        "hidden facts": len(reply.hidden),
    }


def find_vagueness(before: ScenarioReply, after: ScenarioReply) -> list[str]:
    """Names that the earlier request says and the later one does not, though the path is still
    called with them. It is read from text,
    so it is a suspicion: it asks for another version and drops none."""
    said = before.request.casefold()
    now = after.request.casefold()
    texts = {
        text
        for call in after.oracle
        for value in call.arguments.values()
        for text in _list_texts(value)
    }
    lost = sorted(
        text
        for text in texts
        if " " in text and text.casefold() in said and text.casefold() not in now
    )
    return [
        f"the request no longer says {text!r}, which the reference path is called with"
        for text in lost
    ]


def _list_texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_array(value):
        yield from chain.from_iterable(map(_list_texts, value))
    elif is_object(value):
        yield from chain.from_iterable(map(_list_texts, value.values()))
