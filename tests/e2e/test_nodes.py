"""One run over two machines that share nothing but an object store, and in one case a database:
killed, cut off, and equal to an undisturbed run on one machine."""

import asyncio
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.base.settings import Settings
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.e2e.machines import Misfortunes, Node, check_equal, walk_over
from tests.e2e.node import RUN
from tests.lake.conftest import make_bucket, run_s3_server
from tests.line import open_line
from tests.pipeline.test_runner import settings_in
from tests.postgres import Postgres, run_postgres
from tests.soak import count

SEED = os.environ.get("ENVMILL_SEED", "")
CONFIG = RunConfig(
    environments=count(2, 8), scenarios=count(1, 3), attempts=1, search=40, seed=11, mistakes=0.2
)
BUDGETED = CONFIG.model_copy(update={"budget_tokens": 10**9})
STEPS = count(3, 100)
"""Of the line: the first three tell whether it holds."""
KILLS, CUT, OUTAGE = count(2, 20), count(4, 60), count(6, 300)
DELAY = 0.05
"""Seconds to the object store, as within a region."""

pytestmark = pytest.mark.soak(area="line")


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
def start_nodes(
    shared: tuple[Settings, str], tmp_path: Path
) -> Iterator[Callable[..., list[Node]]]:
    """`start_nodes(config, seconds, **environ)`: two machines, whose author takes so long for a reply."""
    settings, endpoint = shared
    with ExitStack() as opened:

        def start(config: RunConfig, seconds: float = 0.0, **environ: str) -> list[Node]:
            lines = [opened.enter_context(open_line(endpoint, DELAY)) for _ in range(2)]
            nodes = [
                Node(
                    config,
                    tmp_path / f"node{number}",
                    settings.lake,
                    line,
                    shift_clock(tmp_path, number) | environ,
                    seconds,
                )
                for number, line in enumerate(lines)
            ]
            for node in nodes:
                opened.callback(node.close)
                opened.callback(node.line.mend)
            return nodes

        yield start


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    with run_postgres() as cluster:
        yield cluster


def test_machines_that_are_killed_end_equal(
    start_nodes: Callable[..., list[Node]], shared: tuple[Settings, str], undisturbed: Settings
) -> None:
    nodes = start_nodes(CONFIG)
    kills = Misfortunes(Node.kill, KILLS, random.Random(f"{SEED}/nodes"), most=count(3, 10))
    kills.watch(nodes)
    asyncio.run(walk_over(nodes, CONFIG, shared[0], STEPS, kills.begin))
    for node in nodes:
        node.close()
    assert kills.fell.total() == KILLS, (kills.fell, kills.objects)
    assert len(kills.fell) >= count(1, 8), ("they are not spread over the steps", kills.fell)
    assert sum(node.started for node in nodes) >= KILLS
    check_equal(shared[0], undisturbed)


def test_a_machine_that_is_cut_off_for_a_while_goes_on(
    start_nodes: Callable[..., list[Node]], shared: tuple[Settings, str], undisturbed: Settings
) -> None:
    """The other machine wants what it works on, and waits for it."""
    nodes, mending = start_nodes(CONFIG), list[threading.Timer]()

    def cut(node: Node) -> bool:
        if node is not nodes[0]:
            return False
        node.line.cut()
        mending.append(threading.Timer(CUT, node.line.mend))
        mending[0].start()
        return True

    cuts = Misfortunes(cut, 1, random.Random(f"{SEED}/cut"))
    cuts.watch(nodes)
    asyncio.run(walk_over(nodes, CONFIG, shared[0], STEPS, cuts.begin, shared=True))
    assert cuts.fell.total() == 1
    assert not mending[0].is_alive(), "the run ended without the machine that was cut off"
    for node in nodes:
        node.close()
        assert (node.started, node.failed) == (1, [])
    check_equal(shared[0], undisturbed)


def test_a_database_that_goes_away_in_a_run_is_waited_for(
    start_nodes: Callable[..., list[Node]],
    shared: tuple[Settings, str],
    undisturbed: Settings,
    postgres: Postgres,
) -> None:
    """It goes when the programs are asked for. Each machine wants what the other works on: who is
    taken for dead loses its lease, and fails."""
    nodes = start_nodes(BUDGETED, 0.5, ENVMILL_DATABASE=postgres.url)
    database = Settings.read({"ENVMILL_DATABASE": postgres.url}).database
    settings = replace(shared[0], database=database)

    def find_asked() -> list[float]:
        return [moment for node in nodes for moment in node.find_asked()]

    async def walk_through_it() -> tuple[float, float]:
        walking = asyncio.create_task(walk_over(nodes, BUDGETED, settings, STEPS, shared=True))
        while len(find_asked()) <= CONFIG.environments:
            assert not walking.done(), "no model was asked"
            await asyncio.sleep(0.02)
        postgres.stop()
        stopped = time.monotonic()
        try:
            await asyncio.sleep(OUTAGE)
            assert not walking.done(), "it ended without its database"
        finally:
            back = time.monotonic()
            postgres.start()
        await walking
        return stopped, back

    stopped, back = asyncio.run(walk_through_it())
    for node in nodes:
        node.close()
        assert (node.started, node.failed) == (1, [])
    asked = find_asked()
    meanwhile = [moment for moment in asked if stopped < moment < back]
    assert len(meanwhile) <= CONFIG.environments, "more than was in flight when it went"
    assert [moment for moment in asked if moment > back], "nothing was left to ask"
    check_equal(settings, undisturbed)
