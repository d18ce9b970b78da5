"""A stored transcript as a trainer reads it: chat messages, which of them are learnt from, and what
was done in them."""

from collections.abc import Iterator, Sequence

from schemas.base import Json, is_object
from schemas.environment import Environment
from schemas.rollout import Rollout

_AGENTS_FAULT = frozenset({"invalid_arguments", "unknown_tool", "malformed_call"})
"""Codes of calls that never reached the program: nobody should learn to make them."""
_OURS = frozenset({"state_hash", "sampled"})
"""What stands beside a message and is no part of it."""


def list_messages(rollout: Rollout) -> list[Json]:
    """Without state hashes and token ids, and with calls numbered in order: two vendors' ids for
    the same call are no difference."""
    numbers: dict[str, str] = {}
    shown = list_shown(rollout.transcript)
    return [
        _renumber({key: value for key, value in entry.items() if key not in _OURS}, numbers)
        for entry in shown
    ]


def list_sampled(transcript: Sequence[Json]) -> list[Json]:
    """Per shown message: its tokens as they were sampled, null where they are not known; nothing
    where none are."""
    found: list[Json] = [entry.get("sampled") for entry in list_shown(transcript)]
    return found if any(found) else []


def list_shown(transcript: Sequence[Json]) -> list[Json]:
    """Without the calls of the user's own and their replies: the agent heard of them in words."""
    shown, hidden = list[Json](), frozenset[str]()
    for entry in transcript:
        if entry["role"] == "user" and entry.get("tool_calls"):
            hidden = frozenset(call["id"] for call in entry["tool_calls"])
        elif entry["role"] != "tool" or entry["tool_call_id"] not in hidden:
            shown.append(entry)
    return shown


def weigh_messages(messages: Sequence[Json]) -> list[bool]:
    """Per message: what the policy said is learnt from, what it was told is not, nor a turn whose
    calls were all malformed."""
    faults = {
        entry["tool_call_id"]: _is_agents_fault(entry["content"])
        for entry in messages
        if entry["role"] == "tool"
    }
    return [entry["role"] == "assistant" and not _is_faulty(entry, faults) for entry in messages]


def describe_deeds(rollout: Rollout) -> list[Json]:
    """Calls and waits in order, without words and replies: two attempts that differ in neither have
    done the same."""
    return list(_list_deeds(rollout.transcript))


def list_tools(environment: Environment) -> list[Json]:
    """The interface as an agent is shown it."""
    shown = [tool for tool in environment.shown if "agent" in tool.actors]
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in shown
    ]


def _list_deeds(transcript: Sequence[Json]) -> Iterator[Json]:
    for entry in transcript:
        if entry["role"] == "wait":
            yield ["wait", entry["seconds"]]
        for call in entry.get("tool_calls", ()):
            yield [call["name"], call["arguments"], call.get("actor", "agent")]


def _renumber(message: dict[str, Json], numbers: dict[str, str]) -> dict[str, Json]:
    """Each call's number by its place; a reply's by the last call that bore its id, since vendors
    use one again."""
    if "tool_calls" in message:
        calls: list[Json] = []
        for call in message["tool_calls"]:
            numbers[call["id"]] = f"call_{len(numbers) + 1}"
            calls.append(call | {"id": numbers[call["id"]]})
        return message | {"tool_calls": calls}
    if message["role"] == "tool":
        return message | {
            "tool_call_id": numbers.get(message["tool_call_id"], message["tool_call_id"])
        }
    return message


def _is_faulty(entry: Json, faults: dict[str, bool]) -> bool:
    calls = entry.get("tool_calls") or ()
    return bool(calls) and all(faults.get(call["id"], False) for call in calls)


def _is_agents_fault(content: Json) -> bool:
    return (
        is_object(content)
        and not content.get("ok", True)
        and content["error"]["code"] in _AGENTS_FAULT
    )
