"""The trials of one scenario: what its gates play, each thing once, many in one message to the jail, and the verdicts on it.

attempt (calls, last words) ─┐
attempt                     ─┼─► one message ─► endings ─► verdicts
attempt                     ─┘
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from envmill.agents.attackers import ATTACKERS, View
from envmill.agents.trial import Trial, Words, find_breakdown, make_error
from envmill.gates.base import Means, Posed
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Observation, Program, Reset, Step
from envmill.verifiers.court import decide
from envmill.verifiers.diff import spell_state
from envmill.verifiers.ending import Deed, Ending
from envmill.verifiers.judge import glance
from schemas.base import Json
from schemas.environment import Call
from schemas.rollout import Verdict
from schemas.scenario import Scenario

SEEDS = 8
"""Attempts of an attacker that leaves something to chance."""
_SCENARIOS = 64
_STEPS = 400
"""Steps of one message: a plan has a time limit as a whole."""

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """Something to be played from a scenario's start."""

    label: str
    """What is tried, in words."""
    calls: tuple[Call, ...] = ()
    said: Words = ()
    reset: Reset | None = None
    """Another start than the scenario's."""
    place: int = -1
    """Which call it is about, where it is about one."""
    brief: bool = False
    """Whether the first thing amiss is evidence enough."""


