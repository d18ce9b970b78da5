"""One line of a batch's results in OpenAI's format, which offline servers write too, read into an
outcome."""

from collections.abc import Iterator

import orjson

from envmill.models.batches.base import Fate, Outcome
from envmill.models.shape import take_object, take_text
from schemas.base import Json, canonical_json, is_object

_REFUSED = frozenset(
    {400, 404, 413, 422}
)  # the request's own fault: the next batch would refuse it again
_MOST_SAID = 500  # characters of a vendor's message that are worth keeping


def read_rows(content: bytes) -> Iterator[Json]:
    """Lines that can be read; one that cannot is as good as none, and its request is handed in
    again."""
    for line in content.split(b"\n"):
        try:
            yield orjson.loads(line)
        except ValueError:
            continue


def read_line(row: Json) -> tuple[str, Outcome]:
    """(item, outcome). Anything that is not a reply is some failure, never an exception: one odd
    line must not hide the others."""
    if not is_object(row):
        return "", Outcome("failed", said="a line that is no object")
    name = str(row.get("custom_id", ""))
    error, response = row.get("error"), row.get("response")
    if error:
        return name, _read_error(error, response)
    if not is_object(response):
        return name, Outcome("failed", said="neither response nor error")
    status, body = response.get("status_code", 200), response.get("body", response)
    if status == 200 and is_object(body):
        return name, Outcome("done", body)
    return name, Outcome(
        "refused" if status in _REFUSED else "failed",
        said=f"{status}: {describe(body)}",
        param=find_param(body),
    )


def describe(body: Json) -> str:
    """What a vendor says of a failure, in its own words where there are some."""
    if is_object(body):
        inner = body.get("error", body)
        if is_object(inner) and inner.get("message"):
            return str(inner["message"])[:_MOST_SAID]
    return canonical_json(body)[:_MOST_SAID]


def find_param(body: Json) -> str:
    """The field a vendor says it refused; empty when it names none."""
    return take_text(take_object(body, "error").get("param")) or take_text(
        take_object(body).get("param")
    )


def _read_error(error: Json, response: Json) -> Outcome:
    """Offline servers name a status, in the error or beside it; vendors name what became of the
    batch."""
    code = error.get("code", "") if is_object(error) else ""
    status = response.get("status_code") if is_object(response) else code
    fates: dict[str, Fate] = {
        "batch_expired": "expired",
        "batch_cancelled": "cancelled",
        "invalid_request": "refused",
    }
    fate = "refused" if status in _REFUSED else fates.get(str(code), "failed")
    return Outcome(
        fate,
        said=f"{code}: {describe(error)}" if code else describe(error),
        param=find_param(error),
    )
