"""Suspicions about the simulated user: recorded, and a fault only where a judge quotes what the
conversation bears out."""

from typing import Any, cast

import pytest

from envmill.agents.attempts import make_player
from envmill.agents.base import Actor, Move, Say
from envmill.agents.estimates import AttemptTally
from envmill.agents.limits import RolloutLimits
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.missteps import find_misstep, list_suspicions
from envmill.agents.users.umpire import find_user_fault
from envmill.models.session import ModelSession
from envmill.sandbox import Sandbox
from schemas.base import Contract
from schemas.environment import Call
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import UserContract
from schemas.turns import FaultReply, UserReply
from tests.agents.talks import SHED, TALK, TOLD
from tests.specimens import make_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")

LENDS = (Call(name="list_tools"), Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}))
LIVE = "Which size of boots shall I take down for her? How many cents is she paying by card?"
SKATES = TOLD.model_copy(
    update={
        "facts": {"item": "38", "payment": 1250},
        "hidden": ["item", "payment"],
        "opening": "She wants a pair and pays at once.",
    }
)
BOTH_TOLD = "Size 38, and she pays 1250 cents."
NAMED = "The drill, for Ada."
"""To what the scripted policy asks by itself before it uses what is hidden."""
BLURTS = "All right. By the way, it is for Ada."
TOLD_UNASKED = {
    "fault": "told_unasked",
    "fact": "member_name",
    "question": "One moment, I look at the list.",
    "answer": BLURTS,
}


class Speaks:
    """A policy that plays what it is given."""

    name, listens = "speaks", True

    def __init__(self, *moves: Move) -> None:
        self._moves = moves

    def begin(self, *_: Any) -> Actor:
        self._left = iter(self._moves)
        return self

    def act(self, last: Any) -> Move:
        return next(self._left, Say("It is lent."))


class Models:
    """The models that play user and judge, each with fixed replies."""

    def __init__(
        self, says: list[str], rules: dict[str, str] | None = None, judge: str = "judge-1"
    ) -> None:
        self._says, self._rules, self._judge = iter(says), rules or {"fault": "none"}, judge
        self.judged = list[Any]()

    def name_model(self, role: str) -> str:
        return self._judge if role == "judge" else "user-1"

    def name_provider(self, role: str) -> str:
        return "offline" if self.name_model(role) == "author" else "somebody"

    async def ask(self, _prompt: Any, inputs: Any, _reply: Any, *, role: str, **_: Any) -> Contract:
        if role == "judge":
            self.judged.append(inputs)
            return FaultReply.model_validate(self._rules)
        text = next(self._says, "")
        return UserReply(text=text, stop=not text)


async def play(
    moves: list[Move], models: Models, sandbox: Sandbox, user: UserContract = TOLD, **more: Any
) -> Rollout:
    more = {
        "form": "conversation",
        "user": "model",
        "umpire": True,
        "models": cast(ModelSession, models),
    } | more
    return await play_on(
        RolloutSetup.of(make_scenario(SHED, user=user), SHED),
        cast(Any, Speaks(*moves)),
        sandbox,
        "probe",
        0,
        **more,
    )


BLURTED: list[Move] = [Say("One moment, I look at the list."), *LENDS]


@pytest.mark.parametrize(
    ("umpire", "rules", "rulings"),
    [
        pytest.param(False, {}, ["unasked"], id="without a judge"),
        pytest.param(
            True, {"fault": "none"}, ["unconfirmed"], id="with a judge that finds nothing"
        ),
    ],
)
async def test_two_questions_in_one_message_spoil_nothing(
    umpire: bool, rules: Any, rulings: list[str], sandbox: Sandbox
) -> None:
    rollout = await play(
        [Say(LIVE), *LENDS], Models([BOTH_TOLD, BOTH_TOLD], rules), sandbox, SKATES, umpire=umpire
    )
    assert (rollout.outcome, rollout.termination, rollout.misstep) == ("pass", "user_stopped", "")
    assert [(one.misstep, one.ruling) for one in rollout.suspected] == [
        ("reveals", one) for one in rulings
    ]
    assert (rollout.suspected[0].asked, rollout.suspected[0].answer) == (LIVE, BOTH_TOLD)


