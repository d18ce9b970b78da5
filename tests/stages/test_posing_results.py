"""Paths that use results, from an author's reply to a scenario that its gates keep; and authors
that write an id down instead."""

from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.agents.careless import Careless
from envmill.agents.reference import ReferencePolicy
from envmill.agents.rollout import play_scenario
from envmill.agents.skilled import Skilled
from envmill.gates import GATES
from envmill.gates.base import GateContext, ScenarioCase
from envmill.interop.bundles import read_folder
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.kinds.endings import play_twice
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.results import uses_result
from envmill.stages.build import build_scenario
from envmill.stages.context import PlacedScenario, Result, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.chain import Chain, ChainStep, Filling, FromNode, FromUser, Reason
from schemas.environment import Build, Call
from schemas.prompts import ScenarioReply
from schemas.scenario import Draft, Scenario
from schemas.tool_prompts import ChainReply
from tests.agency import LONG, LOOK, OFFER, PATH, SIGN, STATE, call, make_agency, refer
from tests.interop.bundles.openers import run_bare
from tests.stages.test_posing import Nobody, Script, make_mill

AGENCY = make_agency()
REQUEST = "Offer the flat in Oak Lane to Ben Hale and sign the lease with him for 12 months."
LONGER = (
    "Offer the flat in Oak Lane to Ben Hale and to Cora Lind, sign with Ben Hale for 12 months "
    "and with Cora Lind for 6 months, and bind "
    "both leases in one binder, with his as the first lease on the label."
)


async def pose(
    sandbox: Sandbox, oracle: list[Call], request: str = REQUEST, **config: Any
) -> Result:
    reply = ScenarioReply(initial_state=STATE, request=request, oracle=oracle)
    subject = Subject("x", "y", "t", ScenarioSlot(AGENCY, 0))
    return await generate_draft(
        subject, make_mill(sandbox, Script(reply), **config), cast(Any, Nobody())
    )


async def make(
    sandbox: Sandbox, oracle: list[Call], request: str = REQUEST, **config: Any
) -> Scenario:
    (draft,) = (await pose(sandbox, oracle, request, **config)).records
    assert isinstance(draft, Draft), draft
    result = await build_scenario(
        Subject("x", "y", "t", PlacedScenario(draft, AGENCY)),
        make_mill(sandbox),
        cast(Any, Nobody()),
    )
    assert not result.findings, result.findings
    (scenario,) = result.records
    assert isinstance(scenario, Scenario)
    return scenario


@pytest.mark.parametrize(
    ("oracle", "request_"),
    [(PATH, REQUEST), (LONG, LONGER)],
    ids=["offer and sign", "lists and objects"],
)
async def test_the_gates_keep_a_path_that_uses_results(
    jail: Sandbox, oracle: list[Call], request_: str
) -> None:
    scenario = await make(jail, oracle, request_)
    assert scenario.oracle[2].uses or scenario.oracle[1].uses
    case, means = ScenarioCase(scenario, AGENCY), GateContext(jail)
    for name in ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S14"):
        finding = await GATES[name].check(case, means)
        told = [
            (one.gate, one.reason, one.detail)
            for one in finding.spread()
            if one.outcome in ("dropped", "error")
        ]
        assert not told, told


@pytest.mark.parametrize("attempt", range(3))
async def test_scripted_policies_fill_results_as_they_see_them(jail: Sandbox, attempt: int) -> None:
    """Each attempt has a seed of its own."""
    scenario = await make(jail, PATH)
    rollout = await play_scenario(ReferencePolicy(), scenario, AGENCY, jail, "g", attempt)
    assert (rollout.outcome, rollout.steps) == ("pass", 3), rollout.reason
    assert "uses" not in str(rollout.transcript)
    for policy in (Careless(), Skilled(0.2), Skilled(0.9)):
        judged = await play_scenario(policy, scenario, AGENCY, jail, "g", attempt)
        assert judged.outcome in ("pass", "fail"), judged.reason


