"""W5 to W9 and W11 to W13: what they must drop and for which reason, and near misses they must
keep."""

import re

import pytest

from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.sandbox import Sandbox
from schemas.base import canonical_json
from tests.gates.specimens import ground, make_test, vary
from tests.gates.specimens.faults import DROPPED, FIRST_MEMBER, FOUND_MEMBER, KEPT
from tests.gates.specimens.pieces import CANCEL, LIST, Swap

pytestmark = pytest.mark.asyncio(loop_scope="module")


FAULTY = [
    pytest.param(gate, reason, swaps, id=f"{gate}: {words}")
    for gate, found in DROPPED.items()
    for words, reason, swaps in found
]
RIGHT = [
    pytest.param(gate, swaps, id=f"{gate}: {words}")
    for gate, found in KEPT.items()
    for words, swaps in found
]


@pytest.mark.parametrize(("gate", "reason", "swaps"), FAULTY)
async def test_drops_the_specimen_for_its_reason(
    sandbox: Sandbox, gate: str, reason: str, swaps: tuple[Swap, ...]
) -> None:
    finding = await GATES[gate].check(vary(*swaps), GateContext(sandbox))
    assert (finding.outcome, finding.reason) == ("dropped", reason), finding
    assert finding.detail
    assert finding.evidence
    canonical_json(finding.evidence)


@pytest.mark.parametrize(("gate", "swaps"), RIGHT)
async def test_keeps_the_near_miss(sandbox: Sandbox, gate: str, swaps: tuple[Swap, ...]) -> None:
    finding = await GATES[gate].check(vary(*swaps), GateContext(sandbox))
    assert finding.outcome == "kept", finding


async def test_a_word_the_rules_speak_of_is_set_by_some_change(sandbox: Sandbox) -> None:
    """With the line that sets it gone; a rule that speaks of what stays as it is asks for
    nothing."""
    rule = "A booking becomes 'cancelled' once, from 'booked'."
    told = vary((CANCEL, ""), rules=[rule])
    finding = await GATES["W12"].check(told, GateContext(sandbox))
    assert (finding.outcome, finding.reason) == ("dropped", "transition_missing"), finding
    assert (await GATES["W12"].check(ground(rules=[rule]), GateContext(sandbox))).outcome == "kept"
    still = vary((CANCEL, ""), rules=["A booking becomes 'kept' only from 'kept'."])
    assert (await GATES["W12"].check(still, GateContext(sandbox))).outcome == "kept"


async def test_words_of_an_exception_that_a_caller_says_are_the_caller_s(sandbox: Sandbox) -> None:
    """A search for a ticket about a KeyError finds nothing, and says so with its words."""
    studio = ground()
    said = make_test(
        studio.environment, "find_members", {"query": "KeyError in the kiln"}, "rejection"
    )
    built = EnvironmentCase(studio.environment, (*studio.tests, said))
    assert (await GATES["W13"].check(built, GateContext(sandbox))).outcome == "kept"


async def test_a_change_that_no_stored_test_uses_is_only_suspected_of_changing_nothing(
    sandbox: Sandbox,
) -> None:
    """Calls that were drawn may all have had nothing to change. A stored test says what a use of
    the tool is."""
    (_, _, swaps), *_ = [found for found in DROPPED["W8"] if found[1] == "never_changes"]
    copied = vary(*swaps)
    named = (await GATES["W8"].check(copied, GateContext(sandbox))).detail.partition(":")[0]
    unused = EnvironmentCase(
        copied.environment, tuple(test for test in copied.tests if test.call.name != named)
    )
    assert len(unused.tests) < len(copied.tests)
    finding = await GATES["W8"].check(unused, GateContext(sandbox))
    assert (finding.reason, GATES["W8"].codes[finding.reason]) == (
        "change_not_seen",
        "suspicion",
    ), finding
    assert named in finding.question


async def test_a_suspicion_hides_no_proof_and_each_finding_is_told_once(sandbox: Sandbox) -> None:
    """A query that writes is proven; that it finds by whole words only is a matter of opinion."""
    (_, _, writes), *_ = DROPPED["W12"]
    words = next(swaps for _, reason, swaps in DROPPED["W12"] if reason == "whole_words_only")
    finding = await GATES["W12"].check(vary(*words, *writes), GateContext(sandbox))
    assert [one.reason for one in finding.spread()] == ["query_changes", "whole_words_only"]
    assert [GATES["W12"].classify(one.reason) for one in finding.spread()] == ["proof", "suspicion"]