async def test_a_secret_that_is_told_unasked_is_suspected_without_a_judge(sandbox: Sandbox) -> None:
    rollout = await play(BLURTED, Models([BLURTS, NAMED]), sandbox, umpire=False)
    assert (rollout.outcome, rollout.misstep, [one.misstep for one in rollout.suspected]) == (
        "pass",
        "",
        ["reveals"],
    )


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        pytest.param({}, "error", id="both quotes stand there"),
        pytest.param(
            {"answer": "My name is Ada, by the way."}, "pass", id="an answer that nobody gave"
        ),
        pytest.param({"question": "Can I help you?"}, "pass", id="a question that nobody asked"),
        pytest.param({"question": ""}, "pass", id="no question"),
        pytest.param({"fact": "tool"}, "pass", id="a value that was not told"),
        pytest.param({"fact": "occasion"}, "pass", id="a fact that is not hidden"),
        pytest.param({"fault": "invented"}, "pass", id="a fault that the answer does not show"),
        pytest.param(
            {"fault": "withheld", "fact": "tool"},
            "pass",
            id="a fault that nobody suspected where the attempt passed",
        ),
    ],
)
async def test_a_judge_makes_it_a_fault_where_it_is_borne_out(
    changes: dict[str, str], outcome: str, sandbox: Sandbox
) -> None:
    rollout = await play(BLURTED, Models([BLURTS, NAMED], TOLD_UNASKED | changes), sandbox)
    assert (rollout.outcome, rollout.reward is None) == (outcome, outcome == "error")
    found = (
        ("user_fault", "reveals", "confirmed")
        if outcome == "error"
        else ("user_stopped", "", "unconfirmed")
    )
    assert (rollout.termination, rollout.misstep, rollout.suspected[0].ruling) == found


async def test_the_judge_is_not_told_what_is_suspected(sandbox: Sandbox) -> None:
    models = Models([BLURTS, NAMED])
    await play(BLURTED, models, sandbox)
    shown = models.judged[0].model_dump()
    assert set(shown) == {"persona", "goals", "facts", "hidden", "deeds", "fallbacks", "dialogue"}
    assert "reveals" not in str(shown)


async def test_an_unsuspected_conversation_that_passed_is_shown_to_no_judge(
    sandbox: Sandbox,
) -> None:
    models = Models([NAMED])
    rollout = await play([*LENDS], models, sandbox)
    assert (rollout.outcome, rollout.suspected, models.judged) == ("pass", [], [])


PROVOKED = "I want it soon, for the weekend at last."


@pytest.mark.parametrize("umpire", [True, False])
async def test_an_agent_that_provokes_faults_gains_nothing(umpire: bool, sandbox: Sandbox) -> None:
    nonsense: list[Move] = [Say(f"How {word} is it?") for word in ("green", "late", "loud", "old")]
    rules = {"fault": "repeated", "question": "How loud is it?", "answer": PROVOKED}
    rollout = await play(
        nonsense,
        Models([PROVOKED] * 4, rules),
        sandbox,
        umpire=umpire,
        limits=RolloutLimits(turns=4),
    )
    assert [one.misstep for one in rollout.suspected][:1] == ["repeats"]
    assert (rollout.outcome, rollout.misstep) == (("error", "repeats") if umpire else ("fail", ""))
    honest = await play([Say("I cannot do that.")], Models([""]), sandbox, umpire=False)
    assert AttemptTally.of([rollout] * 4).rate == AttemptTally.of([honest] * 4).rate == 0.0


async def test_a_user_who_goes_on_to_the_limit_is_suspected_and_the_agent_is_judged(
    sandbox: Sandbox,
) -> None:
    done: list[Move] = [*LENDS, *[Say("It is lent.")] * 3]
    talks = [NAMED, "Well, fine.", "And so on.", "As I said."]
    rollout = await play(done, Models(talks), sandbox, umpire=False, limits=RolloutLimits(turns=4))
    assert (rollout.outcome, rollout.termination) == ("pass", "user_gave_up")
    assert rollout.suspected[-1].misstep == "never_stops"
    rules = {"fault": "went_on", "question": "It is lent.", "answer": "As I said."}
    assert (
        await play(done, Models(talks, rules), sandbox, limits=RolloutLimits(turns=4))
    ).outcome == "error"


