"""Trial calls, opinions and turns: they agree with the domain model, and the program in the jail
agrees with them."""

import json
from collections import Counter
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

import offline as author
from envmill.verifiers.diff import diff_states
from offline.dice import make_dice
from offline.domain import TODAY
from offline.opinions import write_turn
from offline.world import DomainWorld
from schemas import prompts
from schemas.environment import Call
from tests.offline.questions import (
    SAMPLE,
    SEED,
    Play,
    ask,
    ask_blueprint,
    compose,
    pose,
    pose_tester,
    run,
)

PLACES = [(theme, number) for theme in SAMPLE for number in range(2)]
THEME = "tool_lending"


@cache
def try_out(theme: str, number: int) -> prompts.TesterReply:
    return prompts.TesterReply.model_validate_json(ask("tester", theme, number))


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_every_tool_is_called_as_often_as_wanted(theme: str, number: int) -> None:
    wanted = pose_tester(theme, number)["wanted"]
    assert Counter(each.call.name for each in try_out(theme, number).calls) == wanted


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_calls_end_in_the_jail_as_the_tester_expects(theme: str, number: int) -> None:
    state, calls = pose_tester(theme, number)["state"], try_out(theme, number).calls
    plays = run(theme, number, [(state, [each.call]) for each in calls])
    ended = ["success" if play.outcomes == [""] else "rejection" for play in plays]
    assert ended == [each.expect for each in calls]
    assert all(not outcome.startswith("failure") for play in plays for outcome in play.outcomes)


def test_rules_are_broken_and_kept() -> None:
    ends = Counter(each.expect for theme, number in PLACES for each in try_out(theme, number).calls)
    assert 0.25 <= ends["rejection"] / ends.total() <= 0.75
    reasons = {
        each.why
        for theme, number in PLACES
        for each in try_out(theme, number).calls
        if each.expect == "rejection"
    }
    assert len(reasons) >= 3 * len(PLACES)


def test_another_round_wants_other_calls() -> None:
    one, other = (
        author.answer("tester", pose("tester", THEME, 0, round=each), SEED, 0, 0.0)
        for each in (0, 1)
    )
    assert one != other


def judge(
    theme: str,
    number: int,
    call: Call,
    seen: dict[str, Any],
    mistakes: float = 0.0,
    sample: int = 0,
) -> str:
    asked = pose_tester(theme, number)
    tool = {"name": call.name, "description": "", "parameters": {}, "effect": "change"}
    known = {key: asked[key] for key in ("brief", "name", "rules", "state")}
    ending = {"outcome": "ok", "code": "", "message": "", "parts": [], "changes": []} | seen
    inputs = known | {"tool": tool, "call": call.model_dump(), **ending}
    return json.loads(author.answer("checker", inputs, SEED, sample, mistakes))["opinion"]


def carry_out(theme: str, number: int, calls: list[Call]) -> list[dict[str, Any]]:
    """What a right program does with each call, by running it in the jail."""
    state = pose_tester(theme, number)["state"]
    return [_tell(state, play) for play in run(theme, number, [(state, [call]) for call in calls])]


def _tell(state: dict[str, Any], play: Play) -> dict[str, Any]:
    changes = [change.model_dump() for change in diff_states(state, play.state)]
    parts = [{"type": "json", "value": value} for value in play.results[0]]
    outcome = "rejection" if play.outcomes[0] else "ok"
    return {
        "outcome": outcome,
        "code": play.outcomes[0],
        "changes": changes,
        "parts": parts if outcome == "ok" else [],
    }


@pytest.mark.parametrize(("theme", "number"), PLACES[:4])
def test_what_a_right_program_does_passes(theme: str, number: int) -> None:
    calls = [each.call for each in try_out(theme, number).calls]
    for call, seen in zip(calls, carry_out(theme, number, calls), strict=True):
        assert judge(theme, number, call, seen) == "pass", (call, seen)


