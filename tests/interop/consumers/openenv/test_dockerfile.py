"""The folder's Dockerfile, built with no network from Debian's packages and wheels; its container
is held tightly, and played in."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.interop.consumers.openenv import CONSUMER
from tests.e2e.plant import wait_until
from tests.hostile.engine import Engine
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.interop.consumers.houses import LOCKS, SOAKING, open_locked_house
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.specimens import LEND, make_environment, make_scenario

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
LOCKED = ("--cap-drop=ALL", "--security-opt=no-new-privileges")
PLAY = """import json, sys
from envmill_openenv import OpenEnvAction, OpenEnvClient
url, token, scenario, moves = json.load(sys.stdin)
with OpenEnvClient(base_url=url, headers={"Authorization": f"Bearer {token}"}).sync() as client:
    client.reset(scenario=scenario)
    replies = [client.step(OpenEnvAction(**move)) for move in moves]
    last = client.step(OpenEnvAction(say="Done."))
    json.dump([[one.observation.reply for one in replies], last.done, last.reward], sys.stdout)
"""
SHED = make_environment()
LENDING = make_scenario(SHED)


@pytest.fixture(scope="module")
def base(docker_engine: Engine) -> str:
    """Debian with Python, and its module for virtual environments."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        words = [
            "debootstrap",
            "--variant=minbase",
            "--include=python3,python3-venv,ca-certificates",
            "bookworm",
            str(root),
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        packed = subprocess.run(
            ["tar", "-C", str(root), "-c", "."], capture_output=True, check=True
        ).stdout
    docker_engine.ask(["import", "-", "envmill/venv"], packed)
    return "envmill/venv"


@pytest.fixture(scope="module")
def served(
    docker_engine: Engine, base: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Path]]:
    """The server's address, its token, and the folder."""
    spying, spied = make_spy()
    folder = write_consumer(
        CONSUMER,
        make_export_set([(LENDING, SHED), (spying, spied)]),
        tmp_path_factory.mktemp("out"),
    )
    wheels = [
        "download",
        "-q",
        "-r",
        str(LOCKS / "openenv.txt"),
        "hatchling",
        "--only-binary=:all:",
        "-d",
        str(folder / "wheels"),
    ]
    subprocess.run([sys.executable, "-m", "pip", *wheels], check=True, timeout=900)
    told = [
        "--network=none",
        "--build-arg",
        f"BASE_IMAGE={base}",
        "--build-arg",
        "PIP_OPTIONS=--no-index -f wheels",
    ]
    build = [
        "docker",
        f"--host={docker_engine.host}",
        "build",
        *told,
        "-f",
        "server/Dockerfile",
        "-t",
        "envmill-openenv",
        ".",
    ]
    done = subprocess.run(
        build,
        cwd=folder,
        env=os.environ | {"DOCKER_BUILDKIT": "0"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    token, port = secrets.token_urlsafe(16), _find_port()
    command = ["python", "-m", "envmill_openenv.app", "--host", "0.0.0.0", "--port", str(port)]
    run = [
        "run",
        "--detach",
        "--rm",
        "--name",
        "served",
        "--network=host",
        *LOCKED,
        "-e",
        f"ENVMILL_OPENENV_TOKEN={token}",
    ]
    docker_engine.ask([*run, "envmill-openenv", *command])
    wait_until(lambda: _is_open(port), 120, lambda: docker_engine.ask(["logs", "served"]))
    yield f"http://127.0.0.1:{port}", token, folder
    docker_engine.ask(["stop", "-t", "5", "served"])


def _find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def play(
    served: tuple[str, str, Path], scenario: str, moves: list[dict[str, object]]
) -> list[object]:
    url, token, folder = served
    done = subprocess.run(
        [open_locked_house("openenv"), "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{PLAY}"],
        input=json.dumps([url, token, scenario, moves]), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_a_scenario_is_played_in_the_image(served: tuple[str, str, Path]) -> None:
    right: dict[str, object] = {"tool": LEND.name, "arguments": LEND.arguments}
    assert play(served, LENDING.id, [right])[1:] == [True, 1.0]
    assert play(served, LENDING.id, [])[1:] == [True, 0.0]


def test_programs_stay_in_the_jail_there_too(served: tuple[str, str, Path]) -> None:
    scenario, _ = make_spy()
    folder = served[2]
    looks = json.loads(
        json.dumps(list_looks(folder, CONSUMER.package)).replace(str(folder), "/app")
    )
    assert len(looks) >= 7
    replies, done, reward = play(
        served, scenario.id, [{"tool": one["name"], "arguments": one["arguments"]} for one in looks]
    )
    assert isinstance(replies, list)
    assert find_secrets([str(one) for one in replies]) == []
    assert all("no: " in str(one) for one in replies[:-1]), replies
    assert (done, reward) == (True, 0.0)
