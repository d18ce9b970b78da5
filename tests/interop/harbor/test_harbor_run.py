"""`harbor run` of a tool world: Harbor's own command, trial loop and judge's container, its oracle
agent and one that does nothing.

Harbor's Docker environment asks for `docker compose`. `running/plain_docker.py` is one of plain
`docker build`, `run`, `exec` and `cp`, without a network.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from envmill.interop.consumers.harbor import export_worlds
from envmill.interop.exporters import write_output
from envmill.interop.harbor.inside import play_world
from envmill.sandbox.containers import CachedImage
from flows.cli import make_app
from tests.bench.loop.server import find_port
from tests.hostile.engine import Engine, lend_engine
from tests.interop.consumers.folders import make_export_set
from tests.interop.consumers.houses import SOAKING, open_newer_house
from tests.interop.consumers.pages import read_commands
from tests.interop.harbor.worlds import make_world
from tests.specimens import make_environment, make_scenario

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
PYTHON = 13
"""Harbor needs Python 3.12 or later."""
_PATIENCE = 900


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    yield from lend_engine()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shed = make_environment()
    (output,) = export_worlds(make_export_set([(make_scenario(shed, say="Done."), shed)]))
    folder = tmp_path_factory.mktemp("out")
    write_output(output, folder, "x")
    return next((folder / output.name / "tasks").iterdir())


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_s_own_command_pays_what_the_judge_says(
    engine: Engine, base: CachedImage, task: Path, tmp_path: Path, agent: str, reward: float
) -> None:
    engine.ask(["import", str(base.tarball), "envmill/base:1"])
    # The command's own first line names the folder that the environment was made in.
    python = open_newer_house("harbor", PYTHON)
    command = [str(python), str(python.with_name("harbor"))]
    jobs = tmp_path / "jobs"
    words = [*command, "run", "-p", str(task), "-a", agent, "-o", str(jobs), "-n", "1", "--yes"]
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "DOCKER_HOST": engine.host,
        "DOCKER_BUILDKIT": "0",
        "PYTHONPATH": str(Path(__file__).parent / "running"),
        "HARBOR_TELEMETRY": "0",
        "DO_NOT_TRACK": "1",
    }
    done = subprocess.run(
        [*words, "-e", "plain_docker:PlainDocker"],
        env=settings,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(path.read_bytes()) for path in jobs.glob("*/*/result.json")]
    assert [(one["exception_info"], one["verifier_result"]["rewards"]) for one in told] == [
        (None, {"reward": reward})
    ]


@pytest.mark.usefixtures("base")
def test_the_commands_of_the_page_check_and_grade_a_world(task: Path) -> None:
    """As they stand in docs/consumers/harbor.md, but for the folder's name."""
    _, *commands = read_commands("harbor", "envmill")
    said: list[str] = []
    for _, verb, _, *options in commands:
        done = CliRunner().invoke(make_app(), [verb, str(task), *options])
        assert done.exit_code == 0, done.output
        said.append(done.stdout.strip().removeprefix(f"{task}: "))
    assert said == ["as it should be", "reward 0", "reward 1"]


def test_what_a_call_costs_beside_a_bare_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, a connection for each call, as the solution's client does. docs/consumers/harbor.md
    has the numbers."""
    shed = make_environment()
    world = make_world(make_scenario(shed), shed).below("environment/world")
    for path, file in world.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(file.content)
    port, bare = find_port(), find_port()
    words = ["mcp", "--scenario", "000", "--http", f"127.0.0.1:{port}", "--sessions", "16"]
    servers = {
        port: [str(tmp_path / "envrun"), *words, "--record", str(tmp_path / "recordings")],
        bare: [str(Path(__file__).with_name("bare_server.py")), str(bare)],
    }
    took: dict[int, float] = {}
    for place, command in servers.items():
        monkeypatch.setattr(play_world, "URL", f"http://127.0.0.1:{place}/mcp")
        server = subprocess.Popen([sys.executable, "-I", "-B", *command], cwd=tmp_path)
        try:
            took[place] = _time_calls(play_world.connect())
        finally:
            server.terminate()
            server.wait()
    sys.stderr.write(f"harbor, ms a call: {took[port]}, bare {took[bare]}\n")
    assert took[port] < 20


def _time_calls(client: play_world.ToolClient) -> float:
    """Median of 200, in ms; sessions of the world are bounded, so each has 20."""
    took: list[float] = []
    for place in range(200):
        if place % 20 == 0:
            client = play_world.ToolClient()
        begun = time.perf_counter()
        client.ask("tools/call", {"name": "list_tools", "arguments": {}})
        took.append(time.perf_counter() - begun)
    return 1000 * statistics.median(took)
