"""The recorded work of a real model, replayed: what becomes of each item is what `today.json` says,
and no better and no worse."""

import os
import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from envmill.gates.f4 import find_repeats
from envmill.recipes.drafting.offered import OfferedChain
from envmill.sandbox import Sandbox
from tests.real_authors.contracts import draw_parts, leave_out, play_path
from tests.real_authors.corpus import Item, list_attempts, list_items
from tests.real_authors.ends import judge_attempt, list_wrong_ends, play
from tests.real_authors.making import Made, make
from tests.real_authors.outcomes import MACHINES, measure, read_expected, read_today
from tests.soak import count

pytestmark = pytest.mark.soak(area="real_authors")

TABLES = [item for item in list_items() if item.recipe not in MACHINES]
TODAY = read_today()
DAY = random.Random(f"corpus/{os.environ.get('ENVMILL_SEED', '')}").choice(
    [item for item in list_items() if TODAY[item.id]["scenarios"]]
)
"""To make an item and put it to every gate takes most of a minute: under `make test` that is done
with one, another with every commit."""
SHOWN = list_items() if count(0, 1) else [DAY]
PLAYED = (
    TABLES if count(0, 1) else [DAY if DAY in TABLES and TODAY[DAY.id]["attempts"] else TABLES[0]]
)
"""Under `make test` one that agents were recorded in."""
WANTED = ("kept", "kept until S16", "sent back")
EXPECTED = read_expected()
DRAWN = 8
"""Chains drawn from each recorded path."""
_MADE: dict[str, Made] = {}


async def make_once(item: Item, jail: Sandbox) -> Made:
    if item.id not in _MADE:
        _MADE[item.id] = await make(item, jail)
    return _MADE[item.id]


def by_id(item: Item) -> str:
    return item.id


@pytest.mark.long
@pytest.mark.parametrize("item", PLAYED, ids=by_id)
async def test_no_two_scenarios_are_about_the_same_records_or_begin_alike(
    jail: Sandbox, item: Item
) -> None:
    """Nobody planned them together: what F4 asks of a plan is no more than honest work keeps."""
    made = await make_once(item, jail)
    findings = find_repeats(list(made.scenarios.values()), planned=True)
    assert {name: one.reason for name, one in findings.items() if one.outcome != "kept"} == {}


@pytest.mark.long
@pytest.mark.parametrize("item", SHOWN, ids=by_id)
async def test_an_item_comes_to_what_is_listed(jail: Sandbox, item: Item) -> None:
    outcome = await measure(item, await make_once(item, jail), jail)
    assert asdict(outcome) == TODAY[item.id], (
        f"update the list, if this is right: python -m tests.real_authors {item.id}, and `wrong` "
        "in expected.toml for what drops now"
    )


@pytest.mark.long
@pytest.mark.parametrize("item", PLAYED, ids=by_id)
async def test_who_keeps_to_a_chain_of_theirs_is_never_refused_for_it(
    jail: Sandbox, item: Item
) -> None:
    """Chains drawn from each recorded path: the path contains them, and without the calls of one of
    their tools it does not."""
    made = await make_once(item, jail)
    chance, parts = random.Random(24), 0
    assert made.environment is not None
    for number, scenario in made.scenarios.items():
        replies, chain = await play_path(scenario, made.environment, jail)
        for part in draw_parts(chain, DRAWN, f"{item.id}/{number}"):
            offered, parts = OfferedChain(part, True), parts + 1
            assert offered.compare(scenario.oracle, replies).missing == ()
            assert offered.compare(*leave_out(part, scenario.oracle, replies, chance)).missing != ()
    assert parts == DRAWN * len(made.scenarios)


