"""The trials of one scenario: attempts that its gates play, each one once and many in one message
to the jail, with their verdicts.

attempt (calls, last words) ─┐
attempt                     ─┼─► one message ─► endings ─► verdicts
attempt                     ─┘
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from envmill.agents.attackers import ATTACKERS, FOLLOWING, AttackerView
from envmill.agents.attackers.base import Mute
from envmill.gates.base import GateContext, Probes, ScenarioCase, deal
from envmill.gates.exploring.attempts import Attempt, chain_up, find_key, plan_chain, unchain
from envmill.kinds.start import start
from envmill.kinds.trial import Trial, find_breakdown, make_error
from envmill.sandbox import Observation, Program, Reset
from envmill.sandbox.batches import play_plans
from envmill.sandbox.results import settle
from envmill.verifiers.court import decide
from envmill.verifiers.diff import render_state
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import glance, has_lost
from schemas.base import Json
from schemas.environment import Call
from schemas.rollout import Verdict
from schemas.scenario import Scenario

SEEDS = 8
"""Attempts of an attacker that uses randomness."""
_SCENARIOS = 64
_FOLLOWED = 2
"""Number of endings that an attacker continues from."""
_LOST = 2
"""Attempts of an attacker that cannot win. They can still show crashes; more of them would change
nothing."""

T = TypeVar("T")


class Trials:
    """Trials of one scenario. Attempts that several gates need are played once."""

    def __init__(self, posed: ScenarioCase, means: GateContext) -> None:
        self.posed, self.scenario, self.environment = posed, posed.scenario, posed.environment
        self._means, self.sandbox = means, means.sandbox
        self._program = Program.of(posed.environment)
        self._start = start(posed.scenario)
        self._known: dict[str, Json] = {}
        self._seen: dict[bytes, list[Observation]] = {}
        self._seen_in_place: dict[bytes, list[Observation]] = {}
        """Observations of sessions that were reset in place."""
        self._plans: dict[tuple[str, int], list[Call]] = {}
        self.view = AttackerView.of(posed.scenario, posed.environment)
        self._verdicts: dict[str, Verdict] = {}
        self._serialised = render_state(posed.scenario.initial_state)

    @classmethod
    def of(cls, posed: ScenarioCase, means: GateContext) -> "Trials":
        """The trials that exist for the scenario, or new ones."""
        key = (posed.scenario.id, posed.environment.id, means.seed, id(means.sandbox))
        found = _KEPT.get(key)
        if found is None or found.posed != posed:
            found = _KEPT[key] = cls(posed, means)
            if len(_KEPT) > _SCENARIOS:
                _KEPT.popitem(last=False)
        _KEPT.move_to_end(key)
        return found

    async def once(self, name: str, make: Callable[[], Awaitable[T]]) -> T:
        """The result under this name, computed at the first request."""
        if name not in self._known:
            self._known[name] = await make()
        found: T = self._known[name]
        return found

    async def nothing(self) -> Trial:
        return (await self.once("nothing", lambda: self.play([Attempt("do_nothing")])))[0]

    async def oracle(self) -> list[Trial]:
        """The reference path twice: the second time after another session, as a third party would
        begin."""
        return await self.once("oracle", self._play_twice)

    async def elsewhere(self) -> Trial:
        """The reference path under another clock and seed."""
        return (
            await self.once(
                "elsewhere",
                lambda: self.play([replace(self.path(), reset=start_elsewhere(self.scenario))]),
            )
        )[0]

    async def attacks(self, run: Probes = "all") -> dict[str, list[Trial]]:
        """Trials of every attacker over its seeds, or of the open or sealed ones. An attacker with
        one seed has no sealed attack."""
        return await self.once(f"{run} attacks", lambda: self._attack(run))

    @property
    def first_seed(self) -> int:
        """First seed of the attacks. Another audit uses other seeds."""
        return self._means.seed * SEEDS

    def plan_attack(self, name: str, seed: int) -> Attempt:
        """Every second attempt continues where the one before it ended, because the state has other
        rows then."""
        attacker = ATTACKERS[name]
        first = seed - (seed - self.first_seed) % 2
        calls = [call for each in range(first, seed + 1) for call in self._plan(name, each)]
        return Attempt(
            f"{name} (seed {seed})",
            tuple(calls),
            lambda seen: attacker.speak(self.view, seen),
            brief=True,
        )

    def _plan(self, name: str, seed: int) -> list[Call]:
        if (name, seed) not in self._plans:
            self._plans[name, seed] = ATTACKERS[name].plan(self.view, seed)
        return self._plans[name, seed]

    def list_seeds(self, name: str) -> range:
        """One seed without randomness; few if the attacker's fixed words cannot contain a required
        fact."""
        attacker, verifier = ATTACKERS[name], self.scenario.verifier
        lost = isinstance(attacker, Mute) and has_lost(verifier, attacker.words)
        return range(
            self.first_seed,
            self.first_seed + (1 if not attacker.random else _LOST if lost else SEEDS),
        )

    def path(self) -> Attempt:
        return Attempt("oracle", tuple(self.scenario.oracle), self.last_words())

    def last_words(self) -> tuple[str, ...]:
        return Ending.list_words(self.scenario)

    async def play(
        self, attempts: Sequence[Attempt], *, elsewhere: bool = False, in_place: bool = False
    ) -> list[Trial]:
        """Plays attempts in as few messages as possible. Attempts with the same calls are played
        once, whatever their words.

        `elsewhere` is a jail with another hash seed, in which everything is played and judged
        again. `in_place` (see `Sandbox.play`) is for attackers.
        """
        if elsewhere:
            seen = await self._observe(attempts, elsewhere)
            return [
                await self._conclude(each, one, elsewhere)
                for each, one in zip(attempts, seen, strict=True)
            ]
        keys = [find_key(each) for each in attempts]
        held = self._seen_in_place if in_place else self._seen
        lacking = {
            key: each
            for key, each in zip(keys, attempts, strict=True)
            if key not in self._seen and key not in held
        }
        held.update(
            zip(
                lacking, await self._observe(list(lacking.values()), in_place=in_place), strict=True
            )
        )
        seen = [self._seen.get(key) or held[key] for key in keys]
        trials = [
            await self._conclude(each, one, elsewhere)
            for each, one in zip(attempts, seen, strict=True)
        ]
        return [
            replace(trial, sealed=True) if each.sealed else trial
            for each, trial in zip(attempts, trials, strict=True)
        ]

    async def judge(self, ending: Ending) -> Verdict:
        """The verdict on an ending that the caller made."""
        return await decide(
            self._means.sandbox, self.scenario.verifier, ending, self.scenario.clock
        )

    async def _play_twice(self) -> list[Trial]:
        """Plays the empty attempt in the same message, because nearly every gate needs it."""
        path, nothing = self.path(), Attempt("do_nothing")
        one, other, self._seen[find_key(nothing)] = await self._observe([path, path, nothing])
        self._seen[find_key(path)] = one
        return [await self._conclude(path, seen, elsewhere=False) for seen in (one, other)]

    async def _observe(
        self, attempts: Sequence[Attempt], elsewhere: bool = False, *, in_place: bool = False
    ) -> list[list[Observation]]:
        """Observations of each attempt: the reset, one per call, and the look."""
        sandbox = self.sandbox.elsewhere if elsewhere else self.sandbox
        chains = list(chain_up(attempts))
        plans = [list(plan_chain(chain, self._start)) for chain in chains]
        played = await play_plans(self._program, plans, sandbox, hashes="last", in_place=in_place)
        return [
            one
            for chain, seen in zip(chains, played, strict=True)
            for one in unchain(chain, iter(seen))
        ]

    async def _conclude(self, attempt: Attempt, seen: list[Observation], elsewhere: bool) -> Trial:
        if fault := find_breakdown(seen):
            return Trial(seen, None, make_error(fault))
        words = attempt.said(seen[1:-1]) if callable(attempt.said) else attempt.said
        made = settle(attempt.calls, seen[1:-1])
        deeds = [
            CompletedCall.of(call, reply) for call, reply in zip(made, seen[1:-1], strict=True)
        ]
        initial = self.scenario.initial_state if attempt.reset is None else attempt.reset.state
        ended = Ending.find_ended(self.scenario, words)
        deeds, words, answers = Ending.ask_along(deeds, words)
        ending = Ending(
            initial,
            seen[-1].state,
            deeds,
            words,
            self._serialised if attempt.reset is None else None,
            ended,
            answers,
        )
        if attempt.brief and (found := glance(self.scenario.verifier, ending)):
            return Trial(seen, ending, found)
        return Trial(
            seen,
            ending,
            await self._judge_once(
                ending, seen[-1].state_hash, plain=attempt.reset is None and not elsewhere
            ),
        )

    async def _judge_once(self, ending: Ending, state_hash: str, *, plain: bool) -> Verdict:
        """If verdicts depend on the state alone, each state is judged once."""
        if not plain or not state_hash or not looks_at_states_only(self.scenario):
            return await self.judge(ending)
        if state_hash not in self._verdicts:
            self._verdicts[state_hash] = await self.judge(ending)
        return self._verdicts[state_hash]

    async def _attack(self, run: Probes) -> dict[str, list[Trial]]:
        dealt = [
            (name, seed, sealed)
            for name in ATTACKERS
            for seed, sealed in deal(self.list_seeds(name), run)
        ]
        named = [
            (name, replace(self.plan_attack(name, seed), sealed=sealed))
            for name, seed, sealed in dealt
        ]
        trials = await self._search([attempt for _, attempt in named])
        found: dict[str, list[Trial]] = {name: [] for name in ATTACKERS}
        for (name, _), trial in zip(named, trials, strict=True):
            found[name].append(trial)
        followed = [
            (name, attempt)
            for name in FOLLOWING
            for attempt in self._follow(name, [one for one in found[name] if not one.sealed])
        ]
        for (name, _), trial in zip(
            followed, await self._search([attempt for _, attempt in followed]), strict=True
        ):
            found[name].append(trial)
        return found

    async def _search(self, attempts: Sequence[Attempt]) -> list[Trial]:
        """Plays attempts in place, and those that earn a reward again in a fresh session."""
        trials = await self.play(attempts, in_place=True)
        paid = [place for place, trial in enumerate(trials) if trial.verdict.reward]
        for place, trial in zip(
            paid, await self.play([attempts[place] for place in paid]), strict=True
        ):
            trials[place] = trial
        return trials

    def _follow(self, name: str, played: Sequence[Trial]) -> Iterator[Attempt]:
        """Repeats an attack and continues it with the rows that it created. A plain attack is
        planned before it sees any reply."""
        if len(played) <= _LOST:
            return
        attacker = ATTACKERS[name]
        made = [
            (trial.ending, view)
            for trial in played[::2]
            if trial.ending and (view := self.view.after(trial.ending.final))
        ]
        for ending, view in made[:_FOLLOWED]:
            calls = (*(deed.call for deed in ending.deeds), *attacker.plan(view, self.first_seed))
            yield Attempt(
                f"{name} (goes on)", calls, lambda seen: attacker.speak(self.view, seen), brief=True
            )


_KEPT: OrderedDict[tuple[str, str, int, int], Trials] = OrderedDict()


def looks_at_states_only(scenario: Scenario) -> bool:
    """Whether the verdict depends on the initial and final state alone."""
    verifier = scenario.verifier
    generated = any(check.op == "generated" for check in (*verifier.goals, *verifier.guards))
    return not (verifier.procedure or verifier.facts or verifier.harm or generated)


def start_elsewhere(scenario: Scenario) -> Reset:
    """The scenario's state a few minutes later, with other ids. A request means the same there."""
    later = datetime.fromisoformat(scenario.clock) + timedelta(minutes=11)
    return Reset(state=scenario.initial_state, clock=later.isoformat(), seed=scenario.seed + 101)


def list_writes(posed: ScenarioCase) -> list[int]:
    """Positions of the oracle's calls that may change something."""
    reads = {tool.name for tool in posed.environment.tools if tool.effect == "query"}
    return [place for place, call in enumerate(posed.scenario.oracle) if call.name not in reads]


def describe_reply(reply: Observation) -> str:
    """The result of a call in one line."""
    return (
        "ok" if reply.outcome == "ok" else f"{reply.outcome} ({reply.code}: {reply.message})"[:300]
    )
