"""Graphs of a thousand tools: made, parted into domains, walked through. Processor time; real
services where botocore is installed."""

import asyncio
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from envmill.interop.importers.tools import TOOL_LISTS
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.partition import find_domains
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.weaving import weave
from schemas.sketch import ToolSketch

T = TypeVar("T")

TOOLS, CHAINS = 1_000, 10_000
THINGS = (
    "order",
    "invoice",
    "parcel",
    "ticket",
    "booking",
    "room",
    "guest",
    "course",
    "lesson",
    "member",
)
SERVICES = (
    "sqs sns dynamodb lambda kms ssm ecs ecr events kinesis logs firehose cognito-idp acm batch "
    "glacier mq scheduler sdb codebuild"
)


def measure_graph() -> Iterator[dict[str, Any]]:
    """Of composed tools, whose number is exact, and of real ones."""
    yield from _measure("", "composed tools", compose_tools(TOOLS))
    if importlib.util.find_spec("botocore"):
        took, harvest = _time(lambda: TOOL_LISTS["botocore"](SERVICES.split()))
        yield _row(
            "services_read",
            f"{len(harvest.sketches):,} tools of {len(SERVICES.split())} real services read",
            took,
        )
        yield from _measure("services_", "tools of real services", harvest.sketches[:TOOLS])


def _measure(prefix: str, what: str, tools: Sequence[ToolSketch]) -> Iterator[dict[str, Any]]:
    took, graph = _time(lambda: asyncio.run(_weave(tools)))
    yield _row(
        f"{prefix}graph_1000",
        f"graph of {len(tools):,} {what}, {graph.count()['links']:,} links, no model",
        took,
    )
    took, domains = _time(lambda: find_domains(graph))
    yield _row(f"{prefix}domains_1000", f"its {len(domains)} domains", took)
    took, drawn = _time(
        lambda: [
            sample_chains(graph, sampler, CHAINS // len(SAMPLERS)) for sampler in SAMPLERS.values()
        ]
    )
    found, tries = sum(len(one.chains) for one in drawn), sum(one.tries for one in drawn)
    refused = sum(one.refused.total() for one in drawn)
    yield _row(
        f"{prefix}chains_10000",
        f"{found:,} valid chains of {len(drawn)} samplers, {tries:,} tries, {refused:,} refused",
        took,
    )


async def _weave(tools: Sequence[ToolSketch]) -> ToolGraph:
    graph = await weave(tools, [NameEvidence(), TableEvidence()])
    assert graph.successors
    return graph


def compose_tools(count: int) -> list[ToolSketch]:
    """Five tools to a thing, each thing with two others it refers to."""
    things = [
        f"{THINGS[number % len(THINGS)]}_{chr(97 + number // 26)}{chr(97 + number % 26)}"
        for number in range(-(-count // 5))
    ]
    return [tool for number in range(len(things)) for tool in _compose_thing(things, number)][
        :count
    ]


def _compose_thing(things: Sequence[str], number: int) -> Iterator[ToolSketch]:
    name, *others = (things[(number + step) % len(things)] for step in (0, 1, 7))
    text = {"type": "string", "description": f"What is written about the {name}."}
    key = {f"{name}_id": {"type": "string"}}
    links = {f"{other}_id": {"type": "string"} for other in others}
    row = {"id": {"type": "string"}, "note": text, "amount": {"type": "number"}, **links}
    one, many = {name: _shape(row)}, {f"{name}s": {"type": "array", "items": _shape(row)}}
    yield _sketch(f"list_{name}s", name, {"word": text}, many)
    yield _sketch(f"get_{name}", name, key, one)
    yield _sketch(
        f"create_{name}", name, {"note": text, "amount": {"type": "number"}, **links}, one
    )
    yield _sketch(f"update_{name}", name, {**key, "note": text}, one)
    yield _sketch(f"delete_{name}", name, key, {})


def _sketch(tool: str, thing: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> ToolSketch:
    changes = not tool.startswith(("list", "get"))
    sketch = ToolSketch(
        name=tool,
        entity=thing,
        description=f"{tool} in words",
        inputs=_shape(inputs),
        outputs=_shape(outputs),
    )
    return sketch.model_copy(update={"writes" if changes else "reads": [thing]})


def _shape(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _time(act: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    done = act()
    return time.process_time() - began, done


def _row(id: str, what: str, measured: float) -> dict[str, Any]:
    return {"id": id, "what": what, "measured": measured, "unit": "s"}
