"""The ledger: a row for every call that was sent, with all that reuse, prices and later readers
need; nothing that is unknown is zero."""

import asyncio
import json
import random
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import BadRequest, KeyRefused, ModelError, Outage, Throttled, TimeOver
from envmill.lake.arrow import Stamp
from envmill.lake.journal import Journal, read_calls, seal
from envmill.lake.lake import Lake
from envmill.models.base import Completion, Message, Request, Spent, ToolCall, ToolSpec, Usage
from envmill.models.caller import Retries
from envmill.models.gateway import CallPolicy, Gateway
from envmill.models.limiter import ModelLimits
from envmill.models.prices import Prices
from envmill.models.prompt import Prompt
from envmill.models.redaction import Redactor
from schemas.base import Contract
from schemas.ledger import ModelCall
from schemas.shapes import upgrade


class Scripted:
    """A model that does what it is told, one thing after the other, the last for ever."""

    name = "openai"

    def __init__(self, *says: Completion | Exception | None, model: str = "gpt-x") -> None:
        self.model, self._says, self.asked = model, list(says), 0

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        said = self._says.pop(0) if len(self._says) > 1 else self._says[0]
        await asyncio.sleep(0)
        if said is None:
            await asyncio.sleep(60)
        if isinstance(said, Exception):
            raise said
        assert isinstance(said, Completion)
        return said

    async def close(self) -> None:
        return


FULL = Completion(
    text="Let me look.",
    tool_calls=(
        ToolCall("c1", "lend", {"tool": "T1"}, '{"tool": "T1"}'),
        ToolCall("c2", "lend", None, '{"tool": '),
    ),
    reasoning="They want the drill.",
    stop="tool",
    usage=Usage(input=1000, output=60, cached=400, cache_write=100, reasoning=40),
    model="gpt-x-2026-11-01",
    token_ids=(1, 2, 3),
    logprobs=(-0.1, -0.25, -3.0),
    notes=("seed: the vendor has no such knob",),
)
TOOL = ToolSpec("lend", "Lend a tool.", {"type": "object"})
PRICED = """[[price]]
provider = "openai"
model = "gpt-x"
input = 1
cached_input = 0.1
cache_write = 2
output = 10
source = "p"
read_on = 2026-11-21
"""
QUICK = Retries((0.0, 0.0), deadline=0.5)


def make_request(
    text: str = "Lend Ada the drill.", reply: type[Contract] | None = None, **more: Any
) -> Request:
    fields: dict[str, Any] = {
        "prompt": Prompt("act", text, "h"),
        "inputs": {},
        "messages": (Message("user", text),),
        "reply": reply,
    }
    return Request(
        **fields
        | {
            "seed": 1,
            "sample": 0,
            "step": "scenarios-collect",
            "subject": "scn_1",
            "tools": (TOOL,),
            "role": "policy",
        }
        | more
    )


async def ask(folder: Path, provider: Scripted, *requests: Request, **terms: Any) -> list[Any]:
    """What the door gave, error or completion, in a process of its own as far as the ledger can
    tell."""
    known = {(call.request, call.sample): call for call in read_calls(folder) if call.answers}
    journal = Journal(folder)
    held: dict[str, Any] = {"retries": QUICK} | terms
    door = Gateway(provider, journal, known, 1, discipline=CallPolicy(**held))
    try:
        heard = await asyncio.gather(
            *(door.complete(one, Spent()) for one in requests), return_exceptions=True
        )
    finally:
        await journal.close()
    return [getattr(one, "completion", one) for one in heard]


def prices(tmp_path: Path, text: str = PRICED) -> Prices:
    (tmp_path / "prices.toml").write_text(text)
    return Prices.load(tmp_path / "prices.toml")


