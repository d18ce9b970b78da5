"""W4: what the review must drop, the near misses it must keep, and what it must say it could not
measure."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from envmill.gates.base import EnvironmentCase, Finding, GateContext
from envmill.gates.w4 import check
from envmill.sandbox import Sandbox
from tests.gates.reviewers import CALLS, Reviewers, find_truth, open_account
from tests.gates.specimens import ground, vary
from tests.gates.specimens.studio import STATE

pytestmark = pytest.mark.asyncio(loop_scope="module")

FREE_TOP_UP = ('member["balance"] += amount', 'member["balance"] += 2 * amount')
SEATS_STAY = ('course["free"] -= seats', 'course["free"] -= 0')
NO_SUSPENSION = ('if member["status"] != "active":', "if False:")
NEVER_TWICE = ('if booking["status"] != "booked":', "if False:")
WRITING_READS = (
    'return dict(self._find(self.bookings, booking_id, "booking"))',
    'row = self._find(self.bookings, booking_id, "booking")\n        row["status"] = "seen"\n    '
    "    return dict(row)",
)
FORGETTING = (
    "return [dict(row) for row in self.bookings",
    'member["balance"] = 0\n        return [dict(row) for row in self.bookings',
)
CRASHING = (
    'raise Rejection(f"unknown_{noun}"',
    'return None\n            raise Rejection(f"unknown_{noun}"',
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def truth(sandbox: Sandbox) -> dict[str, str]:
    return await find_truth(sandbox, [test.call for test in ground().tests if not test.setup])


@pytest.fixture
def reviewers(truth: dict[str, str]) -> Reviewers:
    return Reviewers(truth)


@pytest_asyncio.fixture(loop_scope="module")
async def review(sandbox: Sandbox, reviewers: Reviewers, tmp_path: Path) -> AsyncGenerator[Any]:
    """Runs the gate with the reviewers as they are by then."""
    async with open_account(reviewers, tmp_path) as models:

        async def run(built: EnvironmentCase, seed: int = 0) -> Finding:
            return await check(built, GateContext(sandbox, models, seed))

        yield run


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    "built",
    [
        pytest.param(vary(FREE_TOP_UP, SEATS_STAY, NEVER_TWICE), id="writes-wrong-values"),
        pytest.param(vary(WRITING_READS, FORGETTING), id="reads-that-write"),
        pytest.param(vary(CRASHING), id="crashes"),
        pytest.param(
            vary(NO_SUSPENSION, NEVER_TWICE, FREE_TOP_UP, SEATS_STAY), id="rules-not-enforced"
        ),
    ],
)
async def test_w4_drops_a_program_that_breaks_its_rules(
    review: Any, built: EnvironmentCase
) -> None:
    finding = await review(built)
    assert (finding.outcome, finding.reason) == ("dropped", "rules_broken"), finding
    shown = finding.evidence["failures"][0]
    assert {"call", "outcome", "changes", "reason"} <= shown.keys()
    assert finding.evidence["not_fail"]["share"] < 0.85


@pytest.mark.long
async def test_a_run_says_how_many_calls_are_reviewed(
    sandbox: Sandbox, reviewers: Reviewers, tmp_path: Path
) -> None:
    asked = dict[int | None, int]()
    for reviewed in (None, 12):
        async with open_account(reviewers, tmp_path / str(reviewed)) as models:
            finding = await check(ground(), GateContext(sandbox, models, reviewed=reviewed))
            asked[reviewed] = finding.evidence["asked"]
    assert asked[12] < 30 <= (asked[None] or 0)


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    "built",
    [
        pytest.param(ground(), id="clean"),
        pytest.param(vary(NO_SUSPENSION), id="one-rule-rarely-met"),
        pytest.param(vary(SEATS_STAY), id="one-write-of-few-calls"),
    ],
)
async def test_w4_keeps_near_misses(review: Any, built: EnvironmentCase) -> None:
    finding = await review(built)
    assert finding.outcome == "kept", finding
    assert finding.evidence["calls"] >= 30
    assert finding.evidence["checker"]["caught"]["n"] >= 8


@pytest.mark.long
async def test_one_tool_that_breaks_its_rules_is_found_among_many(
    review: Any, reviewers: Reviewers
) -> None:
    """Of 36 calls three show it, and nine of nine once the tool is looked at closer."""

    def say(prompt: str, inputs: Any, reply: str) -> str:
        if (
            prompt == "tester"
            or inputs["call"]["name"] != "book_seats"
            or inputs["outcome"] != "ok"
        ):
            return reply
        taken = any(change["path"][-1] == "free" for change in inputs["changes"])
        return json.dumps(
            {"opinion": "pass" if taken else "fail", "reason": "the seats must be taken"}
        )

    reviewers.say = say
    finding = await review(vary(SEATS_STAY))
    assert (finding.outcome, finding.reason) == ("dropped", "tool_broken"), finding
    assert finding.evidence["not_fail"]["share"] > 0.85
    assert [one["tool"] for one in finding.evidence["broken"]] == ["book_seats"]
    assert (await review(ground())).outcome == "kept"


@pytest.mark.long
async def test_a_limit_missed_by_one_is_found_where_both_sides_are_the_same(
    review: Any, reviewers: Reviewers
) -> None:
    """None of the tester's calls costs exactly what a member has."""

    def say(prompt: str, inputs: Any, reply: str) -> str:
        return (
            json.dumps({"opinion": "fail", "reason": "enough is enough"})
            if prompt == "checker" and _has_enough(inputs)
            else reply
        )

    reviewers.say = say
    finding = await review(vary(('if price > member["balance"]', 'if price >= member["balance"]')))
    assert (finding.outcome, finding.reason) == ("dropped", "tool_broken"), finding
    assert "where both sides of price >= member['balance'] are the same" in finding.detail
    assert (await review(ground())).outcome == "kept"


