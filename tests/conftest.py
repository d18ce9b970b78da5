"""What every test may stand on."""

import gc
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from xdist.scheduler import LoadScopeScheduling

from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from envmill.sandbox import Sandbox
from tests.hostile.engine import Engine, lend_engine
from tests.long import choose_cases

_APART = ("e2e/test_nodes.py", "e2e/test_long.py")
"""Files of such a folder that share nothing with the others."""
_LONG = ("e2e", "real_authors/test_corpus.py", "hostile", "quality", "lake", *_APART)
"""What begins first, since it takes longest. The tests of a folder among them share what takes long
to bring up: a server and its browser, a container engine, Great Expectations, a server of S3."""
_TOGETHER = (*_LONG, "architecture")
"""What runs in one process. Tests of the architecture share the trees of all source files."""


gc.disable()  # until the tests are collected: nothing of what is imported until then is garbage


class Groups(LoadScopeScheduling):
    """Tests of one file run in one process, one after the other, and so do those of a folder that
    shares something.

    Marks `xdist_group` say the same, but pytest 9.2 takes no notice of them.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _find_group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    return Groups(config, log)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    choose_cases(items)
    for item in items:
        if _find_group(item.nodeid) == "architecture":
            item.add_marker("checked")
        if "jail" in getattr(item, "fixturenames", ()):
            # What is shared lives in one event loop.
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
    items.sort(
        key=lambda item: (
            _LONG.index(group) if (group := _find_group(item.nodeid)) in _LONG else len(_LONG)
        )
    )


def pytest_collection_finish() -> None:
    """Collected items and imported modules stay: a full sweep in a test need not look at them."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else libraries in C report what is left of them


def _find_group(nodeid: str) -> str:
    file = nodeid.partition("::")[0].removeprefix("tests/")
    folder = file.partition("/")[0]
    return folder if folder in _TOGETHER and file not in _APART else file


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home, a lake and a bundles folder of the test's own."""
    return Settings.read(
        {
            "ENVMILL_HOME": str(tmp_path / "home"),
            "ENVMILL_LAKE": str(tmp_path / "lake"),
            "ENVMILL_BUNDLES": str(tmp_path / "bundles"),
            "ENVMILL_PORT": "0",
        }
    )


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncGenerator[Sandbox]:
    """A jail of the test's own."""
    async with open_sandbox(settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[Engine]:
    """Docker's, of the tests' own: one, whoever needs it."""
    yield from lend_engine()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jail() -> AsyncGenerator[Sandbox]:
    """One for all tests of a file, in which none of them can tell whether others were before it; to
    start one takes longer than most."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_sandbox(Settings.read({"ENVMILL_HOME": folder})) as opened:
            yield opened
