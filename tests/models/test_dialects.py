"""Three wire formats, one meaning: what is asked and answered is the same at every vendor."""

from dataclasses import replace
from typing import Any

import pytest

from envmill.base.errors import BadRequest, Outage, Throttled
from envmill.models.anthropic import Messages
from envmill.models.base import (
    Completion,
    Message,
    Request,
    Sampling,
    Stop,
    ToolCall,
    ToolSpec,
    Usage,
)
from envmill.models.dialect import Dialect, ModelTerms, WireRequest, concede
from envmill.models.openai import Chat
from envmill.models.prompt import Prompt
from envmill.models.responses import Responses
from schemas.base import Contract
from tests.models.calling import PROMPT, Answer, make_provider
from tests.models.vendors.launch import Loopback

VENDORS = ("openai", "responses", "anthropic")
TOOL = ToolSpec(
    "lend",
    "Lend a tool.",
    {"type": "object", "properties": {"tool": {"type": "string"}}, "required": ["tool"]},
)
TALK = (
    Message("system", "Be brief."),
    Message("user", "Lend me a drill and a saw."),
    Message(
        "assistant",
        "",
        tool_calls=(
            ToolCall("call_0", "lend", {"tool": "T1"}, '{"tool":"T1"}'),
            ToolCall("a:1", "lend", None, '{"tool": '),
        ),
    ),
    Message("tool", "lent", tool_call_id="call_0"),
    Message("tool", "unreadable", tool_call_id="a:1"),
)


class Open(Contract):
    rows: dict[str, int]


def make_request(
    *messages: Message, reply: type[Contract] | None = None, **changes: Any
) -> Request:
    said = messages or (Message("user", "Say something."),)
    return Request(PROMPT, {}, said, reply, 1, 0, "s", "a", **changes)


async def complete(vendor: str, vendors: Loopback, request: Request) -> Completion:
    provider = make_provider(vendor, vendors.root)
    try:
        return await provider.complete(request)
    finally:
        await provider.close()


@pytest.mark.parametrize("vendor", VENDORS)
async def test_text_reasoning_model_and_usage_are_read(vendors: Loopback, vendor: str) -> None:
    vendors.say(
        "Hello.", reasoning="I greet.", input=100, cached=30, cache_write=20, output=50, thought=40
    )
    found = await complete(vendor, vendors, make_request())
    assert (found.text, found.reasoning, found.stop, found.model) == (
        "Hello.",
        "I greet.",
        "end",
        "loopback-large",
    )
    assert found.usage == Usage(input=100, output=50, cached=30, cache_write=20, reasoning=40)


@pytest.mark.parametrize("stop", ["end", "length", "refusal", "filter"])
@pytest.mark.parametrize("vendor", VENDORS)
async def test_every_way_to_end_is_told_apart(vendors: Loopback, vendor: str, stop: Stop) -> None:
    vendors.say("So be it.", stop=stop)
    found = await complete(vendor, vendors, make_request())
    filters = (
        "refusal" if vendor == "anthropic" else "filter"
    )  # this vendor's filter calls itself a refusal
    assert (found.stop, found.text) == (filters if stop == "filter" else stop, "So be it.")


@pytest.mark.parametrize("vendor", VENDORS)
async def test_tool_calls_are_read_and_malformed_arguments_kept(
    vendors: Loopback, vendor: str
) -> None:
    vendors.say("I lend.", tools=[["lend", '{"tool": "T1"}'], ["lend", '{"tool": '], ["list", ""]])
    found = await complete(vendor, vendors, make_request(tools=(TOOL,)))
    assert [(call.name, call.arguments) for call in found.tool_calls] == [
        ("lend", {"tool": "T1"}),
        ("lend", None),
        ("list", {}),
    ]
    assert found.tool_calls[1].raw == '{"tool": '
    assert (found.stop, found.text, len({call.id for call in found.tool_calls})) == (
        "tool",
        "I lend.",
        3,
    )


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_conversation_with_tools_is_taken(vendors: Loopback, vendor: str) -> None:
    vendors.say("Done.")
    assert (await complete(vendor, vendors, make_request(*TALK, tools=(TOOL,)))).text == "Done."
    asked = vendors.requests()[-1]["body"]
    assert asked["tools"]
    assert "T1" in str(asked)
    assert "unreadable" in str(asked)


