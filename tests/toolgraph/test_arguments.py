"""A chain with a list argument, a pick, a loop over a bare list and nested objects means one thing
to all that read it."""

from typing import Any

import pytest

from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.rechecking import PlayedChain, find_keys, hold
from envmill.recipes.drafting.tracing import trace
from envmill.sandbox import Program, Reset, Sandbox
from envmill.toolgraph.chain_player import enact
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.experience import gather_experience, weave_experience
from envmill.toolgraph.offers import SIZES, find_offers
from envmill.toolgraph.overlap import match_chain
from envmill.toolgraph.references import walk_nodes
from envmill.toolgraph.rehearsal import RehearsedChain, rehearse_chain
from envmill.toolgraph.samplers import SAMPLERS
from schemas.chain import (
    Chain,
    ChainStep,
    Filling,
    FromItem,
    FromNode,
    FromUser,
    Loop,
    Pick,
    Reason,
)
from schemas.environment import Call, Environment, Test
from schemas.tool_prompts import ChainInput
from tests.specimens import ORIGIN, make_environment
from tests.toolgraph.parcels import CUSTOMER, EFFECTS, PROGRAM, SOURCE, STATE

LINES: Any = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "note": {"type": "string"}},
        "required": ["order_id", "note"],
        "additionalProperties": False,
    },
}
TOOLS = [
    tool.model_copy(update={"parameters": tool.parameters | {"properties": {"lines": LINES}}})
    if tool.name == "note_lines"
    else tool
    for tool in PROGRAM.tools
]
PLACE: Environment = make_environment(SOURCE, entry="program:Parcels", tools=TOOLS, tables=[])
CHAIN = Chain(
    sampler="author",
    nodes=[
        ChainStep(id="s1", tool="find_customers", arguments={"query": FromUser()}),
        Reason(id="r1", rule="choose", takes=[FromNode(node="s1", path="[].id"), FromUser()]),
        ChainStep(id="s2", tool="list_orders", arguments={"customer_id": FromNode(node="r1")}),
        ChainStep(
            id="s3",
            tool="pack_orders",
            arguments={"order_ids": FromNode(node="s2", path="[].id"), "service": FromUser()},
        ),
        ChainStep(
            id="s4",
            tool="note_lines",
            arguments={
                "lines[].order_id": FromNode(node="s2", path="[].id"),
                "lines[].note": FromUser(),
            },
        ),
        Loop(
            id="each1",
            over=FromNode(node="s2", path="[]"),
            body=[
                ChainStep(
                    id="s5",
                    tool="close_order",
                    arguments={"order_id": FromItem(loop="each1", path="[].id")},
                )
            ],
        ),
    ],
)
FILLING = Filling(
    said={"s1.query": "Okafor", "s3.service": "express", "s4.lines[].note": "Fragile"},
    picks={"r1": Pick(path="[].name", equals="Ada Okafor")},
)
ORDERS = ["ord_77aa01c2", "ord_0b12e9d4"]
WORDS = "Okafor, express, Fragile"


def make_test(name: str, **arguments: Any) -> Test:
    call = Call(name=name, arguments=arguments)
    return Test(
        environment=PLACE.id,
        name=name,
        initial_state=STATE,
        setup=[],
        call=call,
        expect="success",
        origin=ORIGIN,
    )


TESTS = [
    make_test("find_customers", query="Okafor"),
    make_test("list_orders", customer_id=CUSTOMER),
    make_test("pack_orders", order_ids=ORDERS, service="express"),
    make_test("create_parcel", customer_id=CUSTOMER, service="express"),
    make_test("note_lines", lines=[{"order_id": ORDERS[0], "note": "Fragile"}]),
    make_test("close_order", order_id=ORDERS[0]),
]


async def test_runner_and_validator_read_the_same_names(jail: Sandbox) -> None:
    done = await enact(CHAIN, FILLING, Program.of(PLACE), Reset(STATE, CLOCK, 0), jail)
    assert [(call.name, call.arguments) for call in done.calls] == [
        ("find_customers", {"query": "Okafor"}),
        ("list_orders", {"customer_id": CUSTOMER}),
        ("pack_orders", {"order_ids": ORDERS, "service": "express"}),
        ("note_lines", {"lines": [{"order_id": order, "note": "Fragile"} for order in ORDERS]}),
        ("close_order", {"order_id": ORDERS[0]}),
        ("close_order", {"order_id": ORDERS[1]}),
    ]
    await hold(CHAIN, PLACE, PlayedChain(done.calls, done.replies, (STATE, done.state), WORDS))
    assert match_chain(CHAIN, done.calls, done.replies).missing == ()


async def test_calls_of_the_chain_are_traced_back_to_one_that_holds(jail: Sandbox) -> None:
    done = await enact(CHAIN, FILLING, Program.of(PLACE), Reset(STATE, CLOCK, 0), jail)
    states = (STATE, done.state)
    traced = trace(done.calls, done.replies, find_keys(states), WORDS, "walk")
    await hold(traced, PLACE, PlayedChain(done.calls, done.replies, states, WORDS))
    assert match_chain(traced, done.calls, done.replies).missing == ()


def test_prompts_name_a_list_argument_as_its_tool_does() -> None:
    told = ChainInput.model_validate(
        {
            "brief": PLACE.brief,
            "name": "",
            "rules": [],
            "tools": PLACE.tools,
            "source": "",
            "number": 0,
            "sampled": CHAIN,
            "binding": True,
        }
    ).model_dump_json()
    assert '"order_ids"' in told
    assert "order_ids[]" not in told


