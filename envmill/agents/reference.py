"""The reference policy: plays the oracle and says its last words. Right by construction: its pass rate is no difficulty."""

from envmill.agents.base import Actor, Say
from envmill.sandbox import Observation
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


class ScriptedPolicy:
    """Plays calls in order, then says what there is to say, as often as it is spoken to."""

    listens = False

    def __init__(self, calls: list[Call], words: str) -> None:
        self._calls = iter(calls)
        self._words = words or "Done: everything you asked for is in place."

    def act(self, last: Observation | Say | None) -> Call | Say:  # noqa: ARG002
        return next(self._calls, None) or Say(self._words)


class ReferencePolicy:
    """Plays the scenario's own reference path."""

    name = "reference"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:  # noqa: ARG002
        return ScriptedPolicy(scenario.oracle, scenario.say)