async def test_signed_thinking_goes_back_with_the_calls_it_led_to(vendors: Loopback) -> None:
    vendors.say("I lend.", reasoning="A drill, then.", tools=[["lend", '{"tool": "T1"}']])
    turn = await complete("anthropic", vendors, make_request(tools=(TOOL,)))
    said = (
        Message("user", "Lend me a drill."),
        turn.to_message(),
        Message("tool", "lent", tool_call_id=turn.tool_calls[0].id),
    )
    await complete("anthropic", vendors, make_request(*said, tools=(TOOL,)))
    sent = vendors.requests()[-1]["body"]["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["thinking", "text", "tool_use"]
    assert sent[0]["signature"]
    for dialect in (Chat(), Responses()):
        assert "signature" not in str(dialect.write(make_request(*said), "m", ModelTerms()).body)


def test_sealed_reasoning_goes_back_with_the_calls_it_led_to() -> None:
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}
    call = {"type": "function_call", "call_id": "c", "name": "lend", "arguments": "{}"}
    turn = Responses().read({"status": "completed", "output": [sealed, call]})
    written = (
        Responses()
        .write(
            make_request(Message("user", "x"), turn.to_message(), tools=(TOOL,)), "m", ModelTerms()
        )
        .body
    )
    assert [item.get("type", item.get("role")) for item in written["input"]] == [
        "user",
        "reasoning",
        "function_call",
    ]
    assert written["input"][1] == sealed
    assert written["include"] == ["reasoning.encrypted_content"]
    assert "include" not in Responses().write(make_request(), "m", ModelTerms()).body
    assert "abc" not in str(
        Messages()
        .write(make_request(Message("user", "x"), turn.to_message()), "m", ModelTerms())
        .body
    )


async def test_shown_thinking_goes_back_to_servers_that_read_it_and_to_no_other(
    vendors: Loopback,
) -> None:
    vendors.say("I lend.", reasoning="A drill, then.", tools=[["lend", '{"tool": "T1"}']])
    turn = await complete("openai", vendors, make_request(tools=(TOOL,)))
    said = (
        Message("user", "Lend me a drill."),
        turn.to_message(),
        Message("tool", "lent", tool_call_id=turn.tool_calls[0].id),
    )
    await complete("openai", vendors, make_request(*said, tools=(TOOL,)))
    sent = vendors.requests()[-1]["body"]["messages"]
    assert [message.get("reasoning_content") for message in sent] == [None, "A drill, then.", None]
    assert [message.get("reasoning") for message in sent] == [None, "A drill, then.", None]
    for dialect, terms in (
        (Chat(), ModelTerms()),
        (Chat(), ModelTerms(frozenset({"reasoning"}), own=False)),
        (Messages(), ModelTerms()),
        (Responses(), ModelTerms()),
    ):
        assert "A drill, then." not in str(dialect.write(make_request(*said), "m", terms).body)
    vendors.fail(
        "status",
        times=1,
        status=400,
        message="messages.1: property 'reasoning_content' is unsupported",
    )
    await complete("openai", vendors, make_request(*said, tools=(TOOL,)))
    assert "A drill" not in str(vendors.requests()[-1]["body"])


