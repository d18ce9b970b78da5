"""One process that asks a vendor as fast as it may, one way: the bare SDK, the door, or one client
a call in threads.

`python -m tests.bench.asking WAY VENDOR ROOT IN_FLIGHT CALLS` prints calls a second and CPU milliseconds a call as JSON.
"""

import asyncio
import json
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.models.calling import PROMPT, Answer, Question, open_door

Ask = Callable[[int], Awaitable[str | None]]


def main(way: str, vendor: str, root: str, in_flight: int, calls: int) -> None:
    """Measure, and say it."""
    if way == "threads":
        began, spent = time.perf_counter(), time.process_time()
        _ask_in_threads(root, in_flight, calls)
        seconds, cpu = time.perf_counter() - began, time.process_time() - spent
    else:
        seconds, cpu = asyncio.run(
            (_ask_bare if way == "bare" else _ask_door)(vendor, root, in_flight, calls)
        )
    sys.stdout.write(json.dumps({"rate": calls / seconds, "cpu": cpu / calls * 1000}))


def render(number: int) -> str:
    """The same question whichever way it is asked."""
    return PROMPT.render(_question(number), Answer)


def _question(number: int) -> Question:
    return Question(word=f"w{number} " + "of a prompt as long as a recipe's, " * 60)


async def _time(ask: Ask, in_flight: int, calls: int) -> tuple[float, float]:
    """Seconds and CPU seconds; a first wave opens connections and is not counted."""
    await _run(ask, range(calls, calls + in_flight), in_flight)
    began, spent = time.perf_counter(), time.process_time()
    await _run(ask, range(calls), in_flight)
    return time.perf_counter() - began, time.process_time() - spent


async def _run(ask: Ask, numbers: range, in_flight: int) -> None:
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            assert await ask(number)

    await asyncio.gather(*(work() for _ in range(in_flight)))


async def _ask_bare(vendor: str, root: str, in_flight: int, calls: int) -> tuple[float, float]:
    """The SDK as its page shows it, with a pool as large as it needs."""
    if vendor == "anthropic":
        import anthropic

        claude_http = anthropic.DefaultAsyncHttpxClient(limits=_limits(in_flight), trust_env=False)
        async with anthropic.AsyncAnthropic(
            base_url=root, api_key="bench-key", max_retries=0, http_client=claude_http
        ) as claude:

            async def ask_claude(number: int) -> str | None:
                said = await claude.messages.create(
                    model="loopback-large", max_tokens=1024, messages=_messages(number)
                )
                return said.content[0].text if said.content[0].type == "text" else None

            return await _time(ask_claude, in_flight, calls)
    import openai

    http = openai.DefaultAsyncHttpxClient(limits=_limits(in_flight), trust_env=False)
    async with openai.AsyncOpenAI(
        base_url=f"{root}/v1", api_key="bench-key", max_retries=0, http_client=http
    ) as client:

        async def ask(number: int) -> str | None:
            said = await client.chat.completions.create(
                model="loopback-large", messages=_messages(number)
            )
            return said.choices[0].message.content

        return await _time(ask, in_flight, calls)


def _limits(in_flight: int) -> Any:
    import httpx2

    return httpx2.Limits(max_connections=2 * in_flight, max_keepalive_connections=2 * in_flight)


def _messages(number: int) -> Any:
    return [{"role": "user", "content": render(number)}]


async def _ask_door(vendor: str, root: str, in_flight: int, calls: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="envmill-bench-") as folder:
        async with open_door(vendor, root, Path(folder), in_flight=in_flight) as door:

            async def ask(number: int) -> str | None:
                return str(
                    (
                        await door.open_session("bench", f"s{number}").ask(
                            PROMPT, _question(number), Answer
                        )
                    ).length
                )

            return await _time(ask, in_flight, calls)


def _ask_in_threads(root: str, in_flight: int, calls: int) -> None:
    """A client for every call, few threads: how published pipelines ask."""
    import openai

    left, lock = iter(range(calls)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                return
            with openai.OpenAI(base_url=f"{root}/v1", api_key="bench-key") as client:
                client.chat.completions.create(model="loopback-large", messages=_messages(number))

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    _way, _vendor, _root, _in_flight, _calls = sys.argv[1:]
    main(_way, _vendor, _root, int(_in_flight), int(_calls))
