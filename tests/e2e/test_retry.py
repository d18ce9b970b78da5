"""Retry, clicked in the UI: exactly what is unfinished is done again."""

import json
import re
import time

import pytest
from playwright.sync_api import Page, expect

from envmill.base.settings import ROOT
from tests.e2e.author_server import AuthorServer
from tests.e2e.plant import Plant, wait_until
from tests.soak import count

SCREENSHOTS = ROOT / ".envmill/screenshots"
BUILT = (
    "select subject, outcome, try_number from attrition where run = ? and lap = 'environments' "
    "and stage = 'build' and gate = 'exit'"
)


def test_retry_in_the_ui_redoes_exactly_the_unfinished_items(
    plant: Plant, author_server: AuthorServer, page: Page
) -> None:
    author_server.go_down("program")
    order = ["--environments=3", "--scenarios=1", "--attempts=2", "--seed=7", "--search=10"]
    said = plant.call("run", *order, expect=1)
    link = re.search(r"http://\S+/runs/flow-run/([0-9a-f-]+)", said)
    assert link, said
    run = link[1]
    assert f"envmill run --resume {run}" in said
    assert "environments-build failed" in said
    built = {subject for subject, outcome, _ in plant.ask(BUILT, run) if outcome != "error"}
    assert author_server.down
    assert built
    assert not built & author_server.down

    author_server.heal()
    asked = len(author_server.asked)
    plant.log_in(page)
    click_retry(page, link[0])
    page.goto("about:blank")  # an open page of a run takes as much of a core as the run
    plant.wait_for(run, "COMPLETED")
    page.goto(link[0])
    expect(page.get_by_text("Completed").first).to_be_visible(timeout=120_000)
    page.wait_for_timeout(2000)  # the graph draws itself
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "retried-run.png")

    again = {
        ask.subject for ask in author_server.asked[asked:] if ask.prompt in ("program", "tests")
    }
    assert again == author_server.down
    with plant.api() as api:
        pages = api.post(
            "/artifacts/filter",
            {
                "artifacts": {"key": {"any_": ["environments-build-failures"]}},
                "sort": "CREATED_DESC",
            },
        )
        reports = api.post("/artifacts/filter", {"artifacts": {"key": {"any_": ["report"]}}})
    named = [
        author_server.down <= {row["item"] for row in json.loads(one["data"])}
        for one in pages
        if one["flow_run_id"] == run
    ]
    assert named == [False, True], (
        "the latest page is empty, the one before names every failing item"
    )
    assert any(f"/reports/{run}/index.html" in one["data"] for one in reports)
    rows = plant.ask(BUILT, run)
    assert {subject for subject, outcome, _ in rows if outcome == "error"} == author_server.down
    assert sorted(subject for subject, _, _ in rows if subject in built) == sorted(built)
    assert {
        subject for subject, outcome, _ in rows if outcome == "kept"
    } >= author_server.down - dropped(rows)
    assert plant.ask("select count(*) from bundles where run = ? and exporter = 'sft'", run) == [
        (1,)
    ]


@pytest.mark.soak(area="dialogue")
def test_retry_of_dialogues_redoes_the_unfinished_ones(
    plant: Plant, author_server: AuthorServer, page: Page
) -> None:
    """A step of recipe `tau2` fails for some, and Retry ends the run."""
    if not count(0, 1):
        pytest.skip("a run of its own takes a minute of a core: `make soak AREA=dialogue`")
    author_server.go_down("desk_program")
    order = ["--recipe=tau2", "--environments=3", "--scenarios=1", "--attempts=2", "--seed=7"]
    said = plant.call("run", *order, expect=1)
    link = re.search(r"http://\S+/runs/flow-run/([0-9a-f-]+)", said)
    assert link, said
    built = {subject for subject, outcome, _ in plant.ask(BUILT, link[1]) if outcome != "error"}
    assert author_server.down
    assert not built & author_server.down

    author_server.heal()
    asked = len(author_server.asked)
    plant.log_in(page)
    click_retry(page, link[0])
    plant.wait_for(link[1], "COMPLETED")
    again = {ask.subject for ask in author_server.asked[asked:] if ask.prompt == "desk_program"}
    assert again == author_server.down
    rows = plant.ask(BUILT, link[1])
    assert sorted(subject for subject, _, _ in rows if subject in built) == sorted(built)


def dropped(rows: list[tuple[str, str, int]]) -> set[str]:
    return {subject for subject, outcome, _ in rows if outcome == "dropped"}


def click_retry(page: Page, url: str) -> None:
    """The button of the page, then the one of the dialog."""
    page.goto(url)
    page.get_by_role("button", name="Retry").click(timeout=120_000)
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Retrying run").first).to_be_visible(timeout=60_000)


def test_the_form_refuses_a_bad_value_and_takes_a_good_one(plant: Plant, page: Page) -> None:
    refused = note_refusals(page)
    with plant.api() as api:
        deployment = api.find_deployment("factory/factory")
        plant.log_in(page)
        page.goto(f"{api.url}/deployments/deployment/{deployment}/run")
        field = page.locator(
            ".schema-form-property", has_text="Candidate environments"
        ).last.locator("input[type=number]")
        field.fill("0", timeout=60_000)
        submit = page.get_by_role("button", name="Submit")
        submit.click()
        expect(page.get_by_text("0 is less than the minimum of 1").first).to_be_visible(
            timeout=60_000
        )
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "form-refused.png")
        field.fill("1")
        submit.click()
        asked = {
            "flow_runs": {
                "deployment_id": {"any_": [deployment]},
                "state": {"type": {"any_": ["SCHEDULED", "PENDING", "RUNNING"]}},
            }
        }

        clicked = time.monotonic()

        def is_ordered() -> bool:
            """A busy server may refuse a page, which then stays: a person sends it again. A notice
            may cover the button."""
            nonlocal clicked
            if found := bool(api.post("/flow_runs/filter", asked)):
                return found
            if time.monotonic() - clicked > 20 and submit.is_visible():
                submit.dispatch_event("click")
                clicked = time.monotonic()
            return False

        wait_until(is_ordered, 120, lambda: f"{refused} {page.inner_text('body')[-500:]}")
        run, *again = api.post("/flow_runs/filter", asked)
    assert run["parameters"]["config"]["environments"] == 1
    for made in (run, *again):
        plant.cancel(made["id"])


def note_refusals(page: Page) -> list[str]:
    """What the server would not do for a page, as it happens."""
    refused: list[str] = []
    page.on(
        "response",
        lambda answer: (
            refused.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        ),
    )
    page.on("requestfailed", lambda request: refused.append(f"{request.failure} {request.url}"))
    return refused