@pytest.mark.parametrize(("gate", "reason", "swaps"), FAULTY)
async def test_a_suspicion_asks_a_question_that_does_not_name_the_gate(
    sandbox: Sandbox, gate: str, reason: str, swaps: tuple[Swap, ...]
) -> None:
    for finding in (await GATES[gate].check(vary(*swaps), GateContext(sandbox))).spread():
        suspects = GATES[gate].classify(finding.reason) == "suspicion"
        assert suspects is bool(finding.question), finding.reason
        assert not re.search(r"\b[WSF]\d+\b", finding.question)


@pytest.mark.parametrize(
    ("gate", "reason", "swaps"), [case for case in FAULTY if case.values[0] == "W11"]
)
async def test_a_question_of_w11_holds_the_reply_and_the_record_and_no_words_of_the_gate(
    sandbox: Sandbox, gate: str, reason: str, swaps: tuple[Swap, ...]
) -> None:
    for finding in (await GATES[gate].check(vary(*swaps), GateContext(sandbox))).spread():
        words = finding.detail.partition(" ")[2].removeprefix("tells ")
        assert words not in finding.question
        assert ("After the call, `" in finding.question) is (finding.reason == "told_otherwise")


async def test_an_empty_id_is_the_id_of_nobody(sandbox: Sandbox) -> None:
    """Not every seed asks with an empty one: these do."""
    studio = vary((FOUND_MEMBER, FIRST_MEMBER.format("member_id")))
    for seed in (1, 2, 3):
        finding = await GATES["W6"].check(studio, GateContext(sandbox, seed=seed))
        assert finding.outcome == "kept", finding


async def test_a_default_beyond_the_limits_means_that_nothing_is_given(sandbox: Sandbox) -> None:
    """A query with `seats: 0` for any takes 0, and still nothing else beyond its limits."""
    sign = (
        "def list_classes(self, day: str | None = None)",
        "def list_classes(self, day: str | None = None, seats: int = 0)",
    )
    told = (
        "day: Day of the week, such as Tuesday.",
        "day: Day of the week, such as Tuesday.\n            seats: Free seats at least. From 1 "
        "to 4.",
    )
    keep = (
        'if not 0 <= seats <= 4:\n            raise Rejection("seats_out_of_range", "seats must '
        'be from 1 to 4.")\n        '
    )
    for check, outcome in ((keep, "kept"), ("", "dropped")):
        finding = await GATES["W6"].check(
            vary(sign, told, (LIST, check + LIST)), GateContext(sandbox)
        )
        assert finding.outcome == outcome, finding


async def test_what_is_red_anyhow_needs_no_moment(sandbox: Sandbox) -> None:
    """It is W3 that drops it; W5 speaks of tests that hold at one moment and not at another."""
    studio = ground()
    wrong = make_test(
        studio.environment,
        "book_seats",
        {"member_id": "M1", "class_id": "C1", "seats": 1},
        "success",
    )
    built = EnvironmentCase(studio.environment, (*studio.tests, wrong))
    assert (await GATES["W3"].check(built, GateContext(sandbox))).reason == "test_failed"
    assert (await GATES["W5"].check(built, GateContext(sandbox))).outcome == "kept"


async def test_a_refusal_that_changes_something_makes_no_other_test_red(sandbox: Sandbox) -> None:
    """The tests share a session with it, and are played alone where it has spoilt what they see."""
    (_, _, swaps), *_ = DROPPED["W7"]
    assert (await GATES["W3"].check(vary(*swaps), GateContext(sandbox))).outcome == "kept"


@pytest.mark.parametrize("gate", sorted(DROPPED))
async def test_keeps_the_studio_whatever_the_seed(sandbox: Sandbox, gate: str) -> None:
    for seed in (0, 1, 2):
        finding = await GATES[gate].check(ground(), GateContext(sandbox, seed=seed))
        assert finding.outcome == "kept", finding


@pytest.mark.parametrize("gate", sorted(DROPPED))
async def test_without_any_state_nothing_is_measured(sandbox: Sandbox, gate: str) -> None:
    finding = await GATES[gate].check(EnvironmentCase(ground().environment), GateContext(sandbox))
    assert finding.outcome in ("not_measured", "kept" if gate == "W9" else ""), finding
