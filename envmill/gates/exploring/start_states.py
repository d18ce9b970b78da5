"""States an environment is known to start from, each once: a test's own is found again without
being serialised again."""

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
        """The test's state: one and the same object for all tests that start from an equal one."""
        return self._tested[test.id]


_known: RecentCache[Starts] = RecentCache()


def name_built(built: EnvironmentCase) -> Hashable:
    """What tells an environment with its tests and examples from every other."""
    return (
        built.environment.id,
        tuple(test.id for test in built.tests),
        tuple(map(digest, built.examples)),
    )


def find_starts(built: EnvironmentCase) -> Starts:
    """Serialised once for all the gates of an environment."""
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
    """A tenth of the time of the canonical format, which is for what others must come to as
    well."""
    try:
        return orjson.dumps(state, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return canonical_json(state).encode("utf-8", "surrogatepass")
