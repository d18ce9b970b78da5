"""Words judged before there is a scenario: a draft with other words is held to the gates that ask what words say.

draft ─► reference path, twice ─► provisional verifier ─► S9 leak ─► S10 agreement ─► S8 closure ─► S15 one referent ─► first objection
"""

from envmill.drafting.endings import derive_verifier, play_twice
from envmill.errors import BuildError
from envmill.gates import s8, s9, s10, s15
from envmill.gates.base import Means, Posed
from schemas.environment import Environment
from schemas.scenario import Draft, Scenario

_GATES = (s9, s10, s8, s15)
"""The cheap ones first."""


async def judge_words(draft: Draft, environment: Environment, means: Means) -> tuple[str, str] | None:
    """(reason code, words) of what stands against these words; None where nothing does."""
    endings = await play_twice(draft, environment, means.sandbox)
    if endings is None:
        return "oracle_unstable", "the reference path does not run again under another seed and clock"
    try:
        verifier = derive_verifier(draft, environment, *endings).verifier
    except BuildError as error:
        return "no_verifier", error.message
    told = draft.model_dump(
        include={"environment", "number", "initial_state", "request", "user", "oracle", "polarity", "clock", "seed", "say", "origin"}
    )
    scenario = Scenario.model_validate(
        told | {"draft": draft.id, "verifier": verifier, "features": {}, "split": "train", "oracle_reward": 1.0, "do_nothing_reward": 0.0}
    )
    for gate in _GATES:
        finding = await gate.look(Posed(scenario, environment), means)
        if finding.outcome in ("dropped", "error"):
            return f"{gate.GATE}_{finding.reason}", finding.detail
    return None
