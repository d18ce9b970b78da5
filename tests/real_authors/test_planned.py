"""Plans that a real model wrote: every line stands, and the scenarios that it wrote from them keep
to them."""

from pathlib import Path
from typing import Any

import pytest

from envmill.recipes.drafting.errands import ErrandBlock, find_left, sort_lines
from envmill.toolgraph.references import list_tools
from schemas.environment import Call
from schemas.errand_plan import ErrandLine, ErrandsInput, ErrandsReply
from schemas.tool_prompts import ChainReply
from tests.real_authors.corpus import ROOT, read_json
from tests.specimens import make_environment

FOLDERS = {
    path.parent.parent.name: path.parent for path in sorted(ROOT.glob("*/*/planned/errands.json"))
}


def read(folder: Path) -> tuple[ErrandsInput, dict[int, ErrandLine], dict[int, ChainReply]]:
    """What the planner was asked, its lines, and the scenarios that were written from them."""
    asked, plan = (read_json(folder / f"{name}.json") for name in ("asked", "errands"))
    written = {
        int(path.name.split(".")[1]): ChainReply.model_validate(read_json(path))
        for path in folder.glob("*.[0-9].json")
    }
    lines = {line.number: line for line in ErrandsReply.model_validate(plan).errands}
    return ErrandsInput.model_validate(asked), lines, written


def play(reply: ChainReply) -> ChainReply:
    """The reply with a call for each step of its chain."""
    return reply.model_copy(
        update={"oracle": [Call(name=tool, arguments={}) for tool in list_tools(reply.chain)]}
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_every_line_stands(name: str) -> None:
    asked, lines, _ = read(FOLDERS[name])
    bare = make_environment()
    tools = [bare.tools[0].model_copy(update=tool.model_dump()) for tool in asked.tools]
    block = ErrandBlock(bare.model_copy(update={"tools": tools}), tuple(asked.places))
    stands, refused = sort_lines(block, lines, {})
    assert (sorted(stands), refused) == ([place.number for place in asked.places], {})
    again: Any = {
        number: line.model_copy(update={"number": number})
        for number, line in dict.fromkeys(lines, lines[0]).items()
    }
    assert refused != sort_lines(block, again, {})[1], (
        "the same line for every place does not stand"
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_what_was_written_from_a_line_keeps_to_it(name: str) -> None:
    asked, lines, written = read(FOLDERS[name])
    effects = {tool.name: tool.effect for tool in asked.tools}
    assert sorted(written) == sorted(lines)
    for number, line in lines.items():
        assert written[number].left == ""
        assert find_left(line, play(written[number]), effects) is None, (number, line)


def test_the_scenario_of_another_line_leaves_it() -> None:
    """In the world whose lines name tools. Where a chain was offered the chain is the contract, and
    lines name none."""
    asked, lines, written = read(FOLDERS["dome_planning"])
    effects = {tool.name: tool.effect for tool in asked.tools}
    acting = [place.number for place in asked.places if place.polarity == "achieve"]
    left = [
        find_left(lines[number], play(written[other]), effects)
        for number in acting
        for other in acting
        if other != number
    ]
    assert len(left) == 6
    assert all(left)
