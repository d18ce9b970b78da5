"""Masking of conversations that the user spoilt, in dialogues: with a judge, what it finds and the
conversation bears out is an error and no failure of the agent's; without one, proofs alone mask."""

from typing import Any

import pytest

from envmill.agents.base import Say
from envmill.agents.limits import RolloutLimits
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.sandbox import Sandbox
from schemas.turns import FaultReply
from tests.agents.roles import IN_A_HURRY, Line, Replies, say
from tests.kinds.dialogue.actors import Lined
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import SCENARIOS

pytestmark = pytest.mark.asyncio(loop_scope="module")

FLIGHT = load().scenarios[sorted(SCENARIOS).index("flight")]
ASKED = "Could you tell me the support code?"
REFUSES = "I would rather keep that to myself."
WITHHELD = FaultReply(
    fault="withheld", fact="support code", question=ASKED, answer=REFUSES, reason="It was asked."
)
GIVES_UP: Any = Lined("gives up", lambda *_: [Say(ASKED), Say("Then I cannot help you.")])


class Judged(Replies):
    """A session with a model that judges, too."""

    def __init__(self, lines: list[Line], ruling: FaultReply) -> None:
        super().__init__(lines)
        self.ruling, self.rulings = ruling, 0

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **more: Any) -> Any:
        if reply is FaultReply:
            self.rulings += 1
            return self.ruling
        return await super().ask(prompt, inputs, reply, **more)


@pytest.mark.parametrize(
    ("umpire", "ruling", "outcome", "misstep"),
    [
        pytest.param(True, WITHHELD, "error", "withholds", id="confirmed and borne out"),
        pytest.param(False, WITHHELD, "fail", "", id="nobody judges"),
        pytest.param(True, FaultReply(fault="none"), "fail", "", id="the judge finds none"),
        pytest.param(
            True,
            WITHHELD.model_copy(update={"answer": "kestrel-41."}),
            "fail",
            "",
            id="a quote that nobody said",
        ),
        pytest.param(
            True,
            WITHHELD.model_copy(update={"fault": "acted_unasked", "fact": "see display"}),
            "fail",
            "",
            id="a fault that the conversation lacks",
        ),
    ],
)
async def test_a_judge_masks_what_the_user_spoilt(
    umpire: bool, ruling: FaultReply, outcome: str, misstep: str, sandbox: Sandbox
) -> None:
    session = Judged([say(REFUSES), say("Goodbye.", stop=True)], ruling)
    made = await play_on(
        RolloutSetup.of(FLIGHT, load().environment),
        GIVES_UP,
        sandbox,
        "shown",
        1,
        models=session.session,
        form="conversation",
        user="model",
        umpire=umpire,
        limits=RolloutLimits(steps=90, turns=60),
    )
    assert (made.outcome, made.misstep, session.rulings) == (outcome, misstep, int(umpire))
    assert made.reward == (None if outcome == "error" else 0.0)


async def test_an_honest_user_of_a_failed_agent_is_not_masked(sandbox: Sandbox) -> None:
    """The judge accuses, and the value stands in the conversation."""
    lines = [IN_A_HURRY[1], say("Goodbye.", stop=True)]
    session = Judged(lines, WITHHELD.model_copy(update={"answer": IN_A_HURRY[1]["text"]}))
    made = await play_on(
        RolloutSetup.of(FLIGHT, load().environment),
        GIVES_UP,
        sandbox,
        "shown",
        1,
        models=session.session,
        form="conversation",
        user="model",
        umpire=True,
    )
    assert (made.outcome, made.reward, made.misstep) == ("fail", 0.0, "")
