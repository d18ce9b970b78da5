"""S13: what it must drop, and the near misses it must keep; the search itself; the library."""

import asyncio
import random
from collections.abc import Sequence
from functools import cache

import pytest

from envmill.agents.attackers.base import AttackerView
from envmill.agents.search import CallPool, SearchEpisode, Searcher
from envmill.base.settings import Settings
from envmill.gates import s13
from envmill.gates.base import Finding, GateContext, ScenarioCase, keep
from envmill.sandbox import Sandbox
from envmill.stages.filter import list_library
from envmill.stages.verify import list_attacks
from schemas.environment import Call
from schemas.ledger import Attack
from schemas.scenario import Check, Fact
from tests.gates.cases import (
    ANY_BOOKING,
    LOOK_UP,
    SIXTY,
    Case,
    answer,
    check,
    derived,
    judge_cases,
    loose,
)
from tests.gates.specimens import pose
from tests.gates.specimens.studio import end

ACTIVE = Check(name="Ada is active", op="equals", path=["members", "M1", "status"], value="active")
NEVER = Check(name="Ada is gone", op="absent", path=["members", "M1"])
_ANY = {name: {"$any": "string"} for name in ("id", "member_id", "booked_on")}
WHEEL = Check(
    name="a seat for anybody",
    op="present",
    path=["bookings"],
    value={**_ANY, "class_id": "C1", "seats": 1, "paid": 20, "status": "booked"},
)
BOOK_BO = Call(name="book_seats", arguments={"member_id": "M2", "class_id": "C3", "seats": 4})

