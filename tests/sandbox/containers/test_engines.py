"""Which engine is taken, what lacks without root, and many sessions at once."""

import asyncio
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT, Settings
from envmill.runtime.box.init import BADGE
from envmill.sandbox.containers import CachedImage, Container, examine, lend, open_engine
from envmill.sandbox.containers.box import Boxes
from tests.hostile.demoted import NOBODY
from tests.sandbox.containers.remains import list_remains, wait_gone
from tests.sandbox.containers.small import make_small
from tests.soak import count

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOWHERE = "unix:///nowhere/docker.sock"


@pytest.fixture
def settings(images: Path) -> Settings:
    return dataclasses.replace(Settings.read({}), images=images, docker=NOWHERE)


async def test_the_first_that_holds_is_taken_and_others_say_why_not(
    settings: Settings, boxes: Boxes
) -> None:
    async with open_engine(settings) as engine:
        assert engine.name == "box"
    found = await examine(settings)
    assert found["box"].works
    assert not found["docker"].works
    assert NOWHERE in found["docker"].why
    with pytest.raises(SandboxError, match="box or docker"):
        async with open_engine(settings, "podman"):
            pass


async def test_where_none_works_each_says_why(settings: Settings) -> None:
    with pytest.raises(SandboxError, match=r"box: .*docker: "):
        async with open_engine(dataclasses.replace(settings, images=settings.images / "a:b")):
            pass


async def test_a_place_that_cannot_be_written_is_a_reason(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    found = await examine(dataclasses.replace(settings, images=tmp_path / "file"))
    assert "ENVMILL_IMAGES" in found["box"].why


@pytest.mark.skipif(
    os.geteuid() != 0,
    reason="it takes root to become nobody, and to see what is more than nobody has",
)
async def test_a_box_without_root_is_weaker_and_says_so(tmp_path: Path) -> None:
    images = tmp_path / "images"
    make_small(images / "small")
    for path in (images, *images.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    shown = [str(ROOT), sys.prefix, sys.base_prefix, str(images)]
    words = [
        sys.executable,
        "-m",
        "tests.hostile.demoted",
        *shown,
        "--",
        sys.executable,
        "-m",
        "tests.sandbox.containers.nobody",
        str(images),
    ]
    done = await asyncio.to_thread(
        subprocess.run, words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    found = json.loads(done.stdout or "{}")
    if (why := found.get("why")) and not os.environ.get("CI"):
        pytest.skip(why)
    assert found["said"] == "0\n", done.stderr
    assert found["files"] == "mine\n"
    assert "not permitted" in found["other"]
    assert any("one user" in one for one in found["weak"])
    assert found["shut"] == 1
    rights = [int(each.split()[-1], 16) for each in found["badges"]]
    assert rights[1] == rights[0] | 1 << BADGE != rights[0]


@pytest.mark.soak(area="terminal")
async def test_many_sessions_leave_nothing(boxes: Boxes, small: CachedImage, images: Path) -> None:
    """Eight at a time, each seeing its own files only."""
    await boxes.empty()
    assert (
        wait_gone(
            set(),
            lambda: {each for each in list_remains(images, "31415.") if "/.store/box" in each},
        )
        == set()
    )
    before = list_remains(images, "31415.")
    turn = asyncio.Semaphore(8)

    async def work(number: int) -> None:
        async with turn, lend(boxes, small) as box:
            await _use(box, number)

    await asyncio.gather(*(work(number) for number in range(count(12, 200))))
    await boxes.empty()
    assert wait_gone(before, lambda: list_remains(images, "31415.")) == set()


async def _use(box: Container, number: int) -> None:
    await box.shell(f"echo {number} > /mine; sleep 31415.9 &")
    assert (await box.shell("cat /mine")).text == f"{number}\n"
    if number % 4 == 0:
        await box.reset()
        assert (await box.get("/mine")).code == "ENOENT"
