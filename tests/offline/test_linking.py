"""Labels of the offline author: what has to come first, what may, and what has nothing to do with
it."""

import json

import pytest

import offline as author
from schemas.relation import RelationInput, RelationReply, ToolCard

DELETE = ToolCard(
    name="delete_order", description="Deletes an order.", inputs=["order id (string)"], outputs=[]
)
OTHERS = {
    "create_order": ToolCard(
        name="create_order",
        description="",
        inputs=["customer id (string)"],
        outputs=["order id (string)"],
    ),
    "list_orders": ToolCard(
        name="list_orders",
        description="",
        inputs=[],
        outputs=["order id (string)", "order total (number)"],
    ),
    "get_customer": ToolCard(
        name="get_customer",
        description="",
        inputs=["customer id (string)"],
        outputs=["customer id (string)"],
    ),
    "cancel_order": ToolCard(
        name="terminate_order",
        description="",
        inputs=["order id (string)"],
        outputs=["order id (string)"],
    ),
}


@pytest.mark.parametrize(
    ("other", "label"),
    [
        ("create_order", "strong"),
        ("list_orders", "weak"),
        ("get_customer", "independent"),
        ("cancel_order", "independent"),
    ],
)
def test_a_pair_is_labelled(other: str, label: str) -> None:
    asked = RelationInput(tool=DELETE, others=[OTHERS[other]]).model_dump(mode="json")
    (relation,) = RelationReply.model_validate(
        json.loads(author.answer("label", asked, 7, 0, 0.0))
    ).relations
    assert (relation.label, bool(relation.reason)) == (label, label != "independent")


def test_a_mistake_in_a_label_makes_no_valid_reply() -> None:
    asked = RelationInput(tool=DELETE, others=list(OTHERS.values())).model_dump(mode="json")
    text = author.answer("label", asked, 7, 0, 1.0)
    with pytest.raises(ValueError, match=r".+"):
        RelationReply.model_validate_json(text)