CASES = {
    "true at the start": Case(pose(verifier=loose(ACTIVE)), "exploit"),
    "any booking will do": Case(pose(verifier=loose(ANY_BOOKING)), "exploit"),
    "any booking pays half": Case(
        pose(verifier=loose(ANY_BOOKING, NEVER, partial=True)), "blind_paid"
    ),
    "a seat for anybody": Case(pose(verifier=loose(WHEEL)), "exploit"),
    "any booking, no reference path": Case(pose(verifier=loose(ANY_BOOKING), oracle=[]), "guessed"),
    "as it is": Case(pose()),
    "paid in part, within a frame": Case(pose(verifier=derived(partial=True))),
    "an answer with rivals": Case(answer(SIXTY)),
    "no reference path": Case(pose(oracle=[])),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s13.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s13(name: str) -> None:
    check(find_all()[name], CASES[name])


def test_an_attack_is_stored_without_the_calls_it_does_not_need() -> None:
    posed = CASES["any booking will do"].posed
    (attack,) = list_attacks(posed.scenario, [find_all()["any booking will do"]])
    assert ([call.name for call in attack.calls], attack.reward, attack.solves) == (
        ["book_seats"],
        1.0,
        False,
    )
    assert list_library(posed.scenario, [attack]) == ()
    assert list_library(pose(request="Another.").scenario, [attack, attack]) == (attack,)


def test_attackers_that_are_known_by_name_leave_nothing_to_remember() -> None:
    """A machine's forgers."""
    assert (
        list(list_attacks(pose().scenario, [keep("S13", {"attackers": ["writes_the_report"]})]))
        == []
    )


def take(*calls: Call, said: Sequence[str] = ()) -> Attack:
    """An attack that was paid somewhere else."""
    told = {"reward": 1.0, "solves": False, "final_state_hash": ""}
    return Attack.model_validate(
        {
            "environment": "env_x",
            "scenario": "scn_x",
            "manner": "blind",
            "calls": calls,
            "said": said,
        }
        | told
    )


async def judge(posed: ScenarioCase, episodes: int = 20, seed: int = 0) -> Finding:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        replayed = await s13.replay_library(posed, GateContext(sandbox))
        searched = await s13.check(posed, GateContext(sandbox, seed=seed, episodes=episodes))
        return replayed if replayed.outcome == "dropped" else searched


@pytest.mark.parametrize(
    ("verifier", "outcome"), [(loose(ANY_BOOKING), "dropped"), (derived(), "kept")]
)
def test_what_was_paid_on_a_sibling_is_tried_here(verifier: object, outcome: str) -> None:
    posed = pose(verifier=verifier)
    finding = asyncio.run(
        judge(ScenarioCase(posed.scenario, posed.environment, library=(take(BOOK_BO),)))
    )
    assert (finding.outcome, finding.reason) == (outcome, "exploit" if outcome == "dropped" else "")
    assert finding.detail.startswith("library: book_seats") is (outcome == "dropped")


WORDS = answer(
    Fact(name="the balance", kind="number", value=60), procedure=[], harm=[], say="It is 60."
)


@pytest.mark.parametrize(
    ("attack", "caught"),
    [(take(said=["60"]), True), (take(LOOK_UP), True), (take(said=["Done."]), False)],
)
def test_an_attack_says_what_it_said_or_what_it_is_told(attack: Attack, caught: bool) -> None:
    """Words alone pay here, and a recital of what is answered; neither ends elsewhere, so neither
    is more than paid."""
    finding = asyncio.run(
        replay(ScenarioCase(WORDS.scenario, WORDS.environment, library=(attack,)))
    )
    assert bool(finding.evidence["attacks"]) is caught


async def replay(posed: ScenarioCase) -> Finding:
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        return await s13.replay_library(posed, GateContext(sandbox))


def test_without_a_search_nothing_is_measured() -> None:
    assert asyncio.run(judge(pose(), episodes=0)).reason == "no_search"


def test_the_same_seed_finds_the_same() -> None:
    posed = CASES["any booking pays half"].posed
    first, again = (asyncio.run(judge(posed, seed=3, episodes=300)) for _ in range(2))
    assert (first.reason, first.evidence) == (again.reason, again.evidence)


WANTED = (3, 1, 4)


def test_the_searcher_climbs_where_it_is_paid_in_part() -> None:
    """What chance would find once in a hundred thousand sequences."""
    calls = [Call(name=f"tool_{number}") for number in range(50)]
    searcher = Searcher(CallPool(calls, [1.0] * len(calls)), random.Random(1))
    for _ in range(20):
        drawn = searcher.sample(100)
        searcher.learn(
            [
                (sum(place in one.calls for place in WANTED) / (3 + len(one.calls) / 9), one)
                for one in drawn
            ]
        )
    assert set(WANTED) <= set(searcher.best[0][1].calls)
    assert searcher.best[0][0] > Searcher(searcher.pool, random.Random(1)).sample(1)[0].calls.count(
        3
    )


def test_a_pool_grows_by_calls_on_what_was_made() -> None:
    """An id that a reply tells is an argument from then on: no state at the start holds it."""
    posed = pose()
    view = AttackerView.of(posed.scenario, posed.environment)
    pool = CallPool.blind(view, 0)
    grown = pool.grow(view, [end("booking_x", "2026-03-02"), view.state], random.Random(1))
    new = grown.calls[len(pool.calls) :]
    assert new
    assert all("booking_x" in call.arguments.values() for call in new)
    searcher = Searcher(pool, random.Random(1))
    searcher.adopt(grown)
    assert any(place >= len(pool.calls) for one in searcher.sample(300) for place in one.calls)
    assert pool.grow(view, [view.state], random.Random(1)).calls == pool.calls


def test_only_what_was_told_names_what_the_request_names() -> None:
    posed = pose()
    view = AttackerView.of(posed.scenario, posed.environment)
    right = Call(name="top_up", arguments={"member_id": "M1", "amount": 25})
    told = CallPool.informed(view, 0)
    assert right in told.calls
    assert right not in CallPool.blind(view, 0).calls
    assert told.weights[list(told.calls).index(right)] == max(told.weights)
    assert SearchEpisode((0,)).speech == "done"