async def test_a_row_tells_everything_of_a_call(tmp_path: Path) -> None:
    await ask(tmp_path / "j", Scripted(FULL), make_request(), prices=prices(tmp_path))
    (row,) = read_calls(tmp_path / "j")
    told = row.model_dump(exclude={"id", "ordinal", "request", "latency", "waited", "asked_at"})
    assert told == {
        "schema_version": 4, "sample": 0, "step": "scenarios-collect", "subject": "scn_1", "role": "policy", "kin": False,
        "prompt": "act", "prompt_hash": "h", "provider": "openai", "model": "gpt-x", "served_model": "gpt-x-2026-11-01", "family": "openai",
        "outcome": "reply", "error": "", "reused": False, "reused_from": "", "retries": 0,
        "characters": len("Lend Ada the drill.") + len("lend") + len("Lend a tool.") + len('{"type":"object"}'),
        "tokens_in": 1000, "tokens_cached": 400, "tokens_cache_write": 100, "tokens_out": 60, "tokens_reasoning": 40,
        "cost": pytest.approx((500 * 1 + 400 * 0.1 + 100 * 2 + 60 * 10) / 1e6), "price_source": "p, 2026-11-21",
        "repair": False, "possibly_paid": 0, "possibly_paid_tokens": 0, "possibly_paid_cost": 0.0,
        "reply": "Let me look.", "stop": "tool", "reasoning": "They want the drill.", "token_ids": [1, 2, 3],
        "logprobs": [-0.1, -0.25, -3.0], "signed": [],
        "tool_calls": [
            {"id": "c1", "name": "lend", "arguments": {"tool": "T1"}, "raw": '{"tool": "T1"}'},
            {"id": "c2", "name": "lend", "arguments": None, "raw": '{"tool": '},
        ],
        "notes": ["seed: the vendor has no such knob"],
    }  # fmt: skip


async def test_a_reused_reply_is_the_reply_to_the_last_logprob(tmp_path: Path) -> None:
    """From the journal, from the lake after sealing, and lent to another run."""
    journal, lake = tmp_path / "j", Lake(tmp_path / "lake")
    (first,) = await ask(journal, Scripted(FULL), make_request())
    (again,) = await ask(journal, never := Scripted(Outage("never asked")), make_request())
    seal(journal, lake, Stamp("r1", "", "", 0, 1, "", "t"))
    sealed = {
        (call.request, call.sample): call for call in lake.read(ModelCall, "r1") if call.answers
    }
    (lent,) = await ask(tmp_path / "other", never, make_request(), borrowed=sealed, lender="r1")
    (twice,) = await ask(tmp_path / "other", never, make_request())
    assert never.asked == 0
    for reply in (again, lent, twice):
        assert (reply.text, reply.tool_calls, reply.reasoning, reply.stop) == (
            first.text,
            first.tool_calls,
            first.reasoning,
            first.stop,
        )
        assert (reply.token_ids, reply.logprobs, reply.notes, reply.model) == (
            first.token_ids,
            first.logprobs,
            first.notes,
            first.model,
        )
        assert (reply.cost, reply.usage) == (0.0, Usage())
    assert {
        (row.reused, row.reused_from, row.tokens_in, row.cost, row.reply != "")
        for row in read_calls(tmp_path / "other")
    } == {
        (True, "r1", 0, 0.0, True),
        (True, "", 0, 0.0, False),
    }


@pytest.mark.parametrize("text", ["", PRICED.replace("cached_input = 0.1\n", "")])
async def test_an_unknown_price_is_null_and_names_no_source(tmp_path: Path, text: str) -> None:
    (said,) = await ask(
        tmp_path / "j", Scripted(FULL), make_request(), prices=prices(tmp_path, text)
    )
    (row,) = read_calls(tmp_path / "j")
    assert (said.cost, row.cost, row.price_source) == (None, None, "")


@pytest.mark.parametrize(
    ("error", "outcome", "retries", "asked"),
    [
        (Outage("gone"), "outage", 2, 3),
        (None, "outage", 0, 1),
        (Throttled("slower", retry_after=3600.0), "outage", 0, 1),
        (BadRequest("no such model"), "refused", 0, 1),
        (KeyRefused("wrong key"), "refused", 0, 1),
    ],
    ids=["outage", "never-answers", "come-back-in-an-hour", "bad-request", "key"],
)
async def test_what_gave_nothing_has_its_row_and_may_be_asked_again(
    tmp_path: Path, error: Exception | None, outcome: str, retries: int, asked: int
) -> None:
    provider = Scripted(error)
    (raised,) = await ask(tmp_path, provider, make_request())
    assert isinstance(raised, ModelError)
    (row,) = read_calls(tmp_path)
    assert (
        row.outcome,
        row.retries,
        provider.asked,
        row.cost,
        row.tokens_in,
        row.reply,
        row.stop,
    ) == (
        outcome,
        retries,
        asked,
        0.0,
        0,
        "",
        "",
    )
    assert row.error.startswith(f"{type(raised).__name__}: ")
    assert not row.answers
    (said,) = await ask(tmp_path, Scripted(FULL), make_request())
    assert said.text == FULL.text


