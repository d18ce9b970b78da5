"""A run over the processes of a cluster: equal to a local one, with no key on the way and no open door."""

import contextlib
import http.client
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.base import Record
from schemas.ledger import Attrition, Evidence, ModelCall, RunEvent
from schemas.tables import TABLES
from tests.e2e.conftest import LISTED
from tests.e2e.plant import Plant, wait_until
from tests.e2e.test_kill import EXITS, content
from tests.soak import count
from tests.spread.houses import find_house, find_packages

OPTIONS = {"environments": 3, "scenarios": 2, "attempts": 1, "seed": 5, "mistakes": 0.05}
LOOPBACK = ("0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F")
"""As the kernel writes 127.0.0.1, ::1 and ::ffff:127.0.0.1."""
KEY = "sk-planted-where-a-spread-run-must-not-show-it"
EVENTS: set[type[Record]] = {RunEvent, Attrition, ModelCall, Evidence}

pytestmark = [
    pytest.mark.soak(area="spread"),
    pytest.mark.skipif(
        not count(0, 1), reason="it installs a cluster's packages: make soak AREA=spread"
    ),
]


@pytest.fixture(params=["dask", "ray"])
def runner(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def plant(runner: str, tmp_path: Path) -> Iterator[Plant]:
    """A server whose flow runs find the runner's packages beside ours."""
    house = find_house(runner)
    binaries = f"{house / 'bin'}:/usr/bin:/bin"
    plant = Plant.at(
        tmp_path / "plant",
        besides={"PYTHONPATH": str(find_packages(house)), "PATH": binaries, "OPENAI_API_KEY": KEY},
    )
    try:
        plant.envmill("up")
        yield plant
    finally:
        plant.envmill("down")


def test_a_run_over_two_processes_equals_a_local_one(plant: Plant, runner: str) -> None:
    local = plant.begin(LISTED, **OPTIONS)
    plant.wait_for(local, "COMPLETED", seconds=900)
    spread = plant.begin(LISTED, runner=runner, **OPTIONS)
    wait_until(
        lambda: (plant.home.folder / "journal" / spread).exists(), 300, lambda: plant.tail("worker")
    )
    wait_until(
        lambda: len(list((plant.home.folder / "journal" / spread).glob("*.jsonl"))) >= 2,
        300,
        lambda: plant.tail("worker"),
    )
    doors = list_doors(plant, spread)
    assert doors, "a cluster listens somewhere"
    opened = {door: answer for door in doors if (answer := knock(door))}
    plant.wait_for(spread, "COMPLETED", seconds=900)
    assert not opened

    for record in TABLES.values():
        assert content(plant, record, spread) == content(plant, record, local), record.table
    assert plant.ask(EXITS, spread) == plant.ask(EXITS, local)
    assert not list((plant.home.folder / "journal" / spread).glob("*.jsonl")), (
        "every worker has sealed its calls"
    )
    assert find_key(plant) == []


def list_doors(plant: Plant, run: str) -> list[int]:
    """Ports on which the flow's process and its children listen."""
    tree, found = list_tree(plant.find_flow(run)), set[int]()
    inodes = {
        link.removeprefix("socket:[").removesuffix("]")
        for pid in tree
        for link in list_sockets(pid)
    }
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                assert fields[1].split(":")[0] in LOOPBACK, (
                    f"it listens beyond this machine: {line}"
                )
                found.add(int(fields[1].split(":")[1], 16))
    return sorted(found)


def list_tree(root: int) -> list[int]:
    """A process and all below it; others may end while the list is made."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (path / "stat").read_text()
            parents[int(path.name)] = int(stat.rpartition(")")[2].split()[1])
    tree = [root]
    for pid in tree:
        tree += [child for child, parent in parents.items() if parent == pid and child not in tree]
    return tree


def list_sockets(pid: int) -> list[str]:
    links: list[str] = []
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                links.append(str(entry.readlink()))
    return [link for link in links if link.startswith("socket:")]


def knock(port: int) -> str:
    """What a stranger without certificate and token is told; empty for nothing, or for a refusal."""
    for path in (
        "/",
        "/info/main/workers.html",
        "/metrics",
        "/json/counts.json",
        "/api/jobs/",
        "/status",
    ):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read(200)
            if b"Dask needs bokeh" in content:  # a page that says that there is no page
                continue
            if answer.status < 300 or (answer.status < 400 and content):
                return f"GET {path}: {answer.status} {content!r}"
        except (OSError, http.client.HTTPException):
            break
        finally:
            connection.close()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=3) as plain,
            context.wrap_socket(plain) as secure,
        ):
            secure.sendall(b"\0" * 16)
            if answer := secure.recv(
                64
            ):  # TLS 1.3 tells of a missing certificate at the first read
                return f"TLS without a certificate: {answer!r}"
    except OSError:
        pass
    return ""


def find_key(plant: Plant) -> list[str]:
    """Files in which the planted key, or the server's secret, lies where it must not."""
    secret = (plant.home.folder / "secret").read_text().strip()
    kept = {plant.home.folder / "keys.json", plant.home.folder / "secret"}
    places = [
        *plant.home.folder.rglob("*"),
        *Path("/tmp").glob("envmill-ray-*/**/*"),
        *Path("/tmp").glob("dask-*/**/*"),
    ]
    return [
        str(path)
        for path in places
        if path not in kept
        and path.is_file()
        and any(word.encode() in path.read_bytes() for word in (KEY, secret))
    ]
