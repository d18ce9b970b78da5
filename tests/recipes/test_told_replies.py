"""How often a plan is sent back that does not say what a documented tool returns, over descriptions
that a real model wrote."""

import json
import re
from collections.abc import Iterator

import pytest

from envmill.kinds.plan import find_plan_faults
from schemas.environment import Blueprint, ToolPlan
from schemas.proposal import Outline
from schemas.seed import Brief
from schemas.sketch import ToolSketch
from tests.real_authors.corpus import ROOT as CORPUS
from tests.soak import count

OUTPUTS = {"type": "object", "properties": {"ticket_id": {"type": "string"}}}
_PLANS = ("interface", "metadata", "blueprint", "toolset")
_LEAST = 60


def read_descriptions() -> Iterator[str]:
    for path in sorted(CORPUS.glob("*/*/*.json")):
        if path.stem in _PLANS:
            tools = json.loads(path.read_bytes()).get("tools", [])
            yield from (tool["description"] for tool in tools if tool.get("description"))


def is_refused(description: str, outputs: dict[str, object]) -> bool:
    sketch = ToolSketch(
        name="open_ticket",
        inputs={"type": "object", "properties": {}},
        outputs=outputs,
        effect="change",
    )
    outline = Outline(tools=[sketch], tables=[], walks=[])
    tools = [ToolPlan(name="open_ticket", description=description, effect="change")]
    brief = Brief.model_construct(theme="desk", text="", number=0, outline=outline)
    plan = Blueprint.model_construct(
        brief=brief,
        tools=tools,
        touches={},
        signatures={},
        collections={"tickets": ["id"]},
        files={},
        rules=["One."],
    )
    return any("does not say what it returns" in fault for fault in find_plan_faults(plan))


def forget_reply(description: str) -> str:
    """As an author writes it who passes over what the document says of the reply."""
    return " ".join(
        part
        for part in re.split(r"(?<=[.;])\s+", description)
        if not re.search(r"\breturn", part, re.IGNORECASE)
    )


@pytest.mark.soak(area="mechanisms")
def test_who_passes_over_documented_replies_is_caught_and_an_honest_author_is_not() -> None:
    """Every description of the corpus, both ways; 60 at least, and three of them may go unseen."""
    told = list(dict.fromkeys(read_descriptions()))[: count(_LEAST, 1000)]
    assert len(told) >= _LEAST
    assert [one for one in told if is_refused(one, OUTPUTS)] == []
    assert (
        sum(is_refused(forget_reply(one), OUTPUTS) for one in told) >= len(told) - len(told) // 20
    )
    assert not is_refused("Open a ticket.", {}), "a document that says nothing asks for nothing"
