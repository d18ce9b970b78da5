"""An expansion is compared with the chain that was kept before it, on the state that one was
carried out on."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.start import CLOCK
from envmill.recipes.drafting.unfolding import unfold
from envmill.sandbox import Reset, Sandbox
from schemas.chain import Chain, ChainStep, FromNode, FromUser, Node
from schemas.tool_prompts import ChainReply
from tests.specimens import make_environment
from tests.toolgraph.test_chain_player import (
    BACK,
    DEBT,
    FILLING,
    MEMBER,
    PROGRAM,
    SEED,
    SOURCE,
    STATE,
    TOTAL,
)

PLACE = make_environment(SOURCE, entry="program:Shed", tools=list(PROGRAM.tools), tables=[])
REQUEST = "Maya brings the drill back. Write down what her loans cost."
OTHER_LOAN = FILLING.model_copy(
    update={"picks": {"r2": FILLING.picks["r2"].model_copy(update={"equals": "ladder"})}}
)


def make_reply(
    nodes: list[Node], state: dict[str, Any] = STATE, filling: Any = FILLING
) -> ChainReply:
    return ChainReply(
        initial_state=state,
        request=REQUEST,
        chain=Chain(sampler="author", nodes=nodes),
        filling=filling,
    )


OTHERWISE = BACK.model_copy(
    update={"arguments": {"loan_id": FromNode(node="s2", path="loans[].id")}}
)
OLD = make_reply(SEED)
NOW_BACK = STATE | {"loans": {key: row | {"status": "back"} for key, row in STATE["loans"].items()}}


async def expand(new: ChainReply, jail: Sandbox, old: ChainReply | None = OLD) -> str:
    try:
        await unfold(new, PLACE, Reset(new.initial_state, CLOCK, 0), jail, old)
    except BuildError as error:
        return str(error.facts["reason"])
    return ""


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        pytest.param(make_reply([*SEED, TOTAL, DEBT]), "", id="one thing more"),
        pytest.param(
            make_reply([*SEED[:-1], OTHERWISE, TOTAL, DEBT]),
            "old_rewritten",
            id="an old node rewritten",
        ),
        pytest.param(
            make_reply([*SEED[:-1], TOTAL, DEBT]), "old_rewritten", id="an old node left out"
        ),
        pytest.param(
            make_reply([*SEED, TOTAL, DEBT], NOW_BACK),
            "old_broken",
            id="rows on which the old path is refused",
        ),
        pytest.param(
            make_reply([*SEED, TOTAL, DEBT], filling=OTHER_LOAN),
            "old_changed",
            id="another loan is meant",
        ),
        pytest.param(
            make_reply([*SEED, MEMBER.model_copy(update={"id": "r9"})]),
            "no_new_tool",
            id="no call more",
        ),
        pytest.param(
            make_reply([*SEED, ChainStep(id="s4", tool="list_members")]),
            "nothing_added",
            id="a look-up that gives nothing on",
        ),
    ],
)
async def test_an_expansion_is_compared_with_the_real_old_chain(
    new: ChainReply, reason: str, jail: Sandbox
) -> None:
    assert await expand(new, jail) == reason


async def test_a_chain_that_expands_nothing_is_compared_with_none(jail: Sandbox) -> None:
    assert await expand(make_reply([*SEED, TOTAL, DEBT]), jail, None) == ""
    lone = make_reply(
        [ChainStep(id="s1", tool="find_member", arguments={"name": FromUser()}), MEMBER, *SEED[2:]]
    )
    assert await expand(lone, jail, None) == ""


def test_replies_of_older_prompts_are_read() -> None:
    assert ChainReply.model_validate(OLD.model_dump() | {"core": 3}) == OLD
