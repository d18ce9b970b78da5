"""The reference policy: plays the oracle. Its data is right by construction, its pass rate says nothing about difficulty."""

from envmill.agents.base import Actor, Say
from envmill.sandbox import Observation
from schemas.environment import Call, Environment
from schemas.scenario import Scenario


class Script:
    """Plays calls in order, then says it is done."""

    def __init__(self, calls: list[Call]) -> None:
        self._calls = iter(calls)

    def act(self, last: Observation | None) -> Call | Say:  # noqa: ARG002  a script does not listen
        return next(self._calls, None) or Say("Done: everything you asked for is in place.")


class Reference:
    """Plays the scenario's own reference path."""

    name = "reference"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:  # noqa: ARG002
        return Script(scenario.oracle)
