"""Review: the queue, judgements that count, locks that hold, and what a sample says about a
bundle."""

from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.gates.base import drop
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEPS
from envmill.stages.review import (
    Acceptance,
    Locks,
    find_rejected,
    list_queue,
    sample_bundle,
    write_review,
)
from flows.opening import open_walk
from schemas.base import Record
from schemas.environment import Environment
from schemas.ledger import Attrition
from schemas.rollout import Bundle
from schemas.run import RunConfig
from schemas.scenario import Bounds, Scenario
from tests.quality.specimen import exit_row, gate_row
from tests.specimens import make_environment, make_scenario

ENVIRONMENT = make_environment()
CONFIG = RunConfig(environments=1, scenarios=1, attempts=1, seed=11, mistakes=0)
SOUND = make_scenario(
    ENVIRONMENT,
    bounds=Bounds(false_accept=0.05, false_accept_n=60, false_reject=0.05, false_reject_n=60),
)
BARE = make_scenario(ENVIRONMENT, number=1)


def put(lake: Lake, record: type[Record], *rows: Any) -> None:
    lake.put(record, rows, f"{record.table}-x", Stamp("r1", "x", "", 0, 1, "", ""))


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return make_reviewable(settings.lake)


def make_reviewable(place: str) -> Lake:
    """A lake with one run: one environment and two scenarios, all kept."""
    lake = Lake(place)
    note(lake, "r1", "started", {})
    put(lake, Environment, ENVIRONMENT)
    put(lake, Scenario, SOUND, BARE)
    exits = [
        exit_row("environments-filter", ENVIRONMENT.id),
        *(exit_row("scenarios-filter", one.id) for one in (SOUND, BARE)),
    ]
    put(
        lake, Attrition, *exits, gate_row("scenarios-verify", BARE.id, "S8", outcome="not_measured")
    )
    return lake


def test_the_riskiest_comes_first_and_what_was_looked_at_last(lake: Lake) -> None:
    assert [one.subject for one in list_queue(lake, "r1")] == [BARE.id, ENVIRONMENT.id, SOUND.id]
    assert list_queue(lake, "r1")[0].why.startswith("false accepts unbounded 2")
    write_review(lake, "r1", BARE.id, "Kim", "accept")
    assert [one.subject for one in list_queue(lake, "r1")] == [ENVIRONMENT.id, SOUND.id, BARE.id]


def test_the_latest_judgement_counts_and_a_note_is_none(lake: Lake) -> None:
    write_review(lake, "r1", BARE.id, "Kim", "reject", "asks for what the rules forbid")
    write_review(lake, "r1", BARE.id, "Lou", "note", "look again")
    found = find_rejected(lake, [BARE.id, SOUND.id])
    assert list(found) == [BARE.id]
    assert (found[BARE.id].outcome, found[BARE.id].reason, found[BARE.id].detail) == (
        "dropped",
        "rejected",
        "Kim: asks for what the rules forbid",
    )
    write_review(lake, "r1", BARE.id, "Lou", "accept")
    assert find_rejected(lake, [BARE.id]) == {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"judgement": "reject"}, "A rejection needs a reason"),
        ({"reviewer": " "}, "needs a reviewer"),
        ({"locks": ["the saw is lent"]}, "the drill is lent"),
    ],
)
def test_a_review_that_says_too_little_is_refused(
    lake: Lake, given: dict[str, Any], told: str
) -> None:
    said: dict[str, Any] = {"reviewer": "Kim", "judgement": "accept", **given}
    with pytest.raises(SettingsError, match=told):
        write_review(lake, "r1", SOUND.id, **said)


def test_a_locked_check_or_rule_may_not_be_changed_by_a_rebuild(lake: Lake) -> None:
    write_review(lake, "r1", SOUND.id, "Kim", "accept", locks=["the drill is lent"])
    write_review(lake, "r1", ENVIRONMENT.id, "Kim", "accept", locks=list(ENVIRONMENT.rules))
    locks = Locks(lake)
    goal, other = SOUND.verifier.goals
    kept = make_scenario(
        ENVIRONMENT, number=5, verifier=SOUND.verifier.model_copy(update={"goals": [goal]})
    )
    changed = make_scenario(
        ENVIRONMENT,
        number=6,
        verifier=SOUND.verifier.model_copy(
            update={"goals": [goal.model_copy(update={"value": True}), other]}
        ),
    )
    elsewhere = make_scenario(ENVIRONMENT, number=7, draft="dft_other", verifier=changed.verifier)
    assert locks.find_broken([kept, elsewhere]) is None
    finding = locks.find_broken([changed])
    assert finding
    assert finding.reason == "locked"
    assert "'the drill is lent'" in finding.detail
    assert locks.find_broken([make_environment(rules=["A tool may be lent twice."])])


def test_a_sample_bounds_the_defects_of_a_bundle(lake: Lake) -> None:
    bundle = Bundle(
        exporter="rl", content_hash="h", path="b", files={}, rows=2, scenarios=[SOUND.id, BARE.id]
    )
    put(lake, Bundle, bundle)
    fresh = sample_bundle(lake, bundle)
    assert (fresh.reviewed, fresh.bound) == (0, 1.0)
    write_review(lake, "r1", fresh.order[1], "Kim", "accept")
    assert sample_bundle(lake, bundle).reviewed == 0, (
        "picked out of turn, it says nothing about the rest"
    )
    write_review(lake, "r1", fresh.order[0], "Kim", "reject", "wrong")
    assert sample_bundle(lake, bundle).bound == 0.5
    assert round(Acceptance("b", 1000, (), 59, 0).bound, 3) == 0.05


async def test_a_rejected_environment_goes_no_further_than_the_filter(settings: Settings) -> None:
    async with open_walk("r1", CONFIG, settings) as walk:
        await walk.walk(STEPS[:3])
        (made,) = walk.lake.read(Environment, "r1")
        write_review(walk.lake, "r1", made.id, "Kim", "reject", "no such shop")
        await walk.walk(STEPS[3:4])
        assert walk.lake.outcomes("r1", walk.marks["environments-filter"]) == {made.id: "dropped"}


async def test_a_build_that_changes_what_is_locked_makes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Locks,
        "find_broken",
        lambda _, records: drop("review", "locked", f"of {len(list(records))} records"),
    )
    async with open_walk("r1", CONFIG, settings) as walk:
        await walk.walk(STEPS[:2])
        assert set(walk.lake.outcomes("r1", walk.marks["environments-build"]).values()) == {
            "dropped"
        }
        assert walk.lake.read(Environment, "r1") == []
