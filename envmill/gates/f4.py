"""F4: no two scenarios ask the same thing: in the same words, or in nearly the same words with the same way to do it."""

from collections.abc import Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from envmill.language.similarity import Near, Runs, list_runs, share, split_words
from schemas.base import Json
from schemas.scenario import Scenario

GATE = "F4"
RUN = 3
NEAR = 0.7
"""Share of runs of three words from which two requests are worded alike. In a request of thirty words one other word leaves 0.8, two 0.65.
Of 820 offline requests no two share 0.3."""


def find_repeats(scenarios: Sequence[Scenario]) -> Mapping[str, Finding]:
    """A decision over the whole set, in id order: the first is kept, and each later one is compared with what was kept."""
    kept = _Kept()
    findings: dict[str, Finding] = {}
    for scenario in sorted(scenarios, key=lambda one: one.id):
        words = split_words(scenario.request)
        runs = list_runs(words, RUN)
        if twin := kept.find_same(scenario, words):
            findings[scenario.id] = drop(GATE, "repeat", f"same request as {twin}", {"twin": twin, "share": 1.0})
        elif found := kept.find_near(scenario, runs):
            twin, alike = found
            said = f"{alike:.0%} of the wording of {twin}, and the same calls lead to it"
            findings[scenario.id] = drop(GATE, "near_repeat", said, {"twin": twin, "share": round(alike, 3)})
        else:
            findings[scenario.id] = keep(GATE)
            kept.add(scenario, words, runs)
    return findings


class _Kept:
    """What was kept so far. The index is asked well below what decides, so that chance in it decides nothing."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], str] = {}
        self._near = Near(NEAR / 2)
        self._known: dict[str, tuple[Runs, Json]] = {}

    def add(self, scenario: Scenario, words: Sequence[str], runs: Runs) -> None:
        self._first[_render_place(scenario, words)] = scenario.id
        self._known[scenario.id] = runs, describe_way(scenario)
        self._near.add(scenario.id, runs)

    def find_same(self, scenario: Scenario, words: Sequence[str]) -> str:
        """Words are compared within an environment: elsewhere the same words are about other things."""
        return self._first.get(_render_place(scenario, words), "")

    def find_near(self, scenario: Scenario, runs: Runs) -> tuple[str, float] | None:
        """Here and elsewhere: the same tools called with the same arguments' names are the same thing wherever they stand."""
        way = describe_way(scenario)
        alike = {one: share(runs, self._known[one][0]) for one in self._near.find(runs) if self._known[one][1] == way}
        best = min(alike, key=lambda one: (-alike[one], one), default="")
        return (best, alike[best]) if best and alike[best] >= NEAR else None


def _render_place(scenario: Scenario, words: Sequence[str]) -> tuple[str, ...]:
    """A request and its twin of another polarity, which differ in a fact of the state, are two scenarios."""
    return scenario.environment, scenario.polarity, *words


def describe_way(scenario: Scenario) -> Json:
    """What success means, and the reference path without its values."""
    return [scenario.polarity, *([call.name, sorted(call.arguments)] for call in scenario.oracle)]
