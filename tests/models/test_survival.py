"""Every way a vendor fails, through the real door: outlived when it passes, told apart when it does
not, and never paid for twice."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import BadReply, BadRequest, KeyRefused, ModelError, Outage, Throttled
from envmill.models.base import Completion, Message, ToolSpec
from tests.models.calling import GOOD, KEY, PROMPT, Answer, Question, list_calls, open_door
from tests.models.vendors.launch import Loopback

VENDORS = pytest.mark.parametrize("vendor", ["openai", "responses", "anthropic"])
BOTH_WAYS = pytest.mark.parametrize(
    "vendor",
    [name + way for name in ("openai", "responses", "anthropic") for way in ("", "-stream")],
)
"""Whole, and in pieces."""

OUTAGES: dict[str, dict[str, Any]] = {
    "429": {"kind": "status", "status": 429},
    "429-retry-after": {"kind": "status", "status": 429, "retry_after": "0.05"},
    "500": {"kind": "status", "status": 500},
    "503": {"kind": "status", "status": 503},
    "529": {"kind": "status", "status": 529},
    "close": {"kind": "close"},
    "cut": {"kind": "cut"},
    "empty": {"kind": "empty"},
    "truncated": {"kind": "truncated"},
    "shapeless": {"kind": "shapeless"},
    "proxy-200": {"kind": "html"},
    "proxy-502": {"kind": "html", "status": 502},
    "proxy-403": {"kind": "html", "status": 403},
}
FAULTS = pytest.mark.parametrize("fault", OUTAGES)
UNPAID = {"429", "429-retry-after", "500", "503", "529", "proxy-403"}
"""Faults of a server that says it did no work; after the others it may have."""


async def ask(root: str, vendor: str, folder: Path, **manner: Any) -> Answer:
    async with open_door(vendor, root, folder, **manner) as door:
        return await door.open_session("environments-build", "bp_1").ask(
            PROMPT, Question(word="cat"), Answer
        )


@pytest.mark.long(cases=26)
@BOTH_WAYS
@FAULTS
async def test_a_passing_fault_is_outlived(
    vendors: Loopback, tmp_path: Path, vendor: str, fault: str
) -> None:
    vendors.say(GOOD)
    vendors.fail(**OUTAGES[fault], times=1)
    assert await ask(vendors.root, vendor, tmp_path, pauses=(0.01,) * 12) == Answer(length=3)
    (call,) = list_calls(tmp_path)
    assert (call.outcome, call.retries, vendors.counts()["total"]) == ("reply", 1, 2)
    assert call.possibly_paid == (fault not in UNPAID)


@pytest.mark.long(cases=3)
@VENDORS
@FAULTS
async def test_a_lasting_fault_is_an_outage_and_no_verdict(
    vendors: Loopback, tmp_path: Path, vendor: str, fault: str
) -> None:
    vendors.say(GOOD)
    vendors.fail(**OUTAGES[fault])
    with pytest.raises(Outage) as caught:
        await ask(
            vendors.root, vendor, tmp_path, pauses=(0.01,), deadline=6.0 if "429" in fault else 30.0
        )
    assert isinstance(caught.value, Throttled) == fault.startswith("429")
    (call,) = list_calls(tmp_path)
    assert (call.outcome, call.reply, call.tokens_out, call.answers) == ("outage", "", 0, False)
    assert call.possibly_paid == (0 if fault in UNPAID else 2)
    vendors.reset()
    vendors.say(GOOD)
    assert await ask(vendors.root, vendor, tmp_path) == Answer(length=3)


@BOTH_WAYS
async def test_a_trickle_that_arrives_in_time_is_an_answer(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    vendors.say(GOOD)
    vendors.fail("trickle", seconds=0.001)
    assert await ask(vendors.root, vendor, tmp_path) == Answer(length=3)
    assert vendors.counts()["total"] == 1


@VENDORS
@pytest.mark.parametrize("status", [429, 500, 529])
async def test_an_error_in_the_midst_of_a_stream_is_an_outage(
    vendors: Loopback, tmp_path: Path, vendor: str, status: int
) -> None:
    vendors.say(GOOD)
    vendors.fail("event", times=1, status=status)
    assert await ask(vendors.root, f"{vendor}-stream", tmp_path) == Answer(length=3)
    assert [(call.outcome, call.retries) for call in list_calls(tmp_path)] == [("reply", 1)]


@VENDORS
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (404, BadRequest),
        (413, BadRequest),
        (422, BadRequest),
        (401, KeyRefused),
        (403, KeyRefused),
    ],
)
async def test_what_asking_again_cannot_mend_is_asked_once(
    vendors: Loopback, tmp_path: Path, vendor: str, status: int, kind: type[ModelError]
) -> None:
    vendors.fail("status", status=status, message=f"the vendor's own words about {KEY}")
    with pytest.raises(kind, match="the vendor's own words") as caught:
        await ask(vendors.root, vendor, tmp_path)
    assert type(caught.value) is kind
    assert not caught.value.retryable
    assert KEY not in str(caught.value)
    assert vendors.counts()["total"] == 1


@VENDORS
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather not say.",
        '{"length": 3, "no',
        '{"length": "long"}',
        "[3]",
        '{"length": 3, "colour": "red"}',
        '{"length": NaN}',
    ],
)
async def test_an_unusable_reply_is_asked_to_be_mended(
    vendors: Loopback, tmp_path: Path, vendor: str, text: str
) -> None:
    vendors.script({"times": 1, "turn": {"text": text}}, {"turn": {"text": GOOD}})
    assert await ask(vendors.root, vendor, tmp_path) == Answer(length=3)
    assert [call.outcome for call in list_calls(tmp_path)] == ["failure", "reply"]


@VENDORS
async def test_mending_is_bounded_and_every_try_is_in_the_ledger(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    vendors.say('{"length": "long"}')
    with pytest.raises(BadReply, match="length"):
        await ask(vendors.root, vendor, tmp_path)
    calls = list_calls(tmp_path)
    assert len(calls) == vendors.counts()["total"] <= 4
    assert all(call.outcome == "failure" and call.tokens_out for call in calls)


@VENDORS
@pytest.mark.parametrize("stop", ["refusal", "filter"])
async def test_a_refusal_is_a_typed_failure_that_says_so(
    vendors: Loopback, tmp_path: Path, vendor: str, stop: str
) -> None:
    vendors.say("I cannot help with that.", stop=stop)
    with pytest.raises(BadReply, match=r"(?i)refus|filter|held back"):
        await ask(vendors.root, vendor, tmp_path)
    assert vendors.counts()["total"] <= 3
    assert {call.outcome for call in list_calls(tmp_path)} == {"failure"}


@pytest.mark.long(cases=1)
@BOTH_WAYS
async def test_a_burst_of_every_fault_loses_and_doubles_nothing(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    """Half of all requests fail, each in another way; every question ends answered, once."""
    vendors.say(GOOD)
    vendors.set(latency=0.01)
    rates = (
        {"rate": 0.01 if fault.get("status") == 429 else 0.06, "fault": fault}
        for fault in OUTAGES.values()
    )
    vendors.script(*rates, anew=False, seed=7)
    async with open_door(
        vendor, vendors.root, tmp_path, pauses=(0.01,) * 12, deadline=60.0
    ) as door:
        questions = [Question(word=f"w{number}") for number in range(96)]
        answers = await asyncio.gather(
            *(
                door.open_session("s", question.word).ask(PROMPT, question, Answer)
                for question in questions
            )
        )
    assert answers == [Answer(length=3)] * 96
    calls = list_calls(tmp_path)
    assert sorted(call.subject for call in calls) == sorted(question.word for question in questions)
    counts = vendors.counts()
    assert list(counts["answered"].values()) == [1] * 96
    assert counts["total"] == 96 + sum(call.retries for call in calls) > 120


@BOTH_WAYS
async def test_malformed_tool_arguments_are_the_models_turn_and_kept_as_they_came(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    """Through the door, into the ledger and out of it again: nobody asks twice for a turn that was
    given."""
    vendors.say(
        "I lend.", tools=[["lend", '{"tool": "T1"}'], ["lend", '{"tool": '], ["lend", "[1]"]]
    )
    tool = ToolSpec(
        "lend", "Lend a tool.", {"type": "object", "properties": {"tool": {"type": "string"}}}
    )
    turns: list[Completion] = []
    for _ in range(2):
        async with open_door(vendor, vendors.root, tmp_path) as door:
            said = (Message("user", "Lend me a drill."),)
            turns.append(
                await door.open_session("s", "scn_1").converse(
                    PROMPT, Question(word="cat"), said, tools=(tool,)
                )
            )
    assert vendors.counts()["total"] == 1
    first, again = turns
    assert first.tool_calls == again.tool_calls
    assert [call.arguments for call in first.tool_calls] == [{"tool": "T1"}, None, None]
    assert [call.raw for call in first.tool_calls][1:] == ['{"tool": ', "[1]"]
    assert {(call.outcome, call.error) for call in list_calls(tmp_path)} == {("reply", "")}
