"""Promises under Prefect: a row that breaks one is set aside and the step goes on; a sum that does
not hold fails the step and says why."""

import time
from datetime import UTC, datetime
from pathlib import Path

from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEPS
from envmill.pipeline.runner import mark_steps
from envmill.pipeline.version import claim_version
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from quality.nights.drift import NIGHTS
from schemas.environment import Blueprint
from schemas.ledger import Evidence
from schemas.run import RunConfig
from tasks.night import find_family
from tests.e2e.plant import Plant
from tests.e2e.test_nights import press_retry
from tests.e2e.test_operations import start
from tests.quality.specimen import Line, gate_row, make_line

STEP = "environments-generate"
CONFIG = RunConfig(environments=1, scenarios=1, attempts=1, seed=5, mistakes=0)


def test_broken_promises_under_prefect(plant: Plant) -> None:
    breached, broken = make_line(), Line()
    breached.rows = {STEP: breached.rows[STEP]}
    breached.change(Blueprint, licence="")
    (blueprint,) = breached.all(Blueprint)
    broken.rows[STEP] = [gate_row(STEP, "seed_lost", "W0")]
    write_beforehand(plant, "breached", breached)
    write_beforehand(plant, "broken", broken)
    goes_on, fails = (
        start(plant, f"{STEP}/{STEP}", {"run": run}) for run in ("breached", "broken")
    )

    plant.wait_for(goes_on, "COMPLETED")
    assert plant.ask('select table_name, "row", promise from quarantine') == [
        ("blueprints", blueprint.id, "licence_said")
    ]
    assert plant.ask(
        "select count(*), count(*) filter (id = ?) from blueprints where run = 'breached'",
        blueprint.id,
    ) == [(1, 0)]
    seed = blueprint.origin.seed
    assert plant.ask(
        "select outcome, reason, children from exits where run = 'breached' and subject = ?", seed
    ) == [("dropped", "quality", 0)]
    assert "`licence_said` 1" in find_page(plant, goes_on)

    said = plant.wait_for(fails, "FAILED")["state"]["message"]
    assert "attrition breaks `entered_is_kept_dropped_error`" in said
    assert "met gates and has no exit) at seed_lost" in said
    wait_for_line(plant, fails, "attrition breaks `entered_is_kept_dropped_error`")
    assert "`entered_is_kept_dropped_error` 1" in find_page(plant, fails)
    assert plant.ask(
        "select event from run_events where run = 'broken' order by happened_at desc limit 1"
    ) == [("failed",)]


def write_beforehand(plant: Plant, run: str, line: Line) -> None:
    """As if another process of the same run had published it."""
    lake = Lake(plant.home.settings.lake)
    claim_version(run, lake)
    lake.fix(run, "config", CONFIG.model_dump(mode="json"))
    note(lake, run, "started", {})
    marks = mark_steps(CONFIG, RECIPES[CONFIG.recipe](read_themes()), STEPS)
    line.write(lake, run, {name: mark.fingerprint for name, mark in marks.items()})


def wait_for_line(plant: Plant, flow_run: str, text: str) -> None:
    """Until a line of the log says so: logs reach the server in batches, the last one after the
    state."""
    until = time.monotonic() + 60
    while text not in (log := "\n".join(find_log(plant, flow_run))):
        assert time.monotonic() < until, log
        time.sleep(0.2)


def find_log(plant: Plant, flow_run: str) -> list[str]:
    with plant.api() as api:
        return [
            line["message"]
            for line in api.post("/logs/filter", {"logs": {"flow_run_id": {"any_": [flow_run]}}})
        ]


def find_page(plant: Plant, flow_run: str, key: str = "quality") -> str:
    """A page of a flow run."""
    with plant.api() as api:
        found = api.post(
            "/artifacts/filter",
            {"artifacts": {"key": {"any_": [key]}, "flow_run_id": {"any_": [flow_run]}}},
        )
    return "".join(one["data"] for one in found)


def test_a_night_unlike_the_last_ones_is_exported_once_it_is_accepted(
    plant: Plant, finished: str
) -> None:
    """The last nights of the same settings are put into the lake, in which every candidate ended in
    error: tonight none does."""
    assert plant.ask(
        "select finding ->> 'broken' from gate_evidence where gate = 'night' and run = ?", finished
    ) == [("{}",)]
    assert "Too few earlier nights" in find_page(plant, finished, "night")
    config = RunConfig(
        environments=1,
        scenarios=2,
        attempts=2,
        mistakes=0,
        polarities={"achieve": 1},
        exporters=("sft",),
        search=10,
    )
    family = find_family(config)
    lake = Lake(plant.home.settings.lake)
    for number in range(NIGHTS):
        note(lake, f"before-{number}", "started", {})
        means = {"exits.error": {"rows": 1000, "mean": 1.0, "spread": 0.0}}
        row = Evidence(
            gate="night",
            subject=f"run:before-{number}",
            finding={"family": family, "means": means, "bounds": {}, "broken": {}},
        )
        lake.put(
            Evidence,
            [row],
            f"night-{row.id}",
            Stamp(f"before-{number}", "night", "", 0, 1, "0", datetime.now(UTC).isoformat()),
        )

    numbers = config.model_dump(
        include={"environments", "scenarios", "attempts", "mistakes", "search"}
    )
    run = plant.begin(polarities="achieve=1", exporters="sft", seed=12, **numbers)
    said = plant.wait_for(run, "FAILED")["state"]["message"]
    assert "exits.error mean: share of candidates and steps that end in error" in said
    assert f"envmill review {run} --accept --note WHY" in said
    assert plant.ask("select count(*) from bundles where run = ?", run) == [(0,)]
    assert "no export until a review accepts it" in find_page(plant, run, "night")
    assert "not as expected" in plant.call("export", run, expect=2)
    plant.call("review", run, "--accept", "--note", "the errors are mended")
    press_retry(plant, run)
    plant.wait_for(run, "COMPLETED")
    assert plant.ask("select exporter from bundles where run = ?", run) == [("sft",)]
    page = Path(plant.envmill("report", run).split(" (")[0])
    docs = (page.parent / "quality/index.html").read_text(encoding="utf-8")
    assert "share of candidates and steps that end in error" in docs