class Trials:
    """Played ends of one scenario. What is the same for several gates is played by whoever asks first."""

    def __init__(self, posed: Posed, means: Means) -> None:
        self.posed, self.scenario, self.environment = posed, posed.scenario, posed.environment
        self._means, self.sandbox = means, means.sandbox
        self._program = Program.of(posed.environment)
        self._start = start(posed.scenario)
        self._known: dict[str, Json] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._spelled = spell_state(posed.scenario.initial_state)

    @classmethod
    def of(cls, posed: Posed, means: Means) -> "Trials":
        """Those already there, or new ones."""
        key = (posed.scenario.id, posed.environment.id, means.seed, id(means.sandbox))
        found = _KEPT.get(key)
        if found is None or found.posed != posed:
            found = _KEPT[key] = cls(posed, means)
            if len(_KEPT) > _SCENARIOS:
                _KEPT.popitem(last=False)
        _KEPT.move_to_end(key)
        return found

    async def once(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """What was made under this name, made now if nobody did."""
        if name not in self._known:
            self._known[name] = await make()
        found: T = self._known[name]
        return found

    async def nothing(self) -> Trial:
        return (await self.once("nothing", lambda: self.play([Attempt("do_nothing")])))[0]

    async def oracle(self) -> list[Trial]:
        """The reference path, twice; the second time the way a third party would begin: after somebody else's session."""
        path = self.path()
        return await self.once("oracle", lambda: self.play([path, path]))

    async def elsewhere(self) -> Trial:
        """The reference path under another clock and seed."""
        return (await self.once("elsewhere", lambda: self.play([replace(self.path(), reset=start_elsewhere(self.scenario))])))[0]

    async def attacks(self) -> dict[str, list[Trial]]:
        """Every attacker over its seeds."""
        return await self.once("attacks", self._attack)

    @property
    def first_seed(self) -> int:
        """Where the seeds of attacks begin: another audit begins elsewhere."""
        return self._means.seed * SEEDS

    def plan_attack(self, name: str, view: View, seed: int) -> Attempt:
        attacker = ATTACKERS[name]
        return Attempt(f"{name} (seed {seed})", tuple(attacker.plan(view, seed)), lambda seen: attacker.speak(view, seen), brief=True)

    def path(self) -> Attempt:
        return Attempt("oracle", tuple(self.scenario.oracle), self.last_words())

    def last_words(self) -> tuple[str, ...]:
        return (self.scenario.say,) if self.scenario.say else ()

    async def play(self, attempts: Sequence[Attempt], *, elsewhere: bool = False) -> list[Trial]:
        """All of them, in as few messages as their length allows; `elsewhere` is a jail with another hash seed, and judges anew."""
        trials: list[Trial] = []
        batch: list[Attempt] = []
        for attempt in attempts:
            if batch and sum(len(each.calls) + 2 for each in batch) + len(attempt.calls) > _STEPS:
                trials += await self._play(batch, elsewhere)
                batch = []
            batch.append(attempt)
        return trials + (await self._play(batch, elsewhere) if batch else [])

    async def judge(self, ending: Ending) -> Verdict:
        """The verdict on an ending of one's own making."""
        return await decide(self._means.sandbox, self.scenario.verifier, ending, self.scenario.clock)

    async def _play(self, batch: Sequence[Attempt], elsewhere: bool) -> list[Trial]:
        plans: list[list[Step]] = [[each.reset or self._start, *map(Invoke, each.calls), Look()] for each in batch]
        sandbox = self.sandbox.elsewhere if elsewhere else self.sandbox
        seen = await sandbox.play(self._program, [step for plan in plans for step in plan], hashes="last")
        trials: list[Trial] = []
        for attempt, plan in zip(batch, plans, strict=True):
            trials.append(await self._conclude(attempt, seen[: len(plan)], elsewhere))
            seen = seen[len(plan) :]
        return trials

    async def _conclude(self, attempt: Attempt, seen: list[Observation], elsewhere: bool) -> Trial:
        if fault := find_breakdown(seen):
            return Trial(seen, None, make_error(fault))
        words = attempt.said(seen[1:-1]) if callable(attempt.said) else attempt.said
        deeds = [Deed.of(call, reply) for call, reply in zip(attempt.calls, seen[1:-1], strict=True)]
        initial = self.scenario.initial_state if attempt.reset is None else attempt.reset.state
        ending = Ending(initial, seen[-1].state, deeds, words, self._spelled if attempt.reset is None else None)
        if attempt.brief and (found := glance(self.scenario.verifier, ending)):
            return Trial(seen, ending, found)
        return Trial(seen, ending, await self._judge_once(ending, seen[-1].state_hash, plain=attempt.reset is None and not elsewhere))

    async def _judge_once(self, ending: Ending, state_hash: str, *, plain: bool) -> Verdict:
        """Verdicts that rest on the state alone are given once per state."""
        if not plain or not state_hash or not looks_at_states_only(self.scenario):
            return await self.judge(ending)
        if state_hash not in self._verdicts:
            self._verdicts[state_hash] = await self.judge(ending)
        return self._verdicts[state_hash]

    async def _attack(self) -> dict[str, list[Trial]]:
        view = View.of(self.scenario, self.environment)
        named = [
            (name, self.plan_attack(name, view, seed))
            for name, attacker in ATTACKERS.items()
            for seed in range(self.first_seed, self.first_seed + (SEEDS if attacker.random else 1))
        ]
        trials = await self.play([attempt for _, attempt in named])
        found: dict[str, list[Trial]] = {name: [] for name in ATTACKERS}
        for (name, _), trial in zip(named, trials, strict=True):
            found[name].append(trial)
        return found


_KEPT: OrderedDict[tuple[str, str, int, int], Trials] = OrderedDict()


def looks_at_states_only(scenario: Scenario) -> bool:
    """Whether the verdict rests on the two states alone."""
    verifier = scenario.verifier
    generated = any(check.op == "generated" for check in (*verifier.goals, *verifier.guards))
    return not (verifier.procedure or verifier.facts or verifier.harm or generated)


def start_elsewhere(scenario: Scenario) -> Reset:
    """The scenario's state a few minutes later, with other ids: what a request means does not hang on either."""
    later = datetime.fromisoformat(scenario.clock) + timedelta(minutes=11)
    return Reset(state=scenario.initial_state, clock=later.isoformat(), seed=scenario.seed + 101)


def list_writes(posed: Posed) -> list[int]:
    """Places of the oracle's calls that may change something."""
    reads = {tool.name for tool in posed.environment.tools if tool.effect == "query"}
    return [place for place, call in enumerate(posed.scenario.oracle) if call.name not in reads]


def tell_reply(reply: Observation) -> str:
    """What came of a call, in one line."""
    return "ok" if reply.outcome == "ok" else f"{reply.outcome} ({reply.code}: {reply.message})"[:300]
