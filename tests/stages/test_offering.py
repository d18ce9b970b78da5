"""Chains offered as contracts: an author that leaves one is caught, one that keeps it never; what
is infeasible leads to another chain."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.recipes.drafting.errands import BlockPlan, ErrandBlock, ErrandBrief
from envmill.recipes.drafting.offered import OfferedChain
from envmill.sandbox import Sandbox
from envmill.stages.context import Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.offering import MORE
from envmill.stages.places import ScenarioSlot
from envmill.stages.posing import execute
from envmill.toolgraph.linking import describe_links
from envmill.toolgraph.offers import ChainOffers, find_offers
from envmill.toolgraph.overlap import list_flows
from envmill.toolgraph.references import list_tools, walk_nodes
from envmill.toolgraph.rehearsal import RehearsedChain
from schemas.chain import Chain, ChainStep, FromNode
from schemas.environment import Build, Call
from schemas.errand_plan import ErrandLine, PlannedErrand
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from schemas.scenario import Draft
from schemas.tool_prompts import SampledReply
from tests.soak import count
from tests.stages.test_posing import Nobody
from tests.toolgraph.parcels import CUSTOMER, OTHER, STATE
from tests.toolgraph.test_arguments import PLACE, TESTS

FULL = STATE | {
    "parcels": {"par_old": {"id": "par_old", "customer_id": CUSTOMER, "service": "express"}}
}
FILL = Call(name="fill_parcel", arguments={"parcel_id": "par_old", "order_ids": ["ord_77aa01c2"]})
MAKING_TESTS = [test.model_copy(update={"initial_state": FULL}) for test in TESTS]
MAKING_TESTS += [TESTS[0].model_copy(update={"name": "fill", "initial_state": FULL, "call": FILL})]
SLOT = ScenarioSlot(PLACE, 0, tests=tuple(TESTS))
Answer = Callable[[OfferedChain | None], dict[str, Any]]


def keep_to(offered: OfferedChain | None) -> dict[str, Any]:
    """An author that carries the chain out as it was carried out, and names what the path makes by
    its result."""
    if offered is None:
        return {"oracle": [Call(name="close_order", arguments={"order_id": "ord_77aa01c2"})]}
    calls = {call.name: (number, call) for number, call in enumerate(offered.calls, 1)}
    made = [
        flow
        for flow in list_flows(offered.chain)
        if isinstance(flow.source, FromNode) and flow.source.path == "id"
    ]
    tools = {
        one.node.id: one.node.tool
        for one in walk_nodes(offered.chain.nodes)
        if isinstance(one.node, ChainStep)
    }
    for flow in made:
        number, call = calls[tools[flow.step]]
        given = {flow.argument: {"from": calls[tools[flow.givers[0]]][0], "path": "/id"}}
        calls[call.name] = number, call.model_copy(update={"arguments": call.arguments | given})
    return {
        "oracle": [
            calls[call.name][1] if calls[call.name][0] == number else call
            for number, call in enumerate(offered.calls, 1)
        ]
    }


def refuse(offered: OfferedChain | None) -> dict[str, Any]:
    return {"infeasible": {"node": "s2", "reason": "It is Sunday."}} if offered else keep_to(None)


@dataclass
class Script:
    """A recipe whose author answers by what it is offered."""

    answer: Answer
    samplers: tuple[str, ...] = ("weighted", "backward")
    operators = ()
    poses = True
    offered: list[OfferedChain | None] = field(default_factory=list[OfferedChain | None])

    async def pose(self, brief: ScenarioBrief, repair: Any, models: Any) -> ScenarioReply:
        self.offered.append(brief.offered)
        told = {
            "initial_state": STATE,
            "request": "Pack Ada Okafor's orders.",
            "polarity": brief.polarity,
        }
        return SampledReply.model_validate({"oracle": [], **told, **self.answer(brief.offered)})


def make_context(sandbox: Sandbox, script: Script, **config: Any) -> RunContext:
    nothing: Any = None
    settled = RunConfig.model_validate(
        {"seed": 3, "rehearse": False, "polarities": {"achieve": 1}, **config}
    )
    return RunContext("r", settled, nothing, cast(Any, script), nothing, sandbox)


async def generate(
    sandbox: Sandbox, script: Script, slot: ScenarioSlot = SLOT, **config: Any
) -> Result:
    return await generate_draft(
        Subject("x", "y", "t", slot), make_context(sandbox, script, **config), cast(Any, Nobody())
    )


def list_offers(result: Result) -> list[tuple[str, str, str]]:
    return [
        (one.gate, one.outcome, one.reason)
        for one in result.findings
        if one.gate.startswith("offer")
    ]


async def test_a_chain_that_is_kept_to_is_recorded_with_its_sampler(sandbox: Sandbox) -> None:
    script = Script(keep_to)
    result = await generate(sandbox, script)
    (draft,) = (one for one in result.records if isinstance(one, Draft))
    assert draft.overlap is not None
    assert (draft.overlap.share, draft.overlap.sampler in script.samplers) == (1.0, True)
    assert list_offers(result) == [("offer_1", "kept", "")]
    (offered,) = script.offered
    assert offered is not None
    assert offered.binding


async def test_a_chain_that_is_left_is_sent_back_with_what_is_missing(sandbox: Sandbox) -> None:
    script = Script(
        lambda _: {"oracle": [Call(name="close_order", arguments={"order_id": "ord_77aa01c2"})]}
    )
    result = await generate(sandbox, script)
    builds = [one for one in result.records if isinstance(one, Build)]
    assert len(builds) == 4
    assert all("node s" in one.failure and "infeasible" in one.failure for one in builds)
    assert result.stopped_by is not None
    assert (result.stopped_by.gate, result.stopped_by.reason) == ("oracle", "chain_left")


async def test_another_chain_is_offered_where_one_is_infeasible(sandbox: Sandbox) -> None:
    script = Script(
        lambda offered: refuse(offered) if len(script.offered) == 1 else keep_to(offered)
    )
    result = await generate(sandbox, script)
    assert list_offers(result) == [
        ("offer_1", "not_applicable", "infeasible"),
        ("offer_2", "kept", ""),
    ]
    first, second, *again = script.offered
    assert all(one == second for one in again), "a repair is offered the chain that it repairs"
    assert first is not None
    assert second is not None
    assert first.chain != second.chain
    (finding, *_) = (one for one in result.findings if one.reason == "infeasible")
    assert (finding.evidence["node"], finding.evidence["reason"]) == ("s2", "It is Sunday.")
    assert "It is Sunday." in finding.detail


def _draw_linked(sampler: str, *tools: str) -> RehearsedChain:
    """Tools that take the order of the first one."""
    steps = [
        ChainStep(id=f"s{place}", tool=tool, arguments={"order_id": FromNode(node="s1", path="id")})
        for place, tool in enumerate(tools, 1)
    ]
    first = steps[0].model_copy(update={"arguments": {}})
    return RehearsedChain(Chain(sampler=sampler, nodes=[first, *steps[1:]]), (), (), ())


@pytest.mark.parametrize(
    ("node", "order"),
    [
        pytest.param("s2", ["0", "2", "1"], id="its link comes last"),
        pytest.param("s1", ["0", "1", "2"], id="nothing goes into the first step"),
        pytest.param("s9", ["0", "1", "2"], id="no such node"),
    ],
)
async def test_a_link_that_was_refused_is_not_the_next_to_be_offered(
    sandbox: Sandbox, node: str, order: list[str]
) -> None:
    """It is offered again only where every other chain has it, too."""
    chains = (
        _draw_linked("0", "make", "pay"),
        _draw_linked("1", "make", "note", "pay"),
        _draw_linked("2", "make", "send"),
    )
    script = Script(
        lambda offered: (
            {"infeasible": {"node": node, "reason": "It has no day."}} if offered else keep_to(None)
        )
    )
    context = make_context(sandbox, script)

    async def make() -> ChainOffers:
        return ChainOffers(chains)

    await context.offers.find(PLACE.id, make)
    await generate_draft(Subject("x", "y", "t", SLOT), context, cast(Any, Nobody()))
    assert [one.chain.sampler for one in script.offered if one is not None][:3] == order


REFUSED = [(f"offer_{turn}", "not_applicable", "infeasible") for turn in range(1, MORE + 2)]
LAST = (f"offer_{MORE + 2}", "not_applicable", "all_infeasible")


async def test_who_finds_every_chain_infeasible_chooses_the_path(sandbox: Sandbox) -> None:
    script = Script(refuse)
    result = await generate(sandbox, script)
    assert [one is None for one in script.offered[: MORE + 2]] == [*[False] * (MORE + 1), True]
    assert list_offers(result) == [*REFUSED, LAST]
    assert [one.overlap for one in result.records if isinstance(one, Draft)] == [None]


async def test_who_finds_the_free_choice_infeasible_too_ends_with_the_history(
    sandbox: Sandbox,
) -> None:
    script = Script(lambda _: {"infeasible": {"node": "s2", "reason": "It is Sunday."}})
    result = await generate(sandbox, script)
    assert len(script.offered) == MORE + 2
    assert list_offers(result) == [*REFUSED, LAST]
    assert not [one for one in result.records if isinstance(one, Draft)]
    assert [one.failure for one in result.records if isinstance(one, Build)] == [
        "the author says that node s2 cannot be carried out: It is Sunday."
    ]
    assert result.stopped_by is not None
    assert result.stopped_by.reason == "infeasible"


async def test_where_no_other_chain_is_left_the_author_chooses(sandbox: Sandbox) -> None:
    script = Script(refuse)
    context = make_context(sandbox, script)
    offers = await find_offers(PLACE, TESTS, {}, script.samplers, sandbox)

    async def make() -> ChainOffers:
        return replace(offers, chains=offers.chains[:1])

    await context.offers.find(PLACE.id, make)
    result = await generate_draft(Subject("x", "y", "t", SLOT), context, cast(Any, Nobody()))
    assert list_offers(result) == [
        ("offer_1", "not_applicable", "infeasible"),
        ("offer_2", "not_applicable", "none_left"),
    ]
    assert [one.overlap for one in result.records if isinstance(one, Draft)] == [None]


@pytest.mark.parametrize(
    ("slot", "config", "reason"),
    [
        pytest.param(SLOT, {"polarities": {"refuse": 1}}, "only_reads", id="nothing is changed"),
        pytest.param(ScenarioSlot(PLACE, 0), {}, "no_start_state", id="nothing to try chains on"),
        pytest.param(
            ScenarioSlot(PLACE, 0, tests=(TESTS[0],)),
            {},
            "none_carried_out",
            id="nothing that can be carried out",
        ),
    ],
)
async def test_where_no_chain_is_offered_a_row_says_why(
    sandbox: Sandbox, slot: ScenarioSlot, config: dict[str, Any], reason: str
) -> None:
    script = Script(keep_to)
    poor = ScenarioSlot(
        slot.environment,
        0,
        tests=tuple(test.model_copy(update={"initial_state": {}}) for test in slot.tests),
    )
    result = await generate(
        sandbox, script, poor if reason == "none_carried_out" else slot, **config
    )
    assert list_offers(result) == [("offer_1", "not_applicable", reason)]
    assert script.offered[0] is None


async def test_free_chains_bind_nobody_and_leave_no_row(sandbox: Sandbox) -> None:
    script = Script(keep_to)
    result = await generate(sandbox, script, chains="free")
    assert (list_offers(result), script.offered) == ([], [None])
    (draft,) = (one for one in result.records if isinstance(one, Draft))
    assert draft.overlap is None


async def test_a_chain_that_uses_what_it_makes_is_offered_where_results_may_be_used(
    sandbox: Sandbox,
) -> None:
    """The path must use the result: a record that was there before is not the one that the chain
    makes."""
    without = await find_offers(PLACE, MAKING_TESTS, {}, ("weighted", "backward"), sandbox)
    offers = await find_offers(
        PLACE, MAKING_TESTS, {}, ("weighted", "backward"), sandbox, results=True
    )
    uses = [one for one in offers.chains if one.new]
    assert uses
    assert (without.refused["needs_result"] >= 1, [one for one in without.chains if one.new]) == (
        True,
        [],
    )
    drawn = uses[0]
    offered = OfferedChain(drawn.chain, True, drawn.calls, frozenset(drawn.steps))
    replies = list(drawn.replies)
    assert offered.compare(drawn.calls, replies).missing == ()
    place = next(place for place, step in enumerate(drawn.steps) if step in drawn.new)
    other = [
        call.model_copy(update={"arguments": call.arguments | {"parcel_id": "par_old"}})
        for call in drawn.calls
    ]
    (part, *_) = offered.compare(
        [*drawn.calls[:place], other[place], *drawn.calls[place + 1 :]], replies
    ).missing
    assert (part.node, part.index) == (drawn.steps[place], place + 1)


def leave_chain(drawn: RehearsedChain, chance: random.Random) -> list[Call]:
    """The path without a step of the chain, with a step before the one that it rests on, or with a
    value that comes from elsewhere."""
    kind, flows = chance.choice(("left_out", "swapped", "elsewhere")), list_flows(drawn.chain)
    called = list(zip(drawn.steps, drawn.calls, strict=True))
    if kind == "swapped" and flows:
        flow = chance.choice(flows)
        return [call for step, call in called if step == flow.step] + [
            call for step, call in called if step != flow.step
        ]
    if kind == "elsewhere" and (moved := _take_elsewhere(called[-1][1])) != called[-1][1]:
        return [*(call for _, call in called[:-1]), moved]
    left_out = chance.choice(drawn.steps)
    return [call for step, call in called if step != left_out]


def _take_elsewhere(call: Call) -> Call:
    others = {"customer_id": OTHER, "order_id": "ord_51c0ffee", "order_ids": ["ord_51c0ffee"]}
    changed = {
        name: others[name]
        for name, value in call.arguments.items()
        if name in others and value != others[name]
    }
    return call.model_copy(update={"arguments": call.arguments | changed})


@pytest.mark.long
async def test_authors_that_leave_the_chain_are_caught_and_honest_ones_never(
    sandbox: Sandbox,
) -> None:
    offers = await find_offers(
        PLACE, TESTS, {}, ("weighted", "backward", "program", "linked"), sandbox
    )
    cases, chance, caught, refused = count(300, 300), random.Random(24), 0, 0
    for number in range(cases):
        drawn = offers.chains[number % len(offers.chains)]
        offered = OfferedChain(drawn.chain, True, drawn.calls, frozenset(drawn.steps))
        leaves = number % 5 == 0
        oracle = (
            leave_chain(drawn, chance)
            if leaves
            else [Call(name="list_orders", arguments={"customer_id": CUSTOMER}), *drawn.calls]
        )
        reply = ScenarioReply(initial_state=STATE, request="Pack them.", oracle=oracle)
        slot = ScenarioSlot(PLACE, number, offered=offered)
        posed = await execute(
            reply, slot, make_context(sandbox, Script(keep_to)), cast(Any, Nobody())
        )
        left = posed.draft is None
        caught += leaves and left
        refused += not leaves and left
    assert (refused, caught >= 57 * cases // 300) == (0, True), caught


@pytest.mark.parametrize(("places", "chains"), [(3, 9), (3, 4), (4, 2), (1, 1)])
def test_a_chain_is_offered_to_one_place_while_there_are_others(places: int, chains: int) -> None:
    offers = ChainOffers(
        tuple(
            RehearsedChain(Chain(sampler=f"{number}", nodes=[]), (), (), ())
            for number in range(chains)
        )
    )
    listed = [
        [one.chain.sampler for one in offers.list_for(rank, places)] for rank in range(places)
    ]
    assert all(sorted(one) == sorted({*one}) and len(one) == chains for one in listed), (
        "each sees every chain once"
    )
    turns = [chain for turn in range(chains) for chain in (one[turn] for one in listed)]
    shared = [turns[: len(turns) // chains * turn] for turn in range(1, chains // places + 1)]
    assert all(len({*given}) == len(given) for given in shared)


@dataclass
class PlanningScript(Script):
    """One that plans errands, too, and remembers what it was told of them."""

    blocks: list[ErrandBlock] = field(default_factory=list[ErrandBlock])
    errands: list[ErrandBrief] = field(default_factory=list[ErrandBrief])

    async def plan_errands(self, block: ErrandBlock, _: Any) -> BlockPlan:
        self.blocks.append(block)
        said = [
            (one.number, f"Wants {one.links}.", f"{one.number} {one.links}") for one in block.places
        ]
        lines = [
            ErrandLine(number=number, who="Ada", what=what, about=[about])
            for number, what, about in said
        ]
        return BlockPlan({line.number: line for line in lines})

    async def pose(self, brief: ScenarioBrief, repair: Any, models: Any) -> ScenarioReply:
        self.errands.append(brief.errand)
        return await super().pose(brief, repair, models)


async def test_the_line_of_another_chain_is_drawn_again(sandbox: Sandbox) -> None:
    """The line tells of the chain that is offered by now, and the row of the plan is the last
    one's."""
    script = PlanningScript(
        lambda offered: refuse(offered) if len(script.offered) == 1 else keep_to(offered)
    )
    result = await generate(sandbox, script, replace(SLOT, number=1, places=3))
    first, *again = script.blocks
    assert [one.number for one in first.places] == [0, 1, 2]
    assert [[one.number for one in block.places] for block in again] == [[1]]
    for block, offered, brief in zip(script.blocks, script.offered, script.errands, strict=False):
        assert offered is not None
        (told,) = (one for one in block.places if one.number == 1)
        assert (told.tools, told.links) == (
            list_tools(offered.chain),
            describe_links(offered.chain),
        )
        assert brief.line is not None
        assert told.links in brief.line.what
    (planned,) = (one for one in result.records if isinstance(one, PlannedErrand))
    assert script.errands[-1].line is not None
    assert planned.what == script.errands[-1].line.what
    others = {tuple(place.tools) for place in first.places if place.number != 1}
    assert not others & {
        tuple(list_tools(one.chain)) for one in script.offered if one is not None
    }, "no chain of another place"


async def test_an_author_without_a_chain_is_told_the_tools_of_its_line(sandbox: Sandbox) -> None:
    script = PlanningScript(refuse)
    await generate(sandbox, script, replace(SLOT, places=1))
    assert [one.tools == [] for one in script.blocks[-1].places] == [True]
