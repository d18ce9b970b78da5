"""Judges words before there is a scenario. A draft with other words goes through the gates that
check words.

draft ─► reference path, twice ─► provisional verifier ─► S9 leak ─► S10 agreement ─► S8 closure ─► S15 one referent
      ─► suspicions to the judge ─► first proof
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from envmill.base.errors import BuildError
from envmill.gates import s8, s9, s10, s15
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.codes import find_class
from envmill.kinds import kind_of
from envmill.kinds.endings import play_twice
from schemas.base import Json
from schemas.environment import Environment
from schemas.scenario import Draft, Scenario, UserContract, Verifier

_WHOLE, _ALONE = (s9, s10), (s8, s15)
"""Gates on all that the user may say, and gates on the request alone, because some forms allow no
questions."""


Hear: TypeAlias = Callable[[Sequence[Finding], ScenarioCase], Awaitable[list[Finding]]]
"""Asks the run's judge about suspicions."""


async def judge_words(
    draft: Draft, environment: Environment, means: GateContext, hear: Hear
) -> tuple[str, str] | None:
    """(reason code, words) of the proof that these words are wrong; None if there is none.
    Unconfirmed suspicions refuse nothing."""
    endings = await play_twice(draft, environment, means.sandbox)
    if isinstance(endings, str):
        return "oracle_unstable", endings
    try:
        verifier = (
            await kind_of(environment).derive_verifier(draft, environment, endings, means.sandbox)
        ).verifier
    except BuildError as error:
        return "no_verifier", error.message
    scenario = _pose(draft, verifier, draft.user)
    alone = _pose(draft, verifier, UserContract(opening=draft.request))
    for gate, subject in [
        *((gate, scenario) for gate in _WHOLE),
        *((gate, alone) for gate in _ALONE),
    ]:
        posed = ScenarioCase(subject, environment)
        if refusal := await find_refusal((await gate.check(posed, means)).spread(), posed, hear):
            return refusal
    return None


async def find_refusal(
    findings: Iterable[Finding], posed: ScenarioCase, hear: Hear
) -> tuple[str, str] | None:
    """The first proof, confirmed suspicion or error."""
    settled = [
        replace(one, outcome="suspected")
        if one.outcome == "dropped" and find_class(one.gate, one.reason) == "suspicion"
        else one
        for one in findings
    ]
    against = [one for one in await hear(settled, posed) if one.outcome in ("dropped", "error")]
    return (f"{against[0].gate}_{against[0].reason}", against[0].detail) if against else None


def _pose(draft: Draft, verifier: Verifier, user: UserContract) -> Scenario:
    """The scenario that the draft would become. It is not stored."""
    known = {
        "environment",
        "number",
        "initial_state",
        "request",
        "oracle",
        "polarity",
        "clock",
        "seed",
        "say",
        "origin",
    }
    rest: dict[str, Json] = {
        "draft": draft.id,
        "features": {},
        "split": "train",
        "oracle_reward": 1.0,
        "do_nothing_reward": 0.0,
    }
    return Scenario.model_validate(
        draft.model_dump(include=known) | rest | {"verifier": verifier, "user": user}
    )
