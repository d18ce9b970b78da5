"""What was kept, attacked from outside: two policies no gate uses, and the gates' own attackers
with seeds they never had."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from envmill.agents.attackers import ATTACKERS, AttackerView
from envmill.agents.attackers.arguments import list_calls, sample_call
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.attempts import Attempt
from envmill.gates.exploring.trials import Trials
from envmill.kinds.trial import Trial, Words
from envmill.sandbox import Observation, Sandbox
from schemas.environment import Call

STRANGE = 1000
"""Where seeds begin that no gate uses."""
SEEDS = 2


@dataclass(frozen=True)
class Attack:
    """What an outsider did, and what it earned."""

    name: str
    trial: Trial

    @property
    def reward(self) -> float:
        return self.trial.verdict.reward or 0.0


async def measure_kept(posed: ScenarioCase, sandbox: Sandbox) -> AsyncIterator[Attack]:
    """Every outsider's attempts at one scenario, in few messages."""
    attempts = [Attempt(name, tuple(calls), said) for name, calls, said in list_attempts(posed)]
    for attempt, trial in zip(
        attempts, await Trials(posed, GateContext(sandbox)).play(attempts), strict=True
    ):
        yield Attack(attempt.label, trial)


def list_attempts(posed: ScenarioCase) -> Iterator[tuple[str, Sequence[Call], Words]]:
    """(name, calls, last words): outsiders first."""
    view = AttackerView.of(posed.scenario, posed.environment)
    yield (
        "asks_after_reading",
        look_around(view),
        ["Which one do you mean, how many exactly, and on what date?"],
    )
    for seed in range(STRANGE, STRANGE + SEEDS):
        yield "reads_then_acts", act_on_words(view, seed), tell_replies
        for name, attacker in ATTACKERS.items():
            yield (
                name,
                attacker.plan(view, seed),
                lambda seen, attacker=attacker: attacker.speak(view, seen),
            )


def look_around(view: AttackerView) -> list[Call]:
    """A few calls of every query."""
    return [call for tool in view.list_tools("query") for call in list_calls(tool, view.stock, 6)][
        :60
    ]


def act_on_words(view: AttackerView, seed: int) -> list[Call]:
    """Queries, and changes whose values are those the request says, where it says any."""
    dice, told = random.Random(seed), view.request.casefold()
    drawn = [
        sample_call(tool, view.stock, dice) for tool in view.list_tools("change") for _ in range(12)
    ]
    spoken = [
        call
        for call in drawn
        if any(str(value).casefold() in told for value in call.arguments.values())
    ]
    return [*look_around(view)[:20], *(spoken or drawn)[:2]]


def tell_replies(seen: Sequence[Observation]) -> list[str]:
    """The beginning of what the last replies said."""
    return [
        " ".join(
            str(part.get("value", part.get("text", ""))) for one in seen[-6:] for part in one.parts
        )[:1500]
    ]
