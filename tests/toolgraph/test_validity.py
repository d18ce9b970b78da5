"""The one validator: chains that hold pass, and each way in which one can be wrong is seen."""

from typing import Any

import pytest

from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.validity import LIMITS, ChainLimits, find_faults
from schemas.chain import (
    Branch,
    Chain,
    ChainStep,
    FromItem,
    FromNode,
    FromRecord,
    FromUser,
    Loop,
    Node,
    Reason,
    Source,
)

SAY = FromUser()


def of(node: str, path: str = "") -> FromNode:
    return FromNode(node=node, path=path)


def step(id: str, tool: str, **arguments: Source) -> ChainStep:
    return ChainStep(
        id=id,
        tool=tool,
        arguments={path.replace("__", "."): source for path, source in arguments.items()},
    )


FIND = step("a", "find_customer", email=SAY)
LIST = step("b", "list_orders", customer_id=of("a", "customer.id"))
PICK = Reason(id="r", rule="choose", takes=[of("b", "orders[].id"), SAY])
CANCEL = step("c", "cancel_order", order_id=of("r"))
SUM = Reason(id="t", rule="total", takes=[of("b", "orders[].total")])
REFUND = step("d", "refund_order", order_id=of("c", "order.id"), amount=of("t"))
DELETE = step("c", "delete_order", order_id=of("r"))
OPEN = ["order is open"]
STRAIGHT: list[Node] = [FIND, LIST, PICK, CANCEL, SUM, REFUND]
EACH = Loop(
    id="each",
    over=of("b", "orders[]"),
    body=[
        Branch(
            id="if",
            left=FromItem(loop="each", path="orders[].status"),
            op="equals",
            right="open",
            then=[step("c", "cancel_order", order_id=FromItem(loop="each", path="orders[].id"))],
        )
    ],
)
CONTROLLED: list[Node] = [FIND, LIST, EACH]


def judge(
    graph: ToolGraph, nodes: list[Node], given: list[str] = OPEN, limits: ChainLimits = LIMITS
) -> set[str]:
    return {
        fault.code
        for fault in find_faults(graph, Chain(sampler="test", nodes=nodes, given=given), limits)
    }


def swap(nodes: list[Node], *new: Node) -> list[Node]:
    """The same nodes, those of the same id replaced."""
    return [next((one for one in new if one.id == node.id), node) for node in nodes]


def around(**changed: Any) -> list[Node]:
    return [FIND, LIST, EACH.model_copy(update=changed)]


@pytest.mark.parametrize("nodes", [STRAIGHT, CONTROLLED], ids=["straight", "controlled"])
def test_what_holds_passes(shop: ToolGraph, nodes: list[Node]) -> None:
    assert judge(shop, nodes) == set()


