"""A tour: one environment played widely, once, from every state it is known to take; most gates
only read what was seen.

tests ─► draws from every state ─► odd and limit arguments ─► reads around every write ─► the same reads on the state alone
          └── longer for tools that nothing succeeded with yet

To start over costs as much as ten calls: calls that change nothing share a session, and changes of
different tools do, since one seldom stands in another's way.
"""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import combinations, islice, zip_longest

from envmill.gates.base import EnvironmentCase, GateContext
from envmill.gates.exploring.amounts import find_unsure
from envmill.gates.exploring.arguments import Offers
from envmill.gates.exploring.filters import plan_filters
from envmill.gates.exploring.memory import RecentCache, find_program
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall, Why
from envmill.gates.exploring.session_plans import SessionPlan
from envmill.gates.exploring.start_states import find_starts, name_built
from envmill.gates.exploring.stored_tests import SEED, ReplayedTests, replay_stored_tests
from envmill.gates.exploring.surroundings import WRITES, explore_changes, explore_holes
from envmill.kinds.start import CLOCK
from envmill.sandbox import Observation, Reset
from envmill.sandbox.batches import play_plans
from schemas.base import Json, canonical_json
from schemas.environment import Call, Tool

_STATES = 3
"""Known states a tour starts from; more cost more and show little."""
_SAMPLES, _FEW_SAMPLES, _SEARCH = 8, 4, 48
"""Calls drawn per tool from the first state, from each further one, and for a tool that never
succeeded."""
_AGAIN = 3
"""Calls of a tool that changed something behind another change, and are made again without it."""
_ODD = 12
_SAMPLED_TOGETHER, _ODD_TOGETHER = 2, 4
"""Calls of one tool that share a session with as many of every other; odd ones are mostly
refused."""
_SURER = 4
"""Further changes of a tool of which something was seen once."""
_PAIRS = 40
"""Pairs of texts of which the one that has most in common is taken."""
_FILTERS = 3
"""Values tried for one filter, and texts for one search."""
_SHORT = 3
"""Letters of a text that is looked for as a whole only."""

_explorations: RecentCache[ExplorationRun] = RecentCache()


async def explore(built: EnvironmentCase, means: GateContext) -> ExplorationRun:
    """The tour of an environment, taken once per process and seed."""
    key = (name_built(built), means.seed, means.sandbox.searches)
    known = _explorations.find(key)
    if known is not None:
        return known
    tools = {tool.name: tool for tool in built.environment.tools}
    explorer = _Explorer(
        built, ExplorationRun(tools, Offers(built), find_starts(built).distinct[:_STATES]), means
    )
    return _explorations.keep(key, await explorer.run(await replay_stored_tests(built, means)))


async def explore_samples(built: EnvironmentCase, means: GateContext) -> ExplorationRun:
    """Calls drawn from each state alone: what somebody meets who does other things there."""
    tools = {tool.name: tool for tool in built.environment.tools}
    explorer = _Explorer(
        built, ExplorationRun(tools, Offers(built), find_starts(built).distinct), means
    )
    await explorer.play(list(explorer.plan_samples()))
    return explorer.exploration


