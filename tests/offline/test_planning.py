"""Plans of the embedded author, and of work that was recorded: who follows a line is never refused,
who does without it is caught."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import offline as author
from envmill.recipes.drafting.errands import BLOCK, ErrandBlock, find_left, sort_lines
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.places import choose_polarity
from schemas.chain import ChainStep
from schemas.environment import Call
from schemas.errand_plan import ErrandLine, ErrandPlace, ErrandsReply
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from schemas.tool_prompts import ChainReply
from tests.real_authors.corpus import ROOT as CORPUS
from tests.soak import count
from tests.specimens import make_environment

SEED = 11
MIX = RunConfig().polarities
IGNORED = 60
WITHOUT = 777
"""Sample of a scenario that is written without its line."""


def read_places(number: int) -> list[ErrandPlace]:
    return [
        ErrandPlace(number=place, polarity=choose_polarity(MIX, f"env_{number}", place))
        for place in range(BLOCK)
    ]


def ask_brief(number: int) -> dict[str, Any]:
    theme, text = read_themes()[number % len(read_themes())]
    return {"theme": theme, "text": text, "number": number}


def list_tools(brief: dict[str, Any]) -> list[dict[str, Any]]:
    plan = json.loads(author.answer("blueprint", {"brief": brief}, SEED, 0, 0.0))
    return [
        {"name": tool["name"], "description": "", "effect": tool["effect"]}
        for tool in plan["tools"]
    ]


def plan(
    brief: dict[str, Any], tools: list[dict[str, Any]], places: list[ErrandPlace]
) -> list[ErrandLine]:
    asked = {
        "brief": brief,
        "name": "",
        "rules": [],
        "tools": tools,
        "places": [one.model_dump() for one in places],
        "taken": [],
    }
    return ErrandsReply.model_validate_json(author.answer("errands", asked, SEED, 0, 0.0)).errands


def write(
    brief: dict[str, Any],
    tools: list[dict[str, Any]],
    place: ErrandPlace,
    line: ErrandLine | None,
    sample: int,
) -> ScenarioReply:
    asked = {
        "brief": brief,
        "name": "",
        "rules": [],
        "source": "",
        "number": place.number,
        "polarity": place.polarity,
        "taken": [],
    }
    told = {
        "tools": [tool | {"parameters": {}} for tool in tools],
        "errand": line.model_dump() if line else None,
    }
    return ScenarioReply.model_validate_json(
        author.answer("scenario", asked | told, SEED, sample, 0.0)
    )


def list_environments(wanted: int) -> list[int]:
    """The same at every commit: a share of so few says something only of a sample that was looked
    at."""
    return sorted(random.Random(SEED).sample(range(len(read_themes())), wanted))


def describe_work(
    reply: ScenarioReply, effects: dict[str, str]
) -> tuple[str, frozenset[str], frozenset[str]]:
    """What its path shows of the errand: under `achieve` the changes that it makes, else the tools
    called and those that must not be."""
    called, shunned = (
        frozenset(call.name for call in reply.oracle),
        frozenset(pattern.name for pattern in reply.avoid),
    )
    if reply.polarity == "achieve":
        return (
            reply.polarity,
            frozenset(name for name in called if effects[name] == "change"),
            frozenset(),
        )
    return reply.polarity, called, shunned


def play_authors(environments: Iterable[int], ignored: int) -> Counter[str]:
    """Every scenario by an author that follows its line. Every third once more by one that ignores
    it, until so many have come to something
    else: where the path calls and shuns the very tools of the planned scenario, nothing was left,
    by chance."""
    found = Counter[str]()
    for number in environments:
        brief = ask_brief(number)
        tools, places = list_tools(brief), read_places(number)
        effects = {tool["name"]: tool["effect"] for tool in tools}
        for place, line in zip(places, plan(brief, tools, places), strict=True):
            followed = write(brief, tools, place, line, 0)
            found["honest"] += 1
            found["refused"] += (
                bool(followed.left) or find_left(line, followed, effects) is not None
            )
            if found["honest"] % 3 or found["ignored"] == ignored:
                continue
            strayed = write(brief, tools, place, None, WITHOUT)
            if describe_work(strayed, effects) == describe_work(followed, effects):
                found["by chance"] += 1
                continue
            found["ignored"] += 1
            found["caught"] += (
                strayed.polarity != place.polarity or find_left(line, strayed, effects) is not None
            )
    return found


@pytest.mark.soak(area="mechanisms")
def test_an_honest_author_is_never_refused_and_one_who_ignores_its_line_is_caught() -> None:
    """At full count 60 ignore their lines and come to something else (docs/decisions/015)."""
    found = play_authors(list_environments(count(2, len(read_themes()))), IGNORED)
    assert found["refused"] == 0
    assert found["honest"] >= count(16, 300)
    assert found["ignored"] >= count(2, IGNORED)
    assert found["caught"] >= found["ignored"] - found["ignored"] // 20, found


@pytest.mark.parametrize("number", list_environments(2))
def test_the_lines_it_writes_stand(number: int) -> None:
    brief = ask_brief(number)
    tools, places = list_tools(brief), read_places(number)
    shed = make_environment()
    (model, *_) = shed.tools
    shed = shed.model_copy(update={"tools": [model.model_copy(update=tool) for tool in tools]})
    lines = {line.number: line for line in plan(brief, tools, places)}
    assert sort_lines(ErrandBlock(shed, tuple(places)), lines, {})[1] == {}


def read_recorded() -> Iterator[tuple[str, ScenarioReply, set[str]]]:
    """Scenarios that a real model wrote, and the tools that their paths or chains take."""
    for path in sorted(CORPUS.glob("*/*/*.json")):
        stem = path.stem.split(".")[0]
        if stem in ("scenario", "walk"):
            reply = ScenarioReply.model_validate_json(path.read_bytes())
            yield f"{path.parent.name}/{path.stem}", reply, {call.name for call in reply.oracle}
        elif stem in ("chain", "topology", "dag"):
            chained = ChainReply.model_validate_json(path.read_bytes())
            yield (
                f"{path.parent.name}/{path.stem}",
                chained,
                {node.tool for node in chained.chain.nodes if isinstance(node, ChainStep)},
            )


def test_a_real_authors_work_keeps_to_lines_that_are_made_of_it() -> None:
    """The path shows it alike, whether it was written as calls or as a chain. A tool counts as one
    that changes something if its name is no
    lookup's."""
    found = list(read_recorded())
    assert len(found) >= 20
    for name, reply, tools in found:
        shunned = {pattern.name for pattern in reply.avoid}
        effects = {
            tool: "query" if tool.startswith(("find", "list", "get", "show")) else "change"
            for tool in tools | shunned
        }
        line = ErrandLine(
            number=0,
            who="",
            what="",
            tools=sorted(tools if reply.polarity in ("achieve", "answer") else tools | shunned),
        )
        played = reply.model_copy(
            update={"oracle": [Call(name=tool, arguments={}) for tool in tools]}
        )
        assert find_left(line, played, effects) is None, name
        other = line.model_copy(update={"tools": [*line.tools, "unknown_change"]})
        assert reply.polarity == "answer" or find_left(
            other, played, effects | {"unknown_change": "change"}
        ), name
