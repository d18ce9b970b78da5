"""The loopback vendors, seen by the vendors' own SDKs: what they cannot read would prove nothing
about us."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.models.vendors.launch import Loopback

if TYPE_CHECKING:
    import anthropic
    import openai


@pytest.fixture
async def chatgpt(vendors: Loopback) -> "AsyncGenerator[openai.AsyncOpenAI]":
    import openai  # two seconds, for every worker that only collects

    async with openai.AsyncOpenAI(
        base_url=vendors.openai, api_key="k", max_retries=0, timeout=2
    ) as client:
        yield client


@pytest.fixture
async def claude(vendors: Loopback) -> "AsyncGenerator[anthropic.AsyncAnthropic]":
    import anthropic

    async with anthropic.AsyncAnthropic(
        base_url=vendors.anthropic, api_key="k", max_retries=0, timeout=2
    ) as client:
        yield client


HELLO: Any = [{"role": "user", "content": "How are you today?"}]
SCHEMA = {
    "type": "object",
    "properties": {"length": {"type": "integer"}},
    "required": ["length"],
    "additionalProperties": False,
}


async def test_chat_completions(vendors: Loopback, chatgpt: "openai.AsyncOpenAI") -> None:
    vendors.say(
        "Well.",
        reasoning="Hm.",
        cached=2,
        input=9,
        thought=1,
        output=4,
        tools=[["look", '{"at": 1}']],
    )
    said = await chatgpt.chat.completions.create(
        model="m", messages=HELLO, logprobs=True, extra_body={"return_token_ids": True}
    )
    choice = said.choices[0]
    assert (choice.message.content, choice.finish_reason) == ("Well.", "tool_calls")
    assert choice.message.tool_calls
    assert choice.message.tool_calls[0].model_dump()["function"] == {
        "name": "look",
        "arguments": '{"at": 1}',
    }
    assert choice.logprobs
    assert choice.logprobs.content
    assert "".join(token.token for token in choice.logprobs.content) == "Well."
    assert len(choice.model_dump()["token_ids"]) == 2
    assert said.usage
    assert (said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.total_tokens) == (
        9,
        4,
        13,
    )


async def test_chat_stream(vendors: Loopback, chatgpt: "openai.AsyncOpenAI") -> None:
    vendors.say("All is well with me.", tools=[["look", '{"at": "the moon"}']])
    async with chatgpt.chat.completions.stream(
        model="m", messages=HELLO, stream_options={"include_usage": True}
    ) as stream:
        said = await stream.get_final_completion()
    assert said.choices[0].message.content == "All is well with me."
    assert said.choices[0].message.tool_calls
    assert said.choices[0].message.tool_calls[0].function.arguments == '{"at": "the moon"}'
    assert said.usage


async def test_responses_and_their_stream(vendors: Loopback, chatgpt: "openai.AsyncOpenAI") -> None:
    vendors.say("All is well.", reasoning="Hm.", tools=[["look", "{}"]])
    whole = await chatgpt.responses.create(model="m", input="How are you today?")
    async with chatgpt.responses.stream(model="m", input="How are you today?") as stream:
        streamed = await stream.get_final_response()
    for said in (whole, streamed):
        assert (said.output_text, said.status) == ("All is well.", "completed")
        assert [item.type for item in said.output] == ["reasoning", "message", "function_call"]
        assert said.usage
        assert said.usage.total_tokens > 5


async def test_messages_and_their_stream(
    vendors: Loopback, claude: "anthropic.AsyncAnthropic"
) -> None:
    vendors.say(
        "All is well.",
        reasoning="Hm.",
        tools=[["look", '{"at": 1}']],
        input=9,
        cached=4,
        cache_write=2,
    )
    whole = await claude.messages.create(model="m", max_tokens=99, messages=HELLO)
    async with claude.messages.stream(model="m", max_tokens=99, messages=HELLO) as stream:
        streamed = await stream.get_final_message()
    for said in (whole, streamed):
        assert [block.type for block in said.content] == ["thinking", "text", "tool_use"]
        assert said.content[2].model_dump()["input"] == {"at": 1}
        assert said.stop_reason == "tool_use"
        assert (
            said.usage.input_tokens,
            said.usage.cache_read_input_tokens,
            said.usage.cache_creation_input_tokens,
        ) == (3, 4, 2)


async def test_a_schema_is_answered_and_a_limit_is_kept(
    vendors: Loopback, chatgpt: "openai.AsyncOpenAI", claude: "anthropic.AsyncAnthropic"
) -> None:
    form: Any = {
        "type": "json_schema",
        "json_schema": {"name": "a", "schema": SCHEMA, "strict": True},
    }
    said = await chatgpt.chat.completions.create(model="m", messages=HELLO, response_format=form)
    assert said.choices[0].message.content == '{"length": 3}'
    config: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
    cut = await claude.messages.create(
        model="m", max_tokens=2, messages=HELLO, output_config=config
    )
    assert (cut.content[0].model_dump()["text"], cut.stop_reason) == ('{"length', "max_tokens")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(429, "RateLimitError"), (401, "AuthenticationError"), (503, "InternalServerError")],
)
async def test_errors_are_the_vendors_own(
    vendors: Loopback,
    chatgpt: "openai.AsyncOpenAI",
    claude: "anthropic.AsyncAnthropic",
    status: int,
    kind: str,
) -> None:
    import anthropic
    import openai

    vendors.fail("status", status=status, retry_after="3", message="why")
    with pytest.raises(openai.APIStatusError, match="why") as first:
        await chatgpt.chat.completions.create(model="m", messages=HELLO)
    with pytest.raises(anthropic.APIStatusError, match="why") as second:
        await claude.messages.create(model="m", max_tokens=9, messages=HELLO)
    for caught in (first, second):
        assert (caught.value.status_code, caught.value.response.headers["retry-after"]) == (
            status,
            "3",
        )
    assert type(first.value).__name__ == kind


async def test_keys(
    vendors: Loopback, chatgpt: "openai.AsyncOpenAI", claude: "anthropic.AsyncAnthropic"
) -> None:
    import anthropic
    import openai

    vendors.set(keys=["another"])
    with pytest.raises(openai.AuthenticationError):
        await chatgpt.models.list()
    with pytest.raises(anthropic.AuthenticationError):
        await claude.messages.create(model="m", max_tokens=9, messages=HELLO)
    vendors.set(keys=["k"])
    assert [model.id async for model in chatgpt.models.list()] == [
        model.id async for model in claude.models.list()
    ]


@pytest.mark.parametrize("kind", ["hang", "close", "cut", "empty", "truncated", "html"])
async def test_transport_faults_reach_the_client(vendors: Loopback, kind: str) -> None:
    vendors.fail(kind, times=1)
    async with httpx2.AsyncClient(timeout=0.5, headers={"Authorization": "Bearer k"}) as client:
        with pytest.raises((httpx2.TransportError, ValueError)):
            (
                await client.post(
                    f"{vendors.openai}/chat/completions", json={"messages": HELLO, "model": "m"}
                )
            ).json()
        again = await client.post(
            f"{vendors.openai}/chat/completions", json={"messages": HELLO, "model": "m"}
        )
    assert again.json()["choices"]
    counts = vendors.counts()
    assert (counts["by_last"], sum(counts["answered"].values())) == ({"How are you today?": 2}, 1)


async def test_an_error_in_the_middle_of_a_stream(
    vendors: Loopback, claude: "anthropic.AsyncAnthropic"
) -> None:
    import anthropic

    vendors.fail("event", status=529, message="overloaded")
    with pytest.raises(anthropic.APIStatusError, match="overloaded"):
        async with claude.messages.stream(model="m", max_tokens=99, messages=HELLO) as stream:
            await stream.get_final_message()


async def test_an_openai_batch(vendors: Loopback, chatgpt: "openai.AsyncOpenAI") -> None:
    vendors.set(batches={"expire": True, "unfinished": "late"})
    vendors.fail("status", match="bad", status=400, message="no")
    lines = [_line(text) for text in ("good", "bad", "late")]
    file = await chatgpt.files.create(file=("b.jsonl", "\n".join(lines).encode()), purpose="batch")
    batch = await chatgpt.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    assert batch.status == "validating"
    batch = await chatgpt.batches.retrieve(batch.id)
    assert batch.status == "expired"
    assert batch.output_file_id
    assert batch.error_file_id
    assert '"custom_id": "good"' in (await chatgpt.files.content(batch.output_file_id)).text
    errors = (await chatgpt.files.content(batch.error_file_id)).text
    assert '"status_code": 400' in errors
    assert "batch_expired" in errors


def _line(text: str) -> str:
    body = '{"model": "m", "messages": [{"role": "user", "content": "%s"}]}'
    return '{"custom_id": "%s", "method": "POST", "url": "/v1/chat/completions", "body": %s}' % (  # noqa: UP031
        text,
        body % text,
    )


async def test_an_anthropic_batch(vendors: Loopback, claude: "anthropic.AsyncAnthropic") -> None:
    vendors.set(batches={"unfinished": "late"})
    vendors.fail("status", match="bad", status=400, message="no")
    messages: Any = {name: [{"role": "user", "content": name}] for name in ("good", "bad", "late")}
    asked: Any = [
        {"custom_id": name, "params": {"model": "m", "max_tokens": 9, "messages": messages[name]}}
        for name in messages
    ]
    batch = await claude.messages.batches.create(requests=asked)
    assert (await claude.messages.batches.cancel(batch.id)).processing_status == "canceling"
    batch = await claude.messages.batches.retrieve(batch.id)
    assert (batch.processing_status, batch.request_counts.canceled) == ("ended", 1)
    found = {
        line.custom_id: line.result.type
        async for line in await claude.messages.batches.results(batch.id)
    }
    assert found == {"good": "succeeded", "bad": "errored", "late": "canceled"}