def _has_enough(inputs: Any) -> bool:
    """Refused as too dear, though the member has what it costs."""
    given, state = inputs["call"]["arguments"], inputs["state"]
    if inputs["code"] != "balance_too_low":
        return False
    return (
        state["members"][given["member_id"]]["balance"]
        >= given["seats"] * state["classes"][given["class_id"]]["price"]
    )


async def test_warnings_are_no_failures(review: Any, reviewers: Reviewers) -> None:
    reviewers.say = lambda _prompt, _inputs, reply: reply.replace('"pass"', '"warning"')
    finding = await review(ground())
    assert (finding.outcome, finding.evidence["opinions"].keys()) == ("kept", {"warning"})


async def test_a_checker_that_cries_wolf_is_corrected_by_what_it_says_of_right_refusals(
    review: Any, reviewers: Reviewers
) -> None:
    """Uncorrected, the share of passes would drop the program."""
    reviewers.alarms = 0.3
    finding = await review(ground())
    said = finding.evidence["opinions"]
    assert said["fail"] / sum(said.values()) > 0.15
    assert finding.outcome == "kept", finding
    assert finding.evidence["checker"]["false_alarms"]["hits"] > 0


async def test_a_checker_that_misses_faults_is_corrected_by_the_salt(
    review: Any, reviewers: Reviewers
) -> None:
    """Uncorrected, the program would pass."""
    reviewers.misses = 0.45
    finding = await review(vary(FREE_TOP_UP, SEATS_STAY, NEVER_TWICE))
    assert finding.evidence["opinions"]["fail"] / finding.evidence["calls"] < 0.15
    assert (finding.outcome, finding.reason) == ("dropped", "rules_broken")
    assert finding.evidence["checker"]["missed"]


@pytest.mark.parametrize("opinion", ["pass", "fail", "warning"])
async def test_a_checker_that_always_says_the_same_measures_nothing(
    review: Any, reviewers: Reviewers, opinion: str
) -> None:
    reviewers.say = lambda prompt, _, reply: (
        reply if prompt == "tester" else json.dumps({"opinion": opinion, "reason": "habit"})
    )
    finding = await review(vary(FREE_TOP_UP, SEATS_STAY, NEVER_TWICE))
    assert (finding.outcome, finding.reason) == ("not_measured", "checker_insensitive")


