"""The exploration of an environment: many different calls, made once, from every state it is known
to start from. Most gates only read the results.

tests ─► samples from every state ─► odd and limit arguments ─► reads around every write ─► the same reads on the state alone
          └── more of them for tools without a successful call

A reset takes as long as ten calls. So calls that change nothing share a session, and so do changes
of different tools, because they seldom prevent each other.
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
"""Number of known states to start from. More states take longer and show little."""
_SAMPLES, _FEW_SAMPLES, _SEARCH = 8, 4, 48
"""Calls sampled per tool from the first state, from each further one, and for a tool without a
successful call."""
_AGAIN = 3
"""Calls of a tool that changed something after another change in their session, and are repeated
without it."""
_ODD = 12
_SAMPLED_TOGETHER, _ODD_TOGETHER = 2, 4
"""Calls of one tool that share a session with those of others. There may be more odd ones, because
most are refused."""
_SURER = 4
"""Further changes of a tool whose fault was seen with one amount only."""
_PAIRS = 40
"""Number of pairs of texts that are compared; the pair with the longest common part is searched
for."""
_FILTERS = 3
"""Values tried for one filter, and texts for one search."""
_SHORT = 3
"""Length up to which a text is only searched for as a whole."""

_explorations: RecentCache[ExplorationRun] = RecentCache()


async def explore(built: EnvironmentCase, means: GateContext) -> ExplorationRun:
    """The exploration of an environment, computed once per process and seed."""
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
    """Only calls sampled from each start state, as an agent might make them that does something
    else there."""
    tools = {tool.name: tool for tool in built.environment.tools}
    explorer = _Explorer(
        built, ExplorationRun(tools, Offers(built), find_starts(built).distinct), means
    )
    await explorer.play(list(explorer.plan_samples()))
    return explorer.exploration


class _Explorer:
    """Plans sessions, plays them, and records the observed calls."""

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
        # Looks come first, because the search starts from states that were reached.
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
        """Plays sessions, adds their calls to the exploration, and returns the calls of each."""
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
        """The reset for all sessions of a state, so that its hash is computed once. The exploration
        holds every state, so that no `id` is used twice."""
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
            # A call that changed nothing is not part of the route.
            made += [call] if observed.moved else []
            before = observed.after
            if plan.looks_after(why):
                self._keep(next(rest))
        return calls

    def _keep(self, look: Observation) -> None:
        if look.state is not None:
            self.exploration.states.setdefault(look.state_hash, look.state)

    def plan_samples(self) -> Iterator[SessionPlan]:
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
        """Looks at the states around changes of tools for which few such states are known."""
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
        """Further changes of tools whose fault was seen with one amount only."""
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
        """Samples more calls, also from later states, for tools that never succeeded or never
        changed anything."""
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
        """Odd calls: all queries of one state share a session, and a few changes of one state
        do."""
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
        """Repeats calls that changed something after another change, without that change, since
        their result may depend on it."""
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
        """A successful call, at a start state if possible."""
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
        """The query without optional arguments, and with one of them at a time."""
        required = set(tool.parameters.get("required", ()))
        bare = {name: value for name, value in base.arguments.items() if name in required}
        optional = [name for name in tool.parameters.get("properties", {}) if name not in required]
        if optional:
            yield base.model_copy(update={"arguments": bare})
        for name in optional:
            for value in self.exploration.offers.values(tool, name, state)[:_FILTERS]:
                yield base.model_copy(update={"arguments": bare | {name: value}})

    def _plan_searches(self, tool: Tool, base: Call, state: Json) -> Iterator[Call]:
        """A text of some row, a part of it, and the text in the other case. Texts with letters come
        first."""
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
        """Two texts, and a part that both contain."""
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
"""Words of a search that only finds the beginnings of texts."""


def _cut(text: str, *, at_end: bool) -> str:
    """More than half of the text; all of a short text, because a search may need a few letters."""
    if len(text) <= _SHORT:
        return text
    most = len(text) // 2 + 1
    return text[-most:].lstrip() if at_end else text[:most].rstrip()


def find_shared(one: str, other: str) -> str:
    """The longest run of letters and digits in both texts; empty if it is all of one text."""
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
    """Sessions with a few calls of every queue, in turn, because a tool is most often prevented by
    its own changes."""
    turns = list(zip_longest(*queues))
    for at in range(0, len(turns), most):
        yield SessionPlan(
            state, (), tuple(call for turn in turns[at : at + most] for call in turn if call)
        )
