"""Runs the search attacker on one scenario. Many call sequences share a message, and each different
final state is judged once.

pool ─► episodes ─► one message ─► ends ─► verdicts ─► score of each ─► the next generation
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import orjson

from envmill.agents.attackers.base import AttackerView, recite
from envmill.agents.search import GENERATION, CallPool, SearchEpisode, Searcher, speak
from envmill.base.errors import BuildError
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.equivalence import is_same_end
from envmill.gates.exploring.trials import Attempt, Trials, looks_at_states_only
from envmill.kinds.start import start
from envmill.kinds.trial import Trial, find_breakdown
from envmill.sandbox import Invoke, Look, Observation, Program
from envmill.sandbox.batches import play_plans
from envmill.verifiers.court import decide
from envmill.verifiers.diff import diff_states, render_state
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge, make_error
from envmill.verifiers.typed import derive_end
from schemas.base import Json
from schemas.environment import Call
from schemas.ledger import Attack
from schemas.rollout import Verdict
from schemas.scenario import Verifier

Manner = Literal["blind", "informed", "library"]

_GROWN_FROM = 6
"""Number of final states per generation whose new rows join the pool."""
_GATES = ("guards", "frame", "procedure", "harm")


@dataclass(frozen=True)
class PaidSequence:
    """A sequence that earned a reward, without the calls that the reward does not need."""

    manner: Manner
    calls: tuple[Call, ...]
    said: tuple[str, ...]
    trial: Trial
    right: bool | None
    """Whether its final state equals the reference path's, except for chance; None without a
    reference path."""

    @property
    def exploit(self) -> bool:
        """Whether it passes without doing what is asked."""
        return self.trial.verdict.outcome == "pass" and self.right is False


def recite_all(seen: Sequence[Observation]) -> list[str]:
    """Repeats what the replies said. Recorded words of another scenario would repeat that
    scenario's rows."""
    return [recite(seen)]


@dataclass
class SearchTally:
    """Totals of one manner of searching."""

    episodes: int = 0
    drawn: int = 0
    """Episodes sampled without learning."""
    lucky: int = 0
    """Passes among those."""
    passes: int = 0
    broken: int = 0
    """Episodes whose session broke down or whose verdict is an error."""
    best: float = 0.0
    paid: float = 0.0
    """Sum of all rewards."""
    catches: list[PaidSequence] = field(default_factory=list[PaidSequence])


