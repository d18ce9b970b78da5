"""A scenario for conversations, and what models say in it."""

from typing import Any

from envmill.agents.users.base import UserKnowledge
from envmill.kinds import KINDS
from schemas.scenario import UserContract
from tests.specimens import EFFECTS, PROGRAM, make_environment, make_scenario

SHED = make_environment()
CARDED = PROGRAM.replace("import Rejection", "import actors, Rejection").replace(
    "    def lend", '    @actors("user")\n    def lend'
)
OWN = make_environment(CARDED, tools=KINDS["stateful"].derive_tools(CARDED, "Shed", EFFECTS))
"""A shed where members lend themselves what they take."""
TOLD = UserContract(
    opening="Hello, I would like to borrow a tool for the weekend.",
    facts={"tool": "drill", "member_name": "Ada", "occasion": "the fence"},
    persona="A member in a hurry.",
    goals=["Borrow the drill."],
    hidden=["tool", "member_name"],
    fallbacks={"": "I could not say.", "id": "I have no number at hand."},
    stop="The drill is lent to Ada.",
)
TALK = make_scenario(SHED, user=TOLD)
KNOWN = UserKnowledge.of(TALK)
LIST, LEND = ("list_tools", "{}"), ("lend", '{"tool_id": "T1", "member_id": "M1"}')
CARD = ("get_member", '{"member_id": "M1"}')


def turn(text: str = "", *tools: tuple[str, str], match: str = "", **more: Any) -> dict[str, Any]:
    """A model says this once."""
    return {
        "times": 1,
        "match": match,
        "turn": {"text": text, "tools": [list(tool) for tool in tools], **more},
    }


def fault(match: str, times: int = 1, **more: Any) -> dict[str, Any]:
    """The vendor answers with an error so often, once the conversation holds a text."""
    return {"times": times, "match": match, "fault": {"kind": "status", **more}}
