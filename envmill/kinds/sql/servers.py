"""Several servers in one environment: each keeps to tools and tables of its own, and rows of a
shared identity agree.

plan ─┬─ tools, tables, references: named after one server, and within it
      └─ shared identities ─► tables ─► rows: under one key, equal fields
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from schemas.base import Json, canonical_json, is_object
from schemas.database import Table
from schemas.environment import Blueprint
from schemas.servers import SharedIdentity, find_server, list_servers


def find_server_faults(plan: Blueprint) -> Iterator[str]:
    """What is wrong with the servers of a plan, before its tables are known."""
    servers, wanted = list_servers(plan.shared), plan.brief.servers or 1
    if wanted > 1 and len(servers) != wanted:
        yield f"{wanted} servers are asked for, and `shared` names {', '.join(servers) or 'none'}."
    yield from (
        f"{one.name} is shared by one server: name a table of each server that knows it."
        for one in plan.shared
        if len(one.tables) < 2
    )
    for one in servers:
        if nested := [other for other in servers if other.startswith(f"{one}_")]:
            yield f"Server {nested[0]} begins with the name of server {one}: give it another one."
        own = [tool for tool in plan.tools if find_server(tool.name, servers) == one]
        if {tool.effect for tool in own} != {"query", "change"}:
            yield (
                f"Server {one} needs tools that read and tools that change something, named "
                f"`{one}_…`."
            )
    for tool in plan.tools if servers else ():
        if not find_server(tool.name, servers):
            yield (
                f"{tool.name} is a tool of no server: begin its name with one of "
                f"{', '.join(servers)}."
            )


def find_table_faults(plan: Blueprint, tables: Sequence[Table]) -> Iterator[str]:
    """Tables that belong to no server, references from one server into another, and shared
    identities without their columns."""
    servers, known = list_servers(plan.shared), {table.name: table for table in tables}
    for table in tables if servers else ():
        own = find_server(table.name, servers)
        if not own:
            yield (
                f"The table {table.name} belongs to no server: begin its name with one of "
                f"{', '.join(servers)}."
            )
        for column in table.columns:
            target = column.references.partition(".")[0] if column.references else ""
            if target and find_server(target, servers) != own:
                yield (
                    f"{table.name}.{column.name} refers to {target}, a table of another server: "
                    "a server knows its own ids alone."
                )
    for one in plan.shared:
        for server, name in one.tables.items():
            columns = (
                {column.name for column in known[name].columns} if name in known else set[str]()
            )
            if find_server(name, servers) != server or name not in known:
                yield (
                    f"`shared` keeps {one.name} of server {server} in {name}, which is no table "
                    "of it."
                )
            elif lacking := [column for column in (one.key, *one.fields) if column not in columns]:
                yield f"{name} lacks the column {lacking[0]}, which {one.name} shares."


def find_foreign_touches(plan: Blueprint) -> Iterator[str]:
    """Tools that touch tables of another server."""
    servers = list_servers(plan.shared)
    for tool in plan.tools if servers else ():
        touch = plan.touches.get(tool.name)
        foreign = list_foreign(
            tool.name, [*touch.reads, *touch.writes] if touch else [], plan.shared
        )
        if foreign:
            yield (
                f"{tool.name} touches {', '.join(foreign)}, of another server: the agent carries "
                "values from one server to another."
            )


def list_foreign(tool: str, touched: Sequence[str], shared: list[SharedIdentity]) -> list[str]:
    """Tables of these that do not belong to the server of the tool; none where there is one
    server."""
    servers = list_servers(shared)
    return (
        [name for name in touched if find_server(name, servers) != find_server(tool, servers)]
        if servers
        else []
    )


def hold_identities(
    shared: Sequence[SharedIdentity], state: Mapping[str, Json]
) -> dict[tuple[str, str], dict[str, list[Json]]]:
    """(Identity, value of its key) → server → its rows in this state."""
    held = defaultdict[tuple[str, str], dict[str, list[Json]]](dict)
    for one in shared:
        for server, table in one.tables.items():
            rows = state.get(table)
            for row in rows.values() if is_object(rows) else ():
                if is_object(row):
                    held[one.name, str(row.get(one.key))].setdefault(server, []).append(row)
    return held


def find_unlike(shared: Sequence[SharedIdentity], state: Mapping[str, Json]) -> Iterator[str]:
    """Identities of which two servers hold different values."""
    fields = {one.name: one.fields for one in shared}
    for (name, key), homes in hold_identities(shared, state).items():
        for field in fields[name]:
            values = {
                server: sorted({canonical_json(row.get(field)) for row in rows})
                for server, rows in homes.items()
            }
            if len({tuple(told) for told in values.values()}) > 1 or any(
                len(told) > 1 for told in values.values()
            ):
                told = "; ".join(
                    f"{server}: {' and '.join(value)}" for server, value in sorted(values.items())
                )
                yield f"{name} {key!r} differs in {field} ({told})"


def find_identity_faults(plan: Blueprint) -> Iterator[str]:
    """What is wrong with the rows of a plan: no identity that two servers know, or one that
    differs."""
    if not plan.shared:
        return
    if not any(len(homes) > 1 for homes in hold_identities(plan.shared, plan.rows).values()):
        yield (
            "No shared identity stands in the tables of two servers: let some have rows under "
            "the same key in both."
        )
    yield from (
        f"{words}: rows of one identity agree." for words in find_unlike(plan.shared, plan.rows)
    )
