"""What is wrong with a prompt's text, told before anybody pays for sending it."""

import re
from collections.abc import Iterator

from schemas.base import Contract

SLOT = re.compile(r"\{\{(\w+(?:\.\w+)*)\}\}")
"""`{{field}}`, or a part of a field: `{{brief.outline.tools}}`."""
SCHEMA_SLOT = "reply_schema"
"""The slot that the reply's JSON schema fills."""

_DOUBLE = re.compile(
    r"\{\{+[^{}\n]*\}*"
)  # JSON never opens with two braces: whatever does was meant as a slot
_SINGLE = re.compile(r"(?<!\{)\{\s*(\w+)\s*\}+")


def lint(text: str, takes: type[Contract], gives: type[Contract] | None) -> list[str]:
    """Every fault, in words; none for a prompt that uses exactly what it is given."""
    slots, fields = list_slots(text), set(takes.model_fields)
    return [
        *_find_slips(text, fields | {SCHEMA_SLOT}),
        *_compare(slots, fields),
        *_judge_schema(slots, takes, gives),
    ]


def list_slots(text: str) -> set[str]:
    """Fields that a prompt shows, whole or in part."""
    return {slot.partition(".")[0] for slot in SLOT.findall(text)}


def _find_slips(text: str, names: set[str]) -> Iterator[str]:
    if not text.strip():
        yield "it says nothing"
    slips = [found for found in _DOUBLE.findall(text) if not SLOT.fullmatch(found)]
    slips += [found[0] for found in _SINGLE.finditer(text) if found[1] in names]
    for slip in slips:
        yield f"{slip[:40]!r} is no slot and would be sent as it stands; a slot is {{{{name}}}}"


def _compare(slots: set[str], fields: set[str]) -> Iterator[str]:
    for name in sorted(slots - fields - {SCHEMA_SLOT}):
        yield (
            f"unknown slot {{{{{name}}}}}: its input has {', '.join(sorted(fields)) or 'no fields'}"
        )
    for name in sorted(fields - slots - {SCHEMA_SLOT}):
        yield (
            f"unused slot {{{{{name}}}}}: the model never learns it; use it, or take it out of "
            "the input"
        )


def _judge_schema(
    slots: set[str], takes: type[Contract], gives: type[Contract] | None
) -> Iterator[str]:
    if SCHEMA_SLOT in takes.model_fields:
        yield f"its input has a field {SCHEMA_SLOT}, which is the name of the reply's schema"
    elif gives is not None and SCHEMA_SLOT not in slots:
        yield (
            f"missing schema: without {{{{{SCHEMA_SLOT}}}}} a model without native structured "
            "output cannot know the reply's form"
        )
    elif gives is None and SCHEMA_SLOT in slots:
        yield f"{{{{{SCHEMA_SLOT}}}}} stands in a prompt whose reply is free text"
