"""kill -9 in the middle of a step: the watchdog goes on as if nothing had happened, and nothing is
paid twice."""

import os
import re
import signal
import time
from collections import Counter
from typing import Any

import pytest

from envmill.lake.journal import read_calls
from flows.local.process import Process
from schemas.base import Record
from schemas.ledger import Attrition, Evidence, ModelCall, RunEvent
from schemas.tables import TABLES
from tests.e2e.author_server import Ask, AuthorServer
from tests.e2e.conftest import LISTED, TWO_ROUNDS
from tests.e2e.plant import ASKING, Plant, kill, wait_until
from tests.soak import count

OPTIONS = {"environments": 2, "scenarios": 2, "attempts": 2, "seed": 5, "mistakes": 0.05}
EVENTS: set[type[Record]] = {RunEvent, Attrition, ModelCall}
EXITS = (
    "select lap, stage, replace(subject, run, 'run') as subject, outcome, reason, children from "
    "exits where run = ? order by all"
)


def test_a_run_has_its_rounds_and_records_of_all_its_tasks(plant: Plant, finished: str) -> None:
    rounds = "select run, state from runs where starts_with(run, ?) order by run"
    assert plant.ask(rounds, finished) == [(finished, "finished"), (f"{finished}-r2", "finished")]
    recorded = re.compile(
        rf"records      all \d+ tasks of run {finished}"
    )  # in its own time, and as many as there was something to do for
    wait_until(lambda: recorded.search(plant.call("up", "--check")) is not None, 60, pace=ASKING)


def test_a_killed_run_ends_equal_to_an_undisturbed_one(
    plant: Plant, author_server: AuthorServer, finished: str
) -> None:
    """It is killed in its first round."""
    began = len(author_server.asked)
    author_server.go_slow("scenario", pace=3)
    killed = plant.begin(LISTED, **TWO_ROUNDS)
    wait_until(
        lambda: any(item[0] == "scenario" for item in find_journalled(plant, killed)),
        300,
        lambda: plant.tail("worker"),
    )
    kill(plant.find_flow(killed))
    time.sleep(1)  # calls that reached the author go on there
    asked = author_server.asked[began:]
    journalled = find_journalled(plant, killed)
    author_server.heal()
    plant.wait_for(killed, "CRASHED")
    plant.wait_for(killed, "COMPLETED", seconds=600)
    assert "Resumed by the watchdog, 1 of 3." in find_messages(plant, killed)

    in_flight = Counter(ask.item for ask in asked) - journalled
    assert any(item[0] == "scenario" for item in in_flight), "the step was over before the kill"
    assert find_repeated(author_server.asked[began:]) <= in_flight
    for number in ("", "-r2"):
        for record in TABLES.values():
            found, wanted = (content(plant, record, run + number) for run in (killed, finished))
            assert found == wanted, record.table
        assert plant.ask(EXITS, killed + number) == plant.ask(EXITS, finished + number)


def tally(asked: list[Ask]) -> Counter[str]:
    return Counter(ask.prompt for ask in asked)


def find_messages(plant: Plant, run: str) -> list[str]:
    """What was said of each state the run was in."""
    with plant.api() as api:
        return [state["message"] or "" for state in api.get(f"/flow_run_states/?flow_run_id={run}")]


def find_journalled(plant: Plant, run: str) -> Counter[tuple[str, str, int]]:
    """Calls whose replies were on disk when the process died."""
    calls = read_calls(plant.home.folder / "journal" / run)
    return Counter(
        (call.prompt, call.subject, call.sample)
        for call in calls
        if call.outcome != "outage" and not call.reused
    )


def find_repeated(asked: list[Ask]) -> Counter[tuple[str, str, int]]:
    """Per item, how many asks repeat an earlier one word for word."""
    return Counter(ask.item for ask in asked) - Counter(ask.item for ask in set(asked))


def content(plant: Plant, record: type[Record], run: str) -> list[tuple[Any, ...]]:
    """Rows of a table without what may differ between equal runs."""
    if record in EVENTS:
        return []
    columns = ", ".join(
        f'"{name}"' for name in record.model_fields if name != "path"
    )  # a bundle's folder bears the run's id
    # What is found of a run itself bears its id, its quality dossier counts events and attempts,
    # and W10 names earlier runs' environments.
    apart = (
        "and subject <> 'run:' || run and gate not in ('quality', 'W10')"
        if record is Evidence
        else ""
    )
    return plant.ask(
        f'select {columns} from "{record.table}" where run = ? {apart} order by id', run
    )


@pytest.mark.soak(area="operations")
def test_a_night_whose_worker_and_server_are_killed_frees_its_place_and_ends(
    plant: Plant, author_server: AuthorServer
) -> None:
    """Without the watchdog the first night stays Running for ever, and the second waits for its
    place as long."""
    if count(0, 1) == 0:
        pytest.skip(
            "two nights and two deaths take a minute of a core: `make soak AREA=operations`"
        )
    author_server.go_slow("scenario", pace=2)
    began = len(author_server.asked)
    url = plant.record("server").url
    first = start_night(plant)
    wait_until(
        lambda: tally(author_server.answered[began:])["scenario"] >= 1,
        300,
        lambda: plant.tail("worker"),
    )
    worker, flow = plant.record("worker").pid, plant.find_flow(first)
    os.kill(flow, signal.SIGSTOP)  # it renews nothing, and its lock says that it lives
    second = wait_for_cron(plant)
    plant.wait_for(first, "RUNNING", seconds=1)
    kill(plant.record("server").pid)
    wait_until(
        lambda: Process(plant.home, "server").running() is not None,
        300,
        lambda: plant.tail("watchdog"),
    )
    for pid in (worker, flow):
        kill(pid)
    author_server.heal()
    plant.wait_for(first, "COMPLETED", seconds=600)
    plant.wait_for(second, "COMPLETED", seconds=600)
    assert plant.record("server").url == url
    assert plant.record("worker").pid != worker
    assert any(
        message.startswith("Resumed by the watchdog") for message in find_messages(plant, first)
    )


NIGHT = {"config": {"environments": 1, "scenarios": 2, "attempts": 1, "seed": 5, "mistakes": 0}}


def start_night(plant: Plant) -> str:
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory-nightly")
        return api.post(f"/deployments/{deployment}/create_flow_run", {"parameters": NIGHT})["id"]


def wait_for_cron(plant: Plant) -> str:
    """A night that fires by itself, by a cron of every minute, and waits for its place."""
    found: list[dict[str, Any]] = []
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory-nightly")
        cron = {"active": True, "schedule": {"cron": "* * * * *"}, "parameters": NIGHT}
        (schedule,) = api.post(f"/deployments/{deployment}/schedules", [cron])
        waiting = {
            "state": {"name": {"any_": ["AwaitingConcurrencySlot"]}},
            "deployment_id": {"any_": [deployment]},
        }

        def fired() -> bool:
            found[:] = api.post("/flow_runs/filter", {"flow_runs": waiting})
            return bool(found)

        wait_until(fired, 300, lambda: plant.tail("worker"), pace=ASKING)
        api.delete(f"/deployments/{deployment}/schedules/{schedule['id']}")
    return found[0]["id"]
