"""Finds tools that break the rules in a program that otherwise keeps them. The flags on a tool are
weighed against the checker's false alarms.

opinions ─► by tool, and whether it was carried out or refused ─► more often flagged than alarms explain? ─► broken
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

from envmill.gates.error_corrected_rate import Proportion
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.stored_tests import SEED
from envmill.gates.review import Opinion, ReviewedCall, StateCall, play
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.sandbox.batches import play_plans
from envmill.verifiers.bounds import limit_share
from schemas.base import Json, canonical_json, is_object

LEAST_DONE = 3
"""Minimal number of calls of a change that were carried out. Fewer calls do not show whether the
change keeps the rules."""
FLAGS: tuple[Opinion, ...] = ("fail", "unreadable")
"""Opinions that flag a case. An unreadable opinion approves of nothing."""
DOUBT = 0.05
"""Chance that an environment without a fault loses a tool, all its tools together."""
_STATES, _DRAWS = 40, 6
"""States on which more calls of a change are looked for, and calls drawn on each: most of them it
refuses."""
_MOST = 4
"""Tools looked at closer: a checker that suspects more of them is alarmed, or W3 would have been
red."""


@dataclass(frozen=True)
class CaseOpinion:
    """The checker's opinion on one case."""

    case: ReviewedCall
    opinion: Opinion
    reason: str

    @property
    def flagged(self) -> bool:
        return self.opinion in FLAGS

    @property
    def way(self) -> tuple[str, str]:
        """The tool, and the outcome of the call. A faulty change shows in calls that were carried
        out, and the rate of false alarms differs, too."""
        return self.case.asked.call.name, self.case.seen.outcome


@dataclass(frozen=True)
class FlaggedTool:
    """A tool that is flagged more often than alarms explain."""

    tool: str
    outcome: str
    flagged: Proportion
    alarm: float
    """The most that alarms may be, with 95 % confidence."""
    chance: float
    """Chance of at least this many flags if all were false alarms."""

    def describe(self) -> dict[str, Json]:
        return {
            "tool": self.tool,
            "outcome": self.outcome,
            "flagged": vars(self.flagged),
            "alarm": self.alarm,
            "chance": self.chance,
        }


def list_suspects(heard: Sequence[CaseOpinion]) -> list[str]:
    """Tools with at least one flagged call, the most flagged first."""
    return [
        name for name, _ in Counter(one.way[0] for one in heard if one.flagged).most_common(_MOST)
    ]


def list_thin(
    cases: Sequence[ReviewedCall], exploration: ExplorationRun
) -> Iterator[tuple[str, int]]:
    """Changes that too few of the calls carry out, and how many more are wanted."""
    done = Counter(case.asked.call.name for case in cases if case.seen.outcome == "ok")
    yield from (
        (name, LEAST_DONE - done[name])
        for name in exploration.tools
        if not exploration.is_query(name) and done[name] < LEAST_DONE
    )


async def find_explored_calls(
    exploration: ExplorationRun, tool: str, most: int, program: Program, sandbox: Sandbox
) -> list[StateCall]:
    """Calls of a change that the exploration carried out, each with its state. So the tester need
    not find a way to that state. Calls with new arguments come before the same arguments on another
    state."""
    done = (
        [observed for observed in exploration.of(tool) if observed.seen.outcome == "ok"]
        if not exploration.is_query(tool)
        else []
    )
    seen, fresh, again = set[str](), list[ObservedCall](), list[ObservedCall]()
    for observed in {
        (canonical_json(observed.call.arguments), observed.before): observed for observed in done
    }.values():
        (again if (key := canonical_json(observed.call.arguments)) in seen else fresh).append(
            observed
        )
        seen.add(key)
    picked = [*fresh, *again][:most]
    plans = [
        [Reset(observed.start, CLOCK, SEED), *map(Invoke, observed.route), Look()]
        for observed in picked
    ]
    ends = (
        [looks[-1].state for looks in await play_plans(program, plans, sandbox, in_place=True)]
        if plans
        else []
    )
    asked = (
        StateCall(state, observed.call)
        for observed, state in zip(picked, ends, strict=True)
        if is_object(state)
    )
    return list({one.key: one for one in asked}.values())


async def find_further(
    exploration: ExplorationRun,
    done: Sequence[StateCall],
    most: int,
    program: Program,
    sandbox: Sandbox,
) -> list[ReviewedCall]:
    """Calls of a change on other states of the exploration: calls that were carried out before, and
    sampled ones."""
    known, dice = {one.key for one in done}, random.Random(done[0].call.name)
    states = [state for state in exploration.states.values() if is_object(state)][-_STATES:]
    calls = list({canonical_json(one.call.arguments): one.call for one in done}.values())
    tried = [
        StateCall(state, call)
        for state in states
        for call in (
            *calls,
            *exploration.offers.sample_some(exploration.tools[calls[0].name], state, dice, _DRAWS),
        )
    ]
    fresh = list({one.key: one for one in tried if one.key not in known}.values())
    played = [case for case in await play(program, fresh, sandbox) if case.seen.outcome == "ok"]
    # A call repeated on a state that differs elsewhere says the least, so it comes last.
    return sorted(played, key=lambda case: case.asked.call in calls)[: max(0, most - len(done))]


def find_broken(heard: Sequence[CaseOpinion], alarms: Proportion) -> list[FlaggedTool]:
    """Broken tools, the surest first. `alarms` are the checker's flags on other tools' calls with
    the same outcome, right refusals included."""
    ways = dict.fromkeys(one.way for one in heard)
    found = [_weigh(way, heard, alarms) for way in ways]
    return sorted(
        (one for one in found if one.chance <= DOUBT / len(ways)), key=lambda one: one.chance
    )


def weigh_corner(
    ours: Sequence[CaseOpinion],
    beside: Sequence[CaseOpinion],
    heard: Sequence[CaseOpinion],
    alarms: Proportion,
) -> FlaggedTool:
    """Weighs the flags of a corner, among calls with the most frequent outcome of flagged calls.
    The rate of alarms is at least the flagged share of the calls nearby."""
    way = Counter(one.way for one in ours if one.flagged).most_common(1)[0][0]
    near = [one.flagged for one in beside]
    return _compare(
        way,
        [one.flagged for one in ours if one.way == way],
        heard,
        alarms,
        sum(near) / len(near) if near else 0.0,
    )


def _weigh(way: tuple[str, str], heard: Sequence[CaseOpinion], alarms: Proportion) -> FlaggedTool:
    return _compare(way, [one.flagged for one in heard if one.way == way], heard, alarms)


def _compare(
    way: tuple[str, str],
    ours: Sequence[bool],
    heard: Sequence[CaseOpinion],
    alarms: Proportion,
    least: float = 0.0,
) -> FlaggedTool:
    tool, outcome = way
    others = [one.flagged for one in heard if one.way[0] != tool and one.way[1] == outcome]
    known = alarms if outcome == "rejection" else Proportion(0, 0)
    alarm = max(least, limit_share(sum(others) + known.hits, len(others) + known.n))
    return FlaggedTool(
        tool, outcome, Proportion(sum(ours), len(ours)), alarm, exceed(sum(ours), len(ours), alarm)
    )


def exceed(hits: int, n: int, share: float) -> float:
    """Chance of at least this many hits among n, if each has this share."""
    return min(1.0, sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(hits, n + 1)))
