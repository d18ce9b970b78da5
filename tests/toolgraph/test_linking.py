"""How a chain hangs together, in one line and by kind."""

from envmill.toolgraph.linking import describe_links, list_link_kinds
from schemas.chain import Branch, Chain, ChainStep, FromItem, FromNode, FromUser, Loop, Reason
from tests.toolgraph.parcels import EFFECTS
from tests.toolgraph.test_arguments import CHAIN

MADE = ChainStep(
    id="s3",
    tool="create_parcel",
    arguments={"customer_id": FromNode(node="r1"), "service": FromUser()},
)
USED = ChainStep(
    id="s4",
    tool="fill_parcel",
    arguments={"parcel_id": FromNode(node="s3", path="id"), "order_ids": FromUser()},
)
FIND, PICK, *_ = CHAIN.nodes


def test_each_link_is_told_once() -> None:
    assert describe_links(CHAIN) == (
        "find_customers (one of `[].id`) → list_orders.customer_id; "
        "list_orders (all of `[].id`) → pack_orders.order_ids, note_lines.lines[].order_id; "
        "list_orders (each of `[].id`) → close_order.order_id"
    )
    assert describe_links(Chain(sampler="x", nodes=[FIND, PICK, MADE, USED])) == (
        "find_customers (one of `[].id`) → create_parcel.customer_id; create_parcel (`id`) → "
        "fill_parcel.parcel_id"
    )
    assert describe_links(Chain(sampler="x", nodes=[FIND])) == ""


def test_what_is_worked_out_and_what_only_some_items_get() -> None:
    total = Reason(id="r2", rule="total", takes=[FromNode(node="s1", path="[].due")])
    close = ChainStep(
        id="s5", tool="close_order", arguments={"order_id": FromItem(loop="each1", path="[].id")}
    )
    some = Branch(
        id="if1", left=FromItem(loop="each1", path="[].number"), op="above", right=11, then=[close]
    )
    pay = ChainStep(id="s6", tool="pay", arguments={"amount": FromNode(node="r2")})
    chain = Chain(
        sampler="x",
        nodes=[
            FIND,
            total,
            Loop(id="each1", over=FromNode(node="s1", path="[]"), body=[some]),
            pay,
        ],
    )
    assert describe_links(chain) == (
        "find_customers (some of `[].id`) → close_order.order_id; total of find_customers (all of "
        "`[].due`) → pay.amount"
    )


def test_kinds_of_links() -> None:
    assert list_link_kinds(CHAIN, EFFECTS) == ["list", "pick"]
    assert list_link_kinds(Chain(sampler="x", nodes=[FIND, PICK, MADE, USED]), EFFECTS) == [
        "pick",
        "result",
    ]
    looked = {name: "query" for name in EFFECTS}
    assert list_link_kinds(Chain(sampler="x", nodes=[FIND, PICK, MADE, USED]), looked) == [
        "pick"
    ], "a look-up makes nothing"
    echoed = USED.model_copy(
        update={"arguments": {"parcel_id": FromNode(node="s3", path="service")}}
    )
    assert list_link_kinds(Chain(sampler="x", nodes=[FIND, PICK, MADE, echoed]), EFFECTS) == [
        "pick"
    ], "a word is no id"
