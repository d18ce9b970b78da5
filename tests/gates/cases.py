"""Cases of a scenario gate: what it must drop, and for which reason, and the near misses it must
keep, all judged in one jail."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from envmill.base.settings import Settings
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.sandbox import Sandbox
from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states
from schemas.environment import Call
from schemas.scenario import CallPattern, Check, Fact, Predicate, UserContract, Verifier
from tests.gates.specimens import pose
from tests.gates.specimens.studio import ORACLE, STATE, end

FIND, LIST, TOP_UP, BOOK = ORACLE


@dataclass(frozen=True)
class Case:
    """A scenario, and what its gate must say of it."""

    posed: ScenarioCase
    reason: str = ""
    """Reason code of the drop; empty where it is kept."""
    outcome: str = ""
    """Where it is neither kept nor dropped."""


def judge_cases(
    look: Callable[[ScenarioCase, GateContext], Awaitable[Finding]], cases: Mapping[str, Case]
) -> dict[str, Finding]:
    """One finding per case."""

    async def judge_all() -> dict[str, Finding]:
        async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
            return {
                name: await look(case.posed, GateContext(sandbox)) for name, case in cases.items()
            }

    return asyncio.run(judge_all())


def check(finding: Finding, case: Case) -> None:
    """The outcome and the reason are as they must be, and a drop can be read without running
    anything."""
    wanted = case.outcome or ("dropped" if case.reason else "kept")
    assert (finding.outcome, finding.reason if case.reason else "") == (wanted, case.reason), (
        finding
    )
    if wanted == "dropped":
        assert finding.detail
        assert finding.evidence


def loose(*goals: Check, **changes: Any) -> Verifier:
    """A verifier that lets anything change."""
    return Verifier.model_validate(
        {"goals": goals, "guards": [], "frame": [[name] for name in STATE]} | changes
    )


def derived(**changes: Any) -> Verifier:
    """The studio's verifier, some parts otherwise."""
    here, elsewhere = (
        diff_states(STATE, end(*chance))
        for chance in (("booking_x", "2026-03-02"), ("booking_y", "2027-07-09"))
    )
    return derive_verifier(STATE, here, elsewhere).model_copy(update=changes)


def ask(request: str, **changes: Any) -> ScenarioCase:
    """The studio's scenario with another request."""
    return pose(request=request, user=UserContract(opening=request), **changes)


ANY_BOOKING = Check(name="some booking", op="present", path=["bookings"], value={"$any": "object"})
SIXTY = Fact(name="the balance", kind="number", value=60, rivals=[5, 40, 0])
SEEN = Predicate(
    name="Bo's account was looked at", op="seen", call=CallPattern(name=""), shows=["Bo Lind", 60]
)
QUESTION = "How much money does Bo Lind have on his account?"
LOOK_UP = Call(name="find_members", arguments={"query": "Bo Lind"})


def answer(*facts: Fact, **changes: Any) -> ScenarioCase:
    """A question about an account, to be answered without changing anything."""
    more = {
        "facts": facts or (SIXTY,),
        "procedure": changes.pop("procedure", [SEEN]),
        "harm": changes.pop("harm", []),
    }
    fields: dict[str, Any] = {
        "polarity": "answer",
        "oracle": [LOOK_UP],
        "say": "Bo Lind has 60 euros on his account.",
        "verifier": Verifier.model_validate({"goals": [], "guards": [], "frame": []} | more),
    }
    fields |= changes
    return ask(fields.pop("request", QUESTION), **fields)
