"""Verifiers with generated checks: heard in the judge zygote, paid like others, and an error when
one says neither yes nor no."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from envmill.base.errors import BuildError
from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from envmill.verifiers.court import decide, sort_checks
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.base import digest
from schemas.scenario import Check, Verifier
from tests.verifiers.test_judge import GOLD, START, VERIFIER, play, with_change

SHARED = pytest.mark.asyncio(loop_scope="module")
"""Runs in the loop in which the jail was opened."""
CLOCK = "2026-03-01T09:00:00Z"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncGenerator[Sandbox]:
    """One jail for all of them: opening it takes longer than a verdict."""
    async with Sandbox.open(Settings.read({}), drivers=1) as opened:
        yield opened


def ask(name: str, body: str, weight: float = 1.0) -> Check:
    return Check(
        name=name,
        op="generated",
        path=[],
        weight=weight,
        source=f"def check(initial, final):\n    {body}\n",
    )


LENT = ask(
    "the drill is lent",
    "return initial['items']['i1']['free'] and not final['items']['i1']['free']",
)
KEPT = ask("the saw stays", "return final['items']['i2']['free'] is True")
ONE = ask("one loan", "return len(final['loans']) == 1")
MIXED = Verifier(
    goals=[*VERIFIER.goals, LENT, ONE], guards=[*VERIFIER.guards, KEPT], frame=VERIFIER.frame
)


@SHARED
@pytest.mark.parametrize(
    ("end", "outcome", "reward"),
    [
        pytest.param(GOLD, "pass", 1.0, id="the oracle"),
        pytest.param(START, "fail", 0.0, id="nothing done"),
        pytest.param(play("loan_z", "23:59"), "pass", 1.0, id="by chance another"),
        pytest.param(
            with_change(GOLD, "items", "i2", "free", to=False), "fail", 0.0, id="a guard broken"
        ),
        pytest.param(
            with_change(GOLD, "items", "i1", "free", to=True), "fail", 0.0, id="a goal missed"
        ),
    ],
)
async def test_generated_and_declarative_checks_make_one_verdict(
    sandbox: Sandbox, end: Any, outcome: str, reward: float
) -> None:
    verdict = await decide(sandbox, MIXED, Ending(START, end), CLOCK)
    assert (verdict.outcome, verdict.reward) == (outcome, reward), verdict


@SHARED
async def test_generated_goals_pay_in_part_by_their_weight(sandbox: Sandbox) -> None:
    never = ask("never", "return False", weight=3.0)
    partial = Verifier(goals=[LENT, never], guards=[KEPT], frame=[[]], partial=True)
    assert (await decide(sandbox, partial, Ending(START, GOLD), CLOCK)).reward == 0.25


@SHARED
@pytest.mark.parametrize("place", ["goals", "guards"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise KeyError('x')", "crash"),
        ("return final.pop('log') == []", "mutates"),
        ("return 1", "bad_verdict"),
        ("return (", "build"),
    ],
)
async def test_a_check_that_says_neither_is_an_error_and_never_a_reward(
    sandbox: Sandbox, place: str, body: str, code: str
) -> None:
    mute = ask("mute", body)
    checks: dict[str, Any] = {"goals": [LENT], "guards": [KEPT]}
    verifier = Verifier(**{**checks, place: [*checks[place], mute]}, frame=[[]])
    for end in (START, GOLD):
        verdict = await decide(sandbox, verifier, Ending(START, end), CLOCK)
        assert (verdict.outcome, verdict.reward) == ("error", None)
        assert code in verdict.reason


def test_a_verifier_whose_checks_nobody_heard_decides_nothing() -> None:
    assert judge(MIXED, Ending(START, GOLD)).outcome == "error"


@SHARED
async def test_classes_are_found_by_running(sandbox: Sandbox) -> None:
    goals, guards = await sort_checks(sandbox, [KEPT, LENT, *VERIFIER.goals, ONE], START, CLOCK)
    assert (goals, guards) == ([LENT, *VERIFIER.goals, ONE], [KEPT])
    with pytest.raises(BuildError, match="mute"):
        await sort_checks(sandbox, [KEPT, ask("mute", "return None")], START, CLOCK)


def test_checks_without_a_source_are_written_as_they_were() -> None:
    plain = Check(name="x", op="absent", path=["a"])
    assert "source" not in plain.model_dump()
    assert digest(LENT.model_dump(mode="json")) != digest(KEPT.model_dump(mode="json"))
    assert Check.model_validate_json(LENT.model_dump_json()) == LENT
