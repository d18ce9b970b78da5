"""One run over two Ray nodes that share no folder, killed or cut off while they work: equal to
a local run, and no reply is paid for twice. The wire takes 5 ms between nodes and 50 ms to S3."""

import contextlib
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from envmill.base.settings import ROOT
from envmill.pipeline.line import STEPS
from schemas.run import RunConfig
from tests.bench.nodes import Cluster, go_on, open_cluster, read_line
from tests.machine import ACCOUNTS, Machine
from tests.soak import count
from tests.wire import can_wire

CONFIG = RunConfig(environments=6, scenarios=2, attempts=1, search=40, seed=11, mistakes=0.2)
KILLS, WHOLE, CUT = 20, 5, 60
"""Every fifth kill takes the whole node; the others the worker that has buckets. Seconds of a cut."""
LATEST = 20.0
"""Seconds after which a worker that was found working is killed, at most: it opens the run, and then has buckets."""
FLOW = (
    sys.executable,
    "-m",
    "tests.spread.ray_flow",
    CONFIG.model_dump_json(exclude_defaults=True),
)

pytestmark = [
    pytest.mark.soak(area="spread"),
    pytest.mark.skipif(
        not count(0, 1), reason="it installs a cluster's packages: make soak AREA=spread"
    ),
    pytest.mark.skipif(not can_wire() or not ACCOUNTS.is_dir(), reason="namespaces are for root"),
]


class Watch:
    """Hears from the flow in which step it is, and which of its buckets were lost."""

    def __init__(self, flow: "Popen[str]") -> None:
        self._flow, self._thread = flow, threading.Thread(target=self._listen)
        self.step, self.done, self.lost = "", threading.Event(), Counter[str]()
        self._thread.start()

    def _listen(self) -> None:
        try:
            while (line := read_line(self._flow)) != "done":
                word, _, name = line.partition(" ")
                if word == "step":
                    self.step = name
                elif word == "lost":
                    self.lost[name] += 1
        finally:
            self.done.set()

    def finish(self) -> dict[str, Any]:
        """What the lake holds in the end."""
        self._thread.join()
        go_on(self._flow)
        return json.loads(read_line(self._flow))


def kill_often(cluster: Cluster, watch: Watch) -> Counter[str]:
    """Each step has its share of the kills; what a step is too short for falls into the next."""
    names, fell = [step.name for step in STEPS], Counter[str]()
    dice = random.Random(os.environ.get("ENVMILL_SEED", ""))
    while not watch.done.wait(0.1):
        due = KILLS * (names.index(watch.step) + 1) // len(names) if watch.step else 0
        number = dice.randrange(len(cluster.nodes))
        if fell.total() >= due or not find_working(node := cluster.nodes[number]):
            continue
        step = watch.step
        time.sleep(dice.uniform(0, LATEST))
        if not (working := find_working(node)):
            continue
        fell[step] += 1
        if fell.total() % WHOLE == 0:
            node.kill()
            cluster.join(number)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(dice.choice(working), 9)
    return fell


def cut_once(cluster: Cluster, watch: Watch) -> None:
    """The first node that works in the second step. Ray gives up a node that it does not hear from, and the node gives up when it hears
    that: then it is started again."""
    while not watch.done.wait(0.1):
        working = [one for one in enumerate(cluster.nodes) if find_working(one[1])]
        if not working or watch.step == STEPS[0].name:
            continue
        number, node = working[0]
        node.cut()
        time.sleep(CUT)
        node.mend()
        until = time.monotonic() + CUT
        while _has_raylet(node) and time.monotonic() < until:
            time.sleep(1)
        if not _has_raylet(node):
            node.kill()
            cluster.join(number)
        return
    raise AssertionError("it ended before a node worked")


def find_working(node: Machine) -> list[int]:
    """Processes of a node that have buckets. Ray names a process after what it does."""
    return [
        pid for pid in node.list_processes() if _read_command(pid).startswith(b"ray::work_bucket")
    ]


def _has_raylet(node: Machine) -> bool:
    return any(b"raylet/raylet" in _read_command(pid) for pid in node.list_processes())


def _read_command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def run_alone(folder: Path) -> dict[str, Any]:
    environ = {"ENVMILL_HOME": str(folder / "home"), "ENVMILL_LAKE": str(folder / "lake")}
    environ |= {"PATH": os.environ["PATH"]}
    with Popen(FLOW, cwd=ROOT, env=environ, stdout=-1, text=True) as flow:
        return json.loads(read_line(flow))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Its path is short: Ray makes sockets below it."""
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def undisturbed(folder: Path) -> dict[str, Any]:
    return run_alone(folder / "local")


def test_ray_nodes_that_are_killed_end_equal(folder: Path, undisturbed: dict[str, Any]) -> None:
    with (
        open_cluster(folder / "nodes", 2, keep=True) as cluster,
        cluster.flow.start(*FLOW) as flow,
    ):
        watch = Watch(flow)
        fell = kill_often(cluster, watch)
        found = watch.finish()
    sys.stderr.write(f"kills {fell}; lost buckets {watch.lost}; {found['paid']} replies\n")
    assert fell.total() == KILLS, fell
    assert len(fell) >= 7, fell
    assert watch.lost.total() >= KILLS // 2, "the kills met nobody at work"
    check_equal(found, undisturbed)


def test_a_ray_node_that_is_cut_off_for_a_minute_ends_equal(
    folder: Path, undisturbed: dict[str, Any]
) -> None:
    with (
        open_cluster(folder / "nodes", 2, keep=True) as cluster,
        cluster.flow.start(*FLOW) as flow,
    ):
        watch = Watch(flow)
        cut_once(cluster, watch)
        found = watch.finish()
    sys.stderr.write(f"lost buckets {watch.lost}; {found['paid']} replies\n")
    assert watch.lost, "nobody noticed"
    check_equal(found, undisturbed)


def check_equal(found: dict[str, Any], undisturbed: dict[str, Any]) -> None:
    differing = [
        table
        for table, wanted in undisturbed["contents"].items()
        if found["contents"][table] != wanted
    ]
    assert not differing
    assert found["paid"] == undisturbed["paid"]
    assert not found["again"], "a reply that was journalled was paid for again"
