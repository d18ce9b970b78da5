"""A door that asks the loopback vendors, and a question whose answer is easily judged."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from envmill.base.settings import Endpoint, Secret
from envmill.lake.journal import Journal, read_calls
from envmill.models.anthropic import Messages
from envmill.models.budget import Budget
from envmill.models.caller import Retries
from envmill.models.connection import ApiConnection
from envmill.models.gateway import CallPolicy, Gateway, Known
from envmill.models.limiter import ModelLimits, Shares
from envmill.models.openai import Chat
from envmill.models.prices import Prices
from envmill.models.prompt import Prompt
from envmill.models.redaction import Redactor
from envmill.models.responses import Responses
from envmill.models.sdk import SILENCE
from envmill.models.vendor import Vendor
from schemas.base import Contract
from schemas.ledger import ModelCall

KEY = "sk-loopback-0123456789abcdef"


class Question(Contract):
    """Input."""

    word: str


class Answer(Contract):
    """Reply."""

    length: int
    note: str = ""


GOOD = '{"length": 3, "note": ""}'
PROMPT = Prompt(
    "count", "How long is {{word}}? Answer with one JSON object as in {{reply_schema}}", "hash"
)


def make_provider(vendor: str, root: str, key: str = KEY, silence: float = SILENCE) -> Vendor:
    """`openai`, `responses` or `anthropic` at the loopback server; with `-stream` its answers come
    in pieces, else whole."""
    name, _, stream = vendor.partition("-")
    if name == "anthropic":
        endpoint = Endpoint(root, Secret(key), "ANTHROPIC_API_KEY", bool(stream))
        return Vendor(
            name, "loopback-large", Messages(), ApiConnection("anthropic", endpoint, silence)
        )
    endpoint = Endpoint(f"{root}/v1", Secret(key), "OPENAI_API_KEY", bool(stream))
    return Vendor(
        name,
        "loopback-large",
        Chat() if name == "openai" else Responses(),
        ApiConnection("openai", endpoint, silence),
    )


@asynccontextmanager
async def open_door(
    vendor: str,
    root: str,
    folder: Path,
    *,
    key: str = KEY,
    in_flight: int = 64,
    pauses: Sequence[float] = (0.01, 0.01, 0.01),
    silence: float = SILENCE,
    deadline: float = 120.0,
    budget: Budget | None = None,
    known: Known | None = None,
    shares: Shares | None = None,
    prices: Prices | None = None,
) -> AsyncGenerator[Gateway]:
    """A door over the journals of a folder, as a process that goes on with a run opens it; it
    pauses little, so that tests are quick."""
    provider, answered = (
        make_provider(vendor, root, key, silence),
        (call for call in read_calls(folder) if call.answers),
    )
    known = {(call.request, call.sample): call for call in answered} if known is None else known
    journal, retries = Journal(folder), Retries(tuple(pauses), deadline)
    discipline = CallPolicy(
        ModelLimits(in_flight),
        retries,
        Prices() if prices is None else prices,
        budget,
        shares,
        Redactor([key]),
    )
    provider._connection.prepare()  # pyright: ignore[reportPrivateUsage]  loading an SDK is no part of a short deadline
    try:
        yield Gateway(provider, journal, dict(known), 1, discipline=discipline)
    finally:
        await provider.close()
        await journal.close()
        if shares is not None:
            shares.close()


def list_calls(folder: Path) -> list[ModelCall]:
    """What the journals of a folder hold."""
    return list(read_calls(folder))