async def test_hallucinated_and_repeated_calls_are_counted_and_asked_again(
    review: Any, reviewers: Reviewers
) -> None:
    def say(prompt: str, inputs: Any, reply: str) -> str:
        if prompt != "tester" or inputs["round"]:
            return reply if prompt != "tester" else _list_calls(inputs)
        calls = json.loads(reply)["calls"]
        calls[0]["call"]["name"] = "get_bookings"
        return json.dumps({"calls": [*calls[:-1], calls[1]]})

    reviewers.say = say
    finding = await review(ground())
    assert finding.outcome == "kept", finding
    assert (finding.evidence["lost"]["hallucinated"], finding.evidence["lost"]["repeated"] > 0) == (
        1,
        True,
    )


def _list_calls(inputs: Any) -> str:
    calls = [
        {"call": {"name": name, "arguments": one}, "expect": "success", "why": ""}
        for name in inputs["wanted"]
        for one in CALLS[name]
    ]
    return json.dumps({"calls": calls})


async def test_a_tester_nobody_can_read_ends_after_bounded_rounds(
    review: Any, reviewers: Reviewers
) -> None:
    reviewers.say = lambda prompt, _, reply: "I would rather not." if prompt == "tester" else reply
    finding = await review(ground())
    assert (finding.outcome, finding.reason) == ("not_measured", "too_few_calls")
    assert finding.evidence["lost"] == {"unreadable": 4}
    assert len(reviewers.asked) <= 4 * 6


async def test_opinions_nobody_can_read_approve_of_nothing(
    review: Any, reviewers: Reviewers
) -> None:
    """They stay in the count; where they are many, the checker tells nothing apart."""
    reviewers.say = lambda prompt, _, reply: reply if prompt == "tester" else "Fine, I think!"
    finding = await review(ground())
    assert (finding.outcome, finding.reason) == ("not_measured", "checker_insensitive")
    assert finding.evidence["opinions"] == {"unreadable": finding.evidence["calls"]}


@pytest.mark.parametrize(
    ("alarms", "outcome", "reason"), [(0.0, "kept", ""), (0.4, "not_measured", "no_controls")]
)
async def test_without_tests_only_what_is_good_all_the_same_is_kept(
    review: Any, reviewers: Reviewers, alarms: float, outcome: str, reason: str
) -> None:
    reviewers.alarms = alarms
    finding = await review(EnvironmentCase(ground().environment, (), (STATE,)))
    assert (finding.outcome, finding.reason) == (outcome, reason)


async def test_nobody_to_ask_and_nothing_to_call_on_are_said(sandbox: Sandbox, review: Any) -> None:
    assert (await check(ground(), GateContext(sandbox))).reason == "no_reviewer"
    assert (await review(EnvironmentCase(ground().environment))).reason == "no_state"


async def test_a_provider_that_does_not_know_the_prompts_cannot_review(
    review: Any, reviewers: Reviewers
) -> None:
    import offline as author

    reviewers.say = lambda _prompt, inputs, _reply: author.answer("juggler", inputs, 0, 0, 0.0)
    assert ((await review(ground())).outcome, (await review(ground())).reason) == (
        "not_measured",
        "no_reviewer",
    )


@pytest.mark.long
async def test_the_same_seed_gives_the_same_finding(review: Any, reviewers: Reviewers) -> None:
    reviewers.alarms, reviewers.misses = 0.1, 0.2
    built = vary(FREE_TOP_UP)
    assert await review(built, 5) == await review(built, 5)


async def test_the_checker_never_sees_the_source_nor_which_cases_are_salt(
    review: Any, reviewers: Reviewers
) -> None:
    shown: list[Any] = []

    def say(prompt: str, inputs: Any, reply: str) -> str:
        if prompt == "checker":
            shown.append(inputs)
        return reply

    reviewers.say = say
    await review(ground())
    assert len(shown) > 45
    assert len({tuple(sorted(one)) for one in shown}) == 1
    assert not [one for one in shown if "class Studio" in json.dumps(one)]
