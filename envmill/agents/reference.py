"""The reference policy: plays the oracle and says its last words. Right by construction: its pass rate is no difficulty."""

from envmill.agents.base import Actor, Say
from envmill.runtime.results import read_reply
from envmill.sandbox import Observation
from envmill.sandbox.results import settle_one
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


class ScriptedPolicy:
    """Plays calls in order, then says what there is to say, as often as it is spoken to. A call that needs the result of one that was not
    made, or was refused, is left out."""

    def __init__(self, calls: list[Call], words: str) -> None:
        self._calls = iter(calls)
        self._words = words or "Done: everything you asked for is in place."
        self._label, self._results = 0, dict[int, Json]()
        self.listens = any(call.uses for call in calls)
        """Only replies that later calls use are looked at."""

    def act(self, last: Observation | Say | None) -> Call | Say:
        if self._label and isinstance(last, Observation) and last.outcome == "ok":
            self._results[self._label] = read_reply(last.parts)
        self._label = 0
        for call in self._calls:
            made, lacking = settle_one(call, self._results)
            if not lacking:
                self._label = call.label
                return made
        return Say(self._words)


class ReferencePolicy:
    """Plays the scenario's own reference path."""

    name = "reference"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:  # noqa: ARG002
        return ScriptedPolicy(scenario.oracle, scenario.say)