def list_drops(item: str, today: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """(expected, finding) for everything that keeps an item from going on without a suspicion."""
    for part, against in {"": today["environment"], **today["scenarios"]}.items():
        expected = (
            EXPECTED["scenarios"][f"{item}/{part}"] if part else EXPECTED["environments"][item]
        )
        yield from (
            (expected, one.removeprefix("dropped "))
            for one in against
            if not one.startswith("suspected ")
        )


@pytest.mark.parametrize("item", list_items(), ids=by_id)
def test_whatever_drops_honest_work_is_known_to_be_wrong(item: Item) -> None:
    unknown = [
        (one, expected["why"])
        for expected, one in list_drops(item.id, TODAY[item.id])
        if one not in expected.get("wrong", {})
    ]
    assert unknown == [], "a drop of wanted work that nobody has explained: mend the gate"


@pytest.mark.parametrize("item", list_items(), ids=by_id)
def test_the_list_names_everything(item: Item) -> None:
    today = TODAY[item.id]
    assert EXPECTED["environments"][item.id]["wanted"] in WANTED
    for number in today["scenarios"]:
        assert EXPECTED["scenarios"][f"{item.id}/{number}"]["wanted"] in WANTED
    for version, end in today["rejected"].items():
        expected = EXPECTED["rejected"][f"{item.id}/{version}"]["end"]
        assert expected != "sent back" or end.startswith("sent back"), (
            f"{version} was rightly sent back, and stands today"
        )


@pytest.mark.parametrize("item", TABLES, ids=by_id)
def test_judged_all_is_clean_and_what_goes_back_goes_back_rightly(item: Item) -> None:
    """The ambiguous requests are sent back, and whatever else is has its reason in the list; what
    stands in the end has no finding."""
    today = TODAY[item.id]
    assert {part: against for part, against in today["judged"].items() if against} == {}
    back = {stem.partition(".")[2] for stem in today["sent_back"]}
    for number in today["judged"].keys() - {"environment"}:
        expected = EXPECTED["scenarios"][f"{item.id}/{number}"]
        assert (number in back) is (expected["wanted"] == "sent back" or "back" in expected), (
            expected["why"]
        )


def test_an_attempt_fails_today_only_where_that_is_right_or_known() -> None:
    recorded = {attempt.id: attempt for attempt in list_attempts()}
    assert set(recorded) == set(EXPECTED["attempts"])
    for name, attempt in recorded.items():
        today, expected = (
            TODAY[attempt.item.id]["attempts"][attempt.name],
            EXPECTED["attempts"][name],
        )
        assert today == "pass" or expected["end"] == "fail" or "wrong" in expected, name
        assert today.startswith("fail") or expected["end"] == "pass", (
            f"{name} passes, and should not"
        )


@pytest.mark.long
@pytest.mark.parametrize("item", PLAYED, ids=by_id)
async def test_an_end_that_differs_from_a_right_one_fails(jail: Sandbox, item: Item) -> None:
    """Nothing done; the right words alone; each write of an agent left out; each with another
    number, or on another row."""
    made = await make_once(item, jail)
    for attempt in (
        one for one in list_attempts() if one.item == item and one.number in made.scenarios
    ):
        verdict, right = await judge_attempt(made, attempt, jail)
        assert right.ending is not None
        for what, calls, said in list_wrong_ends(made, attempt, right) if verdict == "pass" else ():
            wrong = await play(made, attempt, jail, calls, said)
            same = wrong.ending is not None and wrong.ending.final == right.ending.final
            assert same or wrong.verdict.outcome != "pass", f"{attempt.id}: {what} passes"


@pytest.mark.long
@pytest.mark.parametrize(
    ("looked", "outcome"),
    [
        pytest.param(("list_tickets",), "pass", id="at the tickets that stand against it"),
        pytest.param(
            ("list_customers", "list_agents"), "fail", id="elsewhere, and the tickets guessed"
        ),
        pytest.param((), "fail", id="nowhere"),
    ],
)
async def test_a_refusal_asks_for_the_rows_it_rests_on_alone(
    jail: Sandbox, looked: tuple[str, ...], outcome: str
) -> None:
    attempt = next(
        one
        for one in list_attempts()
        if one.id == "agentscaler/helpdesk_tickets_customers/2.actor-0"
    )
    made = await make_once(attempt.item, jail)
    trial = await play(
        made, attempt, jail, [call for call in attempt.calls if call.name in looked], attempt.said
    )
    assert trial.verdict.outcome == outcome
