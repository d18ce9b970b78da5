"""One run over two machines that share nothing but an object store: killed, cut off, and equal to an
undisturbed run on one machine."""

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.base.settings import ROOT, Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import PipelineStep
from flows.opening import open_walk
from schemas.ledger import ModelCall
from schemas.run import RunConfig
from tests.e2e.node import RUN
from tests.lake.conftest import make_bucket, run_s3_server
from tests.line import Line, open_line
from tests.pipeline.test_runner import contents, settings_in
from tests.soak import count

SEED = os.environ.get("ENVMILL_SEED", "")
CONFIG = RunConfig(
    environments=count(2, 8), scenarios=count(1, 3), attempts=1, search=40, seed=11, mistakes=0.2
)
STEPS = count(3, 100)
"""Of the line: the first three tell whether it holds."""
KILLS, CUT = count(2, 20), count(4, 60)
PAUSE = float(count(2, 12))
"""Most seconds between two kills: the small form takes no more than a few."""
DELAY = 0.05
"""Seconds to the object store, as within a region."""

pytestmark = pytest.mark.soak(area="line")


class Node:
    """One machine: a process, its home and its line to the store."""

    def __init__(self, home: Path, lake: str, line: Line, clock: Mapping[str, str]) -> None:
        self.line, self._home, self._lake, self._clock = line, home, lake, clock
        self._process: subprocess.Popen[str] | None = None
        self.killed = 0

    def work(self, step: str, stripe: int) -> None:
        """Until it is done: a process that was killed is started again, on the same home."""
        while (answer := self._ask(f"{step} {stripe}\n")) != "done":
            assert not answer or answer.startswith(("failed Lake", "failed Coord")), answer

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self.killed += 1

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
        environ |= {"AWS_ENDPOINT_URL": self.line.url, **self._clock}
        command = [sys.executable, "-m", "tests.e2e.node", CONFIG.model_dump_json()]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_in(tmp_path_factory.mktemp("undisturbed"))

    async def walk() -> None:
        async with open_walk(RUN, CONFIG, settings) as opened:
            await opened.walk(opened.line[:STEPS])

    asyncio.run(walk())
    return settings


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Settings, str]]:
    """The flow's own settings and the address of the store."""
    with run_s3_server() as endpoint:
        lake = f"{make_bucket(endpoint, monkeypatch)}/lake"
        yield replace(settings_in(tmp_path / "flow"), lake=lake), endpoint


def shift_clock(folder: Path, number: int) -> dict[str, str]:
    """The second machine's wall clock is an hour ahead, where a compiler is at hand."""
    if number == 0 or shutil.which("cc") is None:
        return {}
    library, offset = folder / "clock.so", folder / "offset"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
    offset.write_bytes((3600).to_bytes(8, "little"))
    return {"LD_PRELOAD": str(library), "ENVMILL_CLOCK": str(offset)}


@pytest.fixture
def nodes(shared: tuple[Settings, str], tmp_path: Path) -> Iterator[list[Node]]:
    settings, endpoint = shared
    with ExitStack() as opened:
        lines = [opened.enter_context(open_line(endpoint, DELAY)) for _ in range(2)]
        made = [
            Node(tmp_path / f"node{number}", settings.lake, line, shift_clock(tmp_path, number))
            for number, line in enumerate(lines)
        ]
        try:
            yield made
        finally:
            for node in made:
                node.line.mend()
                node.close()


async def walk_over(nodes: list[Node], settings: Settings) -> None:
    """As a flow does it: plan, hand out, conclude. Who is free takes the next stripe."""
    async with open_walk(RUN, CONFIG, settings) as walk:
        for step in walk.line[:STEPS]:
            await hand_out(nodes, step, await walk.plan(step))
            assert await walk.conclude(step) is None
            assert await walk.plan(step) == []


async def hand_out(nodes: list[Node], step: PipelineStep, stripes: list[int]) -> None:
    left = iter(stripes)

    async def serve(node: Node) -> None:
        for stripe in left:
            await asyncio.to_thread(node.work, step.name, stripe)

    await asyncio.gather(*map(serve, nodes))


def check_equal(settings: Settings, undisturbed: Settings) -> None:
    assert contents(settings) == contents(undisturbed)
    calls = [call for call in Lake(settings.lake).read(ModelCall, RUN) if call.answers]
    paid = [(call.request, call.sample) for call in calls if not call.reused]
    assert len(paid) == len(set(paid)), "a reply that was journalled was paid for again"


def test_machines_that_are_killed_end_equal(
    nodes: list[Node], shared: tuple[Settings, str], undisturbed: Settings
) -> None:
    dice, over = random.Random(f"{SEED}/nodes"), threading.Event()

    def kill() -> None:
        while (
            not over.wait(dice.uniform(PAUSE / 6, PAUSE))
            and sum(one.killed for one in nodes) < KILLS
        ):
            dice.choice(nodes).kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        asyncio.run(walk_over(nodes, shared[0]))
    finally:
        over.set()
        killer.join()
    for node in nodes:
        node.close()
    check_equal(shared[0], undisturbed)
    assert sum(one.killed for one in nodes)


def test_a_machine_that_is_cut_off_for_a_while_goes_on(
    nodes: list[Node], shared: tuple[Settings, str], undisturbed: Settings
) -> None:
    def cut() -> None:
        time.sleep(8)
        nodes[0].line.cut()
        time.sleep(CUT)
        nodes[0].line.mend()

    cutter = threading.Thread(target=cut)
    cutter.start()
    asyncio.run(walk_over(nodes, shared[0]))
    cutter.join()
    for node in nodes:
        node.close()
    check_equal(shared[0], undisturbed)