def test_chat_writes_a_conversation() -> None:
    body = Chat().write(make_request(*TALK), "m", ModelTerms()).body
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    calls = body["messages"][2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == [
        '{"tool":"T1"}',
        '{"unreadable":"{\\"tool\\": "}',
    ]
    assert body["messages"][4] == {"role": "tool", "tool_call_id": "a:1", "content": "unreadable"}


def test_responses_writes_a_conversation() -> None:
    body = Responses().write(make_request(*TALK), "m", ModelTerms()).body
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "system",
        "user",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert body["store"] is False


def test_anthropic_writes_a_conversation() -> None:
    body = Messages().write(make_request(*TALK), "m", ModelTerms()).body
    assert body["system"] == "Be brief."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use", "tool_use"]
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["call_0", "a_1"]
    assert body["max_tokens"] == 16_384


PARTED = Prompt(
    "scenario",
    "Write.\n\n{{reply_schema}}\n\n## The environment\n\n{{rules}}\n\n## This scenario\n\n"
    "{{number}}\n",
    "h",
)


def list_marks(body: Any) -> list[tuple[str, bool]]:
    return [
        (block.get("text", block["type"]), "cache_control" in block)
        for message in body["messages"]
        for block in message["content"]
    ]


def test_anthropic_is_told_where_what_is_constant_ends_and_where_the_environment_ends() -> None:
    text = (
        "Write.\n\n{}\n\n## The environment\n\nNo more than 3.\n## Twice\n\n## This scenario\n\n7\n"
    )
    asked = replace(make_request(Message("user", text)), prompt=PARTED)
    own, other = (
        list_marks(Messages().write(asked, "m", ModelTerms(own=own)).body) for own in (True, False)
    )
    assert "".join(part for part, _ in own) == text
    assert own == [
        ("Write.\n\n{}\n\n", True),
        ("## The environment\n\nNo more than 3.\n## Twice\n\n", True),
        ("## This scenario\n\n7\n", False),
    ]
    assert other == [(text, False)]


def test_anthropic_keeps_a_conversation_up_to_its_last_message_and_a_single_question_without_sections_not_at_all() -> (
    None
):
    marks = list_marks(Messages().write(make_request(*TALK), "m", ModelTerms()).body)
    assert [marked for _, marked in marks] == [False, False, False, False, True]
    assert list_marks(Messages().write(make_request(), "m", ModelTerms()).body) == [
        ("Say something.", False)
    ]


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_closed_record_is_enforced_by_the_server(vendors: Loopback, vendor: str) -> None:
    found = await complete(vendor, vendors, make_request(reply=Answer))
    assert Answer.model_validate_json(found.text)
    assert found.notes == ()
    assert "additionalProperties" in str(vendors.requests()[-1]["body"])


@pytest.mark.parametrize(
    ("dialect", "sent"), [(Chat(), "json_object"), (Responses(), "json_object"), (Messages(), "")]
)
def test_an_open_record_leaves_its_schema_to_the_prompt(dialect: Dialect, sent: str) -> None:
    written = dialect.write(make_request(reply=Open), "m", ModelTerms())
    assert "in the prompt only" in written.notes[0]
    assert ("json_object" in str(written.body)) == bool(sent)
    assert "json_schema" not in str(written.body)


@pytest.mark.parametrize("dialect", [Chat(), Responses(), Messages()])
def test_the_rest_of_a_cut_reply_is_not_enforced(dialect: Dialect) -> None:
    body = dialect.write(make_request(reply=Answer, enforced=False), "m", ModelTerms()).body
    assert not {"response_format", "text", "output_config"} & body.keys()


KNOBS = Sampling(temperature=0.5, top_p=0.9, seed=7, max_tokens=50, logprobs=True)


@pytest.mark.parametrize(
    ("dialect", "own", "sent", "noted"),
    [
        (
            Chat(),
            True,
            {
                "temperature": 0.5,
                "top_p": 0.9,
                "seed": 7,
                "max_completion_tokens": 50,
                "logprobs": True,
            },
            0,
        ),
        (
            Chat(),
            False,
            {
                "temperature": 0.5,
                "seed": 7,
                "max_tokens": 50,
                "logprobs": True,
                "return_token_ids": True,
                "return_meta_info": True,
            },
            0,
        ),
        (Responses(), True, {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 50}, 1),
        (Messages(), True, {"max_tokens": 50}, 4),
    ],
)
def test_knobs_are_sent_or_noted(
    dialect: Dialect, own: bool, sent: dict[str, Any], noted: int
) -> None:
    written = dialect.write(make_request(sampling=KNOBS), "m", ModelTerms(own=own))
    assert sent.items() <= written.body.items()
    assert len(written.notes) == noted
    assert all("not taken" in note for note in written.notes)
    if isinstance(dialect, Messages):
        assert not {"temperature", "top_p", "top_k", "seed"} & written.body.keys()


@pytest.mark.parametrize("dialect", [Chat(), Responses(), Messages()])
def test_no_knob_is_sent_that_nobody_asked_for(dialect: Dialect) -> None:
    body = dialect.write(make_request(), "m", ModelTerms(own=False)).body
    assert body.keys() <= {"model", "messages", "input", "store", "max_tokens"}


async def test_token_ids_and_logprobs_are_kept_when_offered(vendors: Loopback) -> None:
    vendors.say("one two three")
    found = await complete("openai", vendors, make_request(sampling=Sampling(logprobs=True)))
    assert found.token_ids
    assert found.logprobs
    assert len(found.token_ids) == len(found.logprobs)
    vendors.say("one two three")
    assert (await complete("openai", vendors, make_request())).token_ids is None


CHAT = {"model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}


def read_chat(message: dict[str, Any], finish: str | None = "stop", **choice: Any) -> Completion:
    return Chat().read(
        CHAT | {"choices": [{"message": message, "finish_reason": finish, **choice}]}
    )


@pytest.mark.parametrize(
    ("content", "reasoning", "text"),
    [
        ("<think>\nSo {a}.\n</think>\n\nYes.", "So {a}.", "Yes."),
        ("So.</think>Yes.", "So.", "Yes."),
        ("<thinking>So.</thinking>Yes.", "So.", "Yes."),
        ("Yes, <think> is a tag.", "", "Yes, <think> is a tag."),
        ("<think>never ends", "", "<think>never ends"),
    ],
)
def test_thinking_left_in_the_text_is_taken_out(content: str, reasoning: str, text: str) -> None:
    found = read_chat({"content": content})
    assert (found.reasoning, found.text) == (reasoning, text)


def test_shapes_of_compatible_servers_are_read() -> None:
    assert read_chat({"content": "x", "reasoning": "r"}).reasoning == "r"
    assert (
        read_chat({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}).text
        == "ab"
    )
    assert read_chat({"content": None}, None).stop == "end"
    assert (
        read_chat(
            {
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}],
            }
        ).stop
        == "tool"
    )
    told = {
        "content": [
            {"token": "token_id:7", "logprob": -1},
            {"token": "token_id:9", "logprob": -2.5},
        ]
    }
    found = read_chat({"content": "x"}, logprobs=told)
    assert (found.token_ids, found.logprobs) == ((7, 9), (-1.0, -2.5))
    pairs = [[-0.5, 7, None], [-1.5, 9, None]]
    found = read_chat({"content": "x"}, meta_info={"output_token_logprobs": pairs})
    assert (found.token_ids, found.logprobs) == ((7, 9), (-0.5, -1.5))
    both = read_chat(
        {"content": "x"},
        meta_info={"output_token_logprobs": pairs},
        token_ids=[1, 2],
        logprobs=told,
    )
    assert (both.token_ids, both.logprobs) == ((1, 2), (-1.0, -2.5))
    torn = read_chat(
        {"content": "x"}, meta_info={"output_token_logprobs": [[-0.5, 7], ["x", 9], [None]]}
    )
    assert (torn.token_ids, torn.logprobs) == (None, None)
    counted = Chat().read(
        {
            "choices": [{"message": {"content": "x"}}],
            "usage": {"completion_tokens": 9, "reasoning_tokens": 4},
        }
    )
    assert counted.usage.reasoning == 4
    without = Chat().read({"choices": [{"message": {"content": "x"}}]})
    assert (without.usage, without.notes) == (Usage(), ("the server names no usage",))


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (Chat(), {"choices": []}),
        (Chat(), {"choices": None}),
        (Chat(), {"choices": [{"message": None}]}),
        (Chat(), {"choices": [{"message": {"content": "x"}, "finish_reason": "abort"}]}),
        (Chat(), []),
        (Responses(), {"status": "completed", "output": []}),
        (Responses(), {"status": "in_progress", "output": []}),
        (Responses(), {"status": "failed", "error": {"code": "server_error", "message": "x"}}),
        (Responses(), None),
        (Messages(), {"type": "message"}),
        (Messages(), {"content": []}),
        (Messages(), "text"),
    ],
)
def test_an_answer_of_another_shape_is_an_outage(dialect: Dialect, body: object) -> None:
    with pytest.raises(Outage):
        dialect.read(body)