@pytest.mark.long
def test_rows_in_other_orders_are_the_same_answer() -> None:
    """Over tables a reply names columns in the order of the query."""
    turned = 0
    for theme, number in PLACES:
        calls = [each.call for each in try_out(theme, number).calls]
        for call, seen in zip(calls, carry_out(theme, number, calls), strict=True):
            for part in seen["parts"]:
                if (
                    isinstance(part["value"], list)
                    and part["value"]
                    and isinstance(part["value"][0], dict)
                ):
                    part["value"] = [dict(reversed(row.items())) for row in reversed(part["value"])]
                    assert judge(theme, number, call, seen) == "pass", (call, seen)
                    part["value"] = part["value"][1:]
                    assert judge(theme, number, call, seen) == "fail", (call, seen)
                    turned += 1
    assert turned


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_what_a_wrong_program_does_fails(theme: str, number: int) -> None:
    effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
    asked = pose_tester(theme, number)
    domain = compose(theme, number)
    for each in try_out(theme, number).calls:
        changes = (
            play_changes(domain, asked["state"], each.call) if each.expect == "success" else []
        )
        stray = {
            "path": [next(iter(asked["state"])), "nowhere", "status"],
            "op": "set",
            "before": "a",
            "after": "b",
        }
        if each.expect == "rejection":
            assert judge(theme, number, each.call, {"outcome": "ok"}) == "fail", each
        elif effects[each.call.name] == "query":
            assert judge(theme, number, each.call, {"changes": [stray]}) == "fail"
        else:
            assert (
                judge(theme, number, each.call, {"outcome": "ok", "changes": changes}) == "pass"
            ), each
            assert judge(theme, number, each.call, {"outcome": "rejection", "code": "no"}) == "fail"
            for dropped in range(len(changes)):
                assert (
                    judge(
                        theme,
                        number,
                        each.call,
                        {"changes": changes[:dropped] + changes[dropped + 1 :]},
                    )
                    == "fail"
                ), each
        assert judge(theme, number, each.call, {"outcome": "failure", "code": "crash"}) == "fail"


def play_changes(domain: Any, state: Any, call: Call) -> list[dict[str, Any]]:
    world = DomainWorld(domain, deepcopy(state), TODAY, "elsewhere")
    if domain.operations[call.name].effect == "change":
        world.apply(domain.operations[call.name], call.arguments)
    return [each.model_dump() for each in diff_states(state, world.state)]


def test_a_checker_that_errs_overlooks_and_raises_alarms_at_its_own_rate() -> None:
    """Judges differ by seed; how much this one errs has to be found out by whoever asks it."""
    wrong = Counter[str]()
    inputs = {number: pose("checker", THEME, number) for number in (0, 1)}
    for sample in range(300):
        wrong[author.planted("checker", inputs[sample % 2], SEED, sample, 0.5)] += 1
    assert wrong["overlooked_breach"] >= 3
    assert wrong["false_alarm"] >= 3
    shares = {
        sum(author.planted("checker", inputs[0], seed, each, 0.3) == "" for each in range(60))
        for seed in range(5)
    }
    assert len(shares) > 1


def test_a_user_tells_what_it_is_asked_for_and_no_more() -> None:
    facts = {"member": "Maya Okafor", "days": 4, "card": "C-1234"}
    told = write_turn(facts, "For how many days should I lend it?", make_dice("turn"))
    assert "4" in told
    assert "C-1234" not in told
    assert not any(
        str(value) in write_turn(facts, "What is the colour of the tool?", make_dice("turn"))
        for value in facts.values()
    )
    assert not any(
        str(value) in write_turn(facts, "I have lent it.", make_dice("turn"))
        for value in facts.values()
    )
    assert write_turn(facts, "Which member?", make_dice("turn")) == write_turn(
        facts, "Which member?", make_dice("turn")
    )


@pytest.mark.parametrize(("theme", "number"), PLACES)
def test_an_end_is_complete_where_it_is_the_reference_paths(theme: str, number: int) -> None:
    right, untouched = pose("ruling", theme, 0), pose("ruling", theme, 1)
    ruled = [
        json.loads(author.answer("ruling", one, SEED, number, 0.0))["outcome"]
        for one in (right, untouched)
    ]
    assert ruled == ["complete", "incomplete"]
    other = json.loads(
        json.dumps(right).replace(
            next((c["path"][1] for c in right["changes"] if c["op"] == "add"), "nothing"),
            "other_key",
        )
    )
    assert (
        json.loads(author.answer("ruling", other | {"expected": right["expected"]}, SEED, 0, 0.0))[
            "outcome"
        ]
        == "complete"
    )
    stray = right | {
        "changes": [
            *right["changes"],
            {"path": ["strange", "row", "x"], "op": "set", "before": 1, "after": 2},
        ]
    }
    assert json.loads(author.answer("ruling", stray, SEED, 0, 0.0))["outcome"] == "incomplete"
    twice = right | {"changes": [*right["changes"], right["changes"][0]]}
    assert json.loads(author.answer("ruling", twice, SEED, 0, 0.0))["outcome"] == "incomplete"


def test_a_fact_that_was_not_told_leaves_an_end_incomplete() -> None:
    fact = {"name": "the fee", "kind": "number", "value": 12, "rivals": []}
    asked = pose("ruling", THEME, 0) | {"facts": [fact]}
    told = [
        json.loads(author.answer("ruling", asked | {"said": said}, SEED, 0, 0.0))["outcome"]
        for said in (["Done."], ["The fee is 12."])
    ]
    assert told == ["incomplete", "complete"]


def test_a_reader_says_which_name_two_rows_bear() -> None:
    shared, unique = (
        json.loads(author.answer("reader", pose("reader", THEME, number), SEED, 0, 0.0))
        for number in (1, 0)
    )
    assert [one["words"] for one in shared["readings"]] == ["the label printer"]
    assert unique["readings"] == []
