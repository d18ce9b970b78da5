"""A discoverable tool is offered to a model once a reply names it, and not before."""

from typing import Any

from envmill.agents.base import TurnInput
from envmill.agents.model import ModelPolicy
from envmill.models.base import Completion, ToolCall, ToolSpec
from envmill.sandbox import Observation
from tests.samples.dialogue import load

CLOCK = "2026-03-02T09:00:00+00:00"


class Account:
    """Notes which tools a model is offered, and calls the same look-up each time."""

    def __init__(self) -> None:
        self.offered: list[set[str]] = []

    async def converse(self, *_: Any, tools: list[ToolSpec], **__: Any) -> Completion:
        self.offered.append({tool.name for tool in tools})
        return Completion(
            "", tool_calls=(ToolCall("call_1", "read_document", {"topic": "profiles"}, "{}"),)
        )


def reply(text: str) -> TurnInput:
    return TurnInput(
        "replies", replies=[Observation("ok", [{"type": "text", "text": text}], "", "", "", None)]
    )


async def test_a_tool_is_offered_once_it_was_named() -> None:
    account: Any = Account()
    player = ModelPolicy().open(load().environment, CLOCK, account, 0, None)
    for heard in (
        TurnInput("opening", "Hello."),
        reply("Nothing about restore_profiles."),
        reply("Use restore_profile."),
        reply("So."),
    ):
        await player.speak(heard)
    assert ["restore_profile" in offered for offered in account.offered] == [
        False,
        False,
        True,
        True,
    ]
    assert all(
        "show_sim" in offered and "see_display" not in offered for offered in account.offered
    )
