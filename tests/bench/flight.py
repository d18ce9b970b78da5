"""How well the line keeps a model busy: calls in flight at the model over the middle of each step,
beside the limit.

A model that thinks for 200 ms wants 320 calls a second of 64 in flight: more than an SDK alone asks
on one core, and a step also builds, plays and gates what it was told. One that thinks for two
seconds, as real ones do at least, wants 32. Where gates run in the step, two cores may be the
scarcer thing: a step is well made when the model or the cores are in use, whichever limits it.

The line is walked twice: with the author in this process, to learn what is asked and answered, and
against a server that says the same.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2

import offline as author
from envmill.base.settings import ROOT, Settings
from envmill.models.prompt import Prompt
from envmill.pipeline.line import STEP, STEPS
from flows.opening import open_walk
from schemas.base import Contract, Json, canonical_json
from schemas.run import RunConfig
from tests.bench.answering import name_question

LATENCIES, LIMIT, ITEMS = {0.2: "", 2.0: "_2s"}, 64, 256
"""Seconds a model thinks, and how rows of it are called."""
_EDGE = 0.1
"""Share of a step's calls at its beginning and at its end that are left out."""
_RUN = "bench"
_PLAIN = "as long as a question of a recipe " * 150

Flight = list[tuple[float, int]]


def measure_flight(items: int = ITEMS) -> Iterator[dict[str, Any]]:
    """Many environments for their lap, few with many scenarios for the other.

    Steps in which gates run are measured with the slow model alone: two cores gate fewer items than
    the fast one writes.
    """
    wide = RunConfig(environments=items, scenarios=1, seed=1, mistakes=0.0)
    # The author is the only model that is measured: no reader of requests, who would be asked what
    # was not learned.
    deep = RunConfig(environments=8, scenarios=items // 8, seed=1, mistakes=0.0, suspicions="keep")
    fast, slow = LATENCIES
    yield from measure_steps(
        wide,
        {fast: ("environments-generate",), slow: ("environments-generate", "environments-build")},
    )
    yield from measure_steps(deep, {slow: ("scenarios-generate",)})
    yield from measure_sdk(2 * items)


def measure_sdk(calls: int) -> Iterator[dict[str, Any]]:
    """What the bare SDK gets into the air on this machine, with nothing to do besides."""
    import openai  # noqa: F401  a second, spent before anything is measured and by no test that only collects

    with tempfile.TemporaryDirectory() as folder:
        replies = Path(folder) / "replies.json"
        replies.write_text(json.dumps({name_question(_PLAIN): _PLAIN}), "utf-8")
        for latency, suffix in LATENCIES.items():
            with _serve(replies, latency) as url:
                asyncio.run(_ask_bare(f"{url}/v1", calls))
                yield _row(
                    f"sdk_flight{suffix}",
                    "the bare SDK, and nothing else",
                    latency,
                    _read_flight(url),
                )


async def _ask_bare(url: str, calls: int) -> None:
    import openai

    left = iter(range(calls))
    limits = httpx2.Limits(max_connections=LIMIT, max_keepalive_connections=LIMIT)
    http = openai.DefaultAsyncHttpxClient(limits=limits, trust_env=False)
    async with openai.AsyncOpenAI(
        base_url=url, api_key="bench-key", max_retries=0, http_client=http
    ) as client:

        async def ask() -> None:
            for _ in left:
                await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": _PLAIN}]
                )

        await asyncio.gather(*(ask() for _ in range(LIMIT)))


