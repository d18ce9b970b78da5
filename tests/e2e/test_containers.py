"""Flow runs in containers: Prefect's Docker worker, an engine of the tests' own, and the image that `make image` makes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.local.process import Process
from tests.e2e.plant import Plant, wait_until
from tests.e2e.test_image import make
from tests.hostile.engine import Engine
from tests.interop.exporters.consumers import HOUSES, build_house
from tests.soak import count

PACKAGES = ("prefect-docker==0.7.4", "python-on-whales==0.81.0")
IMAGE = "envmill:test"
KEY = "sk-planted-where-a-container-must-not-show-it"
RECIPES = ("envscaler", "awm", "scaleenv", "agentscaler", "envfactory", "autoforge")
"""Each is run once in containers; the recipes of terminals need a base root file system of their own."""

pytestmark = [
    pytest.mark.soak(area="pools"),
    pytest.mark.skipif(not count(0, 1), reason="an engine and an image: make soak AREA=pools"),
]


@pytest.fixture(scope="module")
def image(docker_engine: Engine) -> Engine:
    """The engine with the image in it."""
    if "envmill/base" not in docker_engine.ask(["images"]):
        make(docker_engine, "base")
    if IMAGE.split(":")[1] not in docker_engine.ask(["images", "envmill"]):
        make(docker_engine, "image", "BASE=envmill/base", f"IMAGE={IMAGE}")
    return docker_engine


@pytest.fixture(scope="module")
def plant(image: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """A home whose flow runs are containers."""
    house = HOUSES / f"{PACKAGES[0].replace('==', '-')}-py{sys.version_info.minor}"
    if not house.exists():
        build_house(house, "prefect-docker", ["--no-deps", *PACKAGES])
    (site,) = house.glob("lib/python*/site-packages")
    folder: Path = tmp_path_factory.mktemp("pool")
    besides = {
        "PYTHONPATH": str(site),
        "DOCKER_HOST": image.host,
        "ENVMILL_POOL_IMAGE": IMAGE,
        "OPENAI_API_KEY": KEY,
    }
    plant = Plant.at(folder / "plant", besides=besides)
    # The author is the embedded one, in the container's own process.
    try:
        plant.envmill("up", "--profile", "docker")
        yield plant
    finally:
        plant.envmill("down")


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_is_run_in_a_container(plant: Plant, recipe: str) -> None:
    run = plant.begin(recipe=recipe, environments=1, scenarios=1, attempts=1, mistakes=0)
    ended = plant.wait_for(run, "COMPLETED", "FAILED", "CRASHED", seconds=900)
    assert ended["state_type"] == "COMPLETED", (ended["state"]["message"], plant.tail("worker"))
    assert ended["infrastructure_pid"], "it was a process of ours"
    assert plant.ask("select count(*) from attrition where run = ?", run)[0][0] > 0


def test_a_container_is_held_tight_and_shows_no_key(plant: Plant, image: Engine) -> None:
    run = plant.begin(environments=6, scenarios=2, attempts=1, mistakes=0)
    seen: list[Any] = []

    def find() -> bool:
        ids = image.ask(["ps", "--quiet"]).split()
        seen[:] = json.loads(image.ask(["inspect", *ids])) if ids else []
        return bool(seen)

    wait_until(find, 120, lambda: plant.tail("worker"))
    (container,) = seen
    assert KEY not in json.dumps(container)
    assert container["HostConfig"]["CapDrop"] == ["ALL"]
    assert container["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]
    assert not container["HostConfig"]["Privileged"]
    plant.wait_for(run, "COMPLETED", seconds=900)
    wait_until(lambda: not image.ask(["ps", "--all", "--quiet"]).split(), 60)


def test_a_killed_container_is_resumed(plant: Plant, image: Engine) -> None:
    """The watchdog sees its death by the lock that the kernel frees."""
    run = plant.begin(environments=6, scenarios=3, attempts=2, mistakes=0)
    wait_until(
        lambda: bool(plant.ask("select 1 from attrition where run = ? limit 1", run)),
        300,
        lambda: plant.tail("worker"),
    )
    for container in image.ask(["ps", "--quiet"]).split():
        image.ask(["kill", container])
    plant.wait_for(run, "COMPLETED", seconds=900)
    log = Process(plant.home, "watchdog")
    assert "Resumed by the watchdog" in log.last_words(200)
