"""Graphs: what each kind of evidence finds, what is refused whatever it says, and what nobody can
supply."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import Outage, SettingsError
from envmill.base.settings import ROOT
from envmill.lake.journal import Journal
from envmill.models.caller import Retries
from envmill.models.gateway import CallPolicy, Gateway
from envmill.models.offline import Author, Offline
from envmill.models.session import ModelSession
from envmill.toolgraph.audit import audit_graph
from envmill.toolgraph.evidence import EVIDENCE
from envmill.toolgraph.evidence.base import (
    CROWD,
    EvidenceInput,
    MissingEvidence,
    ToolBond,
    ValueLink,
)
from envmill.toolgraph.evidence.label import PROMPT, LabelEvidence
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import Parameters
from envmill.toolgraph.partition import find_domains
from envmill.toolgraph.weaving import weave
from schemas.database import Column, Table
from schemas.sketch import ToolSketch
from tests.toolgraph.shop import NUMBER, SHOP, TEXT, WHOLE, YES, many, shape


def links(graph: ToolGraph) -> set[str]:
    """`tool.output>tool.input`, columns by their own name."""

    def render(index: int) -> str:
        one = graph.parameters.all[index]
        return one.path if one.side == "column" else f"{graph.tools[one.owner].name}.{one.path}"

    return {
        f"{render(link.giver)}>{render(link.taker)}"
        for found in graph.links.values()
        for link in found
    }


def give(name: str, inputs: Any = None, outputs: Any = None, **more: Any) -> ToolSketch:
    return ToolSketch(name=name, inputs=inputs or shape(), outputs=outputs or {}, **more)


def test_values_go_where_they_mean_the_same(shop: ToolGraph) -> None:
    found = links(shop)
    assert {
        "find_customer.customer.id>list_orders.customer_id",
        "search_products.products[].sku>create_order.items[].sku",
    } <= found
    assert not any(
        one.endswith("track_parcel.parcel_id") or "paid" in one or one.endswith(".limit")
        for one in found
    )
    assert shop.labels[shop.index["send_message"], shop.index["get_message"]] == "strong"
    assert shop.labels[shop.index["cancel_order"], shop.index["list_orders"]] == "independent"


class Claims:
    """Evidence that says yes to everything."""

    name = "claims"

    async def find(self, scene: EvidenceInput) -> list[ValueLink]:
        return [
            ValueLink(one.index, other.index, 1.0, "claims")
            for one in scene.parameters.all
            for other in scene.parameters.all
        ]


@pytest.mark.parametrize(
    ("output", "input", "reason"),
    [
        pytest.param(
            {"customer_id": TEXT}, {"order_id": TEXT}, "another entity", id="another's id"
        ),
        pytest.param({"order_id": WHOLE}, {"order_id": TEXT}, "type", id="number for a text"),
        pytest.param({"paid": YES}, {"paid": YES}, "no value to give on", id="truth value"),
        pytest.param({"next_token": TEXT}, {"next_token": TEXT}, "steers a reply", id="paging"),
        pytest.param(
            {"day": {**TEXT, "format": "date"}},
            {"day": {**TEXT, "format": "uuid"}},
            "format",
            id="format",
        ),
        pytest.param(
            {"size_name": {**TEXT, "enum": ["s"]}},
            {"size_name": {**TEXT, "enum": ["m"]}},
            "choices",
            id="choices",
        ),
        pytest.param({"order_id": TEXT}, {"order_id": TEXT}, "", id="the same"),
        pytest.param({"order_id": WHOLE}, {"order_id": NUMBER}, "", id="wider"),
        pytest.param(
            {"tag_key": TEXT},
            {"tag_key": TEXT},
            "a mere value of another service",
            id="label of another service",
        ),
        pytest.param({"client_id": TEXT}, {"patron_id": TEXT}, "another entity", id="both known"),
    ],
)
async def test_some_links_are_refused_whatever_evidence_says(
    output: Any, input: Any, reason: str
) -> None:
    graph = await weave(
        [
            give("get_order", outputs=shape(**output)),
            give("cancel_order", shape(**input), service="till" if "tag_key" in input else ""),
        ],
        [Claims()],
    )
    assert set(graph.links) == (set() if reason else {graph.parameters.inputs[1][0].index})
    assert not reason or graph.refused[reason] == 1


async def test_a_crowd_is_thinned_and_counted() -> None:
    stock = [
        give(f"get_order_{number}", outputs=shape(order_id=TEXT), service="far")
        for number in range(CROWD + 5)
    ]
    graph = await weave(
        [
            *stock,
            give("list_orders", outputs=shape(orders=many(shape(id=TEXT)))),
            give("cancel_order", shape(order_id=TEXT)),
        ],
        [NameEvidence()],
    )
    (found,) = graph.links.values()
    assert (len(found), graph.refused["crowded"]) == (CROWD, 6)
    assert graph.tools[graph.parameters.all[found[0].giver].owner].name == "list_orders"


async def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SettingsError, match="put the service before them"):
        await weave([give("ping"), give("ping")], [])


async def test_a_parameter_may_be_said_of_something_else() -> None:
    lines = give(
        "list_lines", shape(id=TEXT), shape(lines=many(shape(id=TEXT))), about={"id": "order"}
    )
    found = links(
        await weave(
            [give("get_order", outputs=shape(id=TEXT)), lines, give("get_line", shape(id=TEXT))],
            [NameEvidence()],
        )
    )
    assert found == {"get_order.id>list_lines.id", "list_lines.lines[].id>get_line.id"}


async def test_records_supply_what_tools_do_not() -> None:
    table = Table(
        name="parcels",
        key=["id"],
        columns=[Column(name="id", type="TEXT"), Column(name="order_id", references="orders.id")],
    )
    graph = await weave(SHOP, [NameEvidence()], [table])
    assert "parcels.id>track_parcel.parcel_id" in links(graph)
    assert "parcels.order_id>get_order.order_id" in links(graph)
    assert audit_graph(graph).unsuppliable == ()


def test_the_audit_names_what_nobody_can_supply(shop: ToolGraph) -> None:
    audit = audit_graph(shop)
    assert [(one.tool, one.path, one.means) for one in audit.unsuppliable] == [
        ("track_parcel", "parcel_id", "parcel id")
    ]
    assert audit.out_of_reach == ("track_parcel",)


async def test_the_audit_sees_circles_and_is_mended_by_telling() -> None:
    egg = give("get_egg", shape(hen_id=TEXT), shape(egg_id=TEXT))
    hen = give("get_hen", shape(egg_id=TEXT), shape(hen_id=TEXT))
    audit = audit_graph(await weave([egg, hen], [NameEvidence()]))
    assert (audit.unsuppliable, audit.out_of_reach) == ((), ("get_egg", "get_hen"))
    told = hen.model_copy(update={"told": {"egg_id": True}})
    assert audit_graph(await weave([egg, told], [NameEvidence()])).out_of_reach == ()


@asynccontextmanager
async def open_account(author: Author, folder: Path) -> AsyncGenerator[ModelSession]:
    """An account behind the one door, as a run has it."""
    journal = Journal(folder / "journal")
    try:
        yield ModelSession(
            Gateway(
                Offline(author, 0.0), journal, {}, 0, discipline=CallPolicy(retries=Retries(()))
            ),
            "environments-generate",
            "graph",
        )
    finally:
        await journal.close()


async def hear(reply: Any, folder: Path) -> list[Any]:
    tools = SHOP[:2]
    async with open_account(
        lambda *_: reply if isinstance(reply, str) else json.dumps(reply), folder
    ) as models:
        return list(await LabelEvidence(models).find(EvidenceInput(tools, Parameters(tools))))


async def test_a_label_stands_above_the_graphs_own(tmp_path: Path) -> None:
    relations = [
        {"other": "find_customer", "label": "strong"},
        {"other": "list_orders", "label": "independent"},
        {"other": "nobody", "label": "weak"},
    ]
    found = await hear({"relations": relations}, tmp_path)
    assert ToolBond(0, 1, 1.0, "label", "strong") in found
    assert found.count(MissingEvidence("label", "names nobody, which was not asked about")) == 2

    class Heard:
        name = "label"

        async def find(self, scene: EvidenceInput) -> list[Any]:
            return found

    graph = await weave(SHOP[:2], [NameEvidence(), Heard()])
    assert (graph.labels, graph.refused["label: names nobody, which was not asked about"]) == (
        {(0, 1): "strong"},
        2,
    )


async def test_a_judge_without_a_usable_reply_is_counted_and_one_that_is_away_is_not_an_answer(
    tmp_path: Path,
) -> None:
    assert await hear("never mind", tmp_path) == [MissingEvidence("label", "no usable reply")] * 2

    def away(*_: Any) -> str:
        raise Outage("nobody is there")

    async with open_account(away, tmp_path / "away") as models:
        with pytest.raises(Outage):
            await LabelEvidence(models).find(EvidenceInput(SHOP[:2], Parameters(SHOP[:2])))


def test_the_prompt_shows_its_example() -> None:
    assert PROMPT.takes is not None
    assert "cancel_order" in PROMPT.render(PROMPT.exemplify(), PROMPT.gives)


def test_every_evidence_bears_its_name() -> None:
    assert {name: one.name for name, one in EVIDENCE.items()} == {name: name for name in EVIDENCE}


def test_domains_hold_every_tool_once(shop: ToolGraph) -> None:
    domains = find_domains(shop)
    assert sorted(tool for one in domains for tool in one.tools) == sorted(shop.index)
    together = next(one for one in domains if "send_message" in one.tools)
    assert "get_message" in together.tools
    assert len({one.name for one in domains}) == len(domains)


PRINT = """
import asyncio
from tests.toolgraph.shop import weave_shop
from tests.toolgraph.printing import render
print(render(asyncio.run(weave_shop())))
"""


def test_nothing_depends_on_the_hash_seed(shop: ToolGraph) -> None:
    from tests.toolgraph.printing import render

    around = os.environ | {
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env=around,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout.strip() == render(shop)
