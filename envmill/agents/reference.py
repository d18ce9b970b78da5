"""The reference policy: plays the oracle and says its last words. Right by construction: its pass
rate is no difficulty."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from envmill.agents.base import Actor, Say
from envmill.runtime.results import read_reply
from envmill.sandbox import Observation
from envmill.sandbox.results import settle_one
from schemas.base import Json
from schemas.environment import Call, Environment
from schemas.scenario import Scenario

_DONE = "Done: everything you asked for is in place."


@dataclass(frozen=True)
class ScriptedPart:
    """What is done about a request that is made later."""

    request: str
    calls: Sequence[Call]
    words: str


class ScriptedPolicy:
    """Plays calls in order, then says what there is to say, as often as it is spoken to; of a later
    request, once it is made. A call that
    needs the result of one that was not made, or was refused, is left out."""

    def __init__(
        self, calls: Sequence[Call], words: str, later: Sequence[ScriptedPart] = ()
    ) -> None:
        self._calls, self._words, self._later = iter(calls), words or _DONE, list(later)
        self._label, self._results = 0, dict[int, Json]()
        self._asked: Call | None = None
        """The call for which the user was asked, and which comes next."""
        self.listens = any(call.uses for call in chain(calls, *(part.calls for part in later)))
        """Only replies that later calls use are looked at."""

    def act(self, last: Observation | Say | None) -> Call | Say:
        if isinstance(last, Say) and self._later and last.text.startswith(self._later[0].request):
            part = self._later.pop(0)
            self._calls, self._words = iter(part.calls), part.words or _DONE
        if self._label and isinstance(last, Observation) and last.outcome == "ok":
            self._results[self._label] = read_reply(last.parts)
        self._label = 0
        for call in chain(filter(None, [self._asked]), self._calls):
            if call.asks and call is not self._asked:
                self._asked = call
                return Say(call.asks)
            self._asked = None
            made, lacking = settle_one(call, self._results)
            if not lacking:
                self._label = call.label
                return made
        return Say(self._words)


class ReferencePolicy:
    """Plays the scenario's own reference path."""

    name = "reference"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:  # noqa: ARG002
        return script(scenario, [[call] for call in scenario.oracle])


def script(
    scenario: Scenario, made: Sequence[Sequence[Call]], word: Callable[[str], str] = str
) -> ScriptedPolicy:
    """What was made of each call of the reference path, request by request; `word` changes what is
    said."""
    if not scenario.parts:
        return ScriptedPolicy([*chain(*made)], word(scenario.say))
    first, *later = _share(scenario, made, word)
    return ScriptedPolicy(first.calls, first.words, later)


def _share(
    scenario: Scenario, made: Sequence[Sequence[Call]], word: Callable[[str], str]
) -> Iterator[ScriptedPart]:
    place = 0
    for part in scenario.parts:
        yield ScriptedPart(
            part.request, [*chain(*made[place : place + part.calls])], word(part.say)
        )
        place += part.calls
