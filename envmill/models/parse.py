"""Reply text → typed record, or a complaint that says exactly what is wrong."""

import json
from typing import TypeVar

from pydantic import ValidationError

from schemas.base import Contract, Json, canonical_json

C = TypeVar("C", bound=Contract)


def parse_reply(text: str, record: type[C]) -> C | str:
    """The record, or the complaint to send back. Prose around one JSON object is forgiven."""
    found = _find_object(text)
    if isinstance(found, str):
        return found
    try:
        return record.model_validate(found)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in error.errors()[:5]]
        return "The JSON object does not fit the schema: " + "; ".join(faults)


def _find_object(text: str) -> dict[str, Json] | str:
    start = text.find("{")
    if start < 0:
        return "The reply holds no JSON object."
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
        canonical_json(found).encode()  # NaN and half a surrogate pair are read without a word, and could not be stored
    except (ValueError, RecursionError) as error:
        return f"The JSON object cannot be read: {error}"
    return found
