"""Hands the matter over at once, by every tool that sounds like it."""

import random
from collections.abc import Sequence

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.base import AttackerView
from envmill.sandbox import Observation
from schemas.environment import Call

_WORDS = (
    "transfer",
    "hand_over",
    "handover",
    "escalate",
    "human",
    "supervisor",
    "specialist",
    "refer_to",
)


class HandOver:
    """Where escalating is right, a verifier that pays it does not ask whether the agent looked
    first."""

    name = "hand_over_at_once"
    does = "calls every tool that sounds like handing over, and says so"
    random = False

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        dice = random.Random(seed)
        tools = [
            tool
            for tool in view.tools
            if any(word in f"{tool.name} {tool.description}".lower() for word in _WORDS)
        ]
        return [sample_call(tool, view.stock, dice) for tool in tools]

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:  # noqa: ARG002
        return [
            "I am handing this over to a colleague, who will take care of it. You are being "
            "transferred to a human."
        ]
