"""S18: in a scenario's world, valid calls off the reference path give replies that an agent can
work with, and no call breaks the program.

first state, last state ─► calls of every tool, drawn ─► program breaks: proof · what W13 doubts: suspicion
"""

import random
from collections.abc import Iterator, Mapping

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.state_index import StateIndex
from envmill.gates import w13
from envmill.gates.base import (
    EnvironmentCase,
    Finding,
    GateContext,
    ScenarioCase,
    drop,
    gather,
    skip,
)
from envmill.gates.exploring.exploration import explore_samples
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.observations import ExplorationRun
from envmill.kinds.trial import BREAKDOWNS
from envmill.sandbox import Invoke, Look, Reset
from envmill.sandbox.batches import play_plans
from envmill.sandbox.results import settle
from schemas.base import Json
from schemas.environment import Call, Environment, Test
from schemas.ledger import ReasonClass
from schemas.scenario import Scenario

GATE = "S18"
_OF_ALL = "unresolved_id"
"""The code that only W13 reports. The calls in one world are too few to say that no tool explains
an id."""
_DOUBTS: Mapping[str, ReasonClass] = {
    code: kind for code, kind in w13.CODES.items() if code != _OF_ALL
}
CODES: Mapping[str, ReasonClass] = {"breaks": "proof", **_DOUBTS}
_SUGGESTED = 4
"""Number of calls of each tool from which the meaning of its arguments is derived."""


async def check(subject: ScenarioCase, means: GateContext) -> Finding:
    """W13 looks at the states of stored tests. Those of a scenario were written by another author,
    for another purpose."""
    scenario = subject.scenario
    reset = Reset(scenario.initial_state, scenario.clock, scenario.seed)
    plan = [reset, *map(Invoke, scenario.oracle), Look()]
    ((begun, *seen, end),) = await play_plans(
        find_program(subject.environment), [plan], means.sandbox
    )
    if begun.outcome != "ok" or end.state is None:
        return skip(
            GATE, "no_end", "The reference path leads to no state from which calls could be drawn."
        )
    calls = settle(scenario.oracle, seen)
    built = EnvironmentCase(
        subject.environment, tuple(_list_tests(subject.environment, calls, scenario)), (end.state,)
    )
    exploration = await explore_samples(built, means)
    doubted = [one for one in w13.doubt_replies(GATE, exploration, means) if one.reason != _OF_ALL]
    found = [*exploration.admit(_find_broken(exploration), means), *doubted]
    return gather(GATE, found, {"replies": len(exploration.calls)})


def _list_tests(environment: Environment, calls: list[Call], scenario: Scenario) -> Iterator[Test]:
    """Calls of the path, and calls that names and types suggest, as tests. They show the meaning of
    arguments."""
    stock, dice = (
        StateIndex.of(scenario.initial_state),
        random.Random(f"{environment.id}/{scenario.number}"),
    )
    suggested = (
        sample_call(tool, stock, dice) for tool in environment.tools for _ in range(_SUGGESTED)
    )
    for place, call in enumerate([*calls, *suggested]):
        yield Test(
            environment=environment.id, name=f"call {place + 1}", initial_state=scenario.initial_state, setup=[], call=call,
            expect="success", origin=scenario.origin,
        )  # fmt: skip


def _find_broken(exploration: ExplorationRun) -> Iterator[Finding]:
    """The first call of each tool that the program neither carried out nor refused."""
    for name in exploration.tools:
        broken = (
            observed
            for observed in exploration.of(name)
            if observed.seen.outcome == "failure" and observed.seen.code not in BREAKDOWNS
        )
        if observed := next(broken, None):
            evidence: Json = {
                "call": observed.call.model_dump(),
                "code": observed.seen.code,
                "message": observed.seen.message[:600],
            }
            words = (
                f"{name} breaks in the world of this scenario: {observed.seen.code}: "
                f"{observed.seen.message[:160]}"
            )
            yield drop(GATE, "breaks", words, evidence)
