"""Reply text → typed record, or a complaint that says exactly what is wrong."""

from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from envmill.models.base import Completion
from envmill.models.mend import find_objects
from schemas.base import Contract, Json, canonical_json, is_object
from schemas.code import split_fenced

C = TypeVar("C", bound=Contract)

_FAULTS = 5
_SHOWN = 60
"""Characters of a wrong value that a complaint quotes."""

_STOPPED = {
    "refusal": "The model refused to answer",
    "filter": "The answer was held back by the provider's content filter",
    "length": "The reply was cut off at its length limit",
}


@dataclass(frozen=True)
class ParsedCompletion:
    """A completion as its reader sees it: with its record, or with what is wrong."""

    completion: Completion
    record: Contract | None = None
    """The record asked for; None when none was asked for or none came."""
    complaint: str = ""
    """Why no use can be made of the completion; empty when it can be used."""

    @property
    def usable(self) -> bool:
        """Whether it answers the request."""
        return not self.complaint


def parse_completion(completion: Completion, reply: type[Contract] | None) -> ParsedCompletion:
    """Read a completion for the record it must become. Free text and tool calls are used as they
    are."""
    if reply is None:
        return ParsedCompletion(completion)
    stopped = _STOPPED.get(completion.stop, "")
    if completion.stop in ("refusal", "filter"):
        said = " ".join(completion.text.split())[:200]
        return ParsedCompletion(
            completion, complaint=f"{stopped}: {said}" if said else f"{stopped}."
        )
    parsed = parse_reply(completion.text, reply)
    if not isinstance(parsed, str):
        return ParsedCompletion(completion, parsed)
    return ParsedCompletion(completion, complaint=f"{stopped}. {parsed}" if stopped else parsed)


def parse_reply(text: str, record: type[C]) -> C | str:
    """The record, or the complaint to send back. Prose, fences and slips around one JSON object are
    forgiven."""
    if record.fenced and (parted := split_fenced(text)) is not None:
        return _join(*parted, record)
    return _read_object(text, record)


def _join(rest: str, blocks: list[str], record: type[C]) -> C | str:
    """A JSON object and one fenced block. The object may be left out where it has no other field
    that is needed."""
    if len(blocks) > 1:
        return (
            f"The reply holds {len(blocks)} code blocks. Send one JSON object and the whole text "
            "in one code block."
        )
    objects = find_objects(rest).objects
    if len(objects) > 1:
        return (
            f"The reply holds {len(objects)} JSON objects beside the code block, and only one is "
            "asked for."
        )
    return _validate({**(objects[0] if objects else {}), record.fenced: blocks[0]}, record)


def _read_object(text: str, record: type[C]) -> C | str:
    found = find_objects(text)
    read = [_validate(value, record) for value in found.objects]
    records = [one for one in read if not isinstance(one, str)]
    if len({canonical_json(one.model_dump(mode="json")) for one in records}) > 1:
        return (
            f"The reply holds {len(records)} different JSON objects that fit the schema, and "
            "only one is asked for."
        )
    if records:
        return records[0]
    if found.fault:
        return f"The JSON object cannot be read: {found.fault}"
    if not read:
        return "The reply holds no JSON object." if text.strip() else "The reply is empty."
    return str(
        max(zip(map(len, map(str, found.objects)), read, strict=True), key=lambda pair: pair[0])[1]
    )


def _validate(value: dict[str, Json], record: type[C]) -> C | str:
    """An object wrapped in one key is unwrapped: `{"reply": {…}}`."""
    try:
        return record.model_validate(value)
    except ValidationError as error:
        complaint = _complain(error)
    inner = next(iter(value.values())) if len(value) == 1 else None
    if is_object(inner) and not value.keys() & record.model_fields.keys():
        unwrapped = _validate(inner, record)
        return complaint if isinstance(unwrapped, str) else unwrapped
    return complaint


def _complain(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False)
    told = [
        f"{'.'.join(map(str, fault['loc'])) or 'reply'}: "
        f"{fault['msg']}{_quote(fault['type'], fault['input'])}"
        for fault in faults
    ]
    more = f"; and {len(told) - _FAULTS} more" if len(told) > _FAULTS else ""
    return "The JSON object does not fit the schema: " + "; ".join(told[:_FAULTS]) + more


def _quote(kind: str, value: Json) -> str:
    """What came; a missing field's value is the whole object, which says nothing."""
    if kind == "missing":
        return ""
    rendered = canonical_json(value)
    return f" (it is {rendered if len(rendered) <= _SHOWN else rendered[:_SHOWN] + '…'})"
