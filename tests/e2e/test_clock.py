"""A clock that is set while a run goes on, under server, worker, watchdog and flow alike: the run
ends as if nothing had happened."""

import shutil
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.tables import TABLES
from tests.e2e.author_server import AuthorServer
from tests.e2e.plant import Plant, kill, wait_until
from tests.e2e.test_kill import (
    EXITS,
    OPTIONS,
    content,
    find_journalled,
    find_messages,
    find_repeated,
    tally,
)
from tests.soak import count

SOURCE = Path(__file__).with_name("clock.c")
pytestmark = [
    pytest.mark.soak(area="operations"),
    pytest.mark.skipif(
        count(0, 1) == 0, reason="a server of its own and four runs: `make soak AREA=operations`"
    ),
    pytest.mark.skipif(
        shutil.which("cc") is None,
        reason="the clock takes a C compiler: apt-get install gcc libc6-dev",
    ),
]


@dataclass(frozen=True)
class Clockwork:
    """A plant, and the clock on its wall. What counts seconds goes on as it does where a real clock
    is set; the jail's clock is virtual."""

    plant: Plant
    offset: Path

    def set(self, hours: int) -> None:
        """So far from the true time, for all its processes at once."""
        with self.offset.open("r+b") as file:  # the same file: they have it in memory
            file.write(struct.pack("=q", hours * 3600))


@pytest.fixture(scope="module")
def clockwork(
    tmp_path_factory: pytest.TempPathFactory, author_server: AuthorServer
) -> Iterator[Clockwork]:
    folder = tmp_path_factory.mktemp("clockwork")
    library, offset = folder / "clock.so", folder / "offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
    offset.write_bytes(bytes(8))
    surroundings = {"LD_PRELOAD": str(library), "ENVMILL_CLOCK": str(offset)}
    clockwork = Clockwork(
        Plant.at(folder / "plant", author_server.url, besides=surroundings), offset
    )
    try:
        clockwork.plant.envmill("up")
        yield clockwork
    finally:
        clockwork.plant.envmill("down")


@pytest.fixture(scope="module")
def undisturbed(clockwork: Clockwork) -> str:
    run = clockwork.plant.begin(**OPTIONS)
    clockwork.plant.wait_for(run, "COMPLETED", seconds=900)
    return run


@pytest.mark.parametrize(
    ("hours", "dies"),
    [
        pytest.param(6, False, id="forward"),
        pytest.param(-3, False, id="back"),
        pytest.param(-12, True, id="back, and its process dies"),
        pytest.param(5, True, id="forward, and its process dies"),
    ],
)
def test_a_clock_that_is_set_in_a_run_changes_nothing(
    hours: int, dies: bool, clockwork: Clockwork, undisturbed: str, author_server: AuthorServer
) -> None:
    plant, began = clockwork.plant, len(author_server.asked)
    author_server.go_slow("scenario", pace=1)
    run = start_night(plant)
    wait_until(
        lambda: tally(author_server.answered[began:])["scenario"] >= 1,
        300,
        lambda: plant.tail("worker"),
    )
    clockwork.set(hours)
    time.sleep(2)
    if dies:
        kill(plant.find_flow(run))
    time.sleep(1)  # calls that reached the author go on there
    asked, journalled = author_server.asked[began:], find_journalled(plant, run)
    author_server.heal()
    plant.wait_for(run, "COMPLETED", seconds=900)

    assert (
        any(message.startswith("Resumed by the watchdog") for message in find_messages(plant, run))
        is dies
    )
    assert find_repeated(author_server.asked[began:]) <= (
        Counter(ask.item for ask in asked) - journalled if dies else Counter()
    )
    for record in TABLES.values():
        assert content(plant, record, run) == content(plant, record, undisturbed), record.table
    assert plant.ask(EXITS, run) == plant.ask(EXITS, undisturbed)


def start_night(plant: Plant) -> str:
    """One that holds its place in the schedule by a lease of the server's."""
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory-nightly")
        return api.post(
            f"/deployments/{deployment}/create_flow_run", {"parameters": {"config": OPTIONS}}
        )["id"]
