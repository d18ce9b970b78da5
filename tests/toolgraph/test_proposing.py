"""Proposals: domains of a set of tools with tables, tools → tables, and walks that hold."""

import asyncio

import pytest

from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.parameters import Parameters
from envmill.toolgraph.proposing import propose_domains
from envmill.toolgraph.tabling import name_table, propose_tables
from envmill.toolgraph.validity import find_faults
from envmill.toolgraph.weaving import weave
from schemas.database import Column, Table
from schemas.proposal import Proposal
from tests.toolgraph.shop import SHOP


def propose(**licences: str) -> Proposal:
    """The only domain of the shop that is large enough."""
    tools = [tool.model_copy(update={"licence": licences.get(tool.name, "MIT")}) for tool in SHOP]
    (found,) = asyncio.run(propose_domains(tools))
    return found


def find_tables() -> dict[str, Table]:
    tabled = propose_tables(Parameters(SHOP), SHOP, range(len(SHOP)))
    return {one.name: one for one in tabled.tables.values()}


def columns(table: Table) -> dict[str, Column]:
    return {one.name: one for one in table.columns}


def test_what_can_be_selected_is_a_table() -> None:
    tables = find_tables()
    assert set(tables) == {"orders", "customers", "messages", "products", "parcels"}
    orders = columns(tables["orders"])
    assert (tables["orders"].key, orders["customer_id"].references, orders["total"].type) == (
        ["id"],
        "customers.id",
        "real",
    )
    assert {name: orders[name].policy for name in ("id", "status", "note")} == {
        "id": "exempt",
        "status": "hard",
        "note": "semantic",
    }
    assert tables["products"].key == ["sku"]
    # What a customer is found by was not made by any tool here: it is given, and no tool takes it.
    assert set(columns(tables["customers"])) >= {"id", "email", "city", "name"}


def test_every_reference_is_to_a_key() -> None:
    tables = find_tables()
    for column in (one for table in tables.values() for one in table.columns if one.references):
        name, _, key = column.references.partition(".")
        assert tables[name].key == [key]


def test_a_domain_is_proposed_whole() -> None:
    proposal = propose()
    assert proposal.licence == "MIT"
    names = {table.name for table in proposal.tables}
    assert len(proposal.tools) >= 6
    assert all({*tool.reads, *tool.writes} <= names for tool in proposal.tools)
    assert all(bool(tool.writes) == (tool.effect != "query") for tool in proposal.tools)
    graph = asyncio.run(
        weave([*proposal.tools], [NameEvidence(), TableEvidence()], proposal.tables)
    )
    assert len(proposal.walks) >= 10
    assert not [fault for chain in proposal.walks for fault in find_faults(graph, chain)]


def test_licences_are_joined_and_one_unknown_makes_all_unknown() -> None:
    assert propose(get_order="Apache-2.0").licence == "Apache-2.0 AND MIT"
    assert propose(get_order="unknown").licence == "unknown"


@pytest.mark.parametrize(
    ("entity", "name"),
    [
        (("order",), "orders"),
        (("policy",), "policies"),
        (("key",), "keys"),
        (("order", "box"), "order_boxes"),
    ],
)
def test_tables_are_named_in_the_plural(entity: tuple[str, ...], name: str) -> None:
    assert name_table(entity) == name
