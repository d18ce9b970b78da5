"""The judgement of an ending: guards · frame · procedure · harm × weighted goals and facts.

reward = 1 if everything holds, else 0. A verifier that pays in part pays for the goals and facts
that hold, as long as everything that gates the reward holds.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from envmill.verifiers.checks import Said, holds
from envmill.verifiers.consent import find_unagreed, needs_answers
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.evidence import Failing, show_change, show_check, show_fact, show_predicate
from envmill.verifiers.facts import find_shortfall
from envmill.verifiers.pattern import Keys
from envmill.verifiers.procedure import find_breach
from envmill.verifiers.rows import match_rows
from schemas.base import Json
from schemas.rollout import Verdict
from schemas.scenario import Change, Check, Predicate, Verifier

NOTHING: Said = MappingProxyType({})


def judge(verifier: Verifier, ending: Ending, said: Said = NOTHING) -> Verdict:
    """The verdict on an ending. It does not need the program that led to the ending. Generated
    checks must have run before (see `court`)."""
    if fault := _find_fault(verifier, said):
        return make_error(fault)
    if needs_answers((*verifier.procedure, *verifier.harm), ending):
        return make_error("the user's answers were not recorded, and the procedure depends on them")
    changes = diff_states(ending.initial, ending.final, ending.serialised)
    keys = match_rows(
        verifier.goals, [change for change in changes if change.op == "add"], ending.final
    )
    try:
        failing = list(_find_failing(verifier, ending, changes, keys, said))
    except ValueError as error:
        return make_error(f"a fact's pattern cannot be run: {error}")
    components = {name: _share(verifier, name, failing) for name in _list_components(verifier)}
    for side in dict.fromkeys(verifier.sides.values()):
        components[side] = float(not any(verifier.sides.get(one.place) == side for one in failing))
    if verifier.unjudged and not failing:
        reason = f"not judged: {'; '.join(verifier.unjudged)}"
        return Verdict(outcome="error", reward=None, components=components, reason=reason[:2000])
    return Verdict(
        outcome="fail" if failing else "pass",
        reward=_reward(verifier, components, failing),
        components=components,
        reason=failing[0].reason[:2000] if failing else "",
        evidence=[one.describe() for one in failing],
    )


def glance(verifier: Verifier, ending: Ending) -> Verdict | None:
    """The verdict of an all-or-nothing verifier whose first failed check is cheap to find; None if
    only `judge` can tell.

    For callers that judge many endings that should fail. The evidence contains only this one check.
    """
    if verifier.partial or _hears(verifier):
        return None
    plain = [goal for goal in verifier.goals if goal.op != "present"]
    missed = next(
        (goal for goal in plain if not holds(goal, ending.initial, ending.final, {}, NOTHING)), None
    )
    if missed:
        return _lose(show_check("goals", missed, ending.final))
    try:
        shortfalls = (
            (fact, find_shortfall(fact, ending.find_messages(fact), verifier.facts))
            for fact in verifier.facts
        )
        untold = next(
            (show_fact(fact, shortfall) for fact, shortfall in shortfalls if shortfall is not None),
            None,
        )
    except ValueError:
        return None
    return _lose(untold) if untold else None


def has_lost(verifier: Verifier, said: Sequence[str]) -> bool:
    """Whether an agent that says only this has failed in every end state: a fact is missing, and
    the verifier pays nothing in part."""
    if verifier.partial or _hears(verifier):
        return False
    try:
        return any(
            find_shortfall(fact, said, verifier.facts) is not None for fact in verifier.facts
        )
    except ValueError:
        return False


def _hears(verifier: Verifier) -> bool:
    """Whether the verifier has a generated check. Such a check may break down, and then there is no
    verdict."""
    return any(check.op == "generated" for check in (*verifier.goals, *verifier.guards))


def _lose(failing: Failing) -> Verdict:
    return Verdict(
        outcome="fail",
        reward=0.0,
        components={failing.component: 0.0},
        reason=failing.reason[:2000],
        evidence=[failing.describe()],
    )


def make_error(reason: str) -> Verdict:
    """An error: the verifier could find out nothing about the policy."""
    return Verdict(outcome="error", reward=None, components={}, reason=reason[:2000])


def find_stray(verifier: Verifier, changes: list[Change], keys: Keys) -> list[Change]:
    """Changes that neither the frame nor a goal declares. Every new row needs its own goal."""
    excused = [[*verifier.goals[number].path, key] for number, key in keys.items()]
    declared = {tuple(path) for path in (*verifier.frame, *excused)}
    return [
        change
        for change in changes
        if not any(
            tuple(change.path[:length]) in declared for length in range(len(change.path) + 1)
        )
    ]


def classify(
    checks: list[Check], initial: Json, said: Said = NOTHING
) -> tuple[list[Check], list[Check]]:
    """Sorts checks by running them on the initial state: goals are false there, guards are true. A
    check for a new row is always a goal."""
    guards = [
        check
        for check in checks
        if check.op != "present" and holds(check, initial, initial, {}, said)
    ]
    return [check for check in checks if check not in guards], guards


def _find_fault(verifier: Verifier, said: Said) -> str:
    if not verifier.goals and not verifier.facts:
        return "the verifier asks for nothing: it has neither a goal nor a fact"
    unheard = any(
        check.op == "generated" and check.source not in said
        for check in (*verifier.guards, *verifier.goals)
    )
    return "a generated check was not heard" if unheard else ""


def _find_failing(
    verifier: Verifier, ending: Ending, changes: list[Change], keys: Keys, said: Said
) -> Iterator[Failing]:
    """Every part that fails. Parts that gate the reward come first."""
    initial, final = ending.initial, ending.final
    for check in verifier.guards:
        if not holds(check, initial, final, keys, said):
            yield show_check("guards", check, final)
    for change in find_stray(verifier, changes, keys):
        yield show_change(change)
    yield from _find_breaches("procedure", verifier.procedure, ending, keys)
    yield from _find_breaches("harm", verifier.harm, ending, keys)
    for number, goal in enumerate(verifier.goals):
        if not (
            number in keys if goal.op == "present" else holds(goal, initial, final, keys, said)
        ):
            yield show_check(
                "goals", goal, final, [change for change in changes if change.op == "add"]
            )
    for fact in verifier.facts:
        if (
            shortfall := find_shortfall(fact, ending.find_messages(fact), verifier.facts)
        ) is not None:
            yield show_fact(fact, shortfall)


def _find_breaches(
    component: str, predicates: Sequence[Predicate], ending: Ending, keys: Keys
) -> Iterator[Failing]:
    for predicate in predicates:
        found = (
            find_unagreed(predicate, ending, keys)
            if predicate.op == "agreed"
            else find_breach(predicate, ending.deeds, keys)
        )
        if found is not None:
            yield show_predicate(component, predicate, found)


def _list_components(verifier: Verifier) -> list[str]:
    """Components that the verifier has. It always has a frame, because an empty frame allows no
    change."""
    there = {
        "guards": verifier.guards,
        "frame": True,
        "goals": verifier.goals,
        "procedure": verifier.procedure,
        "facts": verifier.facts,
        "harm": verifier.harm,
    }
    return [name for name, parts in there.items() if parts]


def _share(verifier: Verifier, component: str, failing: Sequence[Failing]) -> float:
    """1 or 0 for a component that gates the reward. For goals and facts, the share of the weight
    that was reached."""
    lost = [one.weight for one in failing if one.component == component]
    if component not in ("goals", "facts"):
        return float(not lost)
    parts = [part.weight for part in (verifier.goals if component == "goals" else verifier.facts)]
    # If every part failed, the share is exactly 0, whatever the rounding of the weights.
    return 0.0 if len(lost) == len(parts) else 1.0 - sum(lost) / sum(parts)


def _reward(
    verifier: Verifier, components: Mapping[str, float], failing: Sequence[Failing]
) -> float:
    if not failing:
        return 1.0
    if not verifier.partial or any(one.component not in ("goals", "facts") for one in failing):
        return 0.0
    weights = {
        "goals": sum(goal.weight for goal in verifier.goals),
        "facts": sum(fact.weight for fact in verifier.facts),
    }
    return sum(components.get(name, 0.0) * weight for name, weight in weights.items()) / sum(
        weights.values()
    )
