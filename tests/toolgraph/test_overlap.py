"""A path compared with a sampled chain: what contains it passes, and each thing that is left out is
named with its place."""

from typing import Any

import pytest

from envmill.toolgraph.overlap import match_chain
from schemas.chain import Chain, ChainStep, FromItem, FromNode, FromUser, Loop, Node, Reason
from schemas.environment import Call

SAY = FromUser()
FIND = ChainStep(id="s1", tool="find_customers", arguments={"query": SAY})
WHO = Reason(id="r1", rule="choose", takes=[FromNode(node="s1", path="[].id"), SAY])
LIST = ChainStep(id="s2", tool="list_orders", arguments={"customer_id": FromNode(node="r1")})
PACK = ChainStep(
    id="s3",
    tool="pack_orders",
    arguments={"order_ids": FromNode(node="s2", path="[].id"), "service": SAY},
)
SUM = Reason(id="t1", rule="total", takes=[FromNode(node="s2", path="[].fee")])
CHARGE = ChainStep(
    id="s4",
    tool="charge",
    arguments={"customer_id": FromNode(node="r1"), "amount": FromNode(node="t1")},
)
NOTE = ChainStep(
    id="s5",
    tool="note_lines",
    arguments={"lines[].order_id": FromNode(node="s2", path="[].id"), "lines[].note": SAY},
)
EACH = Loop(
    id="each1",
    over=FromNode(node="s2", path="[]"),
    body=[
        ChainStep(
            id="s6",
            tool="close_order",
            arguments={"order_id": FromItem(loop="each1", path="[].id")},
        )
    ],
)
NODES: list[Node] = [FIND, WHO, LIST, PACK, SUM, CHARGE, NOTE, EACH]
ORDERS = [{"id": "o1", "fee": 2}, {"id": "o2", "fee": 3}]
Step = tuple[str, dict[str, Any], Any]
PATH: list[Step] = [
    ("find_customers", {"query": "Okafor"}, [{"id": "c1"}, {"id": "c2"}]),
    ("list_orders", {"customer_id": "c2"}, ORDERS),
    ("pack_orders", {"order_ids": ["o2", "o1"], "service": "express"}, []),
    ("charge", {"customer_id": "c2", "amount": 5}, {}),
    (
        "note_lines",
        {"lines": [{"order_id": "o1", "note": "x"}, {"order_id": "o2", "note": "y"}]},
        2,
    ),
    ("close_order", {"order_id": "o1"}, {}),
    ("close_order", {"order_id": "o2"}, {}),
]


def match(
    path: list[Step], nodes: list[Node] = NODES
) -> tuple[float, list[tuple[str, int | None]]]:
    calls = [Call(name=name, arguments=arguments) for name, arguments, _ in path]
    found = match_chain(Chain(sampler="test", nodes=nodes), calls, [reply for *_, reply in path])
    return found.overlap.share, [(part.node, part.index) for part in found.missing]


def put(place: int, **arguments: Any) -> list[Step]:
    name, before, reply = PATH[place]
    return [*PATH[:place], (name, before | arguments, reply), *PATH[place + 1 :]]


LOOK: Step = ("find_customers", {"query": "Ben"}, [{"id": "c9"}])


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(PATH, id="as it was sampled"),
        pytest.param([LOOK, *PATH[:2], LOOK, *PATH[2:], LOOK], id="other calls in between"),
        pytest.param(put(2, order_ids=["o1"]), id="some of a list"),
        pytest.param(
            [("list_orders", {"customer_id": "c9"}, [{"id": "o9", "fee": 1}]), *PATH],
            id="the same tool before",
        ),
    ],
)
def test_what_contains_the_chain_passes(path: list[Step]) -> None:
    assert match(path) == (1.0, [])


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        pytest.param([*PATH[:2], *PATH[3:]], ("s3", None), id="a call left out"),
        pytest.param([*PATH[:2], PATH[3], PATH[2], *PATH[4:]], ("s3", None), id="another order"),
        pytest.param(put(2, order_ids=["o9"]), ("s3", 3), id="a list from elsewhere"),
        pytest.param(put(2, order_ids=["o1", "o9"]), ("s3", 3), id="one of a list from elsewhere"),
        pytest.param(put(1, customer_id="c9"), ("s2", 2), id="an id from elsewhere"),
        pytest.param(put(3, amount=6), ("s4", 4), id="another total"),
        pytest.param(
            put(4, lines=[{"order_id": "o9", "note": "x"}]),
            ("s5", 5),
            id="part of an object from elsewhere",
        ),
        pytest.param(put(4, lines=[]), ("s5", 5), id="an argument left out"),
        pytest.param(PATH[:-1], ("s6", 6), id="a loop that ends early"),
        pytest.param(
            [*PATH[:5], ("close_order", {"order_id": "o9"}, {})],
            ("s6", 6),
            id="an item from elsewhere",
        ),
    ],
)
def test_what_is_left_out_is_named_with_its_place(
    path: list[Step], missing: tuple[str, int | None]
) -> None:
    share, found = match(path)
    assert share < 1
    assert missing in found


def test_a_text_composed_of_values_contains_them() -> None:
    text = Reason(id="t1", rule="compose", takes=[FromNode(node="s2", path="[].id")])
    write = ChainStep(id="s3", tool="write", arguments={"text": FromNode(node="t1")})
    nodes: list[Node] = [FIND, WHO, LIST, text, write]
    assert match([*PATH[:2], ("write", {"text": "About order o2."}, {})], nodes) == (1.0, [])
    assert match([*PATH[:2], ("write", {"text": "About an order."}, {})], nodes)[1] == [("s3", 3)]


def test_steps_that_the_sample_did_not_carry_out_are_not_asked_for() -> None:
    calls = [Call(name=name, arguments=arguments) for name, arguments, _ in PATH[:3]]
    found = match_chain(
        Chain(sampler="test", nodes=NODES),
        calls,
        [reply for *_, reply in PATH[:3]],
        {"s1", "s2", "s3"},
    )
    assert (found.overlap.share, found.missing) == (1.0, ())
