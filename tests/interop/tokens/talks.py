"""Conversations to encode: with calls, side by side, with thinking, with what tools and people may
write."""

from typing import Any

SYSTEM = {"role": "system", "content": "Lend tools to members. Be brief."}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "lend",
            "description": "Lend a tool.",
            "parameters": {
                "type": "object",
                "properties": {"tool_id": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]


def call(number: int, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call_{number}", "name": "lend", "arguments": arguments}


def ask(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def say(text: str, *calls: dict[str, Any], thought: str = "") -> dict[str, Any]:
    return (
        {"role": "assistant", "content": text}
        | ({"tool_calls": list(calls)} if calls else {})
        | ({"reasoning": thought} if thought else {})
    )


def reply(number: int, text: str) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": f"call_{number}",
        "content": {"ok": True, "parts": [{"text": text}]},
    }


ONE_CALL = [
    SYSTEM,
    ask("Lend the drill to Ada."),
    say("", call(1, tool_id="T1", days=3)),
    reply(1, "lent"),
    say("It is lent."),
]
TWO_CALLS = [
    SYSTEM,
    ask("Lend both."),
    say("", call(1, tool_id="T1"), call(2, tool_id='a "b" \\ ü\n', days=-2)),
    reply(1, "lent"),
    reply(2, "lent"),
    say("Both are lent."),
]
TALK = [SYSTEM, ask("Hello."), say("Which tool?"), ask("The drill."), say("Done.")]
LONG = [
    *ONE_CALL,
    ask("And back?"),
    say("", call(2, tool_id="T1")),
    reply(2, "back"),
    say("It is back."),
]
WORDS_AND_CALL = [
    SYSTEM,
    ask("Lend it."),
    say("I shall lend it.", call(1, tool_id="T1")),
    reply(1, "lent"),
    say("It is lent."),
]
THOUGHT = [
    SYSTEM,
    ask("Lend it."),
    say("", call(1, tool_id="T1"), thought="She wants T1."),
    reply(1, "lent"),
    say("It is lent.", thought="It went well."),
]
THOUGHTS = [*THOUGHT, ask("Thanks. Back?"), say("Not yet.", thought="It is out.")]
TALKS = {
    "one_call": ONE_CALL,
    "two_calls": TWO_CALLS,
    "talk": TALK,
    "long": LONG,
    "words_and_call": WORDS_AND_CALL,
    "thought": THOUGHT,
}