WRONG: dict[str, tuple[str, list[Node]]] = {
    "forward": ("not_there_yet", [FIND, PICK, LIST, CANCEL, SUM, REFUND]),
    "unknown node": (
        "unknown_node",
        swap(STRAIGHT, step("b", "list_orders", customer_id=of("x", "customer.id"))),
    ),
    "itself": (
        "circle",
        swap(STRAIGHT, step("b", "list_orders", customer_id=of("b", "orders[].customer_id"))),
    ),
    "circle": (
        "circle",
        [
            FIND,
            step("b", "get_order", order_id=of("c", "order.id")),
            step("c", "cancel_order", order_id=of("b", "order.id")),
        ],
    ),
    "wrong type": (
        "wrong_type",
        swap(
            STRAIGHT,
            step(
                "d", "refund_order", order_id=of("c", "order.id"), amount=of("a", "customer.name")
            ),
        ),
    ),
    "another's id": (
        "another_entity",
        swap(STRAIGHT, step("c", "cancel_order", order_id=of("a", "customer.id"))),
    ),
    "no link": (
        "not_linked",
        swap(STRAIGHT, step("c", "cancel_order", order_id=of("r"), note=of("a", "customer.city"))),
    ),
    "no such output": (
        "no_output",
        swap(STRAIGHT, step("b", "list_orders", customer_id=of("a", "customer.age"))),
    ),
    "no such input": (
        "unknown_argument",
        swap(STRAIGHT, step("a", "find_customer", email=SAY, age=SAY)),
    ),
    "no such tool": ("unknown_tool", swap(STRAIGHT, step("a", "find_person", email=SAY))),
    "required left out": (
        "unbound",
        swap(STRAIGHT, step("d", "refund_order", order_id=of("c", "order.id"))),
    ),
    "an id nobody can say": ("not_said", swap(STRAIGHT, step("b", "list_orders", customer_id=SAY))),
    "no such record": (
        "no_record",
        swap(STRAIGHT, step("b", "list_orders", customer_id=FromRecord(table="x", column="id"))),
    ),
    "many for one": (
        "many",
        swap(STRAIGHT, step("c", "cancel_order", order_id=of("b", "orders[].id"))),
    ),
    "thought unfed": ("unfed", swap(STRAIGHT, SUM.model_copy(update={"takes": []}))),
    "thought of what is said alone": (
        "unfed",
        swap(STRAIGHT, SUM.model_copy(update={"takes": [SAY]})),
    ),
    "choice of one": (
        "underivable",
        swap(STRAIGHT, PICK.model_copy(update={"takes": [of("a", "customer.id"), SAY]})),
    ),
    "choice by another list": (
        "underivable",
        swap(
            STRAIGHT,
            PICK.model_copy(update={"takes": [of("b", "orders[].id"), of("a", "customer.city")]}),
        ),
    ),
    "total of texts": (
        "underivable",
        swap(STRAIGHT, SUM.model_copy(update={"takes": [of("b", "orders[].status")]})),
    ),
    "computed id": (
        "another_entity",
        [FIND, LIST, SUM, step("c", "cancel_order", order_id=of("t"))],
    ),
    "thought nobody uses": (
        "idle",
        [*STRAIGHT, Reason(id="u", rule="count", takes=[of("b", "orders[].id")])],
    ),
    "adrift": ("adrift", [*STRAIGHT, step("e", "search_products", query=SAY)]),
    "twice": ("twice", [*STRAIGHT, step("e", "list_orders", customer_id=of("a", "customer.id"))]),
    "one id for two": ("same_id", [*STRAIGHT, step("a", "search_products", query=SAY)]),
    "too short": ("too_short", [FIND, LIST]),
    "undone before": ("precondition", [*STRAIGHT[:4], step("e", "cancel_order", order_id=of("r"))]),
    "order of conditions": (
        "precondition",
        [
            FIND,
            LIST,
            PICK,
            SUM,
            step("d", "refund_order", order_id=of("r"), amount=of("t")),
            CANCEL,
        ],
    ),
    "what is gone": ("gone", [FIND, LIST, PICK, DELETE, step("e", "get_order", order_id=of("r"))]),
    "item outside": (
        "not_in_loop",
        [
            FIND,
            LIST,
            EACH,
            step("d", "get_order", order_id=FromItem(loop="each", path="orders[].id")),
        ],
    ),
    "body relied on": (
        "not_there_yet",
        [FIND, LIST, EACH, step("d", "get_order", order_id=of("c", "order.id"))],
    ),
    "over one": ("no_list", around(over=of("a", "customer"))),
    "over nobody's": ("unknown_node", around(over=of("x", "orders[]"))),
    "the same for each": ("idle", around(body=[step("c", "search_products", query=SAY)])),
    "empty loop": ("empty", around(body=[])),
    "item of another list": (
        "no_output",
        around(
            body=[step("c", "cancel_order", order_id=FromItem(loop="each", path="refunds[].id"))]
        ),
    ),
    "text above": (
        "no_condition",
        [
            FIND,
            LIST,
            PICK,
            Branch(id="if", left=of("a", "customer.city"), op="above", right="x", then=[CANCEL]),
        ],
    ),
    "text equals a number": (
        "no_condition",
        [
            FIND,
            LIST,
            PICK,
            Branch(id="if", left=of("a", "customer.city"), op="equals", right=3, then=[CANCEL]),
        ],
    ),
    "half a part": (
        "unbound",
        [
            FIND,
            LIST,
            PICK,
            step("e", "ship_order", order_id=of("r"), to__city=of("a", "customer.city")),
        ],
    ),
    "condition on nothing": (
        "no_condition",
        [FIND, LIST, PICK, Branch(id="if", left=SAY, op="equals", right=1, then=[CANCEL])],
    ),
    "arm relied on": (
        "not_there_yet",
        [
            FIND,
            LIST,
            PICK,
            Branch(id="if", left=of("a", "customer.city"), op="equals", right="x", then=[CANCEL]),
            SUM,
            REFUND,
        ],
    ),
    "arm's condition relied on": (
        "precondition",
        [
            *(FIND, LIST, PICK, SUM),
            Branch(id="if", left=of("a", "customer.city"), op="equals", right="x", then=[CANCEL]),
            step("d", "refund_order", order_id=of("r"), amount=of("t")),
        ],
    ),
}


@pytest.mark.parametrize(("code", "nodes"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_seen(shop: ToolGraph, code: str, nodes: list[Node]) -> None:
    assert code in judge(shop, nodes)


@pytest.mark.parametrize("gone", ["r", "t"])
def test_without_its_thought_an_argument_is_underivable(shop: ToolGraph, gone: str) -> None:
    """Deleted it is missing; and no earlier value can stand in for it directly."""
    left = [node for node in STRAIGHT if node.id != gone]
    assert judge(shop, left) == {"unknown_node"}
    direct = "orders[].id" if gone == "r" else "orders[].total"
    assert judge(shop, swap(left, *_rewire(direct))) & {"many", "not_linked"}


def _rewire(path: str) -> list[Node]:
    if path.endswith("id"):
        return [step("c", "cancel_order", order_id=of("b", path))]
    return [step("d", "refund_order", order_id=of("c", "order.id"), amount=of("b", path))]


def test_the_initial_state_may_meet_a_condition_or_not(shop: ToolGraph) -> None:
    assert judge(shop, STRAIGHT, given=[]) == {"precondition"}


def test_what_belongs_to_what_is_gone_stays(shop: ToolGraph) -> None:
    assert (
        judge(
            shop,
            [
                FIND,
                LIST,
                PICK,
                DELETE,
                step("e", "send_message", customer_id=of("a", "customer.id"), text=SAY),
            ],
        )
        == set()
    )


def test_a_part_that_is_optional_is_whole_or_not_there(shop: ToolGraph) -> None:
    bare = step("e", "ship_order", order_id=of("r"))
    whole = step(
        "e", "ship_order", order_id=of("r"), to__city=of("a", "customer.city"), to__street=SAY
    )
    assert judge(shop, [FIND, LIST, PICK, bare]) == judge(shop, [FIND, LIST, PICK, whole]) == set()


def test_limits_are_limits(shop: ToolGraph) -> None:
    assert judge(shop, STRAIGHT, limits=ChainLimits(most=3)) == {"too_long"}
    assert judge(shop, [FIND, LIST], limits=ChainLimits(least=2)) == set()
