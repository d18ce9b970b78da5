"""Sampler `backward`: starts with a goal, puts the suppliers of its inputs before it, and adds
goals until the chain is long enough."""

import random

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import ToolParameter
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain

DEPTH = 5
"""Maximal depth of suppliers of suppliers."""
MAKERS = 0.5
"""Probability that a tool makes a precondition true, if one can; else the initial state meets
it."""
GOALS = 12
"""Further goals that are tried before a short chain is accepted."""


class BackwardSampler:
    """Except for the goals, each step of the chain is needed by a later one."""

    name = "backward"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        if not graph.goals:
            return "no_goal"
        return work_back(self.name, graph, chance, limits, chance.choice(graph.goals))


def work_back(
    name: str, graph: ToolGraph, chance: random.Random, limits: ChainLimits, goal: int
) -> Chain | str:
    """A chain that ends in a goal; if it is too short, with more goals."""
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
    """Add a tool and its suppliers to the chain. Returns an empty text, or the reason of failure;
    suppliers that were added stay."""
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
