"""A graph that was carried out is held to what its author says of it: what reasoning gives, and
which rows are needed."""

from typing import Any

import pytest

from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.dag import list_dag_complaints
from envmill.sandbox import Program, Reset, Sandbox
from envmill.toolgraph.chain_player import enact
from schemas.run import DagCheck, RunConfig
from schemas.tool_prompts import DagReply
from tests.recipes.test_chain_examples import read_example
from tests.toolgraph.test_arguments import PLACE

EXAMPLE = read_example("autoforge/dag.md")
CHECKS = RunConfig().dag
ALONE = {"customers": {"columns": ["id", "name"], "rows": [["cus_1a", "Ada Okafor"]]}}


async def judge(
    jail: Sandbox, checks: tuple[DagCheck, ...] = CHECKS, **changes: Any
) -> list[tuple[str, str]]:
    """Codes and words of what is wrong with the prompt's own example, changed so."""
    reply = DagReply.model_validate(EXAMPLE | changes)
    reset = Reset(reply.initial_state, CLOCK, 0)
    done = await enact(reply.chain, reply.filling, Program.of(PLACE), reset, jail)
    return [
        (one.code, one.words)
        for one in await list_dag_complaints(reply, done, checks, PLACE, reset, jail)
    ]


async def test_the_example_of_the_prompt_stands(jail: Sandbox) -> None:
    assert await judge(jail) == []


@pytest.mark.parametrize(
    ("needed", "code", "words"),
    [
        (
            {"customers": ["cus_1a"], "orders": ["ord_3c"]},
            "row_missing",
            "on the rows of `needed` alone, s4 calls",
        ),
        (
            {"orders": ["ord_3c", "ord_4d"]},
            "row_missing",
            "orders.ord_3c refers to customers.cus_1a",
        ),
        ({"customers": ["cus_1a"]}, "row_missing", "on the rows of `needed` alone"),
        ({}, "row_missing", "on the rows of `needed` alone"),
        (
            {"customers": ["cus_1a", "cus_2b"], "orders": ["ord_3c", "ord_4d"]},
            "row_not_needed",
            "without customers.cus_2b",
        ),
        ({"customers": ["cus_9z"]}, "row_unknown", "customers.cus_9z"),
        ({"nowhere": ["cus_1a"]}, "row_unknown", "nowhere.cus_1a"),
    ],
)
async def test_the_rows_that_are_named_are_enough_and_each_is_needed(
    needed: Any, code: str, words: str, jail: Sandbox
) -> None:
    found = await judge(jail, needed=needed)
    assert {one for one, _ in found} == {code}
    assert words in found[0][1]
    assert await judge(jail, ("derivable", "reasoning"), needed=needed) == []
    assert await judge(jail, needed=needed, polarity="refuse") == [], (
        "a path that only reads shows no rows that it needs"
    )


async def test_a_row_that_a_needed_one_refers_to_is_needed_though_the_program_would_not_miss_it(
    jail: Sandbox,
) -> None:
    """An order knows its customer. The program never looks, and a state without that row breaks a
    promise all the same."""
    orders = {
        "columns": ["id", "customer_id", "parcel_id", "agent_id"],
        "rows": [["ord_3c", "cus_1a", None, "agt_7f"]],
    }
    state = EXAMPLE["initial_state"] | {
        "orders": orders,
        "agents": {"columns": ["id"], "rows": [["agt_7f"], ["agt_8a"]]},
    }
    needed = {"customers": ["cus_1a"], "orders": ["ord_3c"], "agents": ["agt_7f"]}
    assert await judge(jail, initial_state=state, needed=needed) == []
    (missing,) = await judge(jail, initial_state=state, needed=needed | {"agents": []})
    assert missing == (
        "row_missing",
        "orders.ord_3c refers to agents.agt_7f, which `needed` does not name",
    )
    (idle,) = await judge(
        jail, initial_state=state, needed=needed | {"agents": ["agt_7f", "agt_8a"]}
    )
    assert idle[0] == "row_not_needed"


@pytest.mark.parametrize(
    ("claims", "words"),
    [({"r1": "cus_2b"}, "`claims` says 'cus_2b'"), ({}, "`claims` does not say")],
)
async def test_what_reasoning_gives_is_compared_with_what_the_author_says(
    claims: Any, words: str, jail: Sandbox
) -> None:
    ((code, told),) = await judge(jail, claims=claims)
    assert (code, words in told) == ("claim_differs", True)
    assert await judge(jail, ("derivable", "exact"), claims=claims) == []


async def test_a_number_is_worked_out_again(jail: Sandbox) -> None:
    count = {
        "kind": "reason",
        "id": "r2",
        "rule": "count",
        "takes": [{"kind": "node", "node": "s2", "path": "[].id"}],
    }
    chain = EXAMPLE["chain"] | {"nodes": [*EXAMPLE["chain"]["nodes"], count]}
    assert await judge(jail, chain=chain, claims={"r1": "cus_1a", "r2": 2}) == []
    assert await judge(jail, chain=chain, claims={"r1": "cus_1a", "r2": 3}) == [
        ("claim_differs", "r2 (count) gives 2, and `claims` says 3")
    ]


async def test_a_choice_of_the_only_row_works_nothing_out(jail: Sandbox) -> None:
    alone = EXAMPLE["initial_state"] | ALONE
    assert [code for code, _ in await judge(jail, initial_state=alone)] == ["no_reasoning"]
    assert await judge(jail, ("derivable", "exact"), initial_state=alone) == []
    assert await judge(jail, initial_state=alone, polarity="refuse") == []


async def test_what_only_a_session_knows_is_not_claimed(jail: Sandbox) -> None:
    """The id of the new parcel is another one in every session."""
    made = {
        "kind": "reason",
        "id": "r2",
        "rule": "compose",
        "takes": [{"kind": "node", "node": "s3", "path": "id"}],
    }
    chain = EXAMPLE["chain"] | {"nodes": [*EXAMPLE["chain"]["nodes"], made]}
    assert await judge(jail, chain=chain) == []


async def test_each_node_is_needed(jail: Sandbox) -> None:
    again = EXAMPLE["chain"]["nodes"][0] | {"id": "s0"}
    chain = EXAMPLE["chain"] | {"nodes": [again, *EXAMPLE["chain"]["nodes"]]}
    filling = EXAMPLE["filling"] | {"said": EXAMPLE["filling"]["said"] | {"s0.query": "Okafor"}}
    assert [code for code, _ in await judge(jail, chain=chain, filling=filling)] == [
        "node_not_needed"
    ]
    assert await judge(jail, ("reasoning", "exact"), chain=chain, filling=filling) == []
