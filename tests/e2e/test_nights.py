"""The long run: thirty deaths that change nothing, thirty nights and what they leave, five thousand
scenarios, a full disk."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.local.errors import NoServer, ServerRefused
from flows.local.process import Process
from flows.local.runs import find_walked
from schemas.tables import TABLES
from tests.e2e.author_server import AuthorServer
from tests.e2e.plant import ASKING, Plant, kill, wait_until
from tests.e2e.test_kill import EXITS, OPTIONS, content, find_journalled, find_repeated
from tests.soak import count

pytestmark = [
    pytest.mark.soak(area="operations"),
    # A mark and not a skip inside: no plant is brought up for what is not played.
    pytest.mark.skipif(
        count(0, 1) == 0, reason="nights and deaths take a minute each: `make soak AREA=operations`"
    ),
]
SEED = os.environ.get("ENVMILL_SEED", "")
VICTIMS = (
    ("flow",),
    ("flow", "worker"),
    ("server",),
    ("flow", "worker", "server"),
    ("flow", "watchdog"),
)
PROMPTS = ("blueprint", "program", "tests", "scenario")


@pytest.fixture(scope="module")
def undisturbed(plant: Plant) -> str:
    run = plant.begin(**OPTIONS)
    plant.wait_for(run, "COMPLETED", seconds=900)
    return run


@pytest.mark.parametrize("point", range(count(0, 30)))
def test_a_death_at_any_point_changes_nothing(
    point: int, plant: Plant, author_server: AuthorServer, undisturbed: str
) -> None:
    dice, began = random.Random(f"{SEED}:{point}"), len(author_server.asked)
    author_server.go_slow(dice.choice(PROMPTS), pace=0.25)
    run = plant.begin(**OPTIONS)
    wait_until(lambda: run in find_walked(plant.home), 300, lambda: plant.tail("worker"))
    time.sleep(dice.uniform(0, 12))
    strike(plant, run, VICTIMS[point % len(VICTIMS)])
    time.sleep(1)  # calls that reached the author go on there
    asked, journalled = author_server.asked[began:], find_journalled(plant, run)
    author_server.heal()
    if dice.random() < 0.3:
        press_retry(plant, run)
    wait_until(lambda: has_ended(plant, run), 900, lambda: plant.tail("watchdog"), pace=ASKING)

    assert (
        find_repeated(author_server.asked[began:])
        <= Counter(ask.item for ask in asked) - journalled
    )
    for record in TABLES.values():
        assert content(plant, record, run) == content(plant, record, undisturbed), record.table
    assert plant.ask(EXITS, run) == plant.ask(EXITS, undisturbed)


def strike(plant: Plant, run: str, victims: tuple[str, ...]) -> None:
    """All at once; who has gone by then is left out."""
    walked = find_walked(plant.home)
    running = {
        name: record.pid
        for name in victims
        if name != "flow" and (record := Process(plant.home, name).running())
    }
    for pid in [*([walked[run]] if "flow" in victims and run in walked else []), *running.values()]:
        kill(pid)
    if "watchdog" in victims:
        plant.envmill("up")  # nobody watches the watchdog but its owner


def press_retry(plant: Plant, run: str) -> None:
    """Too early, as people do: within two seconds of a crash."""
    try:
        with plant.api() as api:
            api.post(
                f"/flow_runs/{run}/set_state",
                {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": False},
            )
    except (AssertionError, NoServer, ServerRefused):
        return  # the server is away as well, or the run is not to be retried


def has_ended(plant: Plant, run: str) -> bool:
    """Completed; a server that is away will be back, and what failed for want of it is pressed
    on."""
    try:
        with plant.api() as api:
            state = api.get(f"/flow_runs/{run}")["state_type"]
    except (AssertionError, NoServer, ServerRefused):
        return False
    if state == "FAILED":
        press_retry(plant, run)
    return state == "COMPLETED"


def test_nights_in_sequence_leave_little_behind(plant: Plant) -> None:
    """The server's own records grow by what a night is, its memory does not, and its pages stay
    quick."""
    nights, before = [start_night(plant, seed) for seed in range(count(0, 30))], look(plant)
    for number, night in enumerate(nights):
        plant.wait_for(night, "COMPLETED", seconds=1800)
        told = tell(f"night {number + 1}", plant)
        if number == 4:
            warm = told
    after = look(plant)
    assert [plant.ask("select state from runs where run = ?", night) for night in nights] == [
        [("finished",)]
    ] * len(nights)
    assert [count_lost(plant, night) for night in nights] == [0] * len(nights)
    assert (after["database MB"] - before["database MB"]) / len(nights) < 3
    assert after["memory MB"] < 1.5 * warm["memory MB"]
    assert after["page s"] < max(1.0, 5 * warm["page s"])


def start_night(plant: Plant, seed: int) -> str:
    return start(
        plant,
        "factory/factory-nightly",
        {"environments": 1, "scenarios": 1, "attempts": 1, "mistakes": 0, "seed": seed},
    )


def start(plant: Plant, deployment: str, config: dict[str, int]) -> str:
    with plant.api() as api:
        return api.post(
            f"/deployments/{api.find_deployment(deployment)}/create_flow_run",
            {"parameters": {"config": config}},
        )["id"]


def tell(when: str, plant: Plant) -> dict[str, float]:
    found = look(plant)
    sys.stdout.write(
        f"{when}: " + ", ".join(f"{name} {value:.3g}" for name, value in found.items()) + "\n"
    )
    return found


def look(plant: Plant) -> dict[str, float]:
    server = plant.record("server").pid
    (resident,) = [
        line.split()[1]
        for line in Path(f"/proc/{server}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    ]
    size = sum(path.stat().st_size for path in plant.home.prefect.glob("prefect.db*"))
    start = time.perf_counter()
    with plant.api() as api:
        api.post("/flow_runs/filter", {"limit": 50, "sort": "EXPECTED_START_TIME_DESC"})
        api.post("/task_runs/filter", {"limit": 200})
    return {
        "database MB": size / 2**20,
        "memory MB": int(resident) / 2**10,
        "page s": time.perf_counter() - start,
    }


def count_lost(plant: Plant, run: str) -> int:
    """Tasks that did something and that Prefect has no record of."""
    ((published,),) = plant.ask(
        "select count(distinct (step, bucket)) from attrition where run = ? and gate = 'exit'", run
    )
    with plant.api() as api:
        flow_run = {"flow_runs": {"id": {"any_": [run]}}}
        recorded = api.post("/task_runs/count", flow_run) - api.post(
            "/task_runs/count", flow_run | {"task_runs": {"name": {"like_": "quality"}}}
        )
    return max(0, published - recorded)


def test_a_run_of_five_thousand_scenarios_is_little_to_the_server(plant: Plant) -> None:
    """What it costs the server is its tasks, 40 a step at most, and not its scenarios. The search
    is cut short: it is the line's affair."""
    before = tell("before", plant)
    config = {
        "environments": count(1, 250),
        "scenarios": count(1, 20),
        "attempts": 1,
        "mistakes": 0,
        "search": 10,
        "seed": 5,
    }
    run, worst = start(plant, "factory/factory", config), before
    plant.wait_for(run, "RUNNING")
    while (
        state := plant.wait_for(run, "RUNNING", "COMPLETED", "FAILED")["state_type"]
    ) == "RUNNING":
        told = tell("under way", plant)
        worst = {name: max(value, worst[name]) for name, value in told.items()}
        time.sleep(20)
    after = tell("after", plant)
    assert state == "COMPLETED"
    ((entered,),) = plant.ask(
        "select entered from funnel where run = ? and lap = 'scenarios' and stage = 'generate'", run
    )
    assert entered > count(0, 4_000)
    assert count_lost(plant, run) == 0
    assert after["database MB"] - before["database MB"] < 50
    assert worst["memory MB"] < before["memory MB"] + 200
    assert after["page s"] < 2


