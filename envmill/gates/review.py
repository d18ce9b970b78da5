"""Parts of a review: calls that a tester model proposes, their results in the jail, and a checker
model's opinion on them.

tester ─► calls ─► jail, each on a fresh copy ─► cases ─► checker: pass, warning, fail
                                                   ▲
             mutants of known fault, green tests ──┘  in the same form: the checker cannot tell them apart
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from envmill.base.errors import BadReply
from envmill.kinds.start import CLOCK
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json
from schemas.environment import Call, Environment, Tool
from schemas.prompts import CheckerInput, CheckerReply, TesterInput, TesterReply
from schemas.scenario import Change

Opinion = Literal["pass", "warning", "fail", "unreadable"]

ROUNDS = 4
SEED = 1
"""Seed of the sessions in which a call is tried. It differs from the exploration's seed: its states
contain rows whose ids would be drawn again."""
_TOOLS_AT_ONCE = 10
"""Number of tools whose calls one question asks for. Longer replies are cut off."""


@dataclass(frozen=True)
class StateCall:
    """A call on a state."""

    state: dict[str, Json]
    call: Call

    @property
    def key(self) -> str:
        return canonical_json([self.state, self.call.model_dump(mode="json")])


@dataclass(frozen=True)
class ReviewedCall:
    """A call and its effect."""

    asked: StateCall
    seen: Observation
    changes: list[Change]

    @property
    def told(self) -> str:
        """The text by which two versions of a program are compared. The words of a refusal are left
        out."""
        parts = self.seen.parts if self.seen.outcome == "ok" else []
        return canonical_json(
            [self.seen.outcome, parts, [change.model_dump(mode="json") for change in self.changes]]
        )


@dataclass
class Plan:
    """The proposed calls, and a count of the unusable ones."""

    environment: Environment
    goal: int
    asked: dict[str, StateCall] = field(default_factory=dict[str, StateCall])
    lost: Counter[str] = field(default_factory=Counter[str])
    """Hallucinated tools, repeated calls, unreadable replies."""
    rounds: int = 0

    def wanted(self) -> dict[str, int]:
        """Tool → number of further calls wanted. A tool without parameters has only one possible
        call."""
        bare = [
            tool.name for tool in self.environment.tools if not tool.parameters.get("properties")
        ]
        rest = len(self.environment.tools) - len(bare)
        each = ceil((self.goal - len(bare)) / rest) if rest else self.goal
        had = Counter(one.call.name for one in self.asked.values())
        goals = {
            tool.name: 1 if tool.name in bare and rest else each for tool in self.environment.tools
        }
        return {name: goal - had[name] for name, goal in goals.items() if goal > had[name]}

    def take(self, reply: TesterReply, state: dict[str, Json]) -> None:
        """Nothing it says is lost without being counted."""
        names = {tool.name for tool in self.environment.tools}
        for one in reply.calls:
            asked = StateCall(state, one.call)
            if one.call.name not in names:
                self.lost["hallucinated"] += 1
            elif asked.key in self.asked:
                self.lost["repeated"] += 1
            else:
                self.asked[asked.key] = asked


async def make_plan(
    environment: Environment,
    states: Sequence[dict[str, Json]],
    goal: int,
    prompt: Prompt,
    models: ModelSession,
) -> Plan:
    """Rounds until there are enough calls of every tool, each round on the next state; bounded."""
    plan = Plan(environment, goal)
    while plan.rounds < ROUNDS and len(plan.asked) < goal and (wanted := plan.wanted()):
        await _fill(plan, states[plan.rounds % len(states)], wanted, prompt, models)
    return plan


async def ask_more(
    plan: Plan,
    states: Sequence[dict[str, Json]],
    wanted: dict[str, int],
    prompt: Prompt,
    models: ModelSession,
) -> list[StateCall]:
    """Asks for further calls of some tools in one more round. Calls that were asked before are left
    out."""
    before = set(plan.asked)
    await _fill(plan, states[plan.rounds % len(states)], wanted, prompt, models)
    return [one for key, one in plan.asked.items() if key not in before]


async def _fill(
    plan: Plan, state: dict[str, Json], wanted: dict[str, int], prompt: Prompt, models: ModelSession
) -> None:
    """One round."""
    names = list(wanted)
    groups = [
        names[first : first + _TOOLS_AT_ONCE] for first in range(0, len(names), _TOOLS_AT_ONCE)
    ]
    replies = await asyncio.gather(
        *(
            _ask_tester(plan, state, {name: wanted[name] for name in group}, prompt, models)
            for group in groups
        )
    )
    for reply in replies:
        plan.lost["unreadable"] += reply is None
        plan.take(reply or TesterReply(calls=[]), state)
    plan.rounds += 1


async def _ask_tester(
    plan: Plan, state: dict[str, Json], wanted: dict[str, int], prompt: Prompt, models: ModelSession
) -> TesterReply | None:
    environment = plan.environment
    inputs = TesterInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        tools=[tool for tool in environment.tools if tool.name in wanted],
        state=state,
        wanted=wanted,
        round=plan.rounds,
    )
    try:
        return await models.ask(prompt, inputs, TesterReply, role="critic")
    except BadReply:
        return None


async def play(
    program: Program, asked: Sequence[StateCall], sandbox: Sandbox
) -> list[ReviewedCall]:
    """Plays each call in a session of its own, all in one message to the jail."""
    steps = [
        step for one in asked for step in (Reset(one.state, CLOCK, SEED), Invoke(one.call), Look())
    ]
    seen = await sandbox.play(program, steps)
    return [_make_case(one, *seen[3 * place : 3 * place + 3]) for place, one in enumerate(asked)]


def _make_case(
    asked: StateCall, reset: Observation, seen: Observation, end: Observation
) -> ReviewedCall:
    if reset.outcome != "ok" or end.state is None:
        return ReviewedCall(asked, seen if reset.outcome == "ok" else reset, [])
    return ReviewedCall(
        asked,
        seen,
        diff_states(asked.state, end.state) if reset.state_hash != seen.state_hash else [],
    )


async def ask_checker(
    environment: Environment, cases: Sequence[ReviewedCall], prompt: Prompt, models: ModelSession
) -> list[tuple[Opinion, str]]:
    """An opinion on each case with its reason; it sees rules, call and difference, and never the
    source."""
    tools = {tool.name: tool for tool in environment.tools}
    return await asyncio.gather(
        *(
            _ask_one(environment, tools[case.asked.call.name], case, prompt, models)
            for case in cases
        )
    )


async def _ask_one(
    environment: Environment, tool: Tool, case: ReviewedCall, prompt: Prompt, models: ModelSession
) -> tuple[Opinion, str]:
    inputs = CheckerInput(
        brief=environment.brief,
        name=environment.name,
        rules=environment.rules,
        tool=tool,
        state=case.asked.state,
        call=case.asked.call,
        outcome=case.seen.outcome,
        code=case.seen.code,
        message=case.seen.message,
        parts=case.seen.parts,
        changes=case.changes,
    )
    try:
        reply = await models.ask(prompt, inputs, CheckerReply, role="judge")
    except BadReply as error:
        return "unreadable", error.message
    return reply.opinion, reply.reason
