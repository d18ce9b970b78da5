"""The funnel: what dies at which step, and that recovering from a refusal kills nobody."""

from typing import Any

import pytest

from envmill.gates.funnel import find_malformed, sift
from schemas.base import Json
from schemas.rollout import Rollout
from tests.specimens import make_environment, make_scenario
from tests.stages.test_collect import ASKED, DONE, LOOK, TAKE, call, make_rollout

LEND = make_scenario(make_environment())
REFUSED = call("lend", "x4", "taken", tool="T1")
SAID = {"role": "assistant", "content": "I am looking it up for you now, one moment please."}


def said_again(times: int) -> list[Json]:
    return [
        message for _ in range(times) for message in (SAID, {"role": "user", "content": "Well?"})
    ]


@pytest.mark.parametrize(
    ("transcript", "fault"),
    [
        ([ASKED, *LOOK, *REFUSED, *TAKE, DONE], ""),
        ([ASKED, *said_again(3), DONE], ""),
        ([ASKED, *LOOK, *LOOK, *LOOK, *LOOK, DONE], ""),
        ([ASKED, *said_again(4), DONE], "the same words again and again"),
        ([ASKED, *LOOK, *LOOK, *LOOK, *LOOK, *LOOK, DONE], "the same call again and again"),
        ([ASKED, LOOK[0], DONE], "a call without a reply"),
        ([ASKED, LOOK[0]], "a call without a reply"),
        ([ASKED, LOOK[1], DONE], "a reply without a call"),
        ([ASKED, DONE, DONE], "two turns of one speaker"),
    ],
)
def test_form(transcript: list[Json], fault: str) -> None:
    assert find_malformed(make_rollout(0, "pass", transcript=transcript)) == fault


def tell(rollouts: list[Rollout]) -> tuple[list[Rollout], list[tuple[str, str, Any]]]:
    kept, findings = sift(rollouts, LEND)
    return kept, [
        (one.gate, one.outcome, one.evidence and one.evidence["kept"]) for one in findings
    ]


def test_each_step_counts_what_it_drops_and_a_recovery_goes_through() -> None:
    recovered, failed = (
        make_rollout(0, "pass", *REFUSED, *TAKE),
        make_rollout(1, "fail", *LOOK, reason="goal_missed"),
    )
    malformed = make_rollout(2, "pass", transcript=[ASKED, LOOK[0], DONE])
    kept, told = tell([recovered, failed, malformed])
    assert kept == [recovered]
    assert told == [
        ("validity", "kept", 2),
        ("end_state", "kept", 1),
        ("function_match", "not_applicable", None),
    ]
    _, (_, second, _) = sift([recovered], LEND)
    assert second.evidence["recovered"] == 1


def test_what_ends_a_scenario_is_the_step_that_left_nothing() -> None:
    failed = make_rollout(1, "fail", *LOOK, reason="goal_missed")
    assert tell([failed])[1][1][:2] == ("end_state", "dropped")
    assert tell([make_rollout(2, "pass", transcript=[ASKED, LOOK[0], DONE])])[1] == [
        ("validity", "dropped", 0)
    ]


def test_an_outage_is_no_candidate() -> None:
    assert sift([make_rollout(0, "error", reward=None, termination="outage")], LEND) == ([], ())


def test_where_nothing_is_to_be_changed_the_functions_decide() -> None:
    asked = LEND.model_copy(update={"verifier": LEND.verifier.model_copy(update={"goals": []})})
    _, findings = sift([make_rollout(0, "pass", *LOOK)], asked)
    assert [(one.gate, one.outcome) for one in findings] == [
        ("validity", "kept"), ("function_match", "kept"), ("end_state", "not_applicable"),
    ]  # fmt: skip
