"""Procedural tests: calls whose outcome the domain model foretells, tried from several reachable
states.

initial state ──0 to 3 permitted changes──► situations ──drawn calls──► one test per way a call can end
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from offline.compose import compose_domain
from offline.consent import sign_call, sign_calls
from offline.dice import make_dice
from offline.domain import Arguments, Department, Domain, Operation, State
from offline.draw import sample_arguments, sample_permitted
from offline.population import live_through, open_world
from offline.world import DomainWorld
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import PlannedTest, TestsReply
from schemas.seed import Brief

SITUATIONS = 16
DRAWS = 10
FEWEST = 3
POPULATIONS = 12
INSISTENCES = 3
MOST_REPEATS = 6
ROADS = 3
ROAD = 12
"""Changes on the way to a success."""


@dataclass(frozen=True)
class Situation:
    """A state and the calls that led to it."""

    world: DomainWorld
    setup: tuple[Call, ...]


@dataclass(frozen=True)
class RuleTrial:
    """A call in a situation, and the one rule it breaks; no code means that it succeeds."""

    setup: tuple[Call, ...]
    call: Call
    code: str


def write_tests(brief: Brief, seed: int) -> TestsReply:
    """At least three tests per tool over one initial state, with a rejection wherever there are
    inputs."""
    world, trials = try_brief(brief, seed)
    tests = [
        PlannedTest(
            name=render_trial(each) if each.setup else "",
            setup=sign_calls(each.setup, world.domain),
            call=sign_call(each.call, world.domain),
            expect="rejection" if each.code else "success",
            after={} if each.code else foretell(_arrive(world, each), each.call),
        )
        for each in trials
    ]
    return TestsReply(initial_state=world.copy().state, tests=tests)


def try_brief(brief: Brief, seed: int) -> tuple[DomainWorld, list[RuleTrial]]:
    """What `try_operations` finds in the variation of a brief; nobody changes what is returned."""
    return _try_brief(brief.model_dump_json(), seed)


@lru_cache(maxsize=32)
def _try_brief(brief: str, seed: int) -> tuple[DomainWorld, list[RuleTrial]]:
    # Trying costs a hundred times what planting a mistake in its outcome does, and repairs ask for
    # the same again and again.
    return try_operations(compose_domain(Brief.model_validate_json(brief), seed), seed)


def try_operations(domain: Domain, seed: int) -> tuple[DomainWorld, list[RuleTrial]]:
    """Per department the first population in which each operation can succeed, or the one that
    comes nearest; and all trials."""
    world, trials = open_world(domain, f"tests/{seed}"), dict[str, list[RuleTrial]]()
    for place, department in enumerate(domain.departments):
        world, found = _try_populations(world, department, seed, f"/{place}" if place else "")
        trials |= found
    # What ties departments together is tried when all of them are there.
    ties = [name for name in domain.operations if name not in trials]
    trials |= _try_all(world, ties, f"tests/{seed}/ties")
    return world, [trial for name in domain.operations for trial in trials[name]]


def _try_populations(
    world: DomainWorld, department: Department, seed: int, place: str
) -> tuple[DomainWorld, dict[str, list[RuleTrial]]]:
    best: tuple[int, DomainWorld, dict[str, list[RuleTrial]]] | None = None
    names = [name for name in world.domain.operations if name in department.operations]
    for again in range(POPULATIONS):
        key = f"tests/{seed}/{again}{place}"
        grown = live_through(world, department, key)
        trials = _try_all(grown, names, key)
        lacking = sum(not _is_covered(each) for each in trials.values())
        if best is None or lacking < best[0]:
            best = (lacking, grown, trials)
        if not lacking:
            break
    assert best is not None
    return best[1:]


def _is_covered(trials: list[RuleTrial]) -> bool:
    return any(not each.code for each in trials) and len(trials) >= FEWEST


def _try_all(start: DomainWorld, names: list[str], key: str) -> dict[str, list[RuleTrial]]:
    """Trials of each of these operations; what makes way for one is among them."""
    dice = make_dice("trials", key)
    changes = [each for each in start.domain.changes if each.name in names]
    situations = [_reach(start, min(number // 4, 3), changes, dice) for number in range(SITUATIONS)]
    return {
        name: _try_operation(start.domain.operations[name], situations, changes, start.state, dice)
        for name in names
    }


def _reach(
    start: DomainWorld, count: int, changes: list[Operation], dice: random.Random
) -> Situation:
    world, setup = start.copy(), list[Call]()
    for _ in range(count if changes else 0):
        operation = dice.choice(changes)
        arguments = sample_permitted(operation, world, start.state, dice)
        if arguments is not None:
            world.apply(operation, arguments)
            setup.append(Call(name=operation.name, arguments=arguments))
    return Situation(world, tuple(setup))


def _try_operation(
    operation: Operation,
    situations: list[Situation],
    changes: list[Operation],
    known: State,
    dice: random.Random,
) -> list[RuleTrial]:
    most_successes = 2 if operation.takes else FEWEST
    successes: list[RuleTrial] = []
    rejections: dict[str, RuleTrial] = {}
    for situation in situations:
        for _ in range(DRAWS if operation.takes else 1):
            trial = _judge(
                operation,
                sample_arguments(operation, situation.world, known, dice, wild=0.2),
                situation,
            )
            if trial and trial.code:
                rejections.setdefault(trial.code, trial)
            elif trial and len(successes) < most_successes and trial not in successes:
                successes.append(trial)
    if not successes:
        successes = _strive(operation, situations[0], changes, known, dice)
    if operation.effect == "change":
        for trial in _insist(operation, situations[0], known, dice):
            rejections.setdefault(trial.code, trial)
    return [*successes, *rejections.values()]


def _judge(operation: Operation, arguments: Arguments, situation: Situation) -> RuleTrial | None:
    """A trial, unless the call breaks several rules: then a program that forgets one of them still
    rejects it."""
    codes = situation.world.find_violations(operation, arguments)
    if len(codes) > 1:
        return None
    return RuleTrial(
        situation.setup, Call(name=operation.name, arguments=arguments), codes[0] if codes else ""
    )


def _insist(
    operation: Operation, start: Situation, known: State, dice: random.Random
) -> Iterator[RuleTrial]:
    """Rejections met by doing the same to the same row over and over: limits and capacities show
    only then."""
    for parameter in [each for each in operation.takes if each.row] * INSISTENCES:
        fixed = {parameter.name: dice.choice(list(known[parameter.row]))}
        situation = Situation(start.world.copy(), start.setup)
        for _ in range(MOST_REPEATS):
            drawn = [
                sample_arguments(operation, situation.world, known, dice) | fixed
                for _ in range(DRAWS)
            ]
            trials = [trial for each in drawn if (trial := _judge(operation, each, situation))]
            yield from (each for each in trials if each.code)
            permitted = next((each.call for each in trials if not each.code), None)
            if permitted is None:
                break
            situation.world.apply(operation, permitted.arguments)
            situation = Situation(situation.world, (*situation.setup, permitted))


def _strive(
    operation: Operation,
    start: Situation,
    changes: list[Operation],
    known: State,
    dice: random.Random,
) -> list[RuleTrial]:
    """A success at the end of a longer road: what lies deep in a life cycle is seldom met by three
    changes."""
    for _ in range(ROADS):
        situation = Situation(start.world.copy(), start.setup)
        for _ in range(ROAD if changes else 0):
            arguments = sample_permitted(operation, situation.world, known, dice)
            if arguments is not None:
                return [
                    RuleTrial(situation.setup, Call(name=operation.name, arguments=arguments), "")
                ]
            other = dice.choices(changes, [each.weight for each in changes])[0]
            step = sample_permitted(other, situation.world, known, dice)
            if step is not None:
                situation.world.apply(other, step)
                situation = Situation(
                    situation.world, (*situation.setup, Call(name=other.name, arguments=step))
                )
    return []


def _arrive(start: DomainWorld, trial: RuleTrial) -> DomainWorld:
    """Where the calls before a trial's own lead."""
    world = start.copy()
    for call in trial.setup:
        world.apply(world.domain.operations[call.name], call.arguments)
    return world