class _Explorer:
    """Plans legs, plays them, notes what was seen."""

    def __init__(
        self, built: EnvironmentCase, exploration: ExplorationRun, means: GateContext
    ) -> None:
        self.exploration, self._sandbox = exploration, means.sandbox
        self._program = find_program(built.environment)
        self._dice = random.Random(f"{built.environment.id}/{means.seed}")
        self._resets: dict[int, Reset] = {}

    async def run(self, replayed: ReplayedTests) -> ExplorationRun:
        if not self.exploration.starts:
            return self.exploration
        for replay, seen in replayed:
            self.exploration.add(self._note(replay.session_plan, seen))
        await self.play(list(self.plan_samples()))
        # First looked at: a search goes on from states that were reached.
        await self.play(list(self._plan_looks()))
        await self._search()
        odd = list(self._plan_odd())
        await self.play(list(self._plan_again(odd, await self.play(odd))))
        await self.play(list(plan_filters(self.exploration)))
        await explore_changes(self.exploration, self.play)
        await explore_holes(self.exploration, self.play)
        await self.play(list(self._plan_surer()))
        return self.exploration

    async def play(self, plans: Sequence[SessionPlan]) -> list[list[ObservedCall]]:
        """Stops per leg; all of them join the tour."""
        step_lists = [list(plan.steps(self._reset(plan.start))) for plan in plans]
        played = [
            self._note(plan, seen)
            for plan, seen in zip(
                plans,
                await play_plans(self._program, step_lists, self._sandbox, in_place=True),
                strict=True,
            )
        ]
        self.exploration.add([observed for calls in played for observed in calls])
        return played

    def _reset(self, state: Json) -> Reset:
        """One for all sessions of a state: what names it is computed once. The tour holds every
        state as long as this lasts."""
        return self._resets.setdefault(id(state), Reset(state, CLOCK, SEED))

    def _note(self, plan: SessionPlan, seen: list[Observation]) -> list[ObservedCall]:
        calls, made = list[ObservedCall](), list(plan.route)
        reset, ways, rest = (
            seen[0],
            seen[1 : 1 + len(plan.route)],
            iter(seen[1 + len(plan.route) :]),
        )
        if reset.state_hash:
            self.exploration.states.setdefault(reset.state_hash, plan.start)
        before = (ways[-1] if ways else reset).state_hash
        if plan.looks_first:
            self._keep(next(rest))
        for why, call in plan.calls:
            observed = ObservedCall(call, why, next(rest), before, plan.start, tuple(made))
            calls.append(observed)
            # What left the state as it was leads nowhere.
            made += [call] if observed.moved else []
            before = observed.after
            if plan.looks_after(why):
                self._keep(next(rest))
        return calls

    def _keep(self, look: Observation) -> None:
        if look.state is not None:
            self.exploration.states.setdefault(look.state_hash, look.state)

    def plan_samples(self) -> Iterator[SessionPlan]:
        """Calls of every tool, drawn from every state."""
        for number, state in enumerate(self.exploration.starts):
            most = _FEW_SAMPLES if number else _SAMPLES
            drawn = {
                tool.name: self._sample_calls(tool, state, most)
                for tool in self.exploration.tools.values()
            }
            yield from _mix(
                state,
                [calls for name, calls in drawn.items() if not self.exploration.is_query(name)],
                _SAMPLED_TOGETHER,
            )
            yield SessionPlan(
                state,
                (),
                tuple(
                    call
                    for name, calls in drawn.items()
                    if self.exploration.is_query(name)
                    for call in calls
                ),
            )

    def _sample_calls(self, tool: Tool, state: Json, most: int) -> "_Calls":
        return [
            ("drawn", call)
            for call in self.exploration.offers.sample_some(tool, state, self._dice, most)
        ]

    def _plan_looks(self) -> Iterator[SessionPlan]:
        """Changes that were not looked at, for tools of which few were."""
        known = {name: 0 for name in self.exploration.tools}
        for observed in self.exploration.writes():
            known[observed.call.name] += 1
        for name, count in known.items():
            lacking = [
                observed
                for observed in self.exploration.moves(name)
                if not self.exploration.is_looked_at(observed)
            ]
            yield from (
                SessionPlan(observed.start, observed.route, (("drawn", observed.call),), looks=True)
                for observed in lacking[: max(0, WRITES - count)]
            )

    def _plan_surer(self) -> Iterator[SessionPlan]:
        """Further changes of tools of which one amount showed something that it alone does not
        prove."""
        for name in sorted(find_unsure(self.exploration)):
            known = {
                canonical_json(observed.call.arguments)
                for observed in self.exploration.writes()
                if observed.call.name == name
            }
            other = {
                canonical_json(observed.call.arguments): observed
                for observed in self.exploration.moves(name)
            }
            fresh = [observed for key, observed in other.items() if key not in known][:_SURER]
            drawn = self.exploration.offers.sample_some(
                self.exploration.tools[name], self.exploration.starts[0], self._dice, _SURER * 4
            )
            yield from (
                SessionPlan(observed.start, observed.route, (("drawn", observed.call),), looks=True)
                for observed in fresh
            )
            yield SessionPlan(
                self.exploration.starts[0], (), tuple(("drawn", call) for call in drawn), looks=True
            )

    async def _search(self) -> None:
        """More calls, from further on, for tools that never succeeded or never changed anything."""
        for _ in range(2):
            lacking = [tool for tool in self.exploration.tools.values() if not self._is_shown(tool)]
            if not lacking:
                return
            reached = [
                self.exploration.states[observed.after] for observed in self.exploration.writes()
            ]
            states = [
                *self.exploration.starts[:1],
                *self._dice.sample(reached, min(4, len(reached))),
            ]
            drawn = [
                (tool, state, self._sample_calls(tool, state, _SEARCH // len(states)))
                for state in states
                for tool in lacking
            ]
            plans = [
                SessionPlan(state, (), tuple(calls), looks=tool.effect == "change")
                for tool, state, calls in drawn
            ]
            await self.play(list(self._plan_again(plans, await self.play(plans))))

    def _is_shown(self, tool: Tool) -> bool:
        done = [
            observed for observed in self.exploration.of(tool.name) if observed.seen.outcome == "ok"
        ]
        return any(observed.moved for observed in done) if tool.effect == "change" else bool(done)

    def _plan_odd(self) -> Iterator[SessionPlan]:
        """Queries of one place share a session, and changes of one place a few."""
        asked: dict[int, tuple[Json, _Calls]] = {}
        tried: dict[int, tuple[Json, list[_Calls]]] = {}
        for tool in self.exploration.tools.values():
            base = self._find_base(tool)
            if base is None:
                continue
            calls = list(self._plan_odd_calls(tool, base))
            if base.route:
                yield SessionPlan(base.start, base.route, tuple(calls))
            elif tool.effect == "query":
                asked.setdefault(id(base.start), (base.start, []))[1].extend(calls)
            else:
                tried.setdefault(id(base.start), (base.start, []))[1].append(calls)
        yield from (SessionPlan(state, (), tuple(calls)) for state, calls in asked.values())
        for state, queues in tried.values():
            yield from _mix(state, queues, _ODD_TOGETHER)

    def _plan_again(
        self, plans: Sequence[SessionPlan], played: Sequence[Sequence[ObservedCall]]
    ) -> Iterator[SessionPlan]:
        """What changed something behind another change, once more without it: what it came to there
        says little."""
        made: dict[str, int] = {}
        for plan, observed in (
            (plan, observed)
            for plan, calls in zip(plans, played, strict=True)
            for observed in calls
        ):
            behind = (
                observed.moved
                and len(observed.route) > len(plan.route)
                and observed.before not in self.exploration.states
            )
            if behind and made.setdefault(observed.call.name, 0) < _AGAIN:
                made[observed.call.name] += 1
                yield SessionPlan(plan.start, plan.route, ((observed.why, observed.call),))

    def _find_base(self, tool: Tool) -> ObservedCall | None:
        """A call that went well, at the start if there is one."""
        calls = self.exploration.of(tool.name)
        done = [observed for observed in calls if observed.seen.outcome == "ok"]
        return next(
            (observed for observed in done if not observed.route), (done or calls or [None])[0]
        )

    def _plan_odd_calls(self, tool: Tool, base: ObservedCall) -> Iterator[tuple[Why, Call]]:
        offers, state = self.exploration.offers, base.start
        for call in offers.make_odd_calls(base.call, state, self._dice, _ODD):
            yield "odd", call
        for _, _, call in offers.make_limit_calls(base.call):
            yield "limit", call
        if tool.effect == "query" and base.seen.outcome == "ok":
            for call in self._plan_filters(tool, base.call, state):
                yield "filter", call
            for call in self._plan_searches(tool, base.call, state):
                yield "search", call
            for call in self._plan_shared(tool, base.call, state):
                yield "shared", call

    def _plan_filters(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """Without what is optional, and with one such argument at a time."""
        required = set(tool.parameters.get("required", ()))
        bare = {name: value for name, value in base.arguments.items() if name in required}
        optional = [name for name in tool.parameters.get("properties", {}) if name not in required]
        if optional:
            yield base.model_copy(update={"arguments": bare})
        for name in optional:
            for value in self.exploration.offers.values(tool, name, state)[:_FILTERS]:
                yield base.model_copy(update={"arguments": bare | {name: value}})

    def _plan_searches(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """A text that some row bears, a part of it, and the same in the other case; texts of
        letters first, since digits have none."""
        for name in self.exploration.offers.searches(tool):
            column = [
                value
                for _, value in self.exploration.offers.find_column(tool.name, name, state)
                if isinstance(value, str)
            ]
            texts = sorted(
                (text for text in column if len(text) > 1), key=lambda text: text.swapcase() == text
            )
            for place, text in enumerate(texts[:_FILTERS]):
                part = _cut(
                    text,
                    at_end=place % 2 == 1
                    and not _BEGINNINGS.search(f"{tool.description} {tool.parameters}"),
                )
                for spelt in (text, part, text.swapcase()):
                    yield base.model_copy(update={"arguments": base.arguments | {name: spelt}})

    def _plan_shared(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """Two texts, and a part that both hold."""
        for name in self.exploration.offers.searches(tool):
            texts = [
                value
                for _, value in self.exploration.offers.find_column(tool.name, name, state)
                if isinstance(value, str) and value
            ]
            pairs = (
                (one, other, find_shared(one, other))
                for one, other in combinations(dict.fromkeys(texts), 2)
            )
            found = max(islice(pairs, _PAIRS), key=lambda pair: len(pair[2]), default=("", "", ""))
            for spelt in found if found[2] else ():
                yield base.model_copy(update={"arguments": base.arguments | {name: spelt}})


_Calls = list[tuple[Why, Call]]
_BEGINNINGS = re.compile(r"\b(begin|start|prefix)", re.IGNORECASE)
"""Words of a search that finds nothing by the end of a text, and says so."""


def _cut(text: str, *, at_end: bool) -> str:
    """More than half of it; all of a short one, since a part of few letters may be too short for a
    search."""
    if len(text) <= _SHORT:
        return text
    most = len(text) // 2 + 1
    return text[-most:].lstrip() if at_end else text[:most].rstrip()


def find_shared(one: str, other: str) -> str:
    """The longest run of letters and digits that both hold, as they write it; empty where the one
    is all of it."""
    runs = [
        found for word in re.findall(r"\w+", one) for found in _list_runs(word) if found in other
    ]
    longest = max(runs, key=len, default="")
    return "" if longest in (one, other) else longest


def _list_runs(word: str) -> Iterator[str]:
    yield from (
        word[start:end] for start in range(len(word)) for end in range(start + 1, len(word) + 1)
    )


def _mix(state: Json, queues: Sequence[_Calls], most: int) -> Iterator[SessionPlan]:
    """Sessions that take a few calls of every queue, in turn: a tool's own changes are what stands
    most in its way."""
    turns = list(zip_longest(*queues))
    for at in range(0, len(turns), most):
        yield SessionPlan(
            state, (), tuple(call for turn in turns[at : at + most] for call in turn if call)
        )
