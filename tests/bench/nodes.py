"""Two Ray nodes beside one, at verification of environments, which is bound by jails.

flow, Ray's head ─┐
                  ├─ wire: 5 ms between peers, 50 ms to S3 ─┬─ node 0, on core 0
S3 (moto) ────────┘                                         └─ node 1, on core 1

Each is a network namespace. Home, Ray's folder and shared memory of a node are its own; lake and leases lie on S3. Nodes are measured from
their second bucket on: the first opens the walk.

A machine of two cores has none to spare for S3, flow, head and wire, and may do other work. So a rate is what jails got done in the time
in which the nodes' cores were left to the nodes:

    others = seconds in which the nodes' cores were not idle − processor seconds of the nodes
    rate   = processor seconds of jails / (seconds by the clock − others / nodes)

A core that waits counts against the nodes, and so does a node's own part of Ray.
"""

import contextlib
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

from envmill.base.settings import ROOT
from schemas.run import RunConfig
from tests.lake.conftest import KEYS
from tests.machine import ACCOUNTS, Machine, read_busy
from tests.spread.houses import find_house, find_packages
from tests.wire import can_wire, open_wire

CONFIG = RunConfig(environments=48, scenarios=1, attempts=1, seed=5, mistakes=0.2, fresh=False)
BUCKETS = 18
"""With two first ones."""
NODES = 2
SLOTS = 2
"""Buckets that a node has in work: one of them may wait for the store."""
PEER, STORE = 0.00125, 0.02375
"""Seconds of an end of the wire."""


@dataclass(frozen=True)
class Spent:
    """Processor seconds."""

    nodes: float
    jails: float
    """Of the nodes', in jails."""
    services: float
    """Of S3, flow, Ray's head and the wire."""
    busy: float
    """Of the nodes' cores, whoever had them."""


@dataclass(frozen=True)
class Round:
    """What the buckets took, by the clock and of the processor."""

    count: int
    seconds: float
    spent: Spent

    @property
    def others(self) -> float:
        return self.spent.busy - self.spent.nodes

    @property
    def rate(self) -> float:
        return self.spent.jails / (self.seconds - self.others / self.count)

    def describe(self) -> str:
        return (
            f"{self.count} node(s): {self.seconds:.1f} s by the clock; processor seconds: jails {self.spent.jails:.1f}, "
            f"nodes {self.spent.nodes:.1f}, services {self.spent.services:.1f}, others on the nodes' cores {self.others:.1f}"
        )


def rows() -> Iterator[dict[str, Any]]:
    """None where namespaces, accounts or a second core are missing."""
    if not can_wire() or not ACCOUNTS.is_dir() or (os.cpu_count() or 1) < NODES:
        sys.stderr.write("nodes: needs root, /dev/net/tun, cgroups' cpuacct and two cores\n")
        return
    with tempfile.TemporaryDirectory(prefix="nodes-", dir="/tmp") as folder:
        (one, two), unequal = measure_nodes(Path(folder), CONFIG, BUCKETS)
    yield {
        "id": "two",
        "what": f"jail seconds a second that was left to nodes; {two.describe()}; {one.describe()}",
        "measured": two.rate,
        "baseline": one.rate,
    }
    yield {
        "id": "two_by_clock",
        "what": "jail seconds a second by the clock, others' time included",
        "measured": two.spent.jails / two.seconds,
        "baseline": one.spent.jails / one.seconds,
    }
    yield {
        "id": "unequal",
        "what": f"tables that differ from a local run's{': ' if unequal else ''}{', '.join(unequal)}",
        "measured": len(unequal),
    }


def measure_nodes(
    folder: Path, config: RunConfig, buckets: int
) -> tuple[tuple[Round, Round], list[str]]:
    """One node, two nodes, and the tables in which their runs differ from a local one."""
    expected = run_locally(folder / "local", config, buckets)
    found: list[Round] = []
    unequal: list[str] = []
    for count in (1, NODES):
        measured, contents = run_over(folder / f"of{count}", config, buckets, count)
        found.append(measured)
        unequal += [table for table in expected if contents[table] != expected[table]]
    return (found[0], found[1]), unequal