@pytest.mark.parametrize("kind", [Outage, BadRequest, KeyRefused])
async def test_what_an_error_quotes_is_hidden_whoever_raised_it(
    tmp_path: Path, kind: type[ModelError]
) -> None:
    key = "correct horse battery staple"
    (raised,) = await ask(
        tmp_path, Scripted(kind(f"said {key}", body=key)), make_request(), redactor=Redactor([key])
    )
    (row,) = read_calls(tmp_path)
    assert (raised.message, raised.facts, row.error) == (
        "said [secret]",
        {"body": "[secret]"},
        f"{kind.__name__}: said [secret]",
    )
    assert key not in "".join(traceback.format_exception(raised))


async def test_a_call_that_was_never_sent_has_no_row(tmp_path: Path) -> None:
    """After a refused key nobody else is sent."""
    provider = Scripted(KeyRefused("wrong key"))
    raised = await ask(
        tmp_path,
        provider,
        *(make_request(f"question {number}") for number in range(20)),
        limits=ModelLimits(in_flight=2),
    )
    assert {type(one) for one in raised} == {KeyRefused}
    assert len(list(read_calls(tmp_path))) == provider.asked <= 2


async def test_a_deadline_holds_for_all_retries_together(tmp_path: Path) -> None:
    provider = Scripted(Outage("gone"), Outage("gone"), None)
    began = time.monotonic()
    (raised,) = await ask(
        tmp_path, provider, make_request(), retries=Retries((0.1,) * 100, deadline=0.5)
    )
    assert isinstance(raised, TimeOver)
    assert provider.asked == 3
    assert time.monotonic() - began < 5


def test_pauses_vary_and_end() -> None:
    retries, dice = Retries((1.0, 4.0)), random.Random(1)
    pauses = [retries.pause(Outage("x"), 1, 100.0, dice) for _ in range(100)]
    assert all(pause is not None and 0.5 <= pause <= 1.5 for pause in pauses)
    assert len(set(pauses)) > 50
    assert retries.pause(Outage("x"), 3, 100.0, dice) is None
    assert retries.pause(Outage("x"), 2, 1.0, dice) is None
    assert retries.pause(Throttled("x", retry_after=None), 99, 1.0, dice) == 0.0
    assert retries.pause(Throttled("x", retry_after=2.0), 1, 1.0, dice) is None


async def test_a_judge_of_the_authors_family_is_marked(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    door = Gateway(
        Scripted(FULL),
        journal,
        {},
        1,
        {"judge": Scripted(FULL, model="gpt-y"), "critic": Scripted(FULL, model="claude-z")},
    )
    for role in ("author", "judge", "critic", "policy"):
        await door.complete(make_request(f"as {role}", role=role), Spent())
    await journal.close()
    rows = {row.role: (row.family, row.kin, row.model) for row in read_calls(tmp_path)}
    assert rows == {
        "author": ("openai", False, "gpt-x"), "judge": ("openai", True, "gpt-y"), "critic": ("anthropic", False, "claude-z"),
        "policy": ("openai", False, "gpt-x"),
    }  # fmt: skip


def test_a_journal_of_version_1_is_read(tmp_path: Path) -> None:
    old = ModelCall(
        request="q", sample=0, ordinal="j:1", step="s", subject="a", prompt="p", prompt_hash="h", provider="offline", model="m",
        outcome="failure", reused=False, retries=0, tokens_in=1, tokens_out=2, cost=None, latency=0.1, asked_at="t", reply="{}",
    )  # fmt: skip
    known = (
        "id",
        "request",
        "sample",
        "ordinal",
        "step",
        "subject",
        "prompt",
        "prompt_hash",
        "provider",
        "model",
        "outcome",
        "reused",
    )
    kept = old.model_dump(
        include={
            *known,
            "retries",
            "tokens_in",
            "tokens_out",
            "cost",
            "latency",
            "asked_at",
            "reply",
        }
    ) | {"schema_version": 1}
    (tmp_path / "old.jsonl").write_text(f"{json.dumps(kept)}\n")
    (row,) = read_calls(tmp_path)
    assert (row.schema_version, row.error, row.role, row.token_ids, row.answers) == (
        4,
        "not recorded",
        "author",
        None,
        True,
    )
    assert upgrade("model_calls", 1, kept, 4).keys() == ModelCall.model_fields.keys()
