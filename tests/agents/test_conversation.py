"""The same scenario in a conversation: what is hidden is asked for, users are held to their
contract, and both forms can be stored."""

import json
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.attempts import choose_form
from envmill.agents.base import Actor, Move, Say, Wait
from envmill.agents.limits import RolloutLimits
from envmill.agents.log import StoredCall, read_moves
from envmill.agents.replay import replay_rollout
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.base.errors import SettingsError
from envmill.sandbox import Observation, Sandbox
from envmill.stages.collect import make_trajectory
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.agents.talks import LEND, LIST, OWN, SHED, TALK, fault, turn
from tests.models.calling import open_door
from tests.models.vendors.launch import Loopback
from tests.specimens import make_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")


def lines(rollout: Rollout) -> list[str]:
    return [
        entry["content"]
        for entry in rollout.transcript
        if entry["role"] in ("user", "assistant") and entry["content"]
    ]


async def test_the_reference_policy_asks_before_it_uses_what_is_hidden(sandbox: Sandbox) -> None:
    rollout = await play_scenario(
        find_policy("reference"), TALK, SHED, sandbox, "probe", 0, form="conversation"
    )
    assert (rollout.outcome, rollout.termination, rollout.form, rollout.steps) == (
        "pass",
        "user_stopped",
        "conversation",
        2,
    )
    assert lines(rollout) == [
        TALK.user.opening,
        "Could you tell me the tool and the member name?",
        "The tool is drill. The member name is Ada.",
        "Done: everything you asked for is in place.",
    ]
    assert [entry["role"] for entry in rollout.transcript][3:6] == [
        "user",
        "assistant",
        "tool",
    ] or "tool_calls" in rollout.transcript[2]
    assert await replay_rollout(rollout, TALK, SHED, sandbox) is None
    assert not (await rescore(rollout, TALK, SHED, sandbox)).changed
    single = await play_scenario(find_policy("reference"), TALK, SHED, sandbox, "probe", 0)
    assert (single.outcome, single.form, lines(single)[0]) == ("pass", "single", TALK.request)
    assert single.id != rollout.id


class Moves:
    """Plays what it is given, as a listener or not."""

    name = "moves"

    def __init__(self, *moves: Move, listens: bool) -> None:
        self._moves, self.listens = moves, listens

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        self._left = iter(self._moves)
        return self

    def act(self, last: Observation | Say | None) -> Move:
        return next(self._left, Say("Well, that is all."))


LENT = Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}, actor="user")
OTHERS = Call(name="list_tools", arguments={"free_only": "yes"}, actor="user")
BOTH = make_scenario(OWN, oracle=[Call(name="list_tools"), LENT])
ASKS = Say("Could you please lend it to yourself?")


@pytest.mark.parametrize(
    ("moves", "outcome", "told"),
    [
        pytest.param([ASKS], "pass", "All right. I have done it: lend.", id="asked"),
        pytest.param(
            [ASKS, ASKS], "pass", "All right. I had done that already: lend.", id="asked twice"
        ),
        pytest.param(
            [LENT],
            "pass",
            "All right. I have done it: lend.",
            id="a script's call is left to the user",
        ),
        pytest.param([OTHERS], "fail", "", id="nobody acts in the user's name"),
        pytest.param(
            [LENT.model_copy(update={"actor": "agent"})], "fail", "", id="the agent calls it"
        ),
        pytest.param([], "fail", "", id="not asked"),
    ],
)
@pytest.mark.parametrize("listens", [True, False])
async def test_what_only_the_user_may_do_is_done_when_it_is_asked_for(
    moves: list[Move], outcome: str, told: str, listens: bool, sandbox: Sandbox
) -> None:
    rollout = await play_scenario(
        Moves(*moves, listens=listens), BOTH, OWN, sandbox, "probe", 0, form="conversation"
    )
    done = [
        (one.call.actor, one.content["ok"])
        for one in read_moves(rollout.transcript)
        if isinstance(one, StoredCall)
    ]
    if outcome == "pass":
        assert done == [("user", True)]
        assert told in lines(rollout)
    else:
        assert ("user", True) not in done
        assert not any(ok for _, ok in done)
    assert rollout.outcome == outcome
    assert await replay_rollout(rollout, BOTH, OWN, sandbox) is None
    assert not (await rescore(rollout, BOTH, OWN, sandbox)).changed


