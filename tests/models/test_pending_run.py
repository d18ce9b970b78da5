"""A whole run through batches: every step ends pending, is answered, goes on, and makes what a run
without batches makes."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.base.errors import Outage, Pending, StepFailed
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.models import batches
from envmill.models.base import Completion, Request
from envmill.models.dialect import ModelTerms, WireRequest
from envmill.pipeline.line import STEPS
from flows.opening import open_walk
from schemas.base import Json
from schemas.run import RunConfig

CONFIG = RunConfig(environments=2, scenarios=1, attempts=1, seed=11, mistakes=0.4)
LATER = CONFIG.model_copy(update={"provider": "batch-lines", "model": "m"})


class Asking:
    """The offline author's questions as bodies, so that the tests can be the offline server."""

    path, optional = "/v1/chat/completions", frozenset[str]()

    def write(self, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        return WireRequest(
            {
                "prompt": request.prompt.name,
                "inputs": request.inputs,
                "sample": request.sample,
                "talk": [one.text for one in request.messages[1:]],
                "subject": request.subject,
            }
        )

    def read(self, body: Json) -> Completion:
        return Completion(body["reply"])


def serve(folder: Path) -> Counter[str]:
    """Answer every file that has no answer yet; prompt → requests answered."""
    answered: Counter[str] = Counter()
    for path in folder.glob("*.in.jsonl"):
        out = path.with_name(path.name.replace(".in.", ".out."))
        if out.exists():
            continue
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        answered.update(row["body"]["prompt"] for row in rows)
        out.write_text(
            "".join(json.dumps(_answer(row["custom_id"], row["body"])) + "\n" for row in rows)
        )
    return answered


def _answer(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    reply = author.answer(
        asked["prompt"], asked["inputs"], 11, asked["sample"], CONFIG.mistakes, asked["talk"]
    )
    return {
        "custom_id": name,
        "response": {"status_code": 200, "body": {"reply": reply}},
        "error": None,
    }


def ids(settings: Settings, run: str) -> dict[str, list[Any]]:
    views = open_views(Lake(settings.lake))
    tables = ("environments", "tests", "drafts", "scenarios")
    found: dict[str, list[Any]] = {
        table: views.execute(f"select id from {table} where run = ? order by id", [run]).fetchall()
        for table in tables
    }
    found["exits"] = views.execute(
        "select lap, stage, subject, outcome, reason from exits where run = ? order by all", [run]
    ).fetchall()
    return found


@pytest.mark.long
async def test_a_run_through_batches_makes_what_a_run_without_makes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(batches.DIALECTS, "lines", Asking)
    # In a lake of its own: a run chooses other seeds than the runs before it.
    apart = replace(settings, lake=f"{settings.lake}-direct")
    async with open_walk("direct", CONFIG, apart) as walk:
        await walk.walk(STEPS[:6])
    rounds: list[str] = []
    told: list[tuple[float, bool]] = []
    outcomes: set[str] = set()
    answered: Counter[str] = Counter()
    for _ in range(20):
        try:
            async with open_walk("later", LATER, settings) as walk:
                await walk.walk(STEPS[:6])
            break
        except Pending as pending:
            rounds.append(pending.facts["step"])
            told.append((pending.facts["again_in"], "for 1 batch (batch-lines" in pending.message))
            outcomes.update(outcome for *_, outcome, _ in ids(settings, "later")["exits"])
            answered += serve(settings.home / "batches" / "later")
    assert {"environments-generate", "environments-build", "scenarios-generate"} == set(rounds)
    assert set(told) == {(60.0, True)}
    assert outcomes <= {"kept", "dropped"}, "whoever waits has neither failed nor been dropped"
    assert ids(settings, "later") == ids(apart, "direct")
    rows = (
        open_views(Lake(settings.lake))
        .execute(
            "select prompt, count(*) from model_calls where run = 'later' and not reused group by "
            "all"
        )
        .fetchall()
    )
    assert dict(rows) == answered, (
        "each request was sent once, and each reply is in the ledger once"
    )


async def test_what_does_not_wait_is_saved_while_the_rest_does(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(batches.DIALECTS, "lines", Asking)
    with pytest.raises(Pending):
        async with open_walk("r1", LATER, settings) as walk:
            await walk.walk(STEPS[:1])
    (path,) = (settings.home / "batches" / "r1").glob("*.in.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    out = path.with_name(path.name.replace(".in.", ".out."))
    out.write_text(
        "".join(json.dumps(_answer(row["custom_id"], row["body"])) + "\n" for row in rows[:1])
    )
    path.with_name(path.name.replace(".in.jsonl", ".stopped")).touch()
    with pytest.raises(Pending, match="1 item waits for 1 batch "):
        async with open_walk("r1", LATER, settings) as walk:
            await walk.walk(STEPS[:1])
    assert [outcome for *_, outcome, _ in ids(settings, "r1")["exits"]] == ["kept"]


async def test_whoever_waits_goes_on_though_others_found_no_room(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a batch takes less than foreseen is room for those whom the budget held back, so it ends
    nothing while one is under way."""
    monkeypatch.setitem(batches.DIALECTS, "lines", Asking)
    few = LATER.model_copy(update={"environments": 4, "budget_tokens": 4500})
    handed: list[int] = []
    told: list[Pending] = []
    for _ in range(6):
        try:
            async with open_walk("r1", few, settings) as walk:
                await walk.walk(STEPS[:1])
            break
        except Pending as pending:
            told.append(pending)
            handed.append(serve(settings.home / "batches" / "r1").total())
    else:
        pytest.fail("not finished")
    assert all(
        re.search(r"items? waits? for 1 batch", one.message) and one.facts["again_in"] >= 60.0
        for one in told
    )
    assert "budget of 4,500 tokens is reached" in told[0].message
    assert "--budget-tokens" in told[0].message, "it says what somebody may do meanwhile"
    assert len(handed) > 1
    assert sum(handed) >= 4
    assert [outcome for *_, outcome, _ in ids(settings, "r1")["exits"]] == ["kept"] * 4


@pytest.mark.long
async def test_a_failure_that_wants_somebody_comes_before_the_batch(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(batches.DIALECTS, "lines", Asking)
    write, broken = Asking.write, list[str]()

    def write_but_one(self: Asking, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        broken.append(request.subject)
        if request.subject == broken[0]:
            raise Outage("The sky fell.")
        return write(self, request, model, terms)

    monkeypatch.setattr(Asking, "write", write_but_one)
    with pytest.raises(StepFailed, match="The sky fell"):
        async with open_walk("r1", LATER, settings) as walk:
            await walk.walk(STEPS[:1])
    assert serve(settings.home / "batches" / "r1").total() == 1, (
        "the other's batch went out all the same"
    )
