"""Errand plans: which lines stand, what is drawn again, and which scenarios left their line."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.errors import BadReply
from envmill.models.gateway import ModelSession
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS
from envmill.recipes.drafting.errands import (
    BLOCK,
    REDRAWS,
    ErrandBlock,
    TakenLine,
    find_left,
    plan_block,
    take_requirements,
)
from envmill.recipes.scenarios import load_errands
from schemas.chain import Chain, ChainStep, FromNode
from schemas.environment import Call, Environment
from schemas.errand_plan import ErrandLine, ErrandPlace, ErrandsInput, ErrandsReply
from schemas.prompts import ScenarioReply
from schemas.scenario import CallPattern, Polarity
from tests.specimens import make_environment

SHED: Environment = make_environment()
TOOLS = {tool.name: tool.effect for tool in SHED.tools}
CHANGE = next(name for name, effect in TOOLS.items() if effect == "change")
QUERY = next(name for name, effect in TOOLS.items() if effect == "query")
PROMPT = load_errands()


def line(number: int, **changes: Any) -> ErrandLine:
    about = [
        "the loan of a ladder",
        "an idle drill",
        "a member at the limit",
        "a tool that is lost",
        "two members of one name",
    ][number % 5]
    told = {
        "number": number, "who": f"neighbour {number}", "what": f"Wants thing {number} of {number} put right before {number} o'clock.",
        "tools": [QUERY, CHANGE], "about": [f"{about} ({number})"], "state": f"day {number}",
    }  # fmt: skip
    return ErrandLine.model_validate(told | changes)


def block(
    count: int = 3, polarity: Polarity = "achieve", taken: Sequence[TakenLine] = (), **more: Any
) -> ErrandBlock:
    return ErrandBlock(
        SHED,
        tuple(ErrandPlace(number=one, polarity=polarity) for one in range(count)),
        tuple(taken),
        **more,
    )


class Planner:
    """An author of plans that gives what it was told to, reply by reply."""

    def __init__(self, *replies: list[ErrandLine] | None) -> None:
        self.replies = list(replies)
        self.told: list[str] = []

    async def ask(
        self, _prompt: Any, inputs: ErrandsInput, reply: type[ErrandsReply], *, complaint: str = ""
    ) -> ErrandsReply:
        self.inputs = inputs
        self.told.append(complaint)
        given = self.replies.pop(0)
        if given is None:
            raise BadReply("no usable reply", stop="end", complaint="")
        return reply(errands=given)


async def plan(planner: Planner, wanted: ErrandBlock, sample: Any = None) -> Any:
    return await plan_block(PROMPT, sample, wanted, cast(ModelSession, planner))


async def test_a_plan_that_holds_is_asked_for_once() -> None:
    planner = Planner([line(0), line(1), line(2)])
    found = await plan(planner, block())
    assert (sorted(found.lines), found.refused, planner.told) == ([0, 1, 2], {}, [""])
    assert [one.number for one in planner.inputs.places] == [0, 1, 2]


FAULTS: dict[str, tuple[ErrandLine | None, str]] = {
    "unknown tool": (line(1, tools=[CHANGE, "fly"]), "line_unknown_tool"),
    "no tool": (line(1, tools=[]), "line_too_few_tools"),
    "nothing changes": (line(1, tools=[QUERY]), "line_too_few_tools"),
    "same target": (line(1, about=["The loan of a LADDER (0)!"]), "line_same_target"),
    "same words": (line(1, what=line(0).what.upper()), "line_repeated"),
    "nearly the same words": (line(1, what=line(0).what + " Please."), "line_repeated"),
    "nobody": (line(1, who=" "), "line_empty"),
    "about nothing": (line(1, about=[]), "line_empty"),
    "missing": (None, "line_missing"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_bad_line_is_drawn_again_alone(fault: str) -> None:
    bad, code = FAULTS[fault]
    again = line(1, what="Asks for something else altogether, and by tomorrow.")
    # The repair also brings another version of a line that stands: it is not taken.
    planner = Planner(
        [line(0), *([bad] if bad else []), line(2)], [again, line(2, what="Changed its mind.")]
    )
    found = await plan(planner, block())
    assert found.lines == {0: line(0), 1: again, 2: line(2)}
    assert found.refused == {}
    (told,) = planner.told[1:]
    assert "line 1" in told
    assert "numbers alone: 1." in told
    assert not re.search(r"line [02]\b", told), "what stands is not quoted"
    planner = Planner(*[[line(0), *([bad] if bad else []), line(2)]] * (1 + REDRAWS))
    found = await plan(planner, block())
    assert (sorted(found.lines), [one.code for one in found.refused.values()]) == ([0, 2], [code])


async def test_a_line_may_share_its_target_with_one_of_another_polarity() -> None:
    """Asked to do it and asked to do what is forbidden are two errands about one loan."""
    taken = TakenLine(
        "refuse",
        line(7, about=line(0).about, what="Asks for a fourth tool, which is one too many."),
    )
    assert (await plan(Planner([line(0)]), block(1, taken=[taken]))).refused == {}
    same = TakenLine("achieve", taken.line)
    assert (await plan(Planner(*[[line(0)]] * 3), block(1, taken=[same]))).refused[
        0
    ].code == "line_same_target"


def test_a_long_line_is_cut_behind_a_word() -> None:
    words = [f"word{number}" for number in range(200)]
    told = TakenLine("achieve", line(0, what=" ".join(words))).render()
    assert len(told) <= 400
    *whole, mark = told.split()
    assert (mark, whole[-1] in words) == ("…", True)
    short = TakenLine("achieve", line(0, what="Wants two loans closed.")).render()
    assert "…" not in short
    assert len(TakenLine("achieve", line(0, what="x" * 900)).render()) <= 400, (
        "a word without end is cut in it"
    )


async def test_many_lines_of_one_tool_set_stand_where_their_words_differ() -> None:
    lines = [line(number) for number in range(BLOCK)]
    assert (await plan(Planner(lines), block(BLOCK))).refused == {}


@pytest.mark.parametrize("polarity", ["answer", "refuse", "clarify"])
async def test_lookups_are_enough_where_nothing_may_change(polarity: Polarity) -> None:
    assert (await plan(Planner([line(0, tools=[QUERY])]), block(1, polarity))).refused == {}


async def test_a_plan_that_nobody_can_read_leaves_its_places_without_lines() -> None:
    found = await plan(Planner(None), block(2))
    assert (found.lines, [one.code for one in found.refused.values()]) == ({}, ["bad_reply"] * 2)
    found = await plan(Planner([line(0), line(1, tools=["fly"])], None), block(2))
    assert (found.lines, found.refused[1].code) == ({0: line(0)}, "line_unknown_tool")


async def test_what_was_sampled_already_is_told_to_the_planner_and_leaves_the_line_without_tools() -> (
    None
):
    async def sample(_: Environment, number: int) -> Chain | None:
        look = ChainStep(id="s1", tool=QUERY)
        act = ChainStep(id="s2", tool=CHANGE, arguments={"tool_id": FromNode(node="s1", path="id")})
        return Chain(sampler="walk", nodes=[look, act]) if number else None

    planner = Planner([line(0), line(1, tools=[])])
    found = await plan(planner, block(2), sample)
    assert [one.tools for one in planner.inputs.places] == [[], [QUERY, CHANGE]]
    assert [one.links for one in planner.inputs.places] == [
        "",
        f"{QUERY} (`id`) → {CHANGE}.tool_id",
    ]
    assert (found.lines[0].tools, found.lines[1].tools, found.refused) == ([QUERY, CHANGE], [], {})


async def test_requirements_are_the_lines_of_a_recipe_that_has_them() -> None:
    found = await take_requirements(
        block(3, requirements=("Somebody borrows a drill.", "Somebody brings one back.")),
        cast(Any, None),
    )
    assert {number: one.what for number, one in found.lines.items()} == {
        0: "Somebody borrows a drill.",
        1: "Somebody brings one back.",
    }
    assert (found.source, found.refused[2].code) == ("requirement", "no_line")


def reply(
    polarity: Polarity = "achieve",
    calls: Sequence[str] = (),
    avoid: Sequence[str] = (),
    left: str = "",
) -> ScenarioReply:
    return ScenarioReply(
        initial_state={}, request="", polarity=polarity, left=left,
        oracle=[Call(name=name, arguments={}) for name in calls], avoid=[CallPattern(name=name) for name in avoid],
    )  # fmt: skip


LEFT: dict[str, tuple[ErrandLine, ScenarioReply, bool]] = {
    "the change is made": (line(0), reply(calls=[QUERY, CHANGE]), False),
    "by another lookup": (line(0), reply(calls=["other", CHANGE]), False),
    "the change is not made": (line(0), reply(calls=[QUERY, "other"]), True),
    "another change besides": (line(0, tools=[QUERY]), reply(calls=[QUERY, CHANGE]), True),
    "the author says why": (line(0), reply(calls=[QUERY], left="No tool can do that."), False),
    "blanks are no reason": (line(0), reply(calls=[QUERY], left="  "), True),
    "a line without tools": (line(0, tools=[]), reply(calls=["other"]), False),
    "refused, and not to be done": (line(0), reply("refuse", [QUERY], [CHANGE]), False),
    "refused, and any change is wrong": (line(0), reply("refuse", [QUERY], [""]), False),
    "something else refused": (line(0), reply("refuse", [QUERY], ["other"]), True),
    "nothing named": (line(0), reply("clarify", [QUERY]), True),
    "refused, and never looked": (line(0), reply("refuse", ["other"], [CHANGE]), True),
    "looked up": (line(0, tools=[QUERY]), reply("answer", [QUERY]), False),
    "looked up otherwise": (line(0, tools=[QUERY]), reply("answer", ["other"]), True),
    "a question about what a change did": (line(0), reply("answer", [QUERY]), False),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_the_path_shows_says_whether_a_line_was_left(name: str) -> None:
    planned, written, left = LEFT[name]
    found = find_left(planned, written, TOOLS)
    assert (found is not None) == left
    if found:
        assert (found.source, found.code) == ("oracle", "errand_left")
        assert planned.what in found.render()


def read_example() -> ErrandsReply:
    """The example that the prompt shows."""
    read = parse_reply(PROMPT.text.partition("For example")[2].partition("\n## ")[0], ErrandsReply)
    assert isinstance(read, ErrandsReply), read
    return read


async def test_the_prompts_own_example_stands() -> None:
    asked = cast(ErrandsInput, PROMPT.exemplify())
    known = {tool.name for tool in asked.tools}
    assert all(known.issuperset(one.tools) for one in read_example().errands)
    shed = SHED.model_copy(
        update={
            "tools": [SHED.tools[0].model_copy(update=tool.model_dump()) for tool in asked.tools]
        }
    )
    places = (ErrandPlace(number=4, polarity="achieve"), ErrandPlace(number=5, polarity="refuse"))
    assert (await plan(Planner(read_example().errands), ErrandBlock(shed, places))).refused == {}


def test_every_scenario_prompt_has_its_line_at_the_end() -> None:
    """What is constant comes first, so that a provider's prompt cache holds it for all scenarios of
    an environment."""
    for name in (
        "shared/scenario",
        "scaleenv/chain",
        "agentscaler/walk",
        "envfactory/topology",
        "autoforge/dag",
    ):
        text = Prompt.load(PROMPTS / f"{name}.md").text
        end = text.index("## This scenario")
        assert all(
            text.index(slot) > end
            for slot in ("{{number}}", "{{polarity}}", "{{errand}}", "{{taken}}")
        ), name
        assert "each number wants another" not in text
        assert json.loads(Path(PROMPTS / f"{name}.example.json").read_text())["errand"]["what"]