async def test_a_deed_that_is_refused_is_told_and_can_be_tried_again(sandbox: Sandbox) -> None:
    late = make_scenario(
        OWN, oracle=[LENT.model_copy(update={"arguments": {"tool_id": "T3", "member_id": "M1"}})]
    )
    rollout = await play_scenario(
        Moves(ASKS, ASKS, listens=True), late, OWN, sandbox, "probe", 0, form="conversation"
    )
    assert (
        lines(rollout).count(
            "All right. I tried (lend), and it was refused: The tool is lent already."
        )
        == 2
    )
    assert (rollout.steps, rollout.outcome) == (2, "fail")


async def test_a_trainer_sees_words_where_the_user_acted(sandbox: Sandbox) -> None:
    rollout = await play_scenario(
        find_policy("reference"), BOTH, OWN, sandbox, "probe", 0, form="conversation"
    )
    assert rollout.outcome == "pass"
    assert any(entry["role"] == "user" and "tool_calls" in entry for entry in rollout.transcript)
    kept = make_trajectory(rollout, BOTH, OWN)
    assert [entry["role"] for entry in kept.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert len(kept.messages) == len(kept.loss)
    assert not any(
        "actor" in call for entry in kept.messages for call in entry.get("tool_calls", ())
    )
    assert len(kept.state_hashes) == 1
    assert "lend" not in [tool["name"] for tool in kept.tools]


async def test_where_the_user_has_to_act_nothing_is_asked_all_at_once(sandbox: Sandbox) -> None:
    with pytest.raises(SettingsError, match="form=conversation"):
        await play_scenario(find_policy("reference"), BOTH, OWN, sandbox, "probe", 0)
    assert {
        choose_form(RunConfig(form=form), BOTH, 0) for form in ("single", "mixed", "conversation")
    } == {"conversation"}
    assert choose_form(RunConfig(form="single"), TALK, 1) == "single"


CALLS = (Call(name="list_tools"), Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}))
REFUSED = Call(name="lend", arguments={"tool_id": "T3", "member_id": "M1"})


@pytest.mark.parametrize("form", ["single", "conversation"])
@pytest.mark.parametrize(
    "moves",
    [
        pytest.param((*CALLS, Say("Done.")), id="right"),
        pytest.param(
            (Say("Which tool?"), *CALLS, Wait(3600.0), REFUSED, Say("Done.")),
            id="asked, waited, was refused",
        ),
        pytest.param((Say("How old are you?"),) * 5, id="asked for nothing"),
    ],
)
async def test_one_message_to_the_jail_and_one_per_move_come_to_the_same(
    sandbox: Sandbox, moves: Any, form: Any
) -> None:
    heard, rehearsed = [
        await play_scenario(
            Moves(*moves, listens=listens), TALK, SHED, sandbox, "probe", 0, form=form
        )
        for listens in (True, False)
    ]
    assert heard == rehearsed


