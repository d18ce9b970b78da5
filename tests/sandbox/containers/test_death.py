"""A driver killed at whatever point leaves no process, mount, control group or layer."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from envmill.sandbox.containers import CachedImage
from envmill.sandbox.containers.box import Boxes
from tests.sandbox.containers.remains import list_remains, wait_gone
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.long
@pytest.mark.soak(area="terminal")
async def test_a_killed_driver_leaves_nothing(
    images: Path, small: CachedImage, boxes: Boxes
) -> None:
    """`boxes` itself is not killed: what it has is there before and after."""
    dice = random.Random(os.environ.get("ENVMILL_SEED", "0"))
    small.unpack(0x20000000)
    await boxes.empty()
    before = list_remains(images, "31415.")
    for number in range(count(3, 30)):
        mark = f"31415.{os.getpid()}{number}"
        _kill_at_some_point(images, mark, dice.uniform(0, 0.4))
        assert wait_gone(before, lambda mark=mark: list_remains(images, mark)) == set(), number


@pytest.mark.soak(area="terminal")
async def test_a_killed_nursery_leaves_nothing_after_the_next_start(
    images: Path, small: CachedImage, boxes: Boxes
) -> None:
    await boxes.empty()
    for _ in range(count(1, 10)):
        before = list_remains(images, "27182.")
        engine = await Boxes.open(images)
        box = await engine.up(small)
        await box.shell("sleep 27182.8 & setsid sleep 27182.8 &")
        engine._process.kill()  # pyright: ignore[reportPrivateUsage]
        await engine.close()
        again = await Boxes.open(images)
        await again.close()
        assert wait_gone(before, lambda: list_remains(images, "27182.8")) == set()


def _kill_at_some_point(images: Path, mark: str, seconds: float) -> None:
    words = [sys.executable, "-m", "tests.sandbox.containers.driver", str(images), mark]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout
        assert driver.stdout.readline() == "ready\n"
        time.sleep(seconds)
        assert driver.poll() is None, "it was not killed: it broke"
        driver.send_signal(signal.SIGKILL)