class SearchResult:
    """The search on one scenario."""

    def __init__(self, posed: ScenarioCase, means: GateContext) -> None:
        self.posed, self.scenario, self.means = posed, posed.scenario, means
        self.view = AttackerView.of(posed.scenario, posed.environment)
        self.trials = Trials.of(posed, means)
        self._program, self._start = Program.of(posed.environment), start(posed.scenario)
        self._serialised = render_state(posed.scenario.initial_state)
        self._states_only = looks_at_states_only(posed.scenario)
        self._known: dict[bytes, Verdict] = {}
        self._caught: set[bytes] = set()

    async def search(self, manner: Literal["blind", "informed"], episodes: int) -> SearchTally:
        """Runs a number of episodes. If the verifier pays all or nothing, the first third of a
        blind search does not learn, and measures luck."""
        pool = (CallPool.blind if manner == "blind" else CallPool.informed)(
            self.view, self.means.seed
        )
        dice, grown = random.Random(self.means.seed), False
        searcher, tally = Searcher(pool, dice), SearchTally()
        while pool.calls and tally.episodes < episodes:
            count = min(GENERATION, episodes - tally.episodes)
            learnt = (
                manner == "informed"
                or self.scenario.verifier.partial
                or tally.episodes >= episodes // 3
            )
            drawn = searcher.sample(count, learnt=learnt)
            endings = await self._play(pool, drawn)
            verdicts = [await self._judge(ending) for ending in endings]
            searcher.learn(
                [(self.earn(verdict), one) for verdict, one in zip(verdicts, drawn, strict=True)]
            )
            if learnt and searcher.best and not grown:
                grown, pool = True, pool.grow(self.view, self._list_paid(endings, verdicts), dice)
                searcher.adopt(pool)
            self._count(tally, verdicts, learnt)
            for one, ending, verdict in zip(drawn, endings, verdicts, strict=True):
                if (
                    isinstance(ending, Ending)
                    and self._is_new(ending, verdict)
                    and await self._is_worth_it(ending, verdict, tally)
                ):
                    catch = await self._catch(
                        manner, [pool.calls[place] for place in one.calls], ending
                    )
                    # The search resets sessions in place. A reward counts only if a fresh session
                    # earns it, too.
                    tally.catches += [catch] if catch.trial.verdict.reward else []
            if any(catch.exploit for catch in tally.catches):
                break
        return tally

    def _list_paid(
        self, endings: Sequence[Ending | str], verdicts: Sequence[Verdict]
    ) -> list[dict[str, Json]]:
        """Final states with the best scores of a generation."""
        ends = [
            (self.earn(verdict), one.final)
            for one, verdict in zip(endings, verdicts, strict=True)
            if isinstance(one, Ending)
        ]
        return [final for _, final in sorted(ends, key=lambda end: -end[0])[:_GROWN_FROM]]

    async def replay(self, library: Sequence[Attack]) -> list[PaidSequence]:
        """Attacks that earned a reward in another scenario and earn one here, with their recorded
        words or with the replies of this scenario."""
        attempts = [
            Attempt("library", tuple(one.calls), words)
            for one in library
            for words in (tuple(one.said), recite_all)
        ]
        trials = await self.trials.play(attempts)
        paid = [
            (attempt, trial.ending)
            for attempt, trial in zip(attempts, trials, strict=True)
            if trial.verdict.reward and trial.ending
        ]
        return [await self._catch("library", attempt.calls, ending) for attempt, ending in paid]

    def earn(self, verdict: Verdict) -> float:
        """The score to maximise: a partial reward if there is one; otherwise the share of goals and
        facts, halved for each failed gate."""
        if self.scenario.verifier.partial or verdict.outcome != "fail":
            return verdict.reward or 0.0
        shares = [
            verdict.components[name] for name in ("goals", "facts") if name in verdict.components
        ]
        broken = sum(verdict.components.get(name, 1.0) < 1.0 for name in _GATES)
        return sum(shares) / len(shares) * 0.5**broken if shares else 0.0

    async def _play(self, pool: CallPool, episodes: Sequence[SearchEpisode]) -> list[Ending | str]:
        """The ending of each episode, or the reason it cannot be judged."""
        steps = [Invoke(call) for call in pool.calls]
        played = await play_plans(
            self._program,
            [[self._start, *(steps[place] for place in one.calls), Look()] for one in episodes],
            self.means.sandbox,
            hashes="none",
            in_place=True,
        )
        return [self._conclude(pool, one, seen) for one, seen in zip(episodes, played, strict=True)]

    def _conclude(
        self, pool: CallPool, episode: SearchEpisode, seen: list[Observation]
    ) -> Ending | str:
        if fault := find_breakdown(seen):
            return fault
        deeds = [
            CompletedCall.of(pool.calls[place], reply)
            for place, reply in zip(episode.calls, seen[1:-1], strict=True)
        ]
        return Ending(
            self.scenario.initial_state,
            seen[-1].state,
            deeds,
            speak(episode.speech, self.view, seen[1:-1]),
            self._serialised,
        )

    async def _judge(self, ending: Ending | str) -> Verdict:
        if isinstance(ending, str):
            return make_error(ending)
        key = orjson.dumps(ending.final) if self._states_only else b""
        if key and key in self._known:
            return self._known[key]
        verdict = await decide(
            self.means.sandbox, self.scenario.verifier, ending, self.scenario.clock
        )
        if key:
            self._known[key] = verdict
        return verdict

    def _count(self, tally: SearchTally, verdicts: Sequence[Verdict], learnt: bool) -> None:
        passes = sum(verdict.outcome == "pass" for verdict in verdicts)
        tally.episodes += len(verdicts)
        tally.passes += passes
        tally.drawn += 0 if learnt else len(verdicts)
        tally.lucky += 0 if learnt else passes
        tally.broken += sum(verdict.outcome == "error" for verdict in verdicts)
        rewards = [verdict.reward or 0.0 for verdict in verdicts]
        tally.best = max(tally.best, *rewards)
        tally.paid += sum(rewards)

    def _is_new(self, ending: Ending, verdict: Verdict) -> bool:
        """Whether it earns a reward and its final state is new."""
        if not verdict.reward:
            return False
        key = orjson.dumps(ending.final)
        new = key not in self._caught
        self._caught.add(key)
        return new

    async def _is_worth_it(self, ending: Ending, verdict: Verdict, tally: SearchTally) -> bool:
        """Whether it earns more than all before it, or passes with a wrong final state."""
        most = max((catch.trial.verdict.reward or 0.0 for catch in tally.catches), default=0.0)
        return (verdict.reward or 0.0) > most or (
            verdict.outcome == "pass" and await self._is_right(ending) is False
        )

    async def _catch(self, manner: Manner, calls: Sequence[Call], ending: Ending) -> PaidSequence:
        """Drops calls as long as the reward stays the same."""
        left, trial = tuple(calls), await self._try(calls, ending)
        for place in reversed(range(len(left))):
            shorter = (*left[:place], *left[place + 1 :])
            tried = await self._try(shorter, ending)
            if (tried.verdict.reward or 0.0) >= (trial.verdict.reward or 0.0):
                left, trial = shorter, tried
        right = None if trial.ending is None else await self._is_right(trial.ending)
        return PaidSequence(manner, left, tuple(ending.said), trial, right)

    async def _try(self, calls: Sequence[Call], ending: Ending) -> Trial:
        return (await self.trials.play([Attempt("search", tuple(calls), tuple(ending.said))]))[0]

    async def _is_right(self, ending: Ending) -> bool | None:
        if not self.scenario.oracle or (await self.trials.oracle())[0].ending is None:
            return None
        wanted = (await self.trials.oracle())[0].ending
        tables = self.trials.environment.tables
        if wanted is not None and is_same_end(
            ending.initial, ending.final, wanted.final, tables, self.scenario.verifier
        ):
            return True
        strict = await self.trials.once("strict", self._derive)
        return (
            strict is not None
            and judge(strict, Ending(ending.initial, ending.final)).outcome == "pass"
        )

    async def _derive(self) -> Verifier | None:
        """A verifier that accepts only the reference path's final state, except for chance."""
        one, other = (await self.trials.oracle())[0].ending, (await self.trials.elsewhere()).ending
        if one is None or other is None:
            return None
        try:
            return derive_end(
                self.trials.environment.tables,
                one.initial,
                diff_states(one.initial, one.final),
                diff_states(other.initial, other.final),
            )
        except BuildError:
            return None

    @property
    def episodes(self) -> int:
        """Episodes of one manner. Verdicts by generated code need a process each, so there are
        fewer."""
        verifier = self.scenario.verifier
        generated = any(check.op == "generated" for check in (*verifier.goals, *verifier.guards))
        return self.means.episodes // (20 if generated else 2)
