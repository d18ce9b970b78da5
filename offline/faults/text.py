"""Mistakes in how a reply is written down, whatever it says."""

import json
import random

from schemas.base import is_object


def add_prose(text: str, dice: random.Random) -> str:
    """Wrap the JSON the way chatty models do."""
    before = dice.choice(
        (
            "Sure! Here is what you asked for:",
            "I thought about the rules first. The result:",
            "Here you go.",
        )
    )
    return f"{before}\n\n```json\n{text}\n```\n\nLet me know if anything should be different."


def truncate(text: str, dice: random.Random) -> str:
    """Stop early, as at a token limit."""
    return text[: dice.randrange(len(text) * 4 // 10, len(text) * 9 // 10)]


def rename_key(text: str, dice: random.Random) -> str:
    """Call a field of the reply otherwise than its schema does."""
    reply: dict[str, object] = json.loads(text)
    name = dice.choice([each for each in reply if reply[each]])
    other = f"{name}_list" if isinstance(reply[name], list) else f"{name}Text"
    return _write({other if key == name else key: value for key, value in reply.items()})


def drop_key(text: str, dice: random.Random) -> str:
    """Leave a field of the reply out."""
    reply = json.loads(text)
    name = dice.choice([each for each in reply if each in REQUIRED])
    return _write({key: value for key, value in reply.items() if key != name})


def wrap_reply(text: str, dice: random.Random) -> str:
    """Put the reply into an envelope nobody asked for."""
    return _write({dice.choice(("result", "response", "output")): json.loads(text)})


def render_as_text(text: str, dice: random.Random) -> str:
    """Send a structure as a string with JSON in it."""
    reply = json.loads(text)
    structures = [
        key for key, value in reply.items() if isinstance(value, list) or is_object(value)
    ]
    name = dice.choice(
        structures or [key for key, value in reply.items() if isinstance(value, str)]
    )
    return _write(
        reply
        | {name: json.dumps(reply[name]) if not isinstance(reply[name], str) else [reply[name]]}
    )


def add_comma(text: str, dice: random.Random) -> str:  # noqa: ARG001
    """Leave a comma before the last brace, as programs do and JSON does not."""
    return text[:-1] + ",\n}"


def quote_singly(text: str, dice: random.Random) -> str:  # noqa: ARG001
    """Write a Python literal instead of JSON."""
    return repr(json.loads(text))


REQUIRED = frozenset(
    {
        "name",
        "summary",
        "collections",
        "rules",
        "tools",
        "source",
        "class_name",
        "initial_state",
        "tests",
        "request",
        "oracle",
    }
    | {
        "errands",
        "checks",
        "calls",
        "opinion",
        "reason",
        "stateful",
        "specific",
        "names",
        "requirements",
        "ddl",
        "rows",
        "relations",
        "readings",
    }
)
"""Fields no reply may lack."""


def _write(reply: object) -> str:
    return json.dumps(reply, ensure_ascii=False)