def foretell(world: DomainWorld, call: Call, *, whole: bool = False) -> dict[str, dict[str, Json]]:
    """Values that a call which breaks no rule changes in rows that are there, numbers and words;
    what depends on the day is left out.

    `whole`: all that it changes, rows that it makes and removes with it; `*` stands for a value that depends on the day or on an id.
    """
    before, operation = world.copy().state, world.domain.operations[call.name]
    if operation.effect == "query":
        return {}
    world = world.copy()
    world.apply(operation, call.arguments)
    found: dict[str, dict[str, Json]] = {}
    for collection, rows in world.state.items():
        for key, row in rows.items():
            old = before.get(collection, {}).get(key)
            changed = {
                name: value
                for name, value in row.items()
                if old is not None and value != old.get(name) and _is_plain(value)
            }
            if whole and old is not None:
                changed |= {
                    name: "*"
                    for name, value in row.items()
                    if value != old.get(name) and name not in changed
                }
            if changed:
                found.setdefault(collection, {})[key] = changed
    return found | _foretell_rows(before, world.state, found) if whole else found


def _foretell_rows(
    before: State, after: State, found: dict[str, dict[str, Json]]
) -> dict[str, dict[str, Json]]:
    """What is foretold of the rows that are there, with the rows that are made, and those that are
    gone."""
    told = dict(found)
    for collection in sorted({*before, *after}):
        old, new = before.get(collection, {}), after.get(collection, {})
        made: list[Json] = [
            {name: value for name, value in new[key].items() if _is_plain(value)}
            for key in new
            if key not in old
        ]
        more: dict[str, Json] = {"*": made if len(made) > 1 else made[0]} if made else {}
        more |= {key: None for key in old if key not in new}
        if more:
            told[collection] = found.get(collection, {}) | more
    return told


def _is_plain(value: Json) -> bool:
    return (
        isinstance(value, int | str)
        and not isinstance(value, bool)
        and not re.search(r"\d{4}-\d\d|_", str(value))
    )


def render_trial(trial: RuleTrial) -> str:
    """What is tried, in words."""
    after = f" after {', '.join(each.name for each in trial.setup)}" if trial.setup else ""
    return (
        f"{trial.call.name} is {f'rejected: {trial.code}' if trial.code else 'carried out'}{after}"
    )
