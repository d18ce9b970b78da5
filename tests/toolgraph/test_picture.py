"""A chain is drawn: every node once, an edge for each value, and what stands inside a loop or a
branch."""

import pytest

from envmill.toolgraph.picture import embed, render_chain
from flows.cli.telling import TOLD
from schemas.chain import Chain
from tests.recipes.test_chain_examples import read_example

LINES = """
flowchart TD
    s1["find_customers<br/>said: query"]
    r1{{"choose"}}
    s2["list_orders"]
    s3["create_parcel<br/>said: service"]
    s4["fill_parcel"]
    s1 -->|"[].id"| r1
    r1 -->|"customer_id"| s2
    r1 -->|"customer_id"| s3
    s3 -->|"id → parcel_id"| s4
    s2 -->|"[].id → order_ids"| s4
"""


def test_a_chain_is_drawn_with_the_way_of_each_value() -> None:
    chain = read_example("autoforge/dag.md")["chain"]
    drawn = list(render_chain(Chain.model_validate(chain)))
    assert drawn == LINES.strip("\n").splitlines()
    assert list(TOLD["drafts", "chain"](chain, {})) == drawn, "`envmill show` prints it"
    assert embed(drawn).splitlines()[0] == "```mermaid"


@pytest.mark.parametrize(
    "line",
    [
        'e1[["for each"]]', 's1 -->|"orders[]"| e1', 'e1 -->|"orders[].id → order_id"| s2', "b1 -.-> s2",
        'b1{"equals #quot;late#quot;"}', 'e1 -->|"orders[].state"| b1', "e1 -.-> b1", 's3["note<br/>text = texts.body"]',
    ],
)  # fmt: skip
def test_what_stands_in_a_loop_or_a_branch_hangs_on_it(line: str) -> None:
    item = {"kind": "item", "loop": "e1", "path": "orders[].id"}
    step = {"kind": "step", "id": "s2", "tool": "close", "arguments": {"order_id": item}}
    branch = {
        "kind": "if",
        "id": "b1",
        "left": item | {"path": "orders[].state"},
        "op": "equals",
        "right": '"late"',
        "then": [step],
    }
    loop = {
        "kind": "each",
        "id": "e1",
        "over": {"kind": "node", "node": "s1", "path": "orders[]"},
        "body": [branch],
    }
    note = {
        "kind": "step",
        "id": "s3",
        "tool": "note",
        "arguments": {"text": {"kind": "record", "table": "texts", "column": "body"}},
    }
    chain = {
        "sampler": "author",
        "nodes": [{"kind": "step", "id": "s1", "tool": "list"}, loop, note],
    }
    assert f"    {line}" in list(render_chain(Chain.model_validate(chain)))
