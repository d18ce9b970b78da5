"""What a ledger row calls a completion: a reply, a part of one, or a failure."""

from typing import Literal

from envmill.models.base import Request
from envmill.models.continuation import join
from envmill.models.parse import ParsedCompletion, parse_reply

_LAST = "The last part of a reply; those before it are calls of their own."


def name_outcome(
    request: Request, heard: ParsedCompletion
) -> tuple[Literal["reply", "part", "failure"], str]:
    """The outcome, and what is wrong with it. A part is of use only with the parts before and after
    it."""
    if (
        heard.completion.stop == "length"
        and heard.completion.text.strip()
        and (not heard.usable or not request.enforced)
    ):
        return "part", heard.complaint
    if request.enforced or request.reply is None or heard.completion.stop in ("refusal", "filter"):
        return ("reply" if heard.usable else "failure"), heard.complaint
    begun = next(
        (message.text for message in reversed(request.messages) if message.role == "assistant"), ""
    )
    whole = parse_reply(join(begun, heard.completion.text), request.reply)
    return ("failure", whole) if isinstance(whole, str) else ("part", _LAST)
