"""Sampler `backward`: a goal first, then whatever gives what it needs, before it; more goals until
the chain is long enough."""

import random

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import ToolParameter
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain

DEPTH = 5
"""Needs of needs of …"""
MAKERS = 0.5
"""How often a precondition is made true by a tool where one can; else the initial state meets
it."""
GOALS = 12
"""Further goals tried before the chain is left as long as it is."""


class BackwardSampler:
    """Nothing is put into the chain that a later step does not need, but for the goals
    themselves."""

    name = "backward"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        if not graph.goals:
            return "no_goal"
        return work_back(self.name, graph, chance, limits, chance.choice(graph.goals))


def work_back(
    name: str, graph: ToolGraph, chance: random.Random, limits: ChainLimits, goal: int
) -> Chain | str:
    """A chain that ends in a goal, and in more of them where it is too short."""
    course, length = Course(graph, chance), chance.randint(limits.least, limits.most)
    if fault := resolve_goal(course, goal, limits):
        return fault
    for _ in range(GOALS):
        ahead = [
            one
            for step in course.steps
            for one in graph.successors[step]
            if one not in course.steps
        ]
        if len(course.steps) >= length or not ahead:
            break
        resolve_goal(course, chance.choice(ahead), limits)
    return "dead_end" if len(course.steps) < limits.least else course.finish(name)


def resolve_goal(course: Course, goal: int, limits: ChainLimits) -> str:
    """Put a tool and all it needs behind what is there; empty, or why it cannot be. What was put
    there for its sake stays."""
    order = list[int]()
    if fault := _resolve(course, goal, order, (), DEPTH):
        return fault
    if len(course.steps) + len(order) > limits.most:
        return "too_long"
    # What is put before the goal is tied by the goal, which has to be tied itself.
    return next((fault for tool in order if (fault := course.add(tool, loose=tool != goal))), "")


def _resolve(
    course: Course, tool: int, order: list[int], above: tuple[int, ...], depth: int
) -> str:
    if not depth:
        return "too_deep"
    for taker in course.graph.required[tool]:
        if fault := _resolve_need(course, taker, order, (*above, tool), depth):
            return fault
    for statement in course.graph.tools[tool].requires:
        makers = [
            one for one in course.graph.makers.get(statement, ()) if one not in (*above, tool)
        ]
        if makers and course.chance.random() < MAKERS and not {*makers} & {*order, *course.steps}:
            # The initial state meets it where no maker can be called.
            trial = list(order)
            if not _resolve(course, course.chance.choice(makers), trial, (*above, tool), depth - 1):
                order[:] = trial
    if tool not in order and tool not in course.steps:
        order.append(tool)
    return ""


def _resolve_need(
    course: Course, taker: ToolParameter, order: list[int], above: tuple[int, ...], depth: int
) -> str:
    graph = course.graph
    producers = graph.producers.get(taker.index, ())
    if (
        taker.told
        or any(one in course.steps or one in order for one in producers)
        or taker.index in graph.recorded
    ):
        return ""
    able = [one for one in producers if one in graph.reachable and one not in above]
    for _ in range(min(3, len(able))):
        trial, producer = list(order), course.chance.choice(able)
        if not _resolve(course, producer, trial, above, depth - 1):
            order[:] = trial
            return ""
        able.remove(producer)
    return "unbound"
