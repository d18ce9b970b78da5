"""Policies that break a dialogue, and two that are right in other ways: each begins on a scenario
as any scripted policy does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from envmill.agents.base import Actor, Say
from envmill.agents.reference import ScriptedPolicy
from envmill.sandbox import Observation
from schemas.environment import Call, Environment
from schemas.scenario import Scenario
from tests.samples.dialogue.atoms import SERIAL, do
from tests.samples.dialogue.policy import READS

Lines = Callable[[Scenario, Environment], Sequence[Call | Say]]


@dataclass(frozen=True)
class Lined:
    """Plays what it was given, then repeats its last words."""

    name: str
    lines: Lines

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        return _Player(list(self.lines(scenario, environment)))


class _Player:
    listens = True

    def __init__(self, moves: list[Call | Say]) -> None:
        self._moves, self._last = moves, Say("That is all I can do.")

    def act(self, last: Observation | Say | None) -> Call | Say:
        return self._moves.pop(0) if self._moves else self._last


def _speak(text: str) -> Lines:
    return lambda _, __: [Say(text)]


def _hand_over(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    teams = [call.arguments["team"] for call in scenario.oracle if call.name == "hand_over"] or [
        "security"
    ]
    return [do("hand_over", serial=SERIAL, team=teams[0]), Say(scenario.say)]


def _agree(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    return [
        Say("Yes, of course, I will do that for you. Shall I go on?"),
        Say("Yes, agreed, it is done."),
        Say(scenario.say),
    ]


def _ask(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    """Everything there is to ask, and nothing done."""
    looks = [do(name) for name in READS]
    return [
        Say("What is your support code?"),
        *looks,
        *(call for call in scenario.oracle if _reads(call, environment)),
        Say("Thank you, that is all."),
    ]


def _reads(call: Call, environment: Environment) -> bool:
    return (
        any(tool.name == call.name and tool.effect == "query" for tool in environment.tools)
        and call.actor == "agent"
    )


def _act_first(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    """All calls that need a yes before it is asked for; asked afterwards."""
    asked = [Say(call.asks) for call in scenario.oracle if call.asks]
    return [
        *(call.model_copy(update={"asks": ""}) for call in scenario.oracle),
        *asked,
        Say(scenario.say),
    ]


def _recite(scenario: Scenario, environment: Environment) -> Sequence[Call | Say]:
    return [
        Say(environment.policy_document),
        Say(f"{environment.policy_document[:300]} {scenario.say}"),
    ]


BREAKERS = [
    Lined("do_nothing", _speak("I am sorry, I cannot help you.")),
    Lined("hand_over_at_once", _hand_over),
    Lined("agree_to_everything", _agree),
    Lined("ask_everything", _ask),
    Lined("dump_the_policy", _recite),
]
ACT_FIRST = Lined("act_before_confirm", _act_first)


@dataclass(frozen=True)
class AskThenAct:
    """Asks the user to look at everything, then does what is right."""

    name: str = "ask_then_act"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        return ScriptedPolicy([*(do(name) for name in READS), *scenario.oracle], scenario.say)


@dataclass(frozen=True)
class Reworded:
    """The reference path with what it asks in other words."""

    words: str
    name: str = "reworded"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        calls = [
            call.model_copy(update={"asks": self.words.format(asks=call.asks.rstrip("?"))})
            if call.asks
            else call
            for call in scenario.oracle
        ]
        return ScriptedPolicy(calls, scenario.say)
