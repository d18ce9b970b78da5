"""Finds rules that no stored test breaks. A reader names the missing calls, the jail makes them,
and the judge reads the accepted ones.

rules, tools, tests with their ends ─► reader ─► missing calls ─► jail ─┬─ refused: a new test
                                                                        └─ accepted ─► judge, twice yes ─► a failing test
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.gates.reading.evidence import describe_item, pick_rows, show_tools
from envmill.gates.reading.suspicions import decide, read_twice
from envmill.gates.w3 import Played
from envmill.kinds.findings import EnvironmentCase
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.sandbox import Observation
from schemas.base import Json, canonical_json, digest
from schemas.coverage import CoverageInput, CoverageReply, EndedTest, MissingTest
from schemas.environment import Call, Environment, Test

PROMPT = Prompt.load(
    Path(__file__).parents[1] / "prompts" / "coverage.md", CoverageInput, CoverageReply
)

_STATES, _LONGEST = 2, 30_000
"""Number of initial states shown (those with the most tests), and longest state in characters."""
_MESSAGE = 120
BREAKS = "breaks the rule: "
"""Prefix of the names of such tests; the rule follows."""
_INTERFACE = ("invalid_arguments", "unknown_tool")


@dataclass(frozen=True)
class MissedRule:
    """A call that breaks a rule, from a state that tests start from."""

    rule: str
    state: dict[str, Json]
    told: MissingTest

    @property
    def name(self) -> str:
        """Name of its test."""
        return f"{BREAKS}{self.rule}"


def pick_states(tests: Sequence[Test]) -> list[dict[str, Json]]:
    counts: dict[str, tuple[int, dict[str, Json]]] = {}
    for test in tests:
        key = digest(test.initial_state)
        counts[key] = (counts.get(key, (0, {}))[0] + 1, test.initial_state)
    shown = [
        state
        for _, state in sorted(counts.values(), key=lambda one: -one[0])
        if len(canonical_json(state)) <= _LONGEST
    ]
    return shown[:_STATES]


def show_tests(
    environment: Environment, played: Sequence[Played], states: Sequence[Mapping[str, Json]]
) -> CoverageInput:
    numbers = {digest(state): number for number, state in enumerate(states, 1)}
    return CoverageInput(
        name=environment.name,
        rules=[f"{number}. {rule}" for number, rule in enumerate(environment.rules, 1)],
        tools=show_tools(environment),
        states=list(states),
        tests=[
            EndedTest(
                state=numbers.get(digest(test.initial_state), 0),
                setup=[_render(call) for call in test.setup],
                call=_render(test.call),
                ended="ok"
                if seen[-1].outcome == "ok"
                else f"{seen[-1].code}: {seen[-1].message}"[:_MESSAGE],
            )
            for test, seen in played
        ],
    )


async def ask_missing(
    environment: Environment, played: Sequence[Played], models: ModelSession
) -> list[MissedRule]:
    """Calls of existing tools, under existing rules, from shown states. Raises BadReply if no reply
    is usable."""
    states = pick_states([test for test, _ in played])
    if not states or not environment.rules:
        return []
    reply = await models.ask(
        PROMPT, show_tests(environment, played, states), CoverageReply, role="judge"
    )
    names = {tool.name for tool in environment.tools}
    return [
        MissedRule(environment.rules[one.rule - 1], states[one.state - 1], one)
        for one in reply.missing
        if 1 <= one.rule <= len(environment.rules)
        and 1 <= one.state <= len(states)
        and {one.call.name, *(c.name for c in one.setup)} <= names
    ]


def is_refused(seen: Sequence[Observation]) -> bool:
    """Whether the program itself refused the last call after it had accepted the calls before."""
    return (
        all(one.outcome == "ok" for one in seen[1:-1])
        and seen[-1].outcome == "rejection"
        and seen[-1].code not in _INTERFACE
    )


def is_accepted(seen: Sequence[Observation]) -> bool:
    return all(one.outcome == "ok" for one in seen[1:])


async def confirm(
    case: EnvironmentCase, missed: MissedRule, seen: Sequence[Observation], models: ModelSession
) -> bool:
    """Whether both readings say that the rule forbids the accepted call."""
    calls = [*missed.told.setup, missed.told.call]
    question = (
        f"Does the rule {missed.rule!r} forbid the last call that was executed, "
        f"{_render(missed.told.call)}, in the state in which it was "
        "made (the rows of the initial state, changed by the calls before it)?"
    )
    witness: Json = [
        {
            "name": call.name,
            "arguments": call.arguments,
            "outcome": one.outcome,
            "parts": list(one.parts),
        }
        for call, one in zip(calls, seen[1:], strict=True)
    ]
    named = f"{question} {missed.told.why} {canonical_json(witness)}"
    item = describe_item(case, question).model_copy(
        update={"witness": witness, "rows": pick_rows(missed.state, named)}
    )
    return decide(await read_twice(item, question, models)) == "confirmed"


async def confirm_all(
    case: EnvironmentCase,
    accepted: Sequence[tuple[MissedRule, Sequence[Observation]]],
    models: ModelSession,
) -> list[MissedRule]:
    said = await asyncio.gather(*(confirm(case, missed, seen, models) for missed, seen in accepted))
    return [missed for (missed, _), yes in zip(accepted, said, strict=True) if yes]


def _render(call: Call) -> str:
    return f"{call.name} {canonical_json(call.arguments)}"