def run_locally(folder: Path, config: RunConfig, buckets: int) -> dict[str, str]:
    """Contents of an undisturbed run in one process, with a folder as lake."""
    environ = {"ENVMILL_HOME": folder / "home", "ENVMILL_LAKE": folder / "lake"}
    with Popen(
        [sys.executable, *_name_flow(config, buckets, 0)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | {name: str(path) for name, path in environ.items()},
        stdout=-1,
        text=True,
    ) as flow:
        return json.loads(read_line(flow))


def run_over(
    folder: Path, config: RunConfig, buckets: int, count: int
) -> tuple[Round, dict[str, str]]:
    """The same over nodes, with a lake on S3."""
    with (
        open_cluster(folder, count) as cluster,
        cluster.flow.start(sys.executable, *_name_flow(config, buckets, count)) as process,
    ):
        assert read_line(process) == "warm"
        before = _take(cluster)
        go_on(process)
        seconds = float(read_line(process).removeprefix("done "))
        after = _take(cluster)
        go_on(process)
        contents = json.loads(read_line(process))
    spent = Spent(*(now - then for now, then in zip(after, before, strict=True)))
    return Round(count, seconds, spent), contents


@dataclass(frozen=True)
class Cluster:
    """Machines of a run over Ray nodes."""

    flow: Machine
    """It has Ray's head, too."""
    store: Machine
    nodes: list[Machine]
    join: Callable[[int], None]
    """Starts Ray on a node."""


def _take(cluster: Cluster) -> tuple[float, ...]:
    nodes = cluster.nodes
    of_nodes = sum(node.read_spent() for node in nodes)
    outside = sum(node.read_spent_outside() for node in nodes)
    of_services = cluster.flow.read_spent() + cluster.store.read_spent()
    return of_nodes, of_nodes - outside, of_services, read_busy(range(len(nodes)))


def _name_flow(config: RunConfig, buckets: int, nodes: int) -> list[str]:
    given = config.model_dump_json(exclude_defaults=True)
    return ["-m", "tests.bench.nodes_flow", given, str(buckets), str(nodes)]


def read_line(process: "Popen[str]") -> str:
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError("the flow process ended early")
    return line.strip()


def go_on(process: "Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@contextlib.contextmanager
def open_cluster(folder: Path, count: int, *, keep: bool = False) -> Iterator[Cluster]:
    """A wire, S3, Ray's head and nodes. With `keep` a node that is started again has its home still;
    otherwise no other process sees it."""
    prefix, site = f"em{os.getpid()}", find_packages(find_house("ray"))
    names = [f"node{number}" for number in range(count)]
    with ExitStack() as opened:
        enter = opened.enter_context
        wire = {"flow": PEER, "store": STORE} | dict.fromkeys(names, PEER)
        where = enter(open_wire(prefix, wire))
        ours = {"PYTHONPATH": f"{ROOT}:{site}", **KEYS}
        store = Machine(prefix, "store", folder / "store", ours)
        served = enter(
            store.start(sys.executable, "-m", "tests.lake.s3_server", "--host", where["store"])
        )
        ours |= {
            "AWS_ENDPOINT_URL": read_line(served),
            "ENVMILL_LAKE": "s3://envmill/lake",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            # On a busy machine imports take a minute.
            "RAY_agent_register_timeout_ms": "300000",
            "RAY_raylet_start_wait_time_s": "300",
            "RAY_worker_niceness": "0",
        }
        homes = {name: folder / name for name in ("flow", *names)}
        environs = {name: ours | {"ENVMILL_HOME": str(home)} for name, home in homes.items()}
        ray = (sys.executable, "-m", "ray.scripts.scripts", "start", "--block")
        at = f"{where['flow']}:6379"
        flow = Machine(prefix, "flow", homes["flow"], environs["flow"] | {"RAY_ADDRESS": at})
        head = ("--head", "--port=6379", "--num-cpus=0", "--include-dashboard=false")
        its = (f"--node-ip-address={where['flow']}", f"--temp-dir={folder}/ray")
        _wait_for_ray(enter(flow.start(*ray, *head, *its)))
        nodes = [
            Machine(
                prefix,
                name,
                homes[name],
                environs[name],
                core,
                (folder / "ray", Path("/dev/shm"), *([] if keep else [homes[name]])),
            )
            for core, name in enumerate(names)
        ]

        def join(number: int) -> None:
            name = names[number]
            own = (f"--num-cpus={SLOTS}", f'--resources={{"{name}": 1}}')
            command = (*ray, f"--address={at}", f"--node-ip-address={where[name]}", *own)
            _wait_for_ray(enter(nodes[number].start(*command)))

        for number in range(count):
            join(number)
        yield Cluster(flow, store, nodes, join)


def _wait_for_ray(process: "Popen[str]") -> None:
    while "Ray runtime started" not in read_line(process):
        pass
