"""Identities that several servers of one environment share, as its plan declares them and as a
state holds them."""

from schemas.base import Contract


class SharedIdentity(Contract):
    """One sort of thing that several servers know, each in a table of its own."""

    name: str
    """What it is, for example `person`."""
    key: str
    """Column that names it, in each of the tables. It is not the key of the table: each server
    gives ids of its own."""
    fields: list[str] = []
    """Further columns that each of the tables has. Rows of the same identity have equal values
    there."""
    tables: dict[str, str]
    """Server → the table in which it keeps them."""


class ClaimedIdentity(Contract):
    """One thing that a state holds, and the servers that know it."""

    identity: str
    """Which sort of shared identity."""
    key: str
    """Its value in the key column."""
    servers: list[str]
    """Servers whose table has a row of it."""


def list_servers(shared: list[SharedIdentity]) -> list[str]:
    """Servers of an environment, by name; none where it has one only."""
    return sorted({server for one in shared for server in one.tables})


def find_server(name: str, servers: list[str]) -> str:
    """The server that a tool or a table is named after; empty where there is none."""
    return next((server for server in servers if name.startswith(f"{server}_")), "")
