"""Up, down and what users run into between them, on a real server."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.local.process import Process, find_marked
from tests.e2e.author_server import AuthorServer
from tests.e2e.past import PastRuns
from tests.e2e.plant import ASKING, Plant, kill, wait_until
from tests.soak import count

STEPS = 11


def test_a_second_up_finds_everything_running(plant: Plant) -> None:
    names = ("server", "worker", "watchdog")
    before = [plant.record(name) for name in names]
    said = plant.envmill("up")
    assert said.count("already running") == len(names)
    assert before[0].url in said
    assert "token=" not in said, "what is not a terminal may be a log"
    assert [plant.record(name) for name in names] == before


def test_status_names_the_server_and_counts_workers(plant: Plant) -> None:
    said = plant.call("status")
    assert plant.record("server").url in said
    assert "1 worker(s) online" in said


def test_a_check_finds_everything_up_and_the_next_night_planned(plant: Plant) -> None:
    said = plant.call("up", "--check")
    assert [line.split()[:2] for line in said.splitlines()] == [
        ["ok", name]
        for name in (
            "server",
            "worker",
            "watchdog",
            "pool",
            "deployments",
            "schedule",
            "runs",
            "records",
        )
    ]
    assert "T02:00 UTC" in said


def test_another_clone_neither_takes_the_port_nor_meets_the_server(
    plant: Plant, tmp_path: Path
) -> None:
    port = plant.record("server").url.rsplit(":", 1)[1]
    other = Plant.at(tmp_path, port=int(port))
    assert f"Port {port} is taken" in other.call("up", expect=2)
    assert "envmill up" in other.call("run", expect=3)
    assert "Run `envmill up`" in other.call("up", "--check", expect=1)
    assert not find_marked(other.home)


def test_unknown_recipe_and_bad_numbers_are_told_before_anything_runs(plant: Plant) -> None:
    said = plant.call("run", "--recipe=unheard-of", "--environments=0", expect=2)
    assert "Unknown recipe 'unheard-of'. Known:" in said
    assert "envscaler" in said
    assert "--environments is 0" in said


def test_the_nightly_run_is_scheduled_one_at_a_time(plant: Plant) -> None:
    """The scheduler can fail without a word, and then no cron ever fires."""
    with plant.api() as api:
        nightly = api.get("/deployments/name/factory/factory-nightly")
        wanted = {
            "deployments": {"id": {"any_": [nightly["id"]]}},
            "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        }
        wait_until(lambda: len(api.post("/flow_runs/filter", wanted)) >= 2, 300, pace=ASKING)
        planned = [
            run["expected_start_time"][11:16] for run in api.post("/flow_runs/filter", wanted)
        ]
        deployed = {deployment["name"] for deployment in api.post("/deployments/filter", {})}
    assert set(planned) == {"02:00"}
    assert nightly["global_concurrency_limit"]["limit"] == 1
    assert nightly["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert len(deployed) == STEPS + 4


def test_a_server_that_is_named_is_asked_with_its_secret(plant: Plant, tmp_path: Path) -> None:
    """What `finished` has, and this home has not."""
    server = plant.record("server").url
    told = Plant.at(tmp_path, server=server).call("run", "--remote", "--no-wait", expect=1)
    assert "PREFECT_API_AUTH_STRING" in told


@pytest.mark.soak(area="operations")
def test_upkeep_judges_again_and_compacts_by_its_own_deployments(plant: Plant) -> None:
    if count(0, 1) == 0:
        pytest.skip(
            "three flow runs for what is tested without a server: `make soak AREA=operations`"
        )
    run = plant.begin(environments=1, scenarios=1, attempts=1, mistakes=0)
    plant.wait_for(run, "COMPLETED")
    rows = plant.ask("select count(*) from attrition")
    plant.wait_for(
        start(plant, "reverify/reverify-weekly", {"environments": 1, "search": 10}), "COMPLETED"
    )
    assert plant.ask("select count(*) > 1, bool_and(outcome = 'pass') from verdicts") == [
        (True, True)
    ]
    plant.wait_for(start(plant, "compact/compact", {"run": run}), "COMPLETED")
    assert plant.ask("select count(*) from attrition") == rows


def start(plant: Plant, deployment: str, config: dict[str, Any]) -> str:
    with plant.api() as api:
        return api.post(
            f"/deployments/{api.find_deployment(deployment)}/create_flow_run",
            {"parameters": {"config": config}},
        )["id"]


@pytest.fixture
def _heeding_ctrl_c() -> Iterator[None]:
    """Where tests run in a shell's background, Ctrl-C is ignored, and so it would be by what they
    start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_heeding_ctrl_c")
def test_ctrl_c_ends_the_run_and_says_how_to_go_on(
    plant: Plant, author_server: AuthorServer
) -> None:
    author_server.go_slow("blueprint", pace=10)
    with plant.start("run", "--environments=1") as command:
        assert command.stdout
        run = command.stdout.readline().split("run ")[1].split(":")[0]
        plant.wait_for(run, "RUNNING")
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=300)
    assert command.returncode == 130
    assert f"envmill run --resume {run}" in err
    plant.wait_for(run, "CANCELLED")


def test_everything_killed_then_up_killed_half_way_then_up(
    plant: Plant, author_server: AuthorServer
) -> None:
    """A server that begins forgets the past runs that are too old to keep."""
    url = plant.record("server").url
    author_server.go_slow("blueprint", pace=10)
    run = plant.begin(environments=1)
    plant.wait_for(run, "RUNNING")
    for pid in (
        plant.record("watchdog").pid,
        plant.record("worker").pid,
        plant.find_flow(run),
        plant.record("server").pid,
    ):
        kill(pid)
    assert "stale" in plant.call("status")
    past = PastRuns.add(plant.home, 10)
    with plant.start("up") as half:
        wait_until(lambda: Process(plant.home, "server").running() is not None, 300)
        half.kill()
    said = plant.envmill("up")
    assert "server: already running" in said
    assert "worker: its process is gone" in said
    assert "unchanged" in said
    assert f"run {run}: its process is gone" in said
    assert plant.record("server").url == url
    wait_until(past.are_forgotten, 300, pace=ASKING)
    assert plant.wait_for(run, "CRASHED", seconds=60)
    plant.cancel(run)  # or the watchdog would resume it beneath the tests to come
