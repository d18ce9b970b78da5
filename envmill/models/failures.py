"""What a vendor's error means: an outage to wait out, a key to mend, or a request that will never
do.

408 409 425 429 5xx 529 · no connection · no JSON ──► Outage (429: Throttled)
401 402 403 · no credit                           ──► KeyRefused
400 404 413 422 501 · redirects                   ──► BadRequest
"""

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from envmill.base.errors import BadRequest, KeyRefused, ModelError, Outage, Throttled
from envmill.base.settings import Endpoint
from schemas.base import Json, is_object

_PASSING = {408, 409, 425, 429}
_KEY = {401, 402, 403}
_RELAYED = {502, 504, 524}
"""What gateways say when the server behind them had the request and gave no answer in time: it may
work on, and charge for it."""
_NO_CREDIT = (
    "insufficient_quota",
    "billing_error",
    "credit balance is too low",
    "billing_hard_limit_reached",
)
"""What vendors say, with 400 and 429 too, when waiting will not help but paying will."""
_NUMBER = re.compile(r"\d+(\.\d*)?")
_DAY = 86_400.0
_QUOTED = 400
"""Characters of a server's message that are quoted."""


@dataclass(frozen=True)
class ErrorResponse:
    """An error answer, as it was read."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Json]:
        """The error object, in any of the shapes servers use; empty when it is none."""
        try:
            body = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        if not is_object(body):
            return {}
        found: Json = body.get("error", body)
        return found if is_object(found) else {"message": str(found)}

    @property
    def message(self) -> str:
        """What the server says, short enough to be quoted."""
        said = (
            self.error.get("message")
            or self.error.get("detail")
            or self.body.decode("utf-8", "replace")
        )
        return " ".join(str(said).split())[:_QUOTED] or "no message"


def explain(refusal: ErrorResponse, who: str, endpoint: Endpoint) -> ModelError:
    """The error to raise; `who` is the model as people know it."""
    status, error = refusal.status, refusal.error
    said = f"{who} answered {status}: {endpoint.key.mask(refusal.message)}"
    facts = {
        "status": status,
        "code": str(error.get("code") or error.get("type") or ""),
        "param": str(error.get("param") or ""),
    }
    if error and any(
        word in f"{facts['code']} {error.get('type')} {refusal.message}".lower()
        for word in _NO_CREDIT
    ):
        return KeyRefused(
            f"{said}\nThe account has no credit left. Top it up, then resume the run.", **facts
        )
    if error and status in _KEY:
        return KeyRefused(
            f"{said}\nSet {_key_name(endpoint)} to a key that may use this model, then resume "
            "the run.",
            **facts,
        )
    if status == 429:
        return Throttled(
            f"{said}\nFewer calls at once, or another model.",
            retry_after=read_retry_after(refusal.headers),
            **facts,
        )
    if status in _PASSING or status in _KEY or (status >= 500 and status != 501):
        wait, sent = read_retry_after(refusal.headers), status in _RELAYED
        return Outage(
            f"{said}\nRetry the run once it serves again.", retry_after=wait, sent=sent, **facts
        )
    return BadRequest(
        f"{said}\nCorrect the model's name, its address or its settings: asking again changes nothing.",
        **facts,
    )


def _key_name(endpoint: Endpoint) -> str:
    return endpoint.key_name or "the server's key"


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds a server wants to be left alone: milliseconds, seconds or a date, whichever it names;
    at most a day."""
    thousandths, retry_after = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    if _NUMBER.fullmatch(thousandths):
        return min(float(thousandths) / 1000, _DAY)
    if _NUMBER.fullmatch(retry_after):
        return min(float(retry_after), _DAY)
    try:
        return min(
            max(email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0), _DAY
        )
    except (ValueError, OverflowError):
        return None
