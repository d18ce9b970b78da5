"""A discoverable tool is offered to a model once the call was made that unlocks it; where none is
known to, once a reply names it."""

from typing import Any

from envmill.agents.base import TurnInput
from envmill.agents.model import ModelPolicy
from envmill.models.base import Completion, ToolCall, ToolSpec
from envmill.sandbox import Observation
from schemas.base import Json
from schemas.environment import Environment
from tests.samples.dialogue import load

CLOCK = "2026-03-02T09:00:00+00:00"


class Account:
    """Notes which tools a model is offered, and makes one call after the other."""

    def __init__(self, *calls: tuple[str, dict[str, Json]]) -> None:
        self.offered: list[set[str]] = []
        self._calls = iter(calls)

    async def converse(self, *_: Any, tools: list[ToolSpec], **__: Any) -> Completion:
        self.offered.append({tool.name for tool in tools})
        name, arguments = next(self._calls, ("read_document", {"topic": "profiles"}))
        return Completion("", tool_calls=(ToolCall("call_1", name, arguments, "{}"),))


def reply(text: str, outcome: Any = "ok") -> TurnInput:
    return TurnInput(
        "replies",
        replies=[Observation(outcome, [{"type": "text", "text": text}], "", "", "", None)],
    )


async def test_a_tool_is_offered_once_it_was_unlocked() -> None:
    """Its page names it before: a tool that is listed already would be called locked."""
    key = ("unlock_tool", {"tool": "restore_profile"})
    account: Any = Account(
        ("read_document", {"topic": "profiles"}), ("unlock_tool", {"tool": "other"}), key, key
    )
    player = ModelPolicy().open(load().environment, CLOCK, account, 0, None)
    for heard in (
        TurnInput("opening", "Hello."),
        reply("Restore it with restore_profile, a locked tool."),
        reply("restore_profile"),
        reply("restore_profile: locked", "rejection"),
        reply("It is open."),
    ):
        await player.speak(heard)
    assert ["restore_profile" in offered for offered in account.offered] == [
        *[False] * 4,
        True,
    ]


async def test_a_tool_of_which_no_call_is_known_is_offered_once_it_was_named() -> None:
    account: Any = Account()
    told = load().environment.model_dump(mode="json")
    told["files"].pop("dialogue.json")
    environment = Environment.model_validate(told | {"id": "", "kind": "stateful"})
    player = ModelPolicy().open(environment, CLOCK, account, 0, None)
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