async def test_a_policy_that_skips_the_maker_leaves_out_the_user(jail: Sandbox) -> None:
    scenario = await make(jail, PATH)
    short = scenario.model_copy(update={"oracle": [scenario.oracle[0], scenario.oracle[2]]})
    rollout = await play_scenario(ReferencePolicy(), short, AGENCY, jail, "g", 0)
    assert (rollout.outcome, rollout.steps) == ("fail", 1)


async def find_literal(sandbox: Sandbox, seed: int = 3) -> str:
    seen = await sandbox.play(
        Program.of(AGENCY), [Reset(STATE, "2026-03-02T09:00:00+00:00", seed), Invoke(OFFER), Look()]
    )
    return next(key for key in (seen[-1].state or {})["offers"] if key != "O1")


async def test_an_id_of_the_first_seed_is_refused_with_the_reference_that_mends_it(
    jail: Sandbox,
) -> None:
    literal = SIGN.model_copy(
        update={"arguments": SIGN.arguments | {"offer_id": await find_literal(jail)}}
    )
    result = await pose(jail, [LOOK, OFFER, literal], rehearse=True)
    assert [finding.reason for finding in result.findings] == ["oracle_unstable"]
    told = next(one.failure for one in result.records if isinstance(one, Build))
    assert "the reference path does not run again" in told
    assert 'Call 3, sign_lease, has "offer_' in told
    assert 'Write the reference {"from":2,"path":"/id"} instead' in told


async def test_an_id_that_no_program_looks_up_is_refused_too(jail: Sandbox) -> None:
    """Every call is taken in both runs, and only the ends show that one of them names nothing."""
    noted = SIGN.model_copy(
        update={"arguments": SIGN.arguments | {"note": await find_literal(jail)}}
    )
    result = await pose(jail, [LOOK, OFFER, noted], rehearse=True)
    assert [finding.reason for finding in result.findings] == ["oracle_unstable"]
    assert "at /note: the id of a record" in next(
        one.failure for one in result.records if isinstance(one, Build)
    )


async def test_a_text_with_an_id_inside_and_one_like_it_are_left_alone(jail: Sandbox) -> None:
    for note in (f"See {await find_literal(jail)}.", "offer_00000000", "O1"):
        noted = SIGN.model_copy(update={"arguments": SIGN.arguments | {"note": note}})
        assert [type(one) for one in (await pose(jail, [LOOK, OFFER, noted])).records] == [Draft]


async def test_an_invented_id_is_refused_with_the_reference_that_mends_it(jail: Sandbox) -> None:
    invented = SIGN.model_copy(
        update={"arguments": SIGN.arguments | {"offer_id": "offer_1a2b3c4d"}}
    )
    result = await pose(jail, [LOOK, OFFER, invented])
    assert [finding.reason for finding in result.findings] == ["oracle_rejection"]
    told = next(one.failure for one in result.records if isinstance(one, Build))
    assert """write {"from": 2, "path": "/id"} in its place""" in told
    other = SIGN.model_copy(update={"arguments": SIGN.arguments | {"offer_id": "the offer"}})
    told = next(
        one.failure
        for one in (await pose(jail, [LOOK, OFFER, other])).records
        if isinstance(one, Build)
    )
    assert "in its place" not in told


@pytest.mark.parametrize(
    ("oracle", "reason", "words"),
    [
        pytest.param([LOOK, SIGN, OFFER], "bad_reference", "this call itself", id="itself"),
        pytest.param(
            [LOOK, call("sign_lease", offer_id=refer(3, "/id"), months=1), OFFER],
            "bad_reference",
            "a later call",
            id="later",
        ),
        pytest.param(
            [LOOK, OFFER, call("sign_lease", offer_id=refer(2, "/ids"), months=1)],
            "oracle_rejection",
            "the object has",
            id="no such key",
        ),
        pytest.param(
            [LOOK, call("make_offer", flat_id="F9", tenant="Ben Hale"), SIGN],
            "oracle_rejection",
            "call 2",
            id="of a refused call",
        ),
    ],
)
async def test_a_reference_that_leads_nowhere_is_sent_back(
    jail: Sandbox, oracle: list[Call], reason: str, words: str
) -> None:
    result = await pose(jail, oracle)
    assert [finding.reason for finding in result.findings] == [reason]
    assert words in next(one.failure for one in result.records if isinstance(one, Build))


