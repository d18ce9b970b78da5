"""Replays of the stored tests, made once for all gates.

a change that succeeds, a test with calls before it ─► a session of its own, with the state looked at
queries and refusals of one state                   ─► one session, because they change nothing
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from envmill.gates.base import EnvironmentCase, GateContext
from envmill.gates.exploring.expectations import looks_after
from envmill.gates.exploring.memory import RecentCache, find_program
from envmill.gates.exploring.session_plans import SessionPlan
from envmill.gates.exploring.start_states import find_starts, name_built
from envmill.kinds.start import CLOCK
from envmill.sandbox import Look, Observation, Reset, Step
from envmill.sandbox.batches import play_plans
from schemas.environment import Test

SEED = 0


@dataclass(frozen=True)
class StoredTestReplay:
    """One session of tests."""

    session_plan: SessionPlan
    tests: tuple[Test, ...]

    def plan(self, clock: str = CLOCK, seed: int = SEED) -> list[Step]:
        return list(self.session_plan.steps(Reset(self.session_plan.start, clock, seed)))

    def share(self, seen: Sequence[Observation]) -> Iterator[tuple[Test, list[Observation]]]:
        """Each test with its observations: the start, its setup calls, its own call."""
        steps = list(zip(self.plan(), seen, strict=True))
        # The state after a call belongs to the call's observation, because some tests expect values
        # in it.
        ends = [
            following[1].state if isinstance(following[0], Look) else None
            for following in steps[1:]
        ] + [None]
        first, *rest = (
            one if end is None else replace(one, state=end)
            for (step, one), end in zip(steps, ends, strict=True)
            if not isinstance(step, Look)
        )
        calls = iter(rest)
        for test in self.tests:
            yield test, [first, *(next(calls) for _ in (*test.setup, test.call))]


def show_end(seen: Sequence[Observation]) -> list[Observation]:
    """The observations without the final look, whose state goes to the last of them."""
    *before, last, looked = seen
    return [*before, replace(last, state=looked.state)]


ReplayedTests = Sequence[tuple[StoredTestReplay, list[Observation]]]

_played: RecentCache[ReplayedTests] = RecentCache()


async def replay_stored_tests(built: EnvironmentCase, means: GateContext) -> ReplayedTests:
    """Every test's session with its observations, played once per process."""
    key = name_built(built)
    known = _played.find(key)
    if known is not None:
        return known
    replays = list(list_replays(built))
    played = await play_plans(
        find_program(built.environment), [replay.plan() for replay in replays], means.sandbox
    )
    return _played.keep(key, list(zip(replays, played, strict=True)))


def list_replays(built: EnvironmentCase) -> Iterator[StoredTestReplay]:
    """Sessions of single tests first, then shared ones."""
    starts, still = find_starts(built), dict[int, list[Test]]()
    changes = {tool.name for tool in built.environment.tools if tool.effect == "change"}
    for test in built.tests:
        writes = test.expect == "success" and test.call.name in changes
        if writes or test.setup or looks_after(test):
            yield StoredTestReplay(
                SessionPlan(
                    starts.of(test),
                    tuple(test.setup),
                    (("test", test.call),),
                    looks=writes or looks_after(test),
                ),
                (test,),
            )
        else:
            still.setdefault(id(starts.of(test)), []).append(test)
    for tests in still.values():
        yield StoredTestReplay(
            SessionPlan(starts.of(tests[0]), (), tuple(("test", test.call) for test in tests)),
            tuple(tests),
        )
