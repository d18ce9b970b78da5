"""Sampler `program`: adds control flow. It reads a list and does something for each of its items,
or only for items with a certain value.

read … ─► list ─► each item: [if item.status equals …: change it]
"""

import random
from collections.abc import Sequence

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import ToolParameter, can_be_said
from envmill.toolgraph.samplers.backward import resolve_goal
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Branch, Chain, FromItem, FromNode, Loop, Node

CONDITION = 0.5
"""Probability that the loop has a condition."""
TRIES = 8
"""Number of tools that are tried inside the loop."""


class ProgramSampler:
    """A program that an author writes is the same record, and the same validator judges it."""

    name = "program"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        lists = graph.lists
        if not lists:
            return "no_list"
        tool, around = chance.choice(lists)
        course = Course(graph, chance)
        if fault := resolve_goal(course, tool, limits):
            return fault
        if len(course.steps) >= limits.most:
            return "too_long"
        body = fill_loop(course, tool, around, chance.randint(1, limits.most - len(course.steps)))
        if not body:
            return "empty_loop"
        if len(course.steps) < limits.least:
            return "too_short"
        return course.finish(self.name)


def fill_loop(course: Course, tool: int, around: str, most: int) -> list[Node]:
    """Add steps for each item, each tied to the item or to an earlier step of the body, and add the
    loop to the course."""
    graph, before = course.graph, course.nodes
    course.nodes, course.loop = [], ("each1", tool, around)
    for _ in range(TRIES):
        inside = [
            one for one in course.steps if course.steps[one] in {node.id for node in course.nodes}
        ]
        ahead = [
            one for one in _find_takers(graph, tool, around, inside) if one not in course.steps
        ]
        if not ahead or len(inside) >= most:
            break
        course.add(course.chance.choice(ahead))
    body, course.nodes, course.loop = course.nodes, before, None
    if body:
        over = FromNode(node=course.steps[tool], path=around)
        course.nodes = [
            *before,
            Loop(
                id="each1", over=over, body=_distinguish(graph, tool, around, body, course.chance)
            ),
        ]
    return body


def _find_takers(graph: ToolGraph, tool: int, around: str, inside: Sequence[int]) -> list[int]:
    """Tools that take a value of an item, or of an earlier step of the body."""
    direct = graph.item_takers.get((tool, around), ())
    return [*direct, *(then for one in inside for then in graph.successors[one])]


def _distinguish(
    graph: ToolGraph, tool: int, around: str, body: list[Node], chance: random.Random
) -> list[Node]:
    """The body; sometimes inside a condition on one of the item's values."""
    told = [one for one in graph.parameters.outputs[tool] if _can_be_compared(one, around)]
    if not told or chance.random() >= CONDITION:
        return body
    one = chance.choice(told)
    number = one.type in ("integer", "number")
    op = chance.choice(("above", "below")) if number else chance.choice(("equals", "differs"))
    right = chance.choice(one.choices) if one.choices and not number else None
    return [
        Branch(id="if1", left=FromItem(loop="each1", path=one.path), op=op, right=right, then=body)
    ]


def _can_be_compared(one: ToolParameter, around: str) -> bool:
    """Whether a condition can compare the value. It must not be an id: the user says the other
    value, and a user cannot know an id. `told` was set before keys were found by value."""
    in_item = one.path.startswith(f"{around}.") and one.depth == 1
    return (
        in_item
        and one.type in ("string", "integer", "number")
        and not one.is_control
        and can_be_said(one.words, one.type, one.format)
    )
