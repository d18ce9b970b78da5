"""kill -9 of the flow process in the middle of a step, then Retry: as if nothing had happened, and nothing paid twice."""

import time
from collections import Counter
from typing import Any

from envmill.lake.journal import read_calls
from schemas.base import Record
from schemas.ledger import Attrition, Evidence, ModelCall, RunEvent
from schemas.tables import TABLES
from tests.e2e.author_server import Ask, AuthorServer
from tests.e2e.plant import Plant, kill, wait_until

OPTIONS = {"environments": 4, "scenarios": 3, "attempts": 2, "seed": 5}
LATE_REPORT = 12.0  # seconds after which the worker no longer overwrites the state of a run whose process it lost
EVENTS: set[type[Record]] = {RunEvent, Attrition, ModelCall}
EXITS = "select lap, stage, replace(subject, run, 'run') as subject, outcome, reason, children from exits where run = ? order by all"


def test_a_killed_run_ends_equal_to_an_undisturbed_one(plant: Plant, author_server: AuthorServer) -> None:
    undisturbed = plant.begin(**OPTIONS)
    plant.wait_for(undisturbed, "COMPLETED")

    began = len(author_server.asked)
    author_server.go_slow("scenario", pace=0.25)
    killed = plant.begin(**OPTIONS)
    wait_until(lambda: count(author_server.answered[began:])["scenario"] >= 3, 60, lambda: plant.tail("worker"))
    kill(plant.find_flow(killed))
    time.sleep(1)  # calls that reached the author go on there
    asked = author_server.asked[began:]
    journalled = find_journalled(plant, killed)
    author_server.heal()
    plant.wait_for(killed, "CRASHED")
    time.sleep(LATE_REPORT)
    retry(plant, killed)
    plant.wait_for(killed, "COMPLETED")

    assert any(item[0] == "scenario" for item in journalled), "the kill came before the step had anything"
    assert find_repeated(author_server.asked[began:]) <= Counter(ask.item for ask in asked) - journalled
    for record in TABLES.values():
        assert content(plant, record, killed) == content(plant, record, undisturbed), record.table
    assert plant.ask(EXITS, killed) == plant.ask(EXITS, undisturbed)


def count(asked: list[Ask]) -> Counter[str]:
    return Counter(ask.prompt for ask in asked)


def retry(plant: Plant, run: str) -> None:
    """What the button of the UI sends."""
    state = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the UI"}
    with plant.api() as api:
        assert api.post(f"/flow_runs/{run}/set_state", {"state": state, "force": False})["status"] == "ACCEPT"


def find_journalled(plant: Plant, run: str) -> Counter[tuple[str, str, int]]:
    """Calls whose replies were on disk when the process died."""
    calls = read_calls(plant.home.folder / "journal" / run)
    return Counter((call.prompt, call.subject, call.sample) for call in calls if call.outcome != "outage" and not call.reused)


def find_repeated(asked: list[Ask]) -> Counter[tuple[str, str, int]]:
    """Per item, how many asks repeat an earlier one word for word."""
    return Counter(ask.item for ask in asked) - Counter(ask.item for ask in set(asked))


def content(plant: Plant, record: type[Record], run: str) -> list[tuple[Any, ...]]:
    """Rows of a table without what may differ between equal runs."""
    if record in EVENTS:
        return []
    columns = ", ".join(f'"{name}"' for name in record.model_fields if name != "path")  # a bundle's folder bears the run's id
    # The quality dossier of a run bears its id and counts its events and attempts.
    apart = "and gate <> 'quality'" if record is Evidence else ""
    return plant.ask(f'select {columns} from "{record.table}" where run = ? {apart} order by id', run)
