"""NeMo Gym's own commands on an exported folder: `ng_run` starts the four servers in processes of
their own, `ng_collect_rollouts` plays a row with a scripted model.

`ng_run` makes an environment for each server from the network. Here each finds the one that stands.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from envmill.interop.consumers.nemo_gym import CONSUMER, VERSIONS
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.interop.consumers.houses import SOAKING, open_newer_house
from tests.interop.consumers.pages import read_commands
from tests.specimens import LEND, make_environment, make_scenario

pytestmark = [pytest.mark.soak(area="consumers"), SOAKING]
PYTHON = 13
"""Minor version that NeMo Gym asks for."""
SERVERS = (
    "resources_servers/envmill",
    "responses_api_agents/simple_agent",
    "responses_api_models/openai_model",
    "environment_servers/legacy_agent",
)
_PATIENCE = 600
"""Seconds: Ray and four imports on a loaded machine."""


def find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def running(words: list[str], log: Path, **options: Any) -> Iterator[Any]:
    """A process and all that it starts."""
    with log.open("w") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True, **options)
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.mark.parametrize(("tool", "reward"), [("T1", 1.0), ("T2", 0.0)])
def test_its_own_commands_play_a_row(tmp_path: Path, tool: str, reward: float) -> None:
    shed = make_environment()
    export_set = make_export_set([(make_scenario(shed, say="Done."), shed)])
    folder = write_consumer(CONSUMER, export_set, tmp_path / "out")
    python = open_newer_house("nemo_gym", PYTHON, f"nemo-gym=={VERSIONS['nemo-gym']}")
    house, port = python.parent.parent, find_port()
    for server in SERVERS:
        (tmp_path / "venvs" / server).mkdir(parents=True)
        (tmp_path / "venvs" / server / ".venv").symlink_to(house)
    (site,) = house.glob("lib/python*/site-packages")
    model = site / "responses_api_models/openai_model/configs/openai_model.yaml"
    settings = {
        "PATH": f"{house}/bin:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(folder),
        "PYTHONUNBUFFERED": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    runs, collects = read_commands("nemo_gym", "ng_run", "ng_collect_rollouts")
    asked = [
        *(word.replace("MODEL.yaml", str(model)) for word in runs[1:]),
        f"+policy_base_url=http://127.0.0.1:{port}/v1",
        "+policy_api_key=none",
        "+policy_model_name=m",
        "+skip_venv_if_present=true",
        f"+uv_venv_dir={tmp_path / 'venvs'}",
    ]
    script = {
        "calls": [{"name": LEND.name, "arguments": LEND.arguments | {"tool_id": tool}}],
        "said": "Done.",
    }
    scripted = [sys.executable, str(Path(__file__).with_name("model_server.py")), str(port)]
    command = [str(python), str(python.with_name(runs[0])), *asked]
    log = tmp_path / "run.log"
    with (
        running([*scripted, json.dumps(script)], tmp_path / "model.log"),
        running(command, log, cwd=folder, env=settings) as servers,
    ):
        until = time.monotonic() + _PATIENCE
        while "4 / 4 servers ready" not in log.read_text():
            assert servers.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until, log.read_text()[-3000:]
            time.sleep(1)
        done = subprocess.run(
            [str(python), str(python.with_name(collects[0])), *collects[1:]],
            cwd=folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    (told,) = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    assert (told["reward"], told["mask_sample"]) == (reward, False)
    assert told["outcome"] == ("pass" if reward else "fail")
