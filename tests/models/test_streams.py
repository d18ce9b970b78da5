"""Answers in pieces mean what whole ones mean, and half of one means nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest

from envmill.base.errors import BadRequest, KeyRefused, ModelError, Outage, SettingsError, Throttled
from envmill.base.settings import Endpoint, Secret, Settings
from envmill.models.anthropic import Messages
from envmill.models.base import Message, Request, Sampling, ToolSpec
from envmill.models.connection import ApiConnection
from envmill.models.dialect import Dialect
from envmill.models.openai import Chat
from envmill.models.responses import Responses
from envmill.models.streams import find_error, read_events
from envmill.models.vendor import Vendor
from tests.models.calling import KEY, PROMPT
from tests.models.vendors.launch import Loopback

VENDORS: dict[str, type[Dialect]] = {"openai": Chat, "responses": Responses, "anthropic": Messages}
TOOL = ToolSpec("lend", "Lend a tool.", {"type": "object", "properties": {}})
ASKED = Request(PROMPT, {}, (Message("user", "Say something."),), None, 1, 0, "s", "a", (TOOL,))


def make_provider(vendor: str, root: str, stream: bool | None) -> Vendor:
    sdk, url = ("anthropic", root) if vendor == "anthropic" else ("openai", f"{root}/v1")
    return Vendor(
        vendor,
        "m",
        VENDORS[vendor](),
        ApiConnection(sdk, Endpoint(url, Secret(KEY), "KEY", stream)),
    )  # type: ignore[arg-type]


TURNS: dict[str, dict[str, Any]] = {
    "text": {
        "text": "Grüße, Welt. " * 20,
        "input": 10,
        "cached": 4,
        "cache_write": 2,
        "output": 60,
    },
    "reasoning": {
        "text": "Yes.",
        "reasoning": "I think so, since it is. " * 4,
        "thought": 3,
        "output": 9,
    },
    "tools": {
        "text": "I lend.",
        "tools": [["lend", '{"tool": "T1"}'], ["lend", '{"tool": '], ["lend", ""]],
    },
    "thought-tools": {"text": "", "reasoning": "A drill, then.", "tools": [["lend", "{}"]]},
    "no-text": {"text": "", "tools": [["lend", "{}"]]},
    "length": {"text": "so far", "stop": "length"},
    "refusal": {"text": "I cannot.", "stop": "refusal"},
    "filter": {"text": "", "stop": "filter"},
}


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("vendor", VENDORS)
async def test_an_answer_in_pieces_is_the_whole_answer(
    vendors: Loopback, vendor: str, turn: dict[str, Any]
) -> None:
    vendors.say(**turn)
    found = []
    for stream in (False, True):
        provider = make_provider(vendor, vendors.root, stream)
        found.append(await provider.complete(ASKED))
        await provider.close()
    whole, pieces = found
    calls = [(call.id, call.name, call.arguments) for call in whole.tool_calls]
    assert calls == [(call.id, call.name, call.arguments) for call in pieces.tool_calls]
    assert replace(whole, tool_calls=()) == replace(pieces, tool_calls=())
    assert [bool(request["body"].get("stream")) for request in vendors.requests()] == [False, True]


async def test_token_ids_and_logprobs_come_in_pieces_too() -> None:
    chunk: dict[str, Any] = {
        "model": "m",
        "choices": [
            {
                "delta": {"content": "a"},
                "token_ids": [1, 2],
                "logprobs": {"content": [{"logprob": -1}]},
            }
        ],
    }
    more: dict[str, Any] = {
        "choices": [
            {
                "delta": {"content": "b"},
                "token_ids": [3],
                "logprobs": {"content": [{"logprob": -2}]},
            }
        ]
    }
    end: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    found = Chat().read(
        Chat().gather(
            [
                chunk,
                more,
                end,
                {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 2}},
            ]
        )
    )
    assert (found.text, found.token_ids, found.logprobs, found.usage.total) == (
        "ab",
        (1, 2, 3),
        (-1.0, -2.0),
        6,
    )


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("kind", ["cut", "close", "event", "html", "empty"])
async def test_a_stream_that_breaks_off_is_an_outage(
    vendors: Loopback, vendor: str, kind: str
) -> None:
    vendors.say("A long answer. " * 40)
    vendors.fail(kind, status={"html": 200, "event": 500}.get(kind, 0))
    provider = make_provider(vendor, vendors.root, stream=True)
    with pytest.raises(Outage):
        await provider.complete(ASKED)
    await provider.close()


@pytest.mark.parametrize("dialect", [Chat(), Responses(), Messages()])
def test_a_stream_cut_at_any_event_is_never_an_answer(dialect: Dialect) -> None:
    from tests.models.vendors.conversation import Conversation
    from tests.models.vendors.formats import chat, messages, responses
    from tests.models.vendors.script import Turn

    write = {Chat: chat, Responses: responses, Messages: messages}[type(dialect)].stream
    content = b"".join(
        write(
            Conversation("m", "q", "q"),
            Turn("An answer of some length.", tools=(("lend", '{"a": 1}'),), stop="tool"),
        )
    )
    events = read_events(content)
    whole = dialect.read(dialect.gather(events))
    for end in range(len(events)):
        try:
            found = dialect.read(dialect.gather(events[:end]))
        except Outage:
            continue
        assert (
            replace(found, usage=whole.usage, notes=()) == whole
        )  # only the usage, which comes last, may be missing
    for end in range(0, len(content), 7):
        try:
            found = dialect.read(dialect.gather(read_events(content[:end])))
        except Outage:
            continue
        assert replace(found, usage=whole.usage, notes=()) == whole


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, Outage),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}, Throttled),
        ({"error": {"code": 429, "message": "x"}}, Throttled),
        ({"error": {"code": "server_error", "message": "x"}}, Outage),
        ({"error": "x"}, Outage),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, Throttled),
        ({"type": "error", "error": {"type": "authentication_error", "message": "x"}}, KeyRefused),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "x"}}, BadRequest),
    ],
)
def test_an_error_inside_a_stream_is_what_it_would_have_been(
    event: dict[str, Any], kind: type[ModelError]
) -> None:
    from envmill.models.failures import ErrorResponse, explain

    found = find_error([{"choices": []}, event])
    assert found is not None
    assert (
        type(explain(ErrorResponse(found[0], {}, json.dumps(found[1]).encode()), "m", Endpoint("")))
        is kind
    )


@pytest.mark.parametrize(
    "content",
    [
        b'data: {"a":1}\n\ndata: {"a":2}\n\n',
        b'event: x\r\ndata: {"a":1}\r\n\r\n: ping\r\n\r\ndata:{"a":2}\r\n\r\ndata: [DONE]\r\n\r\n',
        b'data: {\ndata: "a":1}\n\ndata: {"a":2}',
    ],
)
def test_event_streams_are_read_in_every_format(content: bytes) -> None:
    assert read_events(content) == [{"a": 1}, {"a": 2}]


async def test_a_server_that_knows_no_stream_options_is_asked_without(vendors: Loopback) -> None:
    vendors.fail(
        "status",
        times=1,
        status=400,
        message="Unrecognized request argument supplied: stream_options",
    )
    vendors.say("Well.")
    provider = make_provider("openai", vendors.root, stream=True)
    assert (await provider.complete(replace(ASKED, sampling=Sampling()))).text == "Well."
    await provider.close()
    assert ["stream_options" in request["body"] for request in vendors.requests()] == [True, False]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    "fault",
    [
        {"message": "Streaming is not supported for this model."},
        {
            "message": "Your organization must be verified to stream this model.",
            "code": "unsupported_value",
        },
        {"message": "'stream' must be false"},
    ],
    ids=["streaming", "verified", "quoted"],
)
async def test_a_server_that_refuses_to_stream_is_asked_for_whole_answers_from_then_on(
    vendors: Loopback, vendor: str, fault: dict[str, Any]
) -> None:
    vendors.fail("status", times=1, status=400, **fault)
    vendors.say("Well.")
    provider = make_provider(vendor, vendors.root, stream=None)
    assert [(await provider.complete(ASKED)).text for _ in range(2)] == ["Well."] * 2
    await provider.close()
    assert ["stream" in request["body"] for request in vendors.requests()] == [True, False, False]


async def test_a_server_that_answers_whole_all_the_same_is_heard() -> None:
    from tests.models.test_connection import answering

    with answering(
        b'{"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}'
    ) as (url, _):
        provider = Vendor(
            "openai", "m", Chat(), ApiConnection("openai", Endpoint(url, stream=True))
        )
        assert (await provider.complete(ASKED)).text == "whole"
        await provider.close()


def test_a_setting_asks_for_pieces() -> None:
    environ = {
        "ENVMILL_OPENAI_STREAM": "1",
        "ENVMILL_ENDPOINT_BOX": "http://box/v1",
        "ENVMILL_ENDPOINT_BOX_STREAM": "1",
        "ENVMILL_ENDPOINT_BIX": "http://b",
        "ENVMILL_ENDPOINT_BIX_STREAM": "0",
    }
    streamed = {name: one.stream for name, one in Settings.read(environ).endpoints.items()}
    assert streamed == {"openai": True, "anthropic": None, "box": True, "bix": False}
    with pytest.raises(SettingsError, match="write 1"):
        Settings.read({"ENVMILL_OPENAI_STREAM": "yes"})


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize(
    ("knobs", "pieces"),
    [
        (Sampling(), True),
        (Sampling(max_tokens=8192), True),
        (Sampling(max_tokens=9000, logprobs=True), False),
    ],
)
async def test_an_answer_comes_in_pieces_by_itself(
    vendors: Loopback, vendor: str, knobs: Sampling, pieces: bool
) -> None:
    vendors.say("A long answer. " * 40)
    provider = make_provider(vendor, vendors.root, stream=None)
    found = await provider.complete(replace(ASKED, sampling=knobs))
    await provider.close()
    assert found.text == "A long answer. " * 40
    assert bool(vendors.requests()[-1]["body"].get("stream")) == pieces
