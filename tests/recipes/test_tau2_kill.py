"""A run of `tau2` whose process is killed in the middle of a step, and which is begun again, ends as an undisturbed one.

`python -m tests.recipes.test_tau2_kill FOLDER` walks the run there and prints what it left.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT, Settings
from envmill.lake.lake import Lake
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.house.golden import RUN, list_differences, summarise
from tests.soak import count

CONFIG = RunConfig.model_validate(
    {
        "recipe": "tau2",
        "environments": 1,
        "scenarios": 3,
        "attempts": 1,
        "seed": 11,
        "polarities": {"achieve": 1},
        "mistakes": 0.15,
        "exporters": ("rl", "bundle"),
    }
)
STEPS = (
    "environments-generate",
    "environments-build",
    "environments-verify",
    "scenarios-generate",
    "scenarios-build",
    "scenarios-verify",
    "scenarios-filter",
    "scenarios-collect",
)
_DEADLINE = 600


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not count(0, 1):
        pytest.skip("some minutes of a core: make soak AREA=dialogue")
    folder = tmp_path_factory.mktemp("whole")
    found = finish(folder)
    assert found["ids"]["trajectories"]
    assert list_differences(found, finish(folder)) == [], "what has ended is not made again"
    return found


@pytest.mark.soak(area="dialogue")
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_killed_in_a_step_ends_as_an_undisturbed_one(
    step: str, undisturbed: Any, tmp_path: Path
) -> None:
    """A short step may end before the blow: then a later one is hit."""
    assert kill_in(step, tmp_path, random.Random(step).uniform(0, 0.4))
    assert list_differences(undisturbed, finish(tmp_path)) == []


@pytest.mark.soak(area="dialogue")
def test_a_run_that_is_killed_again_and_again_ends_all_the_same(
    undisturbed: Any, tmp_path: Path
) -> None:
    hit = [step for step in STEPS if kill_in(step, tmp_path, 0.1)]
    assert len(hit) > len(STEPS) / 2
    assert list_differences(undisturbed, finish(tmp_path)) == []


def start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.recipes.test_tau2_kill", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(folder: Path) -> Any:
    """What the run left, begun anew if it has to be."""
    process = start(folder)
    said, _ = process.communicate(timeout=_DEADLINE)
    assert process.returncode == 0
    return json.loads(said)


def kill_in(step: str, folder: Path, after: float) -> bool:
    """Kill it so many seconds after the step began; False where it had ended by then."""
    process = start(folder)
    began = folder / "lake/_fixed" / f"run={RUN}" / f"{step}.json"
    until = time.monotonic() + _DEADLINE
    while not began.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(after)
    ended = process.poll() is not None
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=_DEADLINE)
    return not ended


async def walk(folder: Path) -> Any:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    places = {key: str(folder / name) for key, name in names.items()}
    settings = Settings.read({**places, "ENVMILL_PORT": "0"})
    async with open_walk(RUN, CONFIG, settings) as runner:
        await runner.walk()
    return summarise(Lake(settings.lake))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(walk(Path(sys.argv[1])))))