@pytest.mark.parametrize(
    ("named", "judge", "asked"), [("a:b", "judge-1", 1), ("", "judge-1", 0), ("a:b", "author", 0)]
)
async def test_only_a_judge_that_the_run_names_and_that_is_a_model_is_asked(
    named: str, judge: str, asked: int, sandbox: Sandbox
) -> None:
    models, config = (
        Models([BLURTS, NAMED], judge=judge),
        RunConfig(judge=named, form="conversation", person="model"),
    )
    scenario = make_scenario(SHED, user=TOLD)
    await make_player(
        cast(Any, Speaks(*BLURTED)),
        scenario,
        SHED,
        sandbox,
        "probe",
        cast(ModelSession, models),
        config,
    )(0)
    assert len(models.judged) == asked


MOVES = UserKnowledge(TALK.user, TALK.request, {"pay fine": Call(name="pay_fine", actor="user")})
DEED_TOLD = "Fine. I have done it: pay fine."


@pytest.mark.parametrize(
    ("dialogue", "reply", "misstep"),
    [
        pytest.param(
            ["One moment.", DEED_TOLD],
            {"fault": "acted_unasked", "fact": "pay fine"},
            "oversteps",
            id="acts unasked",
        ),
        pytest.param(
            ["One moment.", "Fine."],
            {"fault": "acted_unasked", "fact": "pay fine"},
            "",
            id="does nothing",
        ),
        pytest.param(
            ["One moment.", "It is for 75 euros."], {"fault": "invented"}, "invents", id="invents"
        ),
        pytest.param(
            ["It costs 75 euros.", "75 euros are fine."],
            {"fault": "invented"},
            "",
            id="says what the agent named",
        ),
        pytest.param(
            ["Which tool?", "I leave."],
            {"fault": "ended_early", "fact": "tool"},
            "stops_early",
            id="leaves",
        ),
        pytest.param(
            ["Which tool?", "Hm.", "Which one?", "The drill."],
            {"fault": "ended_early", "fact": "tool"},
            "",
            id="stays",
        ),
        pytest.param(
            ["Which tool?", "The saw."],
            {"fault": "contradicted", "fact": "tool"},
            "contradicts",
            id="contradicts",
        ),
        pytest.param(
            ["Which tool?", "The drill."],
            {"fault": "contradicted", "fact": "tool"},
            "",
            id="says it",
        ),
        pytest.param(["Hm.", "Now."], {"fault": "repeated"}, "", id="says it once"),
        pytest.param(["Hm.", "Now."], {"fault": "went_on"}, "", id="goes on once"),
    ],
)
async def test_every_fault_needs_its_witness(
    dialogue: list[str], reply: dict[str, str], misstep: str
) -> None:
    said = [
        Utterance("user", "Hello."),
        *(Utterance("user" if place % 2 else "agent", text) for place, text in enumerate(dialogue)),
    ]
    quoted = {"question": dialogue[0], "answer": dialogue[1]} | reply
    found = await find_user_fault(MOVES, said, cast(ModelSession, Models([], quoted)), 0)
    assert (found[0] if found else "") == misstep


async def test_a_value_that_a_stored_question_asked_for_is_never_told_unasked() -> None:
    stored = TALK.user.model_copy(update={"wordings": {"member_name": ["Who is it for?"]}})
    said = [
        Utterance("user", "Hello."),
        Utterance("agent", "Who is it for?"),
        Utterance("user", "For Ada."),
    ]
    rules = {
        "fault": "told_unasked",
        "fact": "member_name",
        "question": "Who is it for?",
        "answer": "For Ada.",
    }
    for contract, misstep in ((TALK.user, "reveals"), (stored, "")):
        found = await find_user_fault(
            UserKnowledge(contract, TALK.request), said, cast(ModelSession, Models([], rules)), 0
        )
        assert (found[0] if found else "") == misstep


async def test_words_alone_prove_nothing() -> None:
    dialogue = [Utterance("user", SKATES.opening), Utterance("agent", LIVE)]
    known, answer = UserKnowledge(SKATES, SKATES.opening), UserAnswer(BOTH_TOLD)
    assert (find_misstep(known, dialogue, answer), list_suspicions(known, dialogue, answer)) == (
        "",
        ["reveals"],
    )
