"""The umpire: a failed conversation is the user's fault only where a judge quotes question and
answer, and the quotes bear it out."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from envmill.agents.base import Say
from envmill.agents.estimates import AttemptTally
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.agents.users.base import Utterance
from envmill.agents.users.umpire import find_user_fault
from envmill.base.errors import BadReply
from envmill.models.session import ModelSession
from envmill.sandbox import Sandbox
from schemas.turns import FaultReply
from tests.agents.talks import KNOWN, SHED, TALK
from tests.gates.specimens.filtering import make_probes

pytestmark = pytest.mark.asyncio(loop_scope="module")

DIALOGUE = [
    Utterance("user", KNOWN.contract.opening),
    Utterance("agent", "Gladly! Which one would you like to take?"),
    Utterance("user", "Yes, please."),
    Utterance("agent", "I do not know which tool you want, so nothing is lent."),
    Utterance("user", "All right, then I leave it there."),
]
SHOWN = {
    "fault": "withheld",
    "fact": "tool",
    "question": "Which one would you like to take?",
    "answer": "Yes, please.",
}


class Judge:
    """A judge that always says the same."""

    def __init__(self, reply: dict[str, str] | None) -> None:
        self.reply, self.asked = reply, 0

    async def ask(self, *_: Any, **more: Any) -> FaultReply:
        self.asked += 1
        assert more["role"] == "judge"
        if self.reply is None:
            raise BadReply("nothing usable")
        return FaultReply.model_validate(self.reply)


@pytest.mark.parametrize(
    ("changes", "misstep"),
    [
        pytest.param({}, "withholds", id="both quotes stand there"),
        pytest.param({"fault": "none"}, "", id="nothing found"),
        pytest.param(
            {"question": "Which drill would you like?"}, "", id="a question that nobody asked"
        ),
        pytest.param({"answer": "I do not know."}, "", id="an answer that nobody gave"),
        pytest.param({"question": "", "answer": ""}, "", id="no quotes"),
        pytest.param({"fact": "colour"}, "", id="a fact that there is not"),
        pytest.param(
            {"answer": "All right, then I leave it there."}, "", id="the answer to something else"
        ),
    ],
)
async def test_a_fault_needs_two_quotes_that_bear_it_out(
    changes: dict[str, str], misstep: str
) -> None:
    found = await find_user_fault(KNOWN, DIALOGUE, cast(ModelSession, Judge(SHOWN | changes)), 0)
    assert (found[0] if found else "") == misstep


async def test_an_answer_that_holds_the_value_is_no_fault() -> None:
    told = [*DIALOGUE[:2], Utterance("user", "Yes, please. The drill."), *DIALOGUE[3:]]
    assert await find_user_fault(KNOWN, told, cast(ModelSession, Judge(SHOWN)), 0) is None


async def test_a_judge_without_a_usable_reply_leaves_the_failure_where_it_was() -> None:
    assert await find_user_fault(KNOWN, DIALOGUE, cast(ModelSession, Judge(None)), 0) is None


class Asks:
    """Asks once whether to go on, and then does nothing."""

    name = "careless"
    listens = False
    says: Iterator[str] = iter(())

    def begin(self, *_: Any) -> "Asks":
        self.says = iter(["Shall I lend it?"])
        return self

    def act(self, _: Any) -> Say:
        return Say(next(self.says, "I cannot do that."))


@pytest.mark.parametrize(("umpire", "outcome"), [(True, "error"), (False, "fail")])
async def test_a_conversation_that_its_user_spoilt_is_an_error_and_no_failure(
    umpire: bool, outcome: str, sandbox: Sandbox
) -> None:
    judge = Judge(
        {
            "fault": "withheld",
            "fact": "tool",
            "question": "Shall I lend it?",
            "answer": "Yes, please.",
        }
    )
    more: dict[str, Any] = {
        "models": cast(ModelSession, judge),
        "form": "conversation",
        "umpire": umpire,
    }
    rollout = await play_on(
        RolloutSetup.of(TALK, SHED), cast(Any, Asks()), sandbox, "probe", 0, **more
    )
    assert (rollout.outcome, rollout.reward is None) == (outcome, umpire)
    assert (rollout.termination, rollout.misstep) == (
        ("user_fault", "withholds") if umpire else ("user_stopped", "")
    )
    assert judge.asked == umpire


async def test_nobody_gains_by_spoiling_conversations() -> None:
    honest, spoiler = AttemptTally.of(make_probes("ppff")), AttemptTally.of(make_probes("ppuu"))
    assert honest.rate == spoiler.rate == 0.5
    assert AttemptTally.of(make_probes("ppee")).rate == 1.0
