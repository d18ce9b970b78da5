"""What an exported folder says of an ending is what the factory says of it, to the word; and it
plays as the factory plays."""

import asyncio
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from envmill.agents.users.base import UserKnowledge, Utterance
from envmill.agents.users.missteps import find_misstep
from envmill.agents.users.scripted import ScriptedUser
from envmill.base.settings import Settings
from envmill.interop.bundles.envrun.court import JudgeProcess
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call
from schemas.scenario import Verifier
from tests.hostile.demoted import NOBODY
from tests.interop.bundles.openers import ask_bare, consume
from tests.interop.bundles.played import Played, play_all, write_bundles
from tests.soak import count

SAID = (
    "",
    "Done.",
    "I did not do it.",
    "It is 12 %, or 1,200.50, by 14 March 2026.",
    "I am sorry, that is not allowed.",
    "x" * 4001,
    "\ud800 half",
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    folder = tmp_path_factory.mktemp("home")
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return play_all(
        Settings.read(
            {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
        )
    )


@pytest.fixture(scope="module")
def folders(played: list[Played], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_bundles(played, tmp_path_factory.mktemp("out"))


@pytest.mark.long
def test_a_stranger_gets_the_factory_s_verdicts(
    played: list[Played], folders: dict[str, Path]
) -> None:
    """Oracle, doing nothing, and every rollout, in a bare interpreter as another user."""
    tries: dict[str, list[Any]] = {key: [] for key in folders}
    for one in played:
        moves = [
            *map(one.moves, one.rollouts),
            [],
            [
                *({"name": c.name, "arguments": c.arguments} for c in one.scenario.oracle),
                {"say": one.scenario.say},
            ],
        ]
        tries[one.environment.id] += [[one.name, move] for move in moves]
    report = consume(list(folders.values()), tries)
    assert report["ours"] == []
    assert report["user"] == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert any(
        one.scenario.verifier.goals[:1] and one.scenario.verifier.goals[0].op == "generated"
        for one in played
    )
    verdicts = {key: iter(found) for key, found in report["verdicts"].items()}
    for one in played:
        heard = verdicts[one.environment.id]
        for rollout in one.rollouts:
            told = next(heard)
            assert (told["outcome"], told["reward"], told["components"], told["reason"]) == (
                rollout.outcome, rollout.reward, rollout.components, rollout.reason,
            )  # fmt: skip
            assert told["evidence"] == rollout.evidence
        assert (next(heard)["reward"], one.nothing) == (0.0, 0.0)
        assert next(heard)["outcome"] == "pass"
    assert sum(len(one.rollouts) for one in played) >= 20
    assert {rollout.outcome for one in played for rollout in one.rollouts} >= {"pass", "fail"}


def draw_endings(played: list[Played], number: int) -> Iterator[tuple[Verifier, dict[str, Any]]]:
    """Ends of one scenario with words, deeds and states of others, some cut and some turned."""
    dice = random.Random(11)
    heard = [
        one
        for one in played
        if not any(
            check.op == "generated"
            for check in (*one.scenario.verifier.goals, *one.scenario.verifier.guards)
        )
    ]
    ends = {one.scenario.id: list(one.endings()) for one in heard}
    words = [text for found in ends.values() for end in found for text in end["said"]] + list(SAID)
    for _ in range(number):
        one = dice.choice(heard)
        end = dict(dice.choice(ends[one.scenario.id]))
        if dice.random() < 0.5:
            end["said"] = [dice.choice(words) for _ in range(dice.randint(0, 3))]
        if dice.random() < 0.5:
            end["deeds"] = dice.sample(end["deeds"], dice.randint(0, len(end["deeds"])))
        if dice.random() < 0.4:
            end["final"] = spoil(end["final"], dice)
        verifier = one.scenario.verifier
        yield (
            (verifier.model_copy(update={"partial": True}) if dice.random() < 0.5 else verifier),
            end,
        )


def spoil(state: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """A state with one row lost, doubled, or changed in one value."""
    name = dice.choice([name for name, rows in state.items() if isinstance(rows, dict) and rows])
    rows = dict(state[name])
    key = dice.choice(list(rows))
    what = dice.randrange(3)
    if what == 0:
        del rows[key]
    elif what == 1:
        rows["row_99"] = rows[key]
    elif isinstance(rows[key], dict) and rows[key]:
        rows[key] = rows[key] | {
            dice.choice(list(rows[key])): dice.choice([None, True, 1, 1.0, "x", [], {}])
        }
    return state | {name: rows}


@pytest.mark.soak(area="trust")
def test_the_judge_that_is_carried_agrees_with_ours(
    played: list[Played], folders: dict[str, Path]
) -> None:
    court = JudgeProcess(
        next(iter(folders.values())) / "envrun/judge",
        lambda: pytest.fail("nothing here is heard in a jail"),
    )
    seen: set[str] = set()
    try:
        for verifier, end in draw_endings(played, count(400, 6_000)):
            told = court.decide(verifier.model_dump(mode="json"), end, "2026-03-02T09:00:00+00:00")
            deeds = [
                CompletedCall(Call(**one["call"]), one["outcome"], one["code"], one["parts"])
                for one in end["deeds"]
            ]
            ours = judge(verifier, Ending(end["initial"], end["final"], deeds, end["said"]))
            assert told == ours.model_dump(mode="json"), end["said"]
            seen |= {f"{ours.outcome} {failing['component']}" for failing in ours.evidence} | {
                ours.outcome
            }
    finally:
        court.close()
    assert seen >= {"pass", "fail", "fail goals", "fail facts", "fail frame", "fail procedure"}


ASKING = (
    "Which one do you mean, and on which day?",
    "What is the date?",
    "Shall I go ahead?",
    "Could you tell me more details?",
    "What is your favourite colour?",
    "One moment, let me look.",
    "",
    "Done, thank you.",
)


def test_the_user_that_is_carried_says_what_ours_says(
    played: list[Played], folders: dict[str, Path]
) -> None:
    """Every scenario that hides something, its facts asked for in many orders, until the user
    stops."""
    court = JudgeProcess(
        next(iter(folders.values())) / "envrun/judge",
        lambda: pytest.fail("nothing here is heard in a jail"),
    )
    hiding = [one.scenario for one in played if one.scenario.user.hidden]
    ends, dice = set[str](), random.Random(5)
    try:
        for scenario in hiding * count(2, 40):
            asked = [
                *ASKING,
                *(f"What is the {name.replace('_', ' ')}?" for name in scenario.user.facts),
            ]
            person, dialogue = (
                ScriptedUser(UserKnowledge.of(scenario)),
                [Utterance("user", scenario.user.opening)],
            )
            for text in dice.choices(asked, k=8):
                dialogue.append(Utterance("agent", text))
                ours = asyncio.run(person.answer(dialogue))
                told = court.answer(
                    scenario.model_dump(mode="json"),
                    [{"who": line.who, "text": line.text} for line in dialogue],
                )
                misstep = find_misstep(UserKnowledge.of(scenario), dialogue, ours)
                assert told == {
                    "text": ours.text,
                    "end": ours.end,
                    "misstep": misstep,
                    "does": [],
                    "lacking": [],
                }
                ends.add(ours.end)
                if ours.end or misstep:
                    break
                dialogue.append(Utterance("user", ours.text))
    finally:
        court.close()
    assert hiding
    assert "content" in ends


def test_a_conversation_is_held_and_judged_with_nothing_of_ours_installed(
    played: list[Played], folders: dict[str, Path]
) -> None:
    one = next(
        one for one in played if one.scenario.user.hidden and one.scenario.polarity == "achieve"
    )
    name = one.scenario.user.hidden[0]
    path = [{"name": call.name, "arguments": call.arguments} for call in one.scenario.oracle]
    moves = [{"say": f"What is the {name}?"}, *path, {"say": "All of it is done."}, {"score": True}]
    said = "".join(json.dumps(move) + "\n" for move in moves)
    opened, answered, *_, ended, verdict = ask_bare(
        folders[one.environment.id], ["open", one.name, "--form", "conversation"], said
    )
    assert opened["messages"][-1]["content"] == one.scenario.user.opening
    assert str(one.scenario.user.facts[name]) in answered["reply"]["text"]
    assert ended["reply"]["end"] == "content"
    assert verdict["outcome"] == "pass"


def test_an_ending_that_cannot_be_judged_is_an_error_here_and_there(
    played: list[Played], folders: dict[str, Path]
) -> None:
    """A pattern that only RE2 runs: the folder says so, and decides nothing."""
    verifier = played[0].scenario.verifier.model_dump(mode="json") | {
        "facts": [{"name": "greek", "kind": "pattern", "value": r"\p{Greek}+"}]
    }
    court = JudgeProcess(
        next(iter(folders.values())) / "envrun/judge", lambda: pytest.fail("no jail")
    )
    try:
        told = court.decide(
            verifier,
            {"initial": {}, "final": {}, "deeds": [], "said": ["alpha"]},
            "2026-03-02T09:00:00+00:00",
        )
    finally:
        court.close()
    assert (told["outcome"], told["reward"]) == ("error", None)
    assert "only RE2 can run it" in told["reason"]