@pytest.fixture
def cramped(tmp_path: Path, author_server: AuthorServer) -> Iterator[Plant]:
    """A plant whose lake has a disk of its own, of 24 MB."""
    disk = tmp_path / "lake"
    disk.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], check=False
        ).returncode
    ):
        pytest.skip("mounting a disk takes root")
    plant = Plant.at(tmp_path, author_server.url)
    try:
        plant.envmill("up")
        yield plant
    finally:
        plant.envmill("down")
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_is_full_fails_the_step_and_nothing_is_paid_twice(
    cramped: Plant, author_server: AuthorServer
) -> None:
    undisturbed = cramped.begin(**OPTIONS)
    cramped.wait_for(undisturbed, "COMPLETED", seconds=900)
    began = len(author_server.asked)
    author_server.go_slow("scenario", pace=1)
    run = cramped.begin(**OPTIONS)
    wait_until(
        lambda: any(ask.prompt == "scenario" for ask in author_server.asked[began:]),
        300,
        lambda: cramped.tail("worker"),
    )
    stuffing = Path(cramped.home.settings.lake) / "stuffing"
    with pytest.raises(OSError, match="space"):
        stuff(stuffing)
    author_server.heal()
    said = cramped.wait_for(run, "FAILED", seconds=900)["state"]["message"]
    assert "space" in said.lower() or "full" in said.lower()
    stuffing.unlink()
    press_retry(cramped, run)
    cramped.wait_for(run, "COMPLETED", seconds=900)
    assert not find_repeated(author_server.asked[began:])
    for record in TABLES.values():
        assert content(cramped, record, run) == content(cramped, record, undisturbed), record.table


def stuff(path: Path) -> None:
    """Until not a page is left."""
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