def measure_steps(
    config: RunConfig, asked_of: Mapping[float, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """One row for each latency and each of its steps, which are in the line's order."""
    longest = max(asked_of.values(), key=lambda steps: STEPS.index(STEP[steps[-1]]))
    with tempfile.TemporaryDirectory() as folder:
        replies = Path(folder) / "replies.json"
        replies.write_text(
            json.dumps(asyncio.run(_learn(config, longest, Path(folder) / "learning"))), "utf-8"
        )
        for latency, steps in asked_of.items():
            suffix = LATENCIES[latency]
            with _serve(replies, latency) as url:
                asked = config.model_copy(update={"provider": "openai", "model": "m@box"})
                found = asyncio.run(_walk(asked, steps, Path(folder) / f"asking{suffix}", url))
            for name, (flight, cores) in found.items():
                row = (
                    name.replace("environments", "env")
                    .replace("scenarios", "scn")
                    .replace("-", "_")
                )
                yield _row(f"{row}_flight{suffix}", name, latency, flight)
                calls = mean_in_flight(flight) / LIMIT
                what = (
                    f"share in use of the {LIMIT} calls ({calls:.2f}) or of the cores "
                    f"({cores:.2f}), the higher one, in {name}"
                )
                yield {"id": f"{row}_use{suffix}", "what": what, "measured": max(calls, cores)}


def _row(row: str, name: str, latency: float, flight: Flight) -> dict[str, Any]:
    calls = sum(change > 0 for _, change in flight)
    what = f"calls in flight over the middle of {name}, {calls} calls at {latency * 1000:.0f} ms"
    return {
        "id": row,
        "what": what,
        "measured": mean_in_flight(flight),
        "baseline": float(LIMIT),
        "unit": "calls",
    }


def mean_in_flight(flight: Flight) -> float:
    """From the moment a tenth of the calls has begun until all but a tenth have ended."""
    flight = sorted(flight)
    begun, ended = ([at for at, change in flight if change == way] for way in (1, -1))
    first, last = begun[int(len(begun) * _EDGE)], ended[int(len(ended) * (1 - _EDGE)) - 1]
    area, flying = 0.0, 0
    for (at, change), (then, _) in pairwise(flight):
        flying += change
        area += flying * max(0.0, min(then, last) - max(at, first))
    return area / (last - first)


async def _learn(config: RunConfig, steps: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Question → reply, of all that the steps up to the last one ask."""
    rendered: dict[str, str] = {}
    replies: dict[str, str] = {}
    render = Prompt.render

    def note(self: Prompt, inputs: Contract, reply: type[Contract] | None) -> str:
        text = render(self, inputs, reply)
        rendered[_name(self.name, inputs.model_dump(mode="json"))] = text
        return text

    def answer(
        prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
    ) -> str:
        text = author.answer(prompt, inputs, seed, sample, mistakes, talk)
        replies[name_question(rendered[_name(prompt, inputs)], talk)] = text
        return text

    Prompt.render = note
    try:
        async with open_walk(_RUN, config, _settle(folder, ""), answer) as walk:
            await walk.walk(STEPS[: STEPS.index(STEP[steps[-1]]) + 1])
    finally:
        Prompt.render = render
    return replies


async def _walk(
    config: RunConfig, steps: tuple[str, ...], folder: Path, url: str
) -> dict[str, tuple[Flight, float]]:
    """Step → calls, and the share of all cores that was busy."""
    found: dict[str, tuple[Flight, float]] = {}
    async with open_walk(_RUN, config, _settle(folder, f"{url}/v1")) as walk:
        for step in STEPS[: STEPS.index(STEP[steps[-1]]) + 1]:
            before, began = count_busy(), time.monotonic()
            await walk.walk([step])
            busy = (count_busy() - before) / (time.monotonic() - began)
            found[step.name] = _read_flight(url), busy / (os.cpu_count() or 1)
    return {name: found[name] for name in steps}


def count_busy() -> float:
    """Seconds that all cores have been busy since the machine started."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle, waiting = 3, 4
    return (sum(ticks) - ticks[idle] - ticks[waiting]) / os.sysconf("SC_CLK_TCK")


def _read_flight(url: str) -> Flight:
    """What happened since it was last asked."""
    with urllib.request.urlopen(f"{url}/flight", timeout=30) as told:
        return json.loads(told.read())


def _name(prompt: str, inputs: Json) -> str:
    return f"{prompt} {canonical_json(inputs)}"


def _settle(folder: Path, url: str) -> Settings:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    told = {key: str(folder / name) for key, name in names.items()} | {
        "ENVMILL_PORT": "0",
        "ENVMILL_IN_FLIGHT": str(LIMIT),
    }
    return Settings.read(told | ({"ENVMILL_ENDPOINT_BOX": url} if url else {}))


@contextmanager
def _serve(replies: Path, latency: float) -> Generator[str]:
    command = [sys.executable, "-m", "tests.bench.answering", str(replies), str(latency)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()
