"""`harbor run` of a tool world: Harbor's own command, trial loop and judge's container, its oracle
agent and one that does nothing.

Harbor's Docker environment asks for `docker compose`. `running/plain_docker.py` is one of plain
`docker build`, `run`, `exec` and `cp`, without a network.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.interop.consumers.harbor import export_worlds
from envmill.interop.exporters import write_parcel
from envmill.sandbox.containers import CachedImage
from tests.hostile.engine import Engine, lend_engine
from tests.interop.consumers.folders import make_cargo
from tests.interop.consumers.houses import SOAKING, open_newer_house
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
    (parcel,) = export_worlds(make_cargo([(make_scenario(shed, say="Done."), shed)]))
    folder = tmp_path_factory.mktemp("out")
    write_parcel(parcel, folder, "x")
    return next((folder / parcel.name / "tasks").iterdir())


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
