"""Sampler `linked`: reads a list and picks one item, makes something from it and uses that, and
does something for each item of a list.

list ─► one of it ─► a step that makes something ─► a step that uses what was made; list ─► each item: a step
"""

import random
from dataclasses import replace

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.samplers.backward import resolve_goal
from envmill.toolgraph.samplers.program import fill_loop
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain

TRIES = 6
"""Maximal number of tries, for one list, of a step that makes something."""


class LinkedSampler:
    """The other samplers seldom combine lists, picks and results."""

    name = "linked"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        if not graph.lists or not graph.uses:
            return "no_list" if graph.uses else "nothing_made"
        course, within = Course(graph, chance), replace(limits, most=limits.most - 1)
        first, _ = chance.choice(graph.lists)
        if fault := resolve_goal(course, first, within):
            return fault
        course.prefer = frozenset({course.steps[first]})
        for maker in _list_makers(graph, first, course, chance):
            users = [one for one in graph.used_by[maker] if one not in course.steps]
            if users and not resolve_goal(course, maker, within):
                break
        else:
            return "nothing_made"
        course.prefer = frozenset({course.steps[maker]})
        if fault := resolve_goal(course, chance.choice(users), within):
            return fault
        course.prefer = frozenset()
        tool, around = chance.choice([one for one in graph.lists if one[0] in course.steps])
        if not fill_loop(course, tool, around, 1):
            return "empty_loop"
        return "too_short" if len(course.steps) < limits.least else course.finish(self.name)


def _list_makers(graph: ToolGraph, first: int, course: Course, chance: random.Random) -> list[int]:
    """Steps that make something and can follow: those that take a value of the list's items first,
    then all others."""
    near = {
        tool
        for (giver, _), takers in graph.item_takers.items()
        if giver == first
        for tool in takers
    }
    ahead = sorted(
        {
            one
            for step in course.steps
            for one in graph.successors[step]
            if one in graph.used_by and one not in course.steps
        }
    )
    chance.shuffle(ahead)
    return sorted(ahead, key=lambda tool: tool not in near)[:TRIES]
