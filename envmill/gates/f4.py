"""F4: no two scenarios ask the same thing: in the same words, in similar words with the same way to
do it, or about the same records.

words ─► repeat, near_repeat        records changed, or told about ─► same_errand        first state ─► same_state
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envmill.gates.base import Finding, drop, keep
from envmill.lake.spool import RowSpool, Shelf
from envmill.language.similarity import Near, Runs, list_runs, share, split_words
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.scenario import Check, Scenario

GATE = "F4"
RUN = 3
NEAR = 0.7
"""Share of common runs of three words from which two requests count as worded alike. In a request
of thirty words, one changed word leaves 0.8, two leave 0.65. No two of 820 offline requests share
0.3."""
SAME = 0.9
"""Share of common records, without their ids, from which two first states count as one. None of 168
pairs of offline states in one environment shares 0.12. None of 18 pairs that a real model wrote
shares 0.18."""


def find_repeats(
    scenarios: Iterable[Scenario], *, planned: bool = False, earlier: Sequence[Scenario] = ()
) -> Mapping[str, Finding]:
    """The findings for a few scenarios, in any order."""
    return dict(
        stream_repeats(sorted(scenarios, key=lambda one: one.id), planned=planned, earlier=earlier)
    )


def stream_repeats(
    scenarios: Iterable[Scenario], *, planned: bool = False, earlier: Sequence[Scenario] = ()
) -> Iterator[tuple[str, Finding]]:
    """A decision over the whole set, which comes in id order. The first scenario is kept, and each
    later one is compared with those kept. Only scenarios that were planned together must differ in
    records and first states. `earlier` are scenarios that other runs kept of the same
    environments."""
    kept = _Kept(planned)
    for scenario in sorted(earlier, key=lambda one: one.id):
        words = split_words(scenario.request)
        kept.add(scenario, words, list_runs(words, RUN))
    for scenario in scenarios:
        words = split_words(scenario.request)
        runs = list_runs(words, RUN)
        if twin := kept.find_same(scenario, words):
            yield (
                scenario.id,
                drop(GATE, "repeat", f"same request as {twin}", {"twin": twin, "share": 1.0}),
            )
        elif found := kept.find_near(scenario, runs):
            twin, alike = found
            said = f"{alike:.0%} of the wording of {twin}, and the same calls lead to it"
            yield (
                scenario.id,
                drop(GATE, "near_repeat", said, {"twin": twin, "share": round(alike, 3)}),
            )
        elif again := kept.find_again(scenario):
            yield scenario.id, again
        else:
            yield scenario.id, keep(GATE)
            kept.add(scenario, words, runs)


class _Kept:
    """The scenarios kept so far, on disk. The index has a threshold well below the deciding one, so
    that chance in the index decides nothing."""

    def __init__(self, planned: bool) -> None:
        self._planned, spool = planned, RowSpool()
        self._first: Shelf[str] = spool.shelve(str, str)
        """Request → scenario."""
        self._near = Near(NEAR / 2)
        self._known: Shelf[tuple[Runs, Json]] = spool.shelve(
            lambda known: [*known], lambda told: (told[0], told[1])
        )
        """Scenario → how it is worded, and the way to do it."""
        self._targets: Shelf[str] = spool.shelve(str, str)
        """Errand → scenario."""
        self._states: Shelf[list[tuple[str, frozenset[str]]]] = spool.shelve(
            lambda states: states, lambda told: told
        )
        """Environment → scenarios, each with the records of its first state."""

    def add(self, scenario: Scenario, words: Sequence[str], runs: Runs) -> None:
        self._first.put(_name_request(scenario, words), scenario.id)
        self._known.put(scenario.id, (runs, describe_way(scenario)))
        self._near.add(scenario.id, runs)
        if self._planned:
            self._targets.put(_name_errand(scenario, name_targets(scenario)), scenario.id)
            state = scenario.id, _Records(scenario.initial_state).describe_all()
            self._states.put(
                scenario.environment, [*(self._states.get(scenario.environment) or ()), state]
            )

    def find_same(self, scenario: Scenario, words: Sequence[str]) -> str:
        """Requests are compared within an environment. In another environment, the same words are
        about other things."""
        return self._first.get(_name_request(scenario, words)) or ""

    def find_near(self, scenario: Scenario, runs: Runs) -> tuple[str, float] | None:
        """Compares with scenarios of all environments. The same tools called with the same argument
        names mean the same way to do it everywhere."""
        way = describe_way(scenario)
        known = {one: self._known.get(one) for one in self._near.find(runs)}
        alike = {
            one: share(runs, told[0]) for one, told in known.items() if told and told[1] == way
        }
        best = min(alike, key=lambda one: (-alike[one], one), default="")
        return (best, alike[best]) if best and alike[best] >= NEAR else None

    def find_again(self, scenario: Scenario) -> Finding | None:
        """Compares within an environment: the same records under the same polarity, or nearly the
        same first state."""
        if not self._planned:
            return None
        targets, state = name_targets(scenario), _Records(scenario.initial_state).describe_all()
        if targets and (twin := self._targets.get(_name_errand(scenario, targets))):
            said = f"{scenario.polarity} is about the same records as in {twin}"
            return drop(GATE, "same_errand", said, {"twin": twin, "records": sorted(targets)})
        for twin, other in self._states.get(scenario.environment) or ():
            if state and (alike := share(state, other)) >= SAME:
                said = f"{alike:.0%} of the records that it begins with are those of {twin}"
                return drop(GATE, "same_state", said, {"twin": twin, "share": round(alike, 3)})
        return None


def _name_errand(scenario: Scenario, targets: frozenset[str]) -> str:
    return canonical_json([scenario.environment, scenario.polarity, *sorted(targets)])


def name_targets(scenario: Scenario) -> frozenset[str]:
    """The records that the reference path changed or made, described by their values. Ids are left
    out, because each state has its own. If nothing is changed: the records that the calls name, and
    the facts that must be told. Empty if this is not known."""
    records = _Records(scenario.initial_state)
    if scenario.polarity == "achieve":
        changed = {
            found for path in scenario.verifier.frame if (found := records.describe_path(path))
        }
        return frozenset(
            changed
            | {
                found
                for check in scenario.verifier.goals
                if (found := records.describe_target(check))
            }
        )
    calls = [*scenario.oracle, *(predicate.call for predicate in scenario.verifier.harm)]
    named = {
        found
        for call in calls
        for value in call.arguments.values()
        if (found := records.describe_id(value))
    }
    told = {canonical_json([fact.name, fact.value]) for fact in scenario.verifier.facts}
    return frozenset(named | told) if named else frozenset()


class _Records:
    """The records of a state, by their ids."""

    def __init__(self, state: Mapping[str, Json]) -> None:
        tables = {name: rows for name, rows in state.items() if is_object(rows)}
        self._found = {
            key: (name, row)
            for name, rows in tables.items()
            for key, row in rows.items()
            if is_object(row)
        }

    def describe_all(self) -> frozenset[str]:
        """Every record."""
        return frozenset(self.describe_id(key) for key in self._found)

    def describe_path(self, path: Sequence[str]) -> str:
        """The record that a path leads to."""
        return self.describe_id(path[1]) if len(path) > 1 else ""

    def describe_target(self, check: Check) -> str:
        """The record that a check's path leads to. A new record is described by its values and by
        the records that it names."""
        if found := self.describe_path(check.path):
            return found
        if check.op == "present" and check.path:
            return canonical_json([check.path[0], "new", self._mask(check.value, named=True)])
        return ""

    def describe_id(self, key: Json) -> str:
        if not isinstance(key, str) or key not in self._found:
            return ""
        name, row = self._found[key]
        return canonical_json([name, self._mask(row)])

    def _mask(self, value: Json, *, named: bool = False) -> Json:
        """The value with ids masked. If `named`, an id becomes the description of its record."""
        if is_object(value):
            return {name: self._mask(part, named=named) for name, part in value.items()}
        if is_array(value):
            return [self._mask(part, named=named) for part in value]
        if isinstance(value, str) and value in self._found:
            return self.describe_id(value) if named else "#"
        return value


def _name_request(scenario: Scenario, words: Sequence[str]) -> str:
    """A request and its twin of another polarity, which differ in a fact of the state, are two scenarios."""
    return canonical_json([scenario.environment, scenario.polarity, *words])


def describe_way(scenario: Scenario) -> Json:
    """The criteria of success, and the reference path without its values."""
    return [scenario.polarity, *([call.name, sorted(call.arguments)] for call in scenario.oracle)]
