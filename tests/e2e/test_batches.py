"""A run that waits for a batch, as the server shows it: AwaitingBatch, no process, no failed task,
and on it goes."""

import json
from typing import Any

import offline as author
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from schemas.run import RunConfig
from tests.e2e.plant import ASKING, Plant, wait_until

CONFIG = RunConfig(
    provider="batch-lines", model="m", environments=2, scenarios=1, attempts=1, seed=3
)


def wait_for_batch(plant: Plant, run: str, starts: int) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def arrived() -> bool:
        found.update(api.get(f"/flow_runs/{run}"))
        assert found["state_type"] not in ("FAILED", "CRASHED", "COMPLETED"), found["state"]
        return found["state_name"] == "AwaitingBatch" and found["run_count"] == starts

    with plant.api() as api:
        wait_until(
            arrived,
            120,
            lambda: f"{found.get('state_name')}: {plant.tail('worker')}",
            pace=ASKING,
        )
    return found


def answer(line: str) -> str:
    """What an offline server writes of a blueprint's request; the brief tells which seed it is
    for."""
    row = json.loads(line)
    seeds = RECIPES["envscaler"](read_themes()).pick_seeds(CONFIG)
    brief = next(seed.brief for seed in seeds if seed.brief.text in line)
    message = {
        "role": "assistant",
        "content": author.answer("blueprint", {"brief": brief.model_dump()}, 3, 0, 0.0),
    }
    body = {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    return (
        json.dumps(
            {
                "custom_id": row["custom_id"],
                "response": {"status_code": 200, "body": body},
                "error": None,
            }
        )
        + "\n"
    )


def test_a_run_that_waits_for_a_batch_goes_on_when_it_is_there(plant: Plant) -> None:
    run = plant.begin(
        **CONFIG.model_dump(
            include={"provider", "model", "environments", "scenarios", "attempts", "seed"}
        )
    )
    found = wait_for_batch(plant, run, 1)
    assert (
        "environments-generate: 2 items wait for 1 batch (batch-lines" in found["state"]["message"]
    )
    assert found["next_scheduled_start_time"] > found["start_time"], (
        "the server starts it again by itself"
    )
    with plant.api() as api:
        tasks = api.post("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
        assert {task["state_type"] for task in tasks}.isdisjoint({"FAILED", "CRASHED", "CANCELLED"})
    assert plant.ask("select count(*) from attrition where run = ?", run) == [(0,)]
    (path,) = (plant.home.folder / "batches" / run).glob("*.in.jsonl")
    path.with_name(path.name.replace(".in.", ".out.")).write_text(
        "".join(answer(line) for line in path.read_text().splitlines())
    )
    with plant.api() as api:  # a minute early, as somebody would from the page
        api.post(f"/flow_runs/{run}/set_state", {"state": {"type": "SCHEDULED"}, "force": True})
    found = wait_for_batch(plant, run, 2)
    assert "environments-build: 2 items wait" in found["state"]["message"]
    assert plant.ask(
        "select stage, outcome, count(*) from exits where run = ? group by all", run
    ) == [("generate", "kept", 2)]
    assert plant.ask("select state, starts from runs where run = ?", run) == [("pending", 2)]
    said = plant.call("batches", run)
    assert "under way" in said
    assert "closed" in said
    with plant.api() as api:  # nothing is left for the worker to start
        api.post(f"/flow_runs/{run}/set_state", {"state": {"type": "CANCELLED"}, "force": True})
