"""Graphs of tools, one for each environment: which tool gives what another takes, drawn from the
interface and from replies that were seen.

interface, tables ─┐
replies of attempts ┴─► sketches ─► graph, no model asked ─► places on a plane, edges that carry a reference or a needed value
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
# (networkx ships no types)

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress

import networkx as nx
from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter, ValidationError

from envmill.agents.log import StoredCall, read_moves
from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.report.rows import read_shown
from envmill.report.shards import Fragment
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.sketching import sketch_environment
from envmill.toolgraph.weaving import weave
from schemas.base import Json
from schemas.database import Table
from schemas.environment import Environment, Tool

MOST = 150
"""Tools of a graph that is drawn: of more, nobody could read a name."""
_SEEN = 5  # replies of a tool that say what its replies hold
_LONG = 20_000  # characters of a reply that is looked at
_AT_ONCE = 64  # environments held at once

_TOOLS, _TABLES = TypeAdapter(list[Tool]), TypeAdapter(list[Table])

Replies = dict[str, dict[str, list[Json]]]


async def list_graphs(
    lake: Lake, connection: DuckDBPyConnection, run: str, shown: Collection[str]
) -> AsyncIterator[Fragment]:
    """One part for each environment. `shown`: rollouts whose replies are looked at."""
    replies = _gather_replies(lake, run, shown)
    ids = [
        key
        for (key,) in connection.execute(
            "select distinct id from environments where run = ? order by id", [run]
        ).fetchall()
    ]
    for place in range(0, len(ids), _AT_ONCE):
        for key, environment in _read(connection, run, ids[place : place + _AT_ONCE]):
            with suppress(SettingsError):  # two tools of one name: its page says so by its ledger
                yield Fragment(
                    key, "graph", key, 0, await draw_graph(environment, replies.get(key, {}))
                )


def _read(
    connection: DuckDBPyConnection, run: str, keys: Sequence[str]
) -> Iterator[tuple[str, Environment]]:
    """As far as a graph takes, whatever else of a row is amiss; a row whose interface cannot be
    read has none."""
    question = (
        "select id, name, licence, tools, tables from environments where run = ? and id in "
        f"({', '.join('?' * len(keys))})"
    )
    for key, name, licence, tools, tables in connection.execute(question, [run, *keys]).fetchall():
        with suppress(ValidationError):
            told, made = _TOOLS.validate_json(tools), _TABLES.validate_json(tables or "[]")
            yield (
                key,
                Environment.model_construct(name=name, licence=licence, tools=told, tables=made),
            )


async def draw_graph(environment: Environment, replies: Mapping[str, Sequence[Json]]) -> Json:
    """Tools with their places between 0 and 1, and edges: from, to, label, what is given on."""
    sketches = sketch_environment(environment, replies)
    if not 1 < len(sketches) <= MOST:
        return {"tools": [], "edges": [], "count": len(sketches), "bound": 0}
    graph = await weave(sketches, [NameEvidence(), TableEvidence()], environment.tables)
    given = _name_values(graph)
    edges = [
        (first, then, label)
        for (first, then), label in graph.labels.items()
        if label != "independent" and first != then
    ]
    places = _lay_out(len(sketches), edges)
    return {
        "tools": [
            {"name": one.name, "effect": one.effect, "x": x, "y": y}
            for one, (x, y) in zip(sketches, places, strict=True)
        ],
        "edges": [
            [first, then, label, given.get((first, then), "")] for first, then, label in edges
        ],
        "count": len(sketches),
        "bound": sum(label == "independent" for label in graph.labels.values()),
    }


def _name_values(graph: ToolGraph) -> dict[tuple[int, int], str]:
    """Pair of tools → the value that the strongest link between them gives on, as the second calls
    it."""
    found, all = dict[tuple[int, int], str](), graph.parameters.all
    for taker, links in graph.links.items():
        for link in links:
            found.setdefault((all[link.giver].owner, all[taker].owner), all[taker].path)
    return found


def _lay_out(count: int, edges: Sequence[tuple[int, int, str]]) -> list[tuple[float, float]]:
    """Tools that lead to one another lie close; those that nothing leads to or from stand in rows
    below."""
    drawn = nx.Graph()
    drawn.add_edges_from((first, then) for first, then, _ in edges)
    alone = [tool for tool in range(count) if tool not in drawn]
    share = 0.0 if not drawn else 1.0 if not alone else 0.8
    laid = (
        nx.spring_layout(drawn, seed=1, iterations=60, k=1.5 / max(1, len(drawn)) ** 0.5)
        if drawn
        else {}
    )
    low = [min((float(place[axis]) for place in laid.values()), default=0.0) for axis in (0, 1)]
    wide = [
        max((float(place[axis]) for place in laid.values()), default=1.0) - low[axis] or 1.0
        for axis in (0, 1)
    ]
    places = {
        tool: ((float(x) - low[0]) / wide[0], (float(y) - low[1]) / wide[1] * share)
        for tool, (x, y) in laid.items()
    }
    rows = max(1, -(-len(alone) // 5))
    for number, tool in enumerate(alone):
        places[tool] = (
            (number % 5 + 0.5) / 5,
            share + (1 - share) * (number // 5 + 1) / (rows + 1),
        )
    return [(round(places[tool][0], 4), round(places[tool][1], 4)) for tool in range(count)]


def _gather_replies(lake: Lake, run: str, shown: Collection[str]) -> Replies:
    found: Replies = defaultdict(lambda: defaultdict(list))
    for row in read_shown(lake, run, shown):
        held = found[row["environment"]]
        for move in read_moves(row["transcript"]):
            if (
                isinstance(move, StoredCall)
                and move.deed.outcome == "ok"
                and len(held[move.call.name]) < _SEEN
            ):
                values = [part["value"] for part in move.deed.parts if part["type"] == "json"]
                held[move.call.name] += [value for value in values if len(str(value)) <= _LONG]
    return found