@pytest.mark.parametrize(
    ("moves", "limits", "termination", "outcome"),
    [
        pytest.param(
            [Say("How old are you?")] * 9,
            RolloutLimits(),
            "user_gave_up",
            "fail",
            id="the user has had enough",
        ),
        pytest.param(
            [Say("Shall I go on?")] * 9,
            RolloutLimits(turns=3),
            "user_gave_up",
            "fail",
            id="too many messages",
        ),
        pytest.param(
            [CALLS[0]] * 9, RolloutLimits(steps=2), "step_limit", "fail", id="too many calls"
        ),
        pytest.param(
            [Wait(600.0)] * 9, RolloutLimits(seconds=3000), "time_limit", "fail", id="too much time"
        ),
        pytest.param([*CALLS, Say("Lent.")], RolloutLimits(), "user_stopped", "pass", id="content"),
    ],
)
async def test_ends_of_a_conversation(
    sandbox: Sandbox, moves: Any, limits: RolloutLimits, termination: str, outcome: str
) -> None:
    rollout = await play_scenario(
        Moves(*moves, listens=False),
        TALK,
        SHED,
        sandbox,
        "probe",
        0,
        form="conversation",
        limits=limits,
    )
    assert (rollout.termination, rollout.outcome) == (termination, outcome)


def user(text: str, stop: bool = False) -> dict[str, Any]:
    """The model that plays the user says so."""
    return turn(json.dumps({"text": text, "stop": stop}), match="You play a person")


USER_ENDS = [
    pytest.param(
        [user("The drill. My name is Ada."), user("Thank you.", stop=True)],
        "user_stopped",
        "",
        "pass",
        id="as it should be",
    ),
    pytest.param(
        [user("The drill, for 75 euros."), user("Thank you.", stop=True)],
        "user_stopped",
        "",
        "pass",
        id="is suspected alone",
    ),
    pytest.param(
        [user("Forget it.", stop=True)],
        "user_stopped",
        "",
        "fail",
        id="stops early, as words suggest",
    ),
    pytest.param(
        [turn("Hm.", match="You play a person")] * 3,
        "user_fault",
        "silent",
        "error",
        id="says nothing usable",
    ),
]


@pytest.mark.parametrize(("answers", "termination", "misstep", "outcome"), USER_ENDS)
async def test_a_model_plays_the_user_and_its_missteps_are_masked(
    vendors: Loopback,
    tmp_path: Path,
    sandbox: Sandbox,
    answers: Any,
    termination: str,
    misstep: str,
    outcome: str,
) -> None:
    vendors.script(
        *answers,
        turn("Which tool, and what is your name?"),
        turn("", LIST, LEND),
        turn("The drill is lent to Ada."),
    )
    async with open_door("openai", vendors.root, tmp_path) as door:
        models = door.open_session("scenarios-filter", TALK.id)
        rollout = await play_scenario(
            find_policy("model"),
            TALK,
            SHED,
            sandbox,
            "probe",
            0,
            models=models,
            form="conversation",
            user="model",
        )
    assert (rollout.termination, rollout.misstep, rollout.outcome) == (
        termination,
        misstep,
        outcome,
    )
    assert (rollout.reward is None) == (outcome == "error")
    assert not (await rescore(rollout, TALK, SHED, sandbox)).changed
    asked = next(
        one["body"] for one in vendors.requests() if "You play a person" in str(one["body"])
    )
    assert "Assistant: Which tool, and what is your name?" in str(asked)


@pytest.mark.long
async def test_a_user_who_cannot_be_reached_is_an_outage(
    vendors: Loopback, tmp_path: Path, sandbox: Sandbox
) -> None:
    vendors.script(turn("Which tool?"), fault("You play a person", 9, status=529))
    async with open_door("anthropic", vendors.root, tmp_path) as door:
        models = door.open_session("scenarios-filter", TALK.id)
        rollout = await play_scenario(
            find_policy("model"),
            TALK,
            SHED,
            sandbox,
            "probe",
            0,
            models=models,
            form="conversation",
            user="model",
        )
    assert (rollout.termination, rollout.outcome, rollout.reward) == ("outage", "error", None)


@pytest.mark.parametrize(
    ("policy", "person", "told"),
    [
        ("model", "scripted", "The policy is a model"),
        ("reference", "model", "A model is to play the user"),
    ],
)
async def test_a_model_without_a_door_is_told_so(
    sandbox: Sandbox, policy: str, person: str, told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        await play_scenario(
            find_policy(policy), TALK, SHED, sandbox, "probe", 0, form="conversation", user=person
        )
