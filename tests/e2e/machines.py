"""Machines of a run, as a test starts, kills and cuts them off, and a walk over them."""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from envmill.base.settings import ROOT, Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import PipelineStep
from flows.opening import open_walk
from schemas.ledger import ModelCall
from schemas.run import RunConfig
from tests.e2e.node import ASKED, RUN
from tests.line import Line
from tests.pipeline.test_runner import contents


class Node:
    """One machine: a process, its home and its line to the store."""

    def __init__(
        self,
        config: RunConfig,
        home: Path,
        lake: str,
        line: Line,
        environ: Mapping[str, str],
        seconds: float = 0.0,
    ) -> None:
        self.line, self._config, self._seconds = line, config, seconds
        self._home, self._lake, self._environ = home, lake, environ
        self._process: subprocess.Popen[str] | None = None
        self.working = False
        self.started = 0
        self.failed: list[str] = []
        """What it could not do because of the store or the coordinator."""

    def work(self, step: str, stripe: int) -> None:
        """Until it is done: a process that was killed is started again, on the same home."""
        self.working = True
        while (answer := self._ask(f"{step} {stripe}\n")) != "done":
            assert not answer or answer.startswith(("failed Lake", "failed Coord")), answer
            self.failed += [answer] if answer else []
        self.working = False

    def kill(self) -> bool:
        """Whether there was anything to kill."""
        if not self.working or self._process is None or self._process.poll() is not None:
            return False
        self._process.kill()
        return True

    def find_asked(self) -> list[float]:
        """When its author was asked, by the clock that only counts."""
        try:
            return [float(line) for line in (self._home / ASKED).read_text().splitlines()]
        except FileNotFoundError:
            return []

    def close(self) -> None:
        """Let it seal what it has."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait(300)
            process.stdout.close()

    def _ask(self, line: str) -> str:
        """Its answer; empty when it died meanwhile."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = self._start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
            while answer := self._process.stdout.readline():
                if answer.strip() != "ready":
                    return answer.strip()
        self._process.wait()
        return ""

    def _start(self) -> subprocess.Popen[str]:
        environ = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        environ |= {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        environ |= {"ENVMILL_HOME": str(self._home), "ENVMILL_LAKE": self._lake}
        environ |= {"ENVMILL_BUNDLES": str(self._home / "bundles")}
        environ |= {"AWS_ENDPOINT_URL": self.line.url, **self._environ}
        words = [self._config.model_dump_json(), str(self._seconds)]
        command = [sys.executable, "-m", "tests.e2e.node", *words]
        self.started += 1
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


class Misfortunes:
    """What happens to machines, at points that are spread over a whole run.

    Each step has its share of them. Each falls on a machine that works, when it puts an object to the store: so many objects after the
    last misfortune as the dice say. What a step is too short for falls into the next.
    """

    def __init__(
        self, strike: Callable[[Node], bool], total: int, dice: random.Random, most: int = 10
    ) -> None:
        self._strike, self._total, self._dice, self._most = strike, total, dice, most
        self._lock, self._step, self._due = threading.Lock(), "", 0
        self._left = self._draw()
        self.fell = Counter[str]()
        """By step."""
        self.objects = Counter[str]()
        """That machines at work put to the store, by step."""

    def watch(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            node.line.heard = lambda request, node=node: self._hear(node, request)

    def begin(self, step: PipelineStep, line: Sequence[PipelineStep]) -> None:
        """Those that are due when the step ends."""
        with self._lock:
            self._step = step.name
            self._due = round(self._total * (line.index(step) + 1) / len(line))

    def _hear(self, node: Node, request: bytes) -> None:
        if not request.startswith(b"PUT ") or not node.working:
            return
        with self._lock:
            self.objects[self._step] += 1
            if self.fell.total() >= self._due:
                return
            self._left -= 1
            if self._left <= 0 and self._strike(node):
                self.fell[self._step] += 1
                self._left = self._draw()

    def _draw(self) -> int:
        return self._dice.randint(1, self._most)


Begin = Callable[[PipelineStep, Sequence[PipelineStep]], None]


async def walk_over(
    nodes: list[Node],
    config: RunConfig,
    settings: Settings,
    steps: int,
    begin: Begin = lambda _step, _line: None,
    shared: bool = False,
) -> None:
    """As a flow does it: plan, hand out, conclude. Who is free takes the next stripe, another first
    in each step; with `shared`, each is told to do every stripe, and waits for its lease."""
    async with open_walk(RUN, config, settings) as walk:
        line = walk.line[:steps]
        for number, step in enumerate(line):
            begin(step, line)
            turned = nodes[number % len(nodes) :] + nodes[: number % len(nodes)]
            await _hand_out(turned, step, await walk.plan(step), shared)
            assert await walk.conclude(step) is None
            assert await walk.plan(step) == []


async def _hand_out(
    nodes: list[Node], step: PipelineStep, stripes: list[int], shared: bool
) -> None:
    left = iter(stripes)

    async def serve(node: Node) -> None:
        for stripe in list(stripes) if shared else left:
            await asyncio.to_thread(node.work, step.name, stripe)

    await asyncio.gather(*map(serve, nodes))


def check_equal(settings: Settings, undisturbed: Settings) -> None:
    found, wanted = contents(settings), contents(undisturbed)
    differing = {
        table: [(ours, its) for ours, its in zip_longest(found[table], rows) if ours != its][:3]
        for table, rows in wanted.items()
        if found[table] != rows
    }
    assert not differing, json.dumps(differing, default=str, indent=1)
    calls = [call for call in Lake(settings.lake).read(ModelCall, RUN) if call.answers]
    paid = defaultdict[tuple[str, int], list[str]](list)
    for call in calls:
        if not call.reused:
            paid[call.request, call.sample].append(
                repr(call.model_copy(update={"reply": "", "reasoning": ""}))
            )
    again = [rows for rows in paid.values() if len(rows) > 1]
    assert not again, ("a reply that was journalled was paid for again", again)
