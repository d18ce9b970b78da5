"""What the trials of a scenario play, and what they spare themselves."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from envmill.base.settings import Settings
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.trials import SEEDS, Attempt, Trials
from envmill.sandbox import Observation, Program, Reset, Sandbox, Step
from tests.gates.cases import ANY_BOOKING, BOOK, FIND, LIST, TOP_UP, answer, loose
from tests.gates.specimens import pose


class Counting(Sandbox):
    """Counts the sessions that are begun."""

    begun = searched = 0

    async def play(
        self, program: Program, steps: Sequence[Step], **manner: Any
    ) -> list[Observation]:
        resets = sum(isinstance(step, Reset) for step in steps)
        self.begun += resets
        self.searched += resets if manner.get("in_place") else 0
        return await super().play(program, steps, **manner)


def ask(posed: ScenarioCase, work: Callable[[Trials, Counting], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Counting.open(Settings.read({}), drivers=1) as sandbox:
            assert isinstance(sandbox, Counting)
            return await work(Trials(posed, GateContext(sandbox)), sandbox)

    return asyncio.run(run())


def test_a_path_is_played_once_whatever_is_said_and_goes_on_from_where_another_ends() -> None:
    path = (FIND, LIST, TOP_UP)
    attempts = [
        Attempt("one", path),
        Attempt("said", path, ("Hello.",)),
        Attempt("more", (*path, BOOK)),
        Attempt("other", (FIND, BOOK)),
    ]

    async def compare(trials: Trials, sandbox: Counting) -> Any:
        together = await trials.play(attempts)
        begun = sandbox.begun
        return (
            together,
            begun,
            [(await Trials(trials.posed, GateContext(sandbox)).play([one]))[0] for one in attempts],
        )

    together, begun, alone = ask(pose(), compare)
    assert begun == 2
    for one, other in zip(together, alone, strict=True):
        assert [reply.parts for reply in one.replies] == [reply.parts for reply in other.replies]
        assert one.ending.final == other.ending.final
        assert (one.verdict.outcome, one.verdict.reward) == (
            other.verdict.outcome,
            other.verdict.reward,
        )
    assert [list(trial.ending.said) for trial in together] == [[], ["Hello."], [], []]


def test_two_seeds_share_a_session_and_some_go_on_with_what_they_made() -> None:
    async def attack(trials: Trials, sandbox: Counting) -> Any:
        found = await trials.attacks()
        return found, sandbox.searched

    found, begun = ask(pose(verifier=loose(ANY_BOOKING)), attack)
    random = ("repeat_one_call", "random_valid", "over_doer", "end_state_overwriter")
    assert all(len(found[name]) >= SEEDS for name in random)
    assert begun < sum(len(played) for played in found.values()) / 1.5
    ids = {
        key
        for trial in found["over_doer"]
        for key in trial.ending.final["bookings"]
        if key not in pose().scenario.initial_state["bookings"]
    }
    used = [
        str(value)
        for trial in found["over_doer"][SEEDS:]
        for deed in trial.ending.deeds
        for value in deed.call.arguments.values()
    ]
    assert ids & set(used)


def test_who_says_the_wrong_thing_whatever_happens_plays_little() -> None:
    async def attack(trials: Trials, _: Counting) -> Any:
        return await trials.attacks()

    found = ask(answer(), attack)
    assert len(found["random_valid"]) == 2
    assert all(trial.verdict.outcome == "fail" for trial in found["random_valid"])
    assert len(ask(answer(say="60", verifier=loose(ANY_BOOKING)), attack)["random_valid"]) >= SEEDS
