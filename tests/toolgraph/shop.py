"""A small shop: tools whose graph can be read with the eye."""

from collections.abc import Mapping
from typing import Any

from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.weaving import weave
from schemas.sketch import ToolSketch

TEXT, NUMBER, WHOLE, YES = (
    {"type": "string"},
    {"type": "number"},
    {"type": "integer"},
    {"type": "boolean"},
)


def shape(*wanted: str, **properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object's schema; all is required unless some are named."""
    return {"type": "object", "properties": properties, "required": list(wanted or properties)}


def many(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(item)}


ORDER = shape(
    id=TEXT, customer_id=TEXT, total=NUMBER, status={"type": "string", "enum": ["open", "sent"]}
)
SHOP = [
    ToolSketch(
        name="find_customer",
        inputs=shape(email=TEXT),
        outputs=shape(customer=shape(id=TEXT, name=TEXT, city=TEXT)),
        effect="query",
        reads=["customers"],
    ),
    ToolSketch(
        name="list_orders",
        inputs=shape("customer_id", customer_id=TEXT, limit=WHOLE),
        outputs=shape(orders=many(ORDER)),
        effect="query",
        reads=["orders"],
    ),
    ToolSketch(
        name="get_order",
        inputs=shape(order_id=TEXT),
        outputs=shape(order=ORDER, paid=YES),
        effect="query",
        reads=["orders"],
    ),
    ToolSketch(
        name="cancel_order",
        inputs=shape("order_id", order_id=TEXT, note=TEXT),
        outputs=shape(order=shape(id=TEXT, status=TEXT)),
        effect="change",
        writes=["orders"],
        requires=["order is open"],
        ensures=["not order is open", "order is cancelled"],
    ),
    ToolSketch(
        name="delete_order",
        inputs=shape(order_id=TEXT),
        outputs=shape(order=ORDER),
        effect="change",
        writes=["orders"],
    ),
    ToolSketch(
        name="ship_order",
        inputs=shape(
            "order_id",
            order_id=TEXT,
            to=shape("city", "street", city=TEXT, street=TEXT, floor=WHOLE),
        ),
        outputs=shape(order=ORDER),
        effect="change",
        writes=["orders"],
    ),
    ToolSketch(
        name="refund_order",
        inputs=shape(order_id=TEXT, amount=NUMBER),
        outputs=shape(refund=shape(id=TEXT, amount=NUMBER)),
        effect="change",
        writes=["refunds"],
        requires=["order is cancelled"],
    ),
    ToolSketch(
        name="create_order",
        inputs=shape(customer_id=TEXT, items=many(shape(sku=TEXT, quantity=WHOLE))),
        outputs=shape(order=ORDER),
        effect="change",
        writes=["orders"],
        ensures=["order is open"],
    ),
    ToolSketch(
        name="search_products",
        inputs=shape(query=TEXT),
        outputs=shape(products=many(shape(sku=TEXT, price=NUMBER, stock=WHOLE))),
        effect="query",
        reads=["products"],
    ),
    ToolSketch(
        name="send_message",
        inputs=shape(customer_id=TEXT, text=TEXT),
        outputs=shape(message=shape(id=TEXT)),
        effect="change",
        writes=["messages"],
    ),
    ToolSketch(
        name="get_message",
        inputs=shape(message_id=TEXT),
        outputs=shape(message=shape(id=TEXT, text=TEXT)),
        effect="query",
        reads=["messages"],
    ),
    ToolSketch(
        name="track_parcel",
        inputs=shape(parcel_id=TEXT),
        outputs=shape(parcel=shape(id=TEXT, place=TEXT)),
        effect="query",
    ),
]
"""Nobody gives a parcel's id."""


async def weave_shop() -> ToolGraph:
    return await weave(SHOP, [NameEvidence(), TableEvidence()])
