"""States an environment is known to start from, each once. A test's state is found without
serialising it again."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import orjson

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.memory import RecentCache
from schemas.base import Json, canonical_json, digest
from schemas.environment import Test

State = dict[str, Json]


@dataclass(frozen=True)
class Starts:
    """Distinct initial states: those of the tests, then those of the examples."""

    distinct: tuple[State, ...]
    _tested: Mapping[str, State]

    def of(self, test: Test) -> State:
        """The test's state. Tests with equal states share one object."""
        return self._tested[test.id]


_known: RecentCache[Starts] = RecentCache()


def name_built(built: EnvironmentCase) -> Hashable:
    """A key of an environment with its tests and examples."""
    return (
        built.environment.id,
        tuple(test.id for test in built.tests),
        tuple(map(digest, built.examples)),
    )


def find_starts(built: EnvironmentCase) -> Starts:
    """The start states, serialised once for all gates of an environment."""
    key = name_built(built)
    return _known.find(key) or _known.keep(key, _gather(built))


def _gather(built: EnvironmentCase) -> Starts:
    distinct: dict[bytes, State] = {}
    tested = {
        test.id: distinct.setdefault(_render(test.initial_state), test.initial_state)
        for test in built.tests
    }
    for state in built.examples:
        distinct.setdefault(_render(state), state)
    return Starts(tuple(distinct.values()), tested)


def _render(state: State) -> bytes:
    """Takes a tenth of the time of the canonical format, which only stored hashes need."""
    try:
        return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return canonical_json(state).encode("utf-8", "surrogatepass")