@pytest.mark.parametrize(
    ("code", "kind"),
    [("rate_limit_exceeded", Throttled), ("server_error", Outage), ("invalid_image", BadRequest)],
)
def test_a_failed_response_says_why_inside(code: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as failed:
        Responses().read({"status": "failed", "error": {"code": code, "message": "because"}})
    assert type(failed.value) is kind


@pytest.mark.parametrize("code", ["invalid_prompt", "bio_policy", "misalignment_policy_violation"])
def test_a_response_held_back_by_policy_is_filtered(code: str) -> None:
    assert (
        Responses().read({"status": "failed", "error": {"code": code, "message": "because"}}).stop
        == "filter"
    )


def refuse(message: str, param: str = "") -> BadRequest:
    return BadRequest(message, param=param, status=400)


@pytest.mark.parametrize(
    ("sent", "refused", "dropped", "most"),
    [
        (
            {"temperature": 1},
            refuse("Unsupported value: 'temperature' does not support 0.5", "temperature"),
            {"temperature"},
            0,
        ),
        ({"seed": 1}, refuse("Unrecognized request argument supplied: seed", "seed"), {"seed"}, 0),
        (
            {"max_tokens": 9},
            refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            {"max_tokens"},
            0,
        ),
        (
            {"max_tokens": 16384},
            refuse(
                "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens"
            ),
            set(),
            8192,
        ),
        (
            {"max_completion_tokens": 9000},
            refuse(
                "max_tokens is too large: 9000. This model supports at most 4096 completion tokens"
            ),
            set(),
            4096,
        ),
        (
            {"max_tokens": 8000},
            refuse(
                "max_tokens is too large: 8000. Your request has 512 tokens (8000 > 8192 - 512)"
            ),
            set(),
            7680,
        ),
        (
            {"response_format": {"type": "json_schema"}},
            refuse("'response_format' is not supported"),
            {"json_schema"},
            0,
        ),
        (
            {"response_format": {"type": "json_object"}},
            refuse("'response_format' is not supported"),
            {"json_object"},
            0,
        ),
        (
            {"text": {"format": {"type": "json_schema"}}},
            refuse("Invalid schema", "text.format.schema"),
            {"json_schema"},
            0,
        ),
    ],
)
def test_a_field_refused_by_name_is_given_up(
    sent: dict[str, Any], refused: BadRequest, dropped: set[str], most: int
) -> None:
    optional = Chat.optional | Responses.optional | Messages.optional
    granted = concede(refused, WireRequest({"model": "m", **sent}), ModelTerms(), optional)
    assert granted is not None
    assert (set(granted.dropped), granted.most_output) == (dropped, most)


@pytest.mark.parametrize(
    "message",
    [
        "Your messages must include some text about the seed and the store.",
        "This model's maximum context length is 8192 tokens; your messages have 9000 tokens.",
        "The model m does not exist.",
    ],
)
def test_words_that_happen_to_be_names_concede_nothing(message: str) -> None:
    sent = {
        "seed": 1,
        "store": False,
        "text": {"format": {"type": "json_object"}},
        "include": [],
        "max_tokens": 100,
    }
    assert (
        concede(
            refuse(message), WireRequest(sent), ModelTerms(), Chat.optional | Responses.optional
        )
        is None
    )


async def test_a_server_that_refuses_a_knob_is_asked_without_it_from_then_on(
    vendors: Loopback,
) -> None:
    vendors.fail(
        "status",
        times=1,
        status=400,
        message="Unsupported value: 'temperature' does not support 0.5 with this model.",
    )
    provider = make_provider("openai", vendors.root)
    asked = make_request(sampling=Sampling(temperature=0.5))
    first, second = await provider.complete(asked), await provider.complete(asked)
    await provider.close()
    assert first.notes == second.notes == ("temperature is not taken",)
    assert ["temperature" in request["body"] for request in vendors.requests()] == [
        True,
        False,
        False,
    ]


async def test_a_server_that_goes_on_refusing_is_not_asked_forever(vendors: Loopback) -> None:
    vendors.fail(
        "status",
        status=400,
        message="'response_format', 'temperature', 'top_p', 'seed', 'logprobs' are not supported",
    )
    knobs = Sampling(temperature=0.5, top_p=0.5, seed=1)
    with pytest.raises(BadRequest):
        await complete("openai", vendors, make_request(reply=Answer, sampling=knobs))
    assert len(vendors.requests()) <= 6


async def test_a_question_held_back_before_the_model_saw_it_is_filtered(vendors: Loopback) -> None:
    vendors.fail(
        "status",
        status=400,
        code="content_filter",
        message="The prompt triggered the content policy.",
    )
    assert (await complete("openai", vendors, make_request())).stop == "filter"
