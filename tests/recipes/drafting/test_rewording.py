"""What an expanded goal adds to a scenario: its chain, its values, and what the user is told at the
end."""

from dataclasses import dataclass
from typing import Any

from envmill.recipes.drafting.rewording import reword
from schemas.chain import Chain, ChainStep, Filling, FromUser
from schemas.prompts import ScenarioReply
from schemas.scenario import Fact
from schemas.tool_prompts import ChainReply
from schemas.typed_prompts import Operator, RewordReply

DEPOSIT, FREE = (
    Fact(name=name, kind="number", value=value)
    for name, value in (("deposit", 20), ("free tools", 3))
)
LEND, COUNT = (
    ChainStep(id=f"s{place}", tool=tool, arguments={"tag": FromUser()})
    for place, tool in ((1, "lend_tool"), (2, "count_tools"))
)
OLD = ChainReply(
    initial_state={}, request="Lend L-05.", chain=Chain(sampler="author", nodes=[LEND]), filling=Filling(), say="The deposit is 20.",
    tell=[DEPOSIT],
)  # fmt: skip
MORE: dict[str, Any] = {
    "request": "Lend L-05. How many are free then?",
    "say": "Three are free.",
    "tell": [FREE],
}


@dataclass
class Judged:
    reply: ScenarioReply
    objection: tuple[str, str] | None = None


async def expand(operator: Operator, **said: Any) -> list[ScenarioReply]:
    async def ask(operator: Operator, reply: ScenarioReply) -> RewordReply:
        return RewordReply.model_validate(MORE | said)

    async def judge(changed: ScenarioReply, expanded: ScenarioReply | None) -> Judged:
        return Judged(changed)

    return [
        one.judged.reply
        for one in await reword(OLD, [operator], ask, judge)
        if one.judged is not None
    ]


async def test_what_an_added_wish_asks_to_be_told_is_told_after_the_rest() -> None:
    (grown,) = await expand("goal_expansion", chain=Chain(sampler="author", nodes=[LEND, COUNT]))
    assert (grown.say, grown.tell) == ("The deposit is 20. Three are free.", [DEPOSIT, FREE])


async def test_an_added_change_that_tells_nothing_leaves_the_last_words() -> None:
    (grown,) = await expand(
        "goal_expansion", chain=Chain(sampler="author", nodes=[LEND, COUNT]), say="", tell=[]
    )
    assert (grown.say, grown.tell) == (OLD.say, OLD.tell)


async def test_other_words_for_the_same_tell_nothing_more() -> None:
    (changed,) = await expand("compression", chain=None)
    assert (changed.say, changed.tell) == (OLD.say, OLD.tell)