async def test_without_the_setting_a_reference_is_an_object_like_any_other(jail: Sandbox) -> None:
    result = await pose(jail, PATH, results=False)
    assert [finding.reason for finding in result.findings] == ["oracle_rejection"]
    assert "offer_id" in next(one.failure for one in result.records if isinstance(one, Build))
    labelled = call("bind", lease_ids=[], label=refer(2, "/id"))
    (draft,) = (await pose(jail, [LOOK, OFFER, labelled], results=False)).records
    assert isinstance(draft, Draft)
    assert draft.oracle[2].arguments["label"] == refer(2, "/id")
    assert not draft.oracle[2].uses


CHOSEN = FromNode(node="r1")
CHAIN = Chain(
    sampler="author",
    nodes=[
        ChainStep(id="s1", tool="list_flats", arguments={"street": FromUser()}),
        Reason(id="r1", rule="choose", takes=[FromNode(node="s1", path="[].id")]),
        ChainStep(id="s2", tool="make_offer", arguments={"flat_id": CHOSEN, "tenant": FromUser()}),
        ChainStep(
            id="s3",
            tool="sign_lease",
            arguments={"offer_id": FromNode(node="s2", path="id"), "months": FromUser()},
        ),
    ],
)
SAID: dict[str, Any] = {"s1.street": "Oak Lane", "s2.tenant": "Ben Hale", "s3.months": 12}


def chain_reply(chain: Chain = CHAIN, **said: Any) -> ChainReply:
    return ChainReply(
        initial_state=STATE, request=REQUEST, chain=chain, filling=Filling(said=SAID | said)
    )


async def test_a_chain_that_uses_what_it_makes_is_stored_with_uses_and_built(jail: Sandbox) -> None:
    draft = await generate_one(jail, chain_reply())
    assert isinstance(draft, Draft)
    assert [(use.into, use.call, use.path) for one in draft.oracle for use in one.uses] == [
        ("/offer_id", 2, "/id")
    ]
    assert [pair for pair in product(range(3), range(3)) if uses_result(draft.oracle, *pair)] == [
        (1, 2)
    ]
    result = await build_scenario(
        Subject("x", "y", "t", PlacedScenario(draft, AGENCY)), make_mill(jail), cast(Any, Nobody())
    )
    assert not result.findings, result.findings


async def test_a_chain_whose_user_says_an_id_that_it_makes_is_refused(jail: Sandbox) -> None:
    said = CHAIN.model_copy(
        update={
            "nodes": [
                *CHAIN.nodes[:3],
                ChainStep(
                    id="s3",
                    tool="sign_lease",
                    arguments={"offer_id": FromUser(), "months": FromUser()},
                ),
            ]
        }
    )
    reply = chain_reply(said, **{"s3.offer_id": await find_literal(jail)})
    draft = await generate_one(
        jail, reply.model_copy(update={"facts": {"offer": reply.filling.said["s3.offer_id"]}})
    )
    assert isinstance(draft, Draft)
    told = await play_twice(draft, AGENCY, jail)
    assert isinstance(told, str)
    assert "Take it from the step that makes the record" in told


async def generate_one(sandbox: Sandbox, reply: ScenarioReply) -> Any:
    subject = Subject("x", "y", "t", ScenarioSlot(AGENCY, 0))
    result = await generate_draft(subject, make_mill(sandbox, Script(reply)), cast(Any, Nobody()))
    return result.records[0]


async def test_an_exported_folder_plays_its_path(jail: Sandbox, tmp_path: Path) -> None:
    scenario = await make(jail, PATH)
    output = pack_environment(AGENCY, [scenario], [])
    write_output(output, tmp_path, "r")
    done = run_bare(tmp_path / output.name, ["check"])
    assert (done.returncode, '"sound": true' in done.stdout) == (0, True), done.stdout + done.stderr
    (read,) = read_folder(tmp_path / output.name).scenarios
    assert read.oracle == scenario.oracle
