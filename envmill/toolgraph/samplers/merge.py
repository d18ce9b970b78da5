"""Sampler `merge`: joins two chains, calls shared tools once, and adds reasoning nodes for
arguments that can be computed from replies."""

import random
from collections.abc import Iterator

from envmill.toolgraph.course import Course
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import ToolParameter
from envmill.toolgraph.references import is_meeting
from envmill.toolgraph.samplers.backward import work_back
from envmill.toolgraph.samplers.walk import WeightedSampler
from envmill.toolgraph.validity import ChainLimits
from envmill.toolgraph.words import FREE_TEXTS, REFERENCES
from schemas.chain import Chain, ChainStep, FromNode, FromUser, Node, Reason, Rule, Source

SHARE = 0.5
"""Share of the computable arguments that are computed."""


class MergeSampler:
    """The chain is a DAG and not a line: each of the two chains can take values of the other, and a
    reasoning node supplies at least one argument."""

    name = "merge"

    def sample(self, graph: ToolGraph, chance: random.Random, limits: ChainLimits) -> Chain | str:
        half = ChainLimits(2, max(2, limits.most // 2), limits.repeats)
        course = Course(graph, chance)
        fault = _begin(course, half) or _join(course, half)
        if fault:
            return fault
        if not limits.least <= len(course.steps) <= limits.most:
            return "too_long" if len(course.steps) > limits.most else "too_short"
        chain = course.finish(self.name)
        thought = chain.model_copy(update={"nodes": _add_reasoning(graph, chain.nodes, chance)})
        if not any(isinstance(node, Reason) for node in thought.nodes):
            return "no_reasoning"
        return thought if is_meeting(thought) else "no_meeting"


def _begin(course: Course, limits: ChainLimits) -> str:
    first = WeightedSampler().sample(course.graph, course.chance, limits)
    return (
        first
        if isinstance(first, str)
        else next((fault for tool in _list_tools(course, first) if (fault := course.add(tool))), "")
    )


def _join(course: Course, limits: ChainLimits) -> str:
    """A second chain towards a goal that the first one also leads to; the goal joins them."""
    ahead = [
        one
        for step in course.steps
        for one in course.graph.successors[step]
        if one not in course.steps
    ]
    if not ahead:
        return "dead_end"
    goal, first = course.chance.choice(ahead), frozenset(course.steps.values())
    second = work_back("merge", course.graph, course.chance, limits, goal)
    if isinstance(second, str):
        return second
    loose = True
    for tool in (one for one in _list_tools(course, second) if one not in course.steps):
        course.prefer = first if tool == goal else frozenset()
        loose &= tool != goal
        if fault := course.add(tool, loose=loose):
            return fault
    return ""


def _list_tools(course: Course, chain: Chain) -> list[int]:
    return [course.graph.index[node.tool] for node in chain.nodes if isinstance(node, ChainStep)]


def _add_reasoning(graph: ToolGraph, nodes: list[Node], chance: random.Random) -> list[Node]:
    """The same nodes, with some of the user's values computed instead."""
    done, tools, made = list[Node](), dict[str, int](), 0
    for node in nodes:
        if not isinstance(node, ChainStep):
            done.append(node)
            continue
        tool = graph.index[node.tool]
        arguments: dict[str, Source] = dict(node.arguments)
        for path, source in node.arguments.items():
            taker = graph.parameters.find_input(tool, path)
            options = (
                list(_list_thoughts(graph, tools, taker))
                if taker and isinstance(source, FromUser)
                else []
            )
            if options and chance.random() < SHARE:
                made += 1
                rule, takes = chance.choice(options)
                done.append(Reason(id=f"t{made}", rule=rule, takes=takes))
                arguments[path] = FromNode(node=f"t{made}")
        done.append(node.model_copy(update={"arguments": arguments}))
        tools[node.id] = tool
    return done


def _list_thoughts(
    graph: ToolGraph, tools: dict[str, int], taker: ToolParameter
) -> Iterator[tuple[Rule, list[Source]]]:
    """Reasoning nodes that can supply an input: never for a reference, never for a listed value."""
    if (
        taker.words[-1] in REFERENCES
        or taker.is_control
        or taker.choices
        or taker.format
        or taker.depth
    ):
        return
    scalars = list[Source]()
    for step, tool in tools.items():
        for giver in graph.parameters.outputs[tool]:
            fits = (
                giver.type == taker.type
                and not giver.is_control
                and giver.words[-1] not in REFERENCES
            )
            if not fits:
                continue
            source = FromNode(node=step, path=giver.path)
            if taker.type in ("integer", "number") and giver.depth == 1:
                yield "total", [source]
            if not giver.depth:
                scalars.append(source)
    if taker.type == "string" and scalars and taker.words[-1] in FREE_TEXTS:
        yield "compose", scalars[-2:]
    if taker.type in ("integer", "number") and len(scalars) > 1:
        yield "difference", scalars[-2:]
