"""Compares a message of the policy with the text that a template makes of it: the template may
leave out nothing and add nothing."""

import json
import re
from collections.abc import Iterator

from envmill.interop.tokens.refusal import Reason
from schemas.base import Json, is_array, is_object

_EMPTY_THOUGHT = re.compile(r"<(think|thinking|reasoning)>\s*</\1>")


def find_difference(message: Json, shown: str, words: str) -> tuple[Reason, str] | None:
    """Find how the masked text of a turn differs from the message; `words` is the same text without
    the template's control tokens.

    A message without calls must be equal, except for white space at its edges. A template may write
    calls in any format, so only their names and all values must occur.
    """
    content, thought = message["content"].strip(), message.get("reasoning_content", "").strip()
    calls: list[Json] = message.get("tool_calls") or []
    if content and content not in shown:
        return "says_less", "the text of the message is missing"
    for call in calls:
        for value in (call["function"]["name"], *_list_values(call["function"]["arguments"])):
            if not any(one in shown for one in _list_forms(value)):
                return "says_less", f"{value!r} of a call is missing"
    if not thought and _EMPTY_THOUGHT.search(shown):
        return "says_more", "the template adds an empty thought; see --template-args"
    if not calls and not thought and words.strip() != content:
        return "says_more", f"the template writes {words.strip()[:80]!r}"
    return None


def leaves_thinking_out(message: Json, shown: str) -> bool:
    """Whether the template leaves out thinking that the message has."""
    thought = message.get("reasoning_content", "").strip()
    return bool(thought) and thought not in shown


def _list_values(value: Json) -> Iterator[Json]:
    """Names and values of arguments, at every depth."""
    if is_object(value):
        for name, one in value.items():
            yield name
            yield from _list_values(one)
    elif is_array(value):
        for one in value:
            yield from _list_values(one)
    elif value is not None:
        yield value


def _list_forms(value: Json) -> Iterator[str]:
    """A value as templates write it: unchanged, as JSON, or as JSON within JSON."""
    yield str(value)
    for ascii_only in (False, True):
        once = json.dumps(value, ensure_ascii=ascii_only)
        yield once.strip('"') if not isinstance(value, str) else once[1:-1]
        yield (
            json.dumps(once, ensure_ascii=ascii_only)[1:-1].removeprefix('\\"').removesuffix('\\"')
        )
