"""Sampler `weighted`: goes from a tool to one that can take its outputs, with a probability by
their dependence. Also retraces walks that are given as names."""

import random
from collections.abc import Sequence

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.validity import ChainLimits
from schemas.chain import Chain

TRIES = 6
"""Number of next tools that are tried before the walk ends."""


class WeightedSampler:
    """Starts with a tool that gives something and depends strongly on nothing. Prefers tools that
    depend strongly on the step before."""

    name = "weighted"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        starts = graph.sources or graph.starts
        if not starts:
            return "no_start"
        return follow(self.name, graph, chance, limits, chance.choice(starts))


def follow(
    name: str, graph: ToolGraph, chance: random.Random, limits: ChainLimits, start: int
) -> Chain | str:
    """Extend the walk to the drawn length, or until no tool can follow."""
    course = Course(graph, chance)
    if fault := course.add(start):
        return fault
    length, at = chance.randint(limits.least, limits.most), start
    while len(course.steps) < length:
        then = _go_on(graph, course, at)
        if then is None:
            break
        at = then
    return "dead_end" if len(course.steps) < limits.least else course.finish(name)


def retrace(graph: ToolGraph, tools: Sequence[str], chance: random.Random) -> Chain | str:
    """The chain of a walk that is given as names, with a source for each argument. Tools that the
    graph lacks or that cannot follow are left out."""
    course = Course(graph, chance)
    for tool in (graph.index[name] for name in tools if name in graph.index):
        course.add(tool, loose=True)
    return "walk_lost" if len(course.steps) < _LEAST else course.finish("walk")


_LEAST = 2
"""Minimal number of tools of a walk."""


def _go_on(graph: ToolGraph, course: Course, at: int) -> int | None:
    ahead = [one for one in graph.successors[at] if one not in course.steps]
    for _ in range(min(TRIES, len(ahead))):
        then = _pick_heavy(graph, at, ahead, course.chance)
        if not course.add(then):
            return then
        ahead.remove(then)
    return None


def _pick_heavy(graph: ToolGraph, at: int, ahead: Sequence[int], chance: random.Random) -> int:
    return chance.choices(ahead, [graph.weights[at][one] for one in ahead])[0]
