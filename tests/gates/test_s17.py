"""S17: every hidden fact is told in every stored wording, and to nobody who asks for something
else."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from envmill.base.errors import Outage
from envmill.gates.base import Finding, GateContext
from envmill.gates.s17 import CODES, check
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Completion, Request
from envmill.models.gateway import Gateway, ModelSession
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.environment import Call
from schemas.scenario import UserContract
from schemas.turns import UserReply
from tests.gates.specimens import pose
from tests.offline.questions import SAMPLE, ask_scenario

BOOKING: dict[str, Any] = {
    "opening": "The master of the Sorrel Bay wants a certain tug at a certain berth, I can tell you "
    "which.",
    "facts": {"vessel": "Sorrel Bay", "tug": "Bison", "berth": "Q2", "new day": "2026-03-05"},
    "hidden": ["tug", "berth"],
    "wordings": {
        "tug": [
            "Which tug does the master want?",
            "What is she called?",
            "Whom shall I send to help her in?",
            "And the tug?",
            "Which one?",
        ],
        "berth": [
            "Where is she to lie?",
            "Which berth shall I enter?",
            "What is the quay's code?",
            "I need the place.",
            "To which quay?",
        ],
    },
}
REQUEST = "Book the Bison for the Sorrel Bay at berth Q2 on 5 March 2026."


class Played:
    """A model that plays the user in one fixed manner."""

    def __init__(self, *says: str) -> None:
        self.says, self.asked, self.again = says, list[Any](), list[Any]()
        self.waiting = self.most = 0

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **how: Any) -> UserReply:
        (self.again if how["sample"] else self.asked).append(inputs)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        return UserReply(text=self.says[len(self.asked) % len(self.says)], stop=False)


class Slipping(Played):
    """A model that tells what it is asked for, but in its first answer, or in all, to one
    question."""

    def __init__(self, question: str, answer: str, *, always: bool = False) -> None:
        super().__init__(answer)
        self.question, self.always = question, always

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **how: Any) -> UserReply:
        wrong = await super().ask(prompt, inputs, reply, **how)
        asked = inputs.dialogue.partition("Assistant: ")[2]
        if asked == self.question and (self.always or not how["sample"]):
            return wrong
        told = [
            f"The {name} is {BOOKING['facts'][name]}."
            for name, questions in BOOKING["wordings"].items()
            if any(one in asked for one in questions)
        ]
        return UserReply(text=" ".join(told) or "I do not know.", stop=False)


async def judge(
    sandbox: Sandbox,
    changes: Mapping[str, Json] | None = None,
    played: Played | None = None,
    **means: Any,
) -> Finding:
    user = UserContract.model_validate(BOOKING | dict(changes or {}))
    return await check(
        pose(user=user, request=REQUEST), GateContext(sandbox, cast(ModelSession, played), **means)
    )


async def test_a_fact_is_told_in_every_wording_alone_and_in_pairs(sandbox: Sandbox) -> None:
    found = await judge(sandbox)
    assert (found.outcome, found.evidence["user"]) == ("kept", "scripted")
    assert (found.evidence["asked"], found.evidence["made"]) == (5 + 5 + 1 + 1, 0)
    sealed, opened = [await judge(sandbox, probes=probes) for probes in ("sealed", "open")]
    assert sealed.evidence["asked"] + opened.evidence["asked"] == found.evidence["asked"]
    assert sealed.evidence["asked"] >= found.evidence["asked"] // 4


FACTS = ("tug", "berth", "new day", "pilot", "channel")
VALUES = dict(zip(FACTS, ("Bison", "Q2", "2026-03-05", "Arne Vik", 12), strict=True))


def hide(number: int, known: int = 3) -> dict[str, Any]:
    """A contract with so many hidden facts and facts of the opening, each hidden one with seven
    questions."""
    hidden = list(FACTS[:number])
    shown = {f"matter {place}": f"Thing {place}" for place in range(known)}
    asks = (
        "What {} is it?",
        "Which {} shall I enter?",
        "Name the {}.",
        "I need the {}.",
        "And the {}?",
        "The {}, please?",
        "Your {}?",
    )
    facts = shown | {name: VALUES[name] for name in hidden}
    return {
        "facts": facts,
        "hidden": hidden,
        "wordings": {name: [one.format(name) for one in asks] for name in hidden},
    }


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
async def test_a_model_is_asked_six_questions_for_each_hidden_fact_side_by_side(
    number: int, sandbox: Sandbox
) -> None:
    played, contract = Played("Hm."), hide(number)
    await judge(sandbox, contract, played)
    messages = [one.dialogue.partition("Assistant: ")[2] for one in played.asked]
    assert (len(messages), len(set(messages)), played.most) == (6 * number, 6 * number, 6 * number)
    for name in contract["hidden"]:
        stored = contract["wordings"][name][:5]
        assert set(stored) <= set(messages)
        assert number == 1 or any(
            one in message and message != one for one in stored for message in messages
        )
    assert any(not any(name in message for name in contract["hidden"]) for message in messages)


async def test_an_open_and_a_sealed_round_ask_nothing_twice(sandbox: Sandbox) -> None:
    rounds = [Played("Hm."), Played("Hm.")]
    for played, probes in zip(rounds, ("open", "sealed"), strict=True):
        await judge(sandbox, hide(3), played, probes=probes)
    messages = [one.dialogue for played in rounds for one in played.asked]
    assert (len(messages), len(set(messages))) == (18, 18)
    sealed = {
        name
        for one in rounds[1].asked
        for name in FACTS[:3]
        if name in one.dialogue.partition("Assistant: ")[2]
    }
    assert sealed == set(FACTS[:3])


class Counting:
    """A provider that counts its calls."""

    name, model, calls = "counting", "m", 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        return Completion(json.dumps({"text": "Hm.", "stop": False}))

    async def close(self) -> None:
        return


async def test_a_model_is_asked_once_in_the_life_of_a_scenario(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    subject, provider = (
        pose(user=UserContract.model_validate(BOOKING | hide(2)), request=REQUEST),
        Counting(),
    )
    for _ in range(2):
        known = {(call.request, call.sample): call for call in read_calls(tmp_path) if call.answers}
        journal = Journal(tmp_path)
        models = Gateway(provider, journal, known, 1).open_session(
            "scenarios-verify", subject.scenario.id
        )
        assert (await check(subject, GateContext(sandbox, models))).reason == "withheld"
        await journal.close()
    assert provider.calls == 12 + 11  # each that was answered wrongly is asked once more


async def test_a_model_that_is_out_of_reach_is_an_error_of_the_gate(sandbox: Sandbox) -> None:
    class Gone(Played):
        async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> UserReply:
            raise Outage("gone")

    found = await judge(sandbox, hide(2), Gone())
    assert (found.outcome, found.reason) == ("error", "unreached")


async def test_older_scenarios_are_asked_by_the_names_of_their_facts(sandbox: Sandbox) -> None:
    found = await judge(sandbox, {"wordings": {}})
    assert (found.outcome, found.evidence["asked"], found.evidence["made"]) == ("kept", 12, 10)


async def test_a_question_stored_for_two_facts_tells_what_was_not_asked_for(
    sandbox: Sandbox,
) -> None:
    shared = {
        "tug": BOOKING["wordings"]["tug"],
        "berth": [*BOOKING["wordings"]["berth"][:4], "Which one?"],
    }
    found = await judge(sandbox, {"wordings": shared})
    assert {(one.outcome, one.reason) for one in found.spread()} == {("dropped", "told_unasked")}


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        pytest.param("tug of the Alma", set[str](), id="one name stands in the other"),
        pytest.param("master of the Alma", {"told_unasked"}, id="it does not"),
    ],
)
async def test_who_asks_for_a_fact_whose_name_holds_another_name_may_be_told_both(
    name: str, reasons: set[str], sandbox: Sandbox
) -> None:
    facts = {name: "Puma", "tug": "Bison"}
    told = {"facts": facts, "hidden": ["tug"], "wordings": {"tug": BOOKING["wordings"]["tug"]}}
    found = await judge(
        sandbox, told, played=Played(f"The tug is the Bison. The {name} is the Puma.")
    )
    assert {one.reason for one in found.spread() if one.reason} == reasons


@pytest.mark.parametrize(
    ("says", "reasons"),
    [
        pytest.param(["The vessel to come in is Sorrel Bay."], {"withheld"}, id="another fact"),
        pytest.param(["Yes, please."], {"withheld"}, id="yes to which one"),
        pytest.param(["The Bison, at berth Q2."], {"told_unasked"}, id="everything at once"),
    ],
)
async def test_a_model_that_plays_the_user_badly_is_found(
    says: list[str], reasons: set[str], sandbox: Sandbox
) -> None:
    found = await judge(sandbox, played=Played(*says))
    assert {one.reason for one in found.spread()} == reasons
    assert all(
        CODES[one.reason] == "proof" and one.evidence["user"] == "model" for one in found.spread()
    )


@pytest.mark.parametrize(
    ("answer", "fault"),
    [("PLACEHOLDER", "withheld"), ("The Bison, at berth Q2.", "told_unasked")],
)
async def test_what_a_model_answers_wrongly_once_is_no_fault_of_the_scenario(
    answer: str, fault: str, sandbox: Sandbox
) -> None:
    slipped = Slipping("Which one?", answer)
    found = await judge(sandbox, played=slipped)
    assert (found.outcome, len(slipped.again)) == ("kept", 1)
    assert [one["answer"] for one in found.evidence["slips"]] == [answer]
    lasting = Slipping("Which one?", answer, always=True)
    assert (await judge(sandbox, played=lasting)).reason == fault
    assert len(lasting.again) == 1


async def test_a_model_that_answers_rightly_is_asked_nothing_again(sandbox: Sandbox) -> None:
    played = Slipping("", "")
    found = await judge(sandbox, played=played)
    assert (found.outcome, played.again, "slips" in found.evidence) == ("kept", [], False)


async def test_the_model_is_handed_the_contract_and_nothing_else(sandbox: Sandbox) -> None:
    played = Played("The Bison.")
    await judge(sandbox, played=played)
    known = UserContract.model_fields.keys() | {"known", "request", "deeds", "dialogue"}
    assert set(type(played.asked[0]).model_fields) <= known
    assert "oracle" not in played.asked[0].model_dump_json() + "".join(
        type(played.asked[0]).model_fields
    )


@pytest.mark.parametrize(
    ("opening", "suspected"),
    [
        pytest.param(
            "Book one of the others for the Sorrel Bay at berth Q2 on 5 March 2026.",
            ["tug"],
            id="one of the others",
        ),
        pytest.param(
            "Book the Bison for the Sorrel Bay at another berth on 5 March 2026.",
            ["berth"],
            id="another berth",
        ),
        pytest.param(
            "Book a certain tug for the Sorrel Bay at berth Q2 on 5 March 2026.",
            [],
            id="a certain tug",
        ),
        pytest.param(
            "The Sorrel Bay comes in on 5 March 2026. I know which tug and which berth her "
            "master wants.",
            [],
            id="written",
        ),
    ],
)
async def test_words_that_leave_a_choice_are_a_suspicion(
    opening: str, suspected: list[str], sandbox: Sandbox
) -> None:
    found = await judge(sandbox, {"opening": opening})
    doubts = [one for one in found.spread() if one.reason == "reads_as_delegation"]
    assert [one.evidence["fact"] for one in doubts] == suspected
    assert all("?" in one.question and "S17" not in one.question for one in doubts)


async def test_a_suspicion_hides_no_proof(sandbox: Sandbox) -> None:
    opening = "Book one of the others for the Sorrel Bay at another berth on 5 March 2026."
    found = await judge(sandbox, {"opening": opening}, Played("I do not know."))
    assert (found.reason, {one.reason for one in found.others}) == (
        "withheld",
        {"withheld", "reads_as_delegation"},
    )


async def test_where_nothing_is_hidden_nothing_is_asked(sandbox: Sandbox) -> None:
    assert (await judge(sandbox, {"hidden": []})).outcome == "not_applicable"


@pytest.mark.parametrize("theme", SAMPLE)
async def test_the_embedded_author_s_people_tell_what_they_hide(
    theme: str, sandbox: Sandbox
) -> None:
    from envmill.recipes.drafting.contract import make_contract

    for number in range(4):
        reply = ask_scenario(theme, number, 0)
        found = await check(
            pose(user=make_contract(reply), request=reply.request), GateContext(sandbox)
        )
        assert found.outcome in ("kept", "not_applicable"), found


@pytest.mark.parametrize(
    ("opening", "facts", "reasons"),
    [
        ("Put money on Ada Kern's account.", {"amount": 2500}, set()),
        ("Put 2,500 on Ada Kern's account.", {}, set()),
        ("Put money on Ada Kern's account.", {}, {"withheld"}),
    ],
    ids=["known", "said", "neither"],
)
async def test_what_the_path_needs_is_known_to_the_user(
    opening: str, facts: dict[str, Json], reasons: set[str], jail: Sandbox
) -> None:
    """What a reply shows before, as the member's id, they need not know."""
    oracle = [
        Call(name="find_members", arguments={"query": "Ada Kern"}),
        Call(name="top_up", arguments={"member_id": "M1", "amount": 2500}),
    ]
    user = UserContract(opening=opening, facts=facts)
    posed = pose(user=user, oracle=oracle, request="Put 2500 on Ada Kern's account M1.")
    found = await check(posed, GateContext(jail, seed=1))
    assert {one.reason for one in found.spread() if one.outcome == "dropped"} == reasons


@pytest.mark.parametrize(
    ("hidden", "opening", "reasons"),
    [
        ({"code": "kestrel-41"}, "My machine is broken.", set()),
        ({"code": "kestrel-41"}, "My machine kestrel-41 is broken.", {"told_unasked"}),
        ({"birth date": "1988-07-19"}, "I was born on 19 July 1988.", {"told_unasked"}),
        ({"oven": 3}, "3 of our ovens are cold.", set()),
        ({"tug": "Bison"}, "The bison has to be fed.", set()),
    ],
    ids=["withheld", "code", "date", "small number", "word"],
)
async def test_an_opening_that_tells_what_is_hidden(
    hidden: dict[str, Json], opening: str, reasons: set[str], jail: Sandbox
) -> None:
    user = UserContract(opening=opening, facts=hidden, hidden=[*hidden])
    found = await check(pose(user=user), GateContext(jail, seed=1))
    assert {one.reason for one in found.spread() if one.outcome == "dropped"} == reasons
