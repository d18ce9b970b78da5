"""Users who talk and act differently: right dialogues pass with each of them, and those of one
split never meet the other's scenarios."""

import re

import pytest

from envmill.agents import find_policy
from envmill.agents.attempts import make_player
from envmill.agents.limits import RolloutLimits
from envmill.agents.rollout import play_scenario
from envmill.agents.users import USERS
from envmill.agents.users.base import UserKnowledge, Utterance
from envmill.agents.users.hearing import understand
from envmill.agents.users.manners import MANNERS, choose_manner, is_mixed, list_manners
from envmill.agents.users.scripted import ScriptedUser
from envmill.interop.bundles.envrun import bundle as folder
from envmill.sandbox import Sandbox
from envmill.verifiers.consent import is_yes
from schemas.run import RunConfig
from tests.agents.roles import IN_A_HURRY, Replies
from tests.agents.talks import KNOWN, SHED, TALK
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import SCENARIOS

pytestmark = pytest.mark.asyncio(loop_scope="module")

TITLES = sorted(SCENARIOS)
LONG = RolloutLimits(steps=90, turns=60)
FLIGHT = load().scenarios[TITLES.index("flight")]


@pytest.mark.parametrize("manner", MANNERS)
async def test_right_dialogues_pass_with_each_user(manner: str, sandbox: Sandbox) -> None:
    found, reference = load(), find_policy("reference")
    for scenario in found.scenarios:
        made = await play_scenario(
            reference,
            scenario,
            found.environment,
            sandbox,
            "shown",
            1,
            form="conversation",
            manner=manner,
            limits=LONG,
        )
        assert (made.outcome, made.reward, made.suspected) == ("pass", 1.0, []), (
            scenario.number,
            made.reason,
            made.detail,
        )
        assert (made.person, made.manner) == ("scripted", manner)
    made = await play_scenario(
        reference, TALK, SHED, sandbox, "shown", 1, form="conversation", manner=manner
    )
    assert (made.outcome, made.suspected) == ("pass", [])


async def test_each_user_says_something_else(sandbox: Sandbox) -> None:
    """Where two said the same they would be one user, and a split of them would hold nothing
    back."""
    told = dict[str, str]()
    for manner in MANNERS:
        made = await play_scenario(
            find_policy("reference"),
            FLIGHT,
            load().environment,
            sandbox,
            "shown",
            1,
            form="conversation",
            manner=manner,
            limits=LONG,
        )
        told[manner] = "\n".join(
            entry["content"] for entry in made.transcript if entry["role"] == "user"
        )
    assert len(set(told.values())) == len(MANNERS)


async def test_what_a_user_says_besides_is_no_yes_and_no_value() -> None:
    """A remark beside an answer must not decide whether a call was agreed to."""
    asked = [
        "Could you tell me the tool?",
        "What is your shoe size?",
        "Could you tell me the member name?",
        "What is the colour?",
        "How can I help you?",
    ]
    for manner in MANNERS:
        for question in asked:
            dialogue = [Utterance("user", TALK.user.opening), Utterance("agent", question)]
            answer = await MANNERS[manner].make(KNOWN).answer(dialogue)
            assert not is_yes(answer.text), (manner, answer.text)
            assert not re.search(r"\d", answer.text)
    consent = [
        Utterance("user", TALK.user.opening),
        Utterance("agent", "Shall I lend you the drill now?"),
    ]
    for manner in MANNERS:
        assert is_yes((await MANNERS[manner].make(KNOWN).answer(consent)).text), manner


async def test_who_asks_once_gets_nothing_from_who_forgets() -> None:
    """The second question is needed, and a third one is not."""
    user, asked = MANNERS["forgetful"].make(KNOWN), "Could you tell me the tool?"
    dialogue = [Utterance("user", TALK.user.opening), Utterance("agent", asked)]
    first = await user.answer(dialogue)
    again = await user.answer([*dialogue, Utterance("user", first.text), Utterance("agent", asked)])
    assert "drill" not in first.text
    assert "drill" in again.text
    assert "tool" in understand(asked, TALK.user).facts


async def test_users_are_split() -> None:
    train, test = list_manners("train"), list_manners("test")
    assert len(MANNERS) == len(train) + len(test)
    assert len(train) >= 3
    assert len(test) >= 2
    assert list_manners("validation") == train
    assert {choose_manner("test", number) for number in range(9)} == set(test)
    assert {choose_manner("train", number) for number in range(9)} == set(train)
    assert is_mixed("chatty", "train")
    assert is_mixed("terse", "test")
    assert not any(is_mixed(one, "validation") for one in ("", *train))
    # The folder says the same without importing it.
    assert {split: list(names) for split, names in folder.MANNERS.items()} == {
        "train": train,
        "test": test,
    }


@pytest.mark.parametrize(
    ("form", "numbers"), [("conversation", range(4)), ("mixed", range(1, 8, 2))]
)
async def test_a_run_gives_each_scenario_the_users_of_its_split(
    form: str, numbers: range, sandbox: Sandbox
) -> None:
    """In a mixed run, too, where every other attempt is a conversation."""
    for split in ("train", "test"):
        scenario = TALK.model_copy(update={"split": split})
        for manners, expected in (("contract", {""}), ("split", set(list_manners(split)))):
            config = RunConfig.model_validate(
                {"form": form, "manners": manners, "person": "scripted"}
            )
            play = make_player(
                find_policy("reference"), scenario, SHED, sandbox, "probe", None, config
            )
            made = [await play(number) for number in numbers]
            assert {one.manner for one in made} == expected
            assert not any(is_mixed(one.manner, split) for one in made)
            assert len({one.id for one in made}) == len(made)


async def test_another_user_is_another_rollout(sandbox: Sandbox) -> None:
    """Ids of rollouts without a manner stay what they were."""
    made = [
        await play_scenario(
            find_policy("reference"),
            TALK,
            SHED,
            sandbox,
            "probe",
            1,
            form="conversation",
            manner=manner,
        )
        for manner in ("", "terse", "chatty")
    ]
    assert len({one.id for one in made}) == 3
    single = await play_scenario(
        find_policy("reference"), TALK, SHED, sandbox, "probe", 1, manner="terse"
    )
    assert (single.person, single.manner) == ("", "")


async def test_a_model_is_told_the_manner() -> None:
    for manner in ("", "anxious"):
        session = Replies(IN_A_HURRY)
        person = USERS["model"](UserKnowledge.of(FLIGHT, manner), session.session, 0)
        await person.answer(
            [
                Utterance("user", FLIGHT.user.opening),
                Utterance("agent", "Could you please see display yourself?"),
            ]
        )
        (inputs,) = session.asked
        assert inputs.persona.startswith(FLIGHT.user.persona)
        assert ("afraid" in inputs.persona) == bool(manner)


async def test_a_contract_without_a_manner_is_played_as_ever() -> None:
    assert isinstance(USERS["scripted"](KNOWN, None, 0), ScriptedUser)