async def test_samplers_draw_list_arguments_that_can_be_carried_out(jail: Sandbox) -> None:
    experience = await gather_experience(PLACE, TESTS, {}, jail)
    graph, tried = await weave_experience(PLACE, experience), 0
    for name in ("backward", "weighted", "program"):
        for chain in sample_chains(graph, SAMPLERS[name], 8, 1, SIZES).chains:
            steps = [one.node for one in walk_nodes(chain.nodes) if isinstance(one.node, ChainStep)]
            assert not [path for step in steps for path in step.arguments if path.endswith("[]")]
            if any(step.tool in ("pack_orders", "note_lines") for step in steps):
                done = await rehearse_chain(chain, Program.of(PLACE), experience, jail, "1")
                if not isinstance(done, RehearsedChain):
                    continue
                assert match_chain(chain, done.calls, done.replies).overlap.nodes_found == len(
                    steps
                )
                tried += 1
    assert tried >= 3


@pytest.mark.long
async def test_what_is_offered_was_carried_out_and_the_rest_is_counted(jail: Sandbox) -> None:
    offers = await find_offers(PLACE, TESTS, {}, ("weighted", "backward"), jail)
    assert offers.chains
    assert offers.drawn == len(offers.chains) + sum(offers.refused.values())
    again = await find_offers(PLACE, TESTS, {}, ("weighted", "backward"), jail)
    assert [one.chain for one in again.chains] == [one.chain for one in offers.chains]
    for one in offers.chains:
        assert match_chain(one.chain, one.calls, one.replies, one.steps).missing == ()
    broken = PLACE.model_copy(
        update={
            "files": {"program.py": SOURCE.replace('self.orders[order_id]["packed"]:', "True:")}
        }
    )
    fewer = await find_offers(broken, TESTS, {}, ("weighted", "backward"), jail)
    assert not [one for one in fewer.chains if "pack_orders" in {call.name for call in one.calls}]
    assert fewer.refused["refused"] > offers.refused.get("refused", 0)


async def test_a_chain_with_a_change_that_leaves_no_mark_is_not_offered(jail: Sandbox) -> None:
    """Packing is accepted and changes nothing: no request asks for it. Without the fault such a
    chain is offered."""
    idle = PLACE.model_copy(
        update={
            "files": {
                "program.py": SOURCE.replace(
                    "self.orders[order_id].update(packed=True, service=service)", "pass"
                )
            }
        }
    )
    offers, fewer = [
        await find_offers(one, TESTS, {}, ("weighted", "backward"), jail) for one in (PLACE, idle)
    ]
    packing = [
        [one for one in found.chains if "pack_orders" in {call.name for call in one.calls}]
        for found in (offers, fewer)
    ]
    assert packing[0]
    assert packing[1] == []
    assert fewer.refused["idle_change"] > offers.refused.get("idle_change", 0)


TAKING_BACK = '''
    def {name}(self, parcel_id: str) -> dict[str, Any]:
        """{summary}.

        Args:
            parcel_id: The parcel.
        """
        if parcel_id not in self.parcels:
            raise Rejection("unknown_parcel", "There is no such parcel.")
        {does}
        return {{"id": parcel_id}}
'''


LABELS = TAKING_BACK.format(
    name="label_parcel",
    summary="Print its label",
    does='self.parcels[parcel_id]["label"] = "printed"',
)


@pytest.mark.parametrize(
    ("name", "does", "offered"),
    [
        pytest.param(
            "remove_parcel", "del self.parcels[parcel_id]", "never", id="ends as it began"
        ),
        pytest.param(
            "cancel_parcel",
            'self.parcels[parcel_id]["service"] = "none"',
            "last",
            id="a row is left",
        ),
        pytest.param(
            "weigh_parcel", 'self.parcels[parcel_id]["grams"] = 200', "any", id="goes on with it"
        ),
    ],
)
async def test_what_takes_back_what_it_made_comes_last_or_never(
    jail: Sandbox, name: str, does: str, offered: str
) -> None:
    source = (
        SOURCE + LABELS + TAKING_BACK.format(name=name, summary="It is about a parcel", does=does)
    )
    tools = KINDS["stateful"].derive_tools(
        source, "Parcels", EFFECTS | {"label_parcel": "change", name: "change"}
    )
    kept = [
        tool
        for tool in tools
        if tool.name in ("find_customers", "create_parcel", "label_parcel", name)
    ]
    place: Environment = make_environment(source, entry="program:Parcels", tools=kept, tables=[])
    there = {"initial_state": STATE | {"parcels": {"par_1": {"id": "par_1"}}}}
    tests = [
        make_test("find_customers", query="Okafor"),
        make_test("create_parcel", customer_id=CUSTOMER, service="express"),
        *(
            make_test(each, parcel_id="par_1").model_copy(update=there)
            for each in ("label_parcel", name)
        ),
    ]
    offers = await find_offers(place, tests, {}, ("weighted", "backward"), jail, results=True)
    with_it = [
        {"create_parcel", name} <= {call.name for call in one.calls} for one in offers.chains
    ]
    assert any(with_it) is (offered != "never")
    assert not all(with_it)
    assert (with_it == sorted(with_it)) is (offered != "any")
