"""Mistakes in what a program refuses: a rule forgotten, a limit missed by one, a refusal that comes
too late or says nothing."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from offline.domain import Operation
from offline.faults.base import FaultCase, Spoilt, is_refused, shuffle
from offline.faults.method import GuardClause, Method, cut_methods, put_method
from offline.faults.search import find_differences
from offline.tests import RuleTrial
from offline.witness import Trace
from schemas.prompts import ProgramReply

ProgramCase = FaultCase[ProgramReply]
Found = Iterable[tuple[Method, list[RuleTrial]]]

_BOUNDARY = {">=": ">", ">": ">=", "<": "<=", "<=": "<"}


def forget_rule(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """One rule is not enforced. The docstring still tells it: a model that forgets a check has read
    the rules all the same."""

    def forget(method: Method, guard: GuardClause, trial: RuleTrial) -> Method | None:
        rules = {each.code for each in case.domain.operations[method.name].must}
        return method.without(guard) if trial.code in rules else None

    return _spoil_guard(case, dice, forget)


def skip_range(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A plain value is taken as it comes: an empty text, a number far out, a word nobody knows."""

    def skip(method: Method, guard: GuardClause, trial: RuleTrial) -> Method | None:
        rules = {each.code for each in case.domain.operations[method.name].must}
        return None if trial.code in rules else method.without(guard)

    return _spoil_guard(case, dice, skip)


def miss_by_one(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A limit is compared with the wrong one of `<` and `<=`."""
    for operation in shuffle(case.domain.changes, dice):
        method = cut_methods(case.version.source)[operation.name]
        for guard in method.guards:
            condition, faulty = _flip(guard.condition), _loosen(operation, guard.code, case)
            traces = (
                find_differences(operation, faulty, case.start, dice)
                if condition and faulty
                else []
            )
            if traces:
                return finish_on(
                    case, method.with_guard(guard, replace(guard, condition=condition)), traces
                )
    return None


def change_first(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """The change is made before anything is checked, so a refused call leaves its mark."""

    def move(method: Method, guard: GuardClause, trial: RuleTrial) -> Method | None:  # noqa: ARG001
        if not method.effects or any(line.startswith("        for ") for line in method.effects):
            return None
        return method.with_effects_first()

    return _spoil_guard(case, dice, move)


def succeed_silently(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A refused call is answered as if it had been carried out."""
    return _spoil_refusal(case, dice, 'return {"success": True}')


def return_error(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A refusal comes back as an ordinary result that speaks of an error."""
    return _spoil_refusal(case, dice, 'return {"error": "This is not possible."}')


def crash_on_unknown(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """An id nobody knows is a KeyError instead of a refusal."""
    for operation in shuffle(case.domain.operations.values(), dice):
        method = cut_methods(case.version.source)[operation.name]
        trials = case.find_trials(operation.name, lambda code: code.startswith("unknown_"))
        opening = tuple(
            re.sub(r"self\._find\((self\.\w+), (\w+), .*\)$", r"\1[\2]", line)
            for line in method.opening
        )
        if trials and opening != method.opening:
            return finish(case, replace(method, opening=opening), trials)
    return None


def refuse_always(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A condition is turned round: what is right is refused, what is wrong goes through."""

    def turn(method: Method, guard: GuardClause, trial: RuleTrial) -> Method | None:  # noqa: ARG001
        inner = (
            guard.condition.removeprefix("not ")
            if guard.condition.startswith("not ")
            else f"not ({guard.condition})"
        )
        return method.with_guard(guard, replace(guard, condition=inner))

    return _spoil_guard(case, dice, turn)


def finish(case: ProgramCase, method: Method, trials: Iterable[RuleTrial]) -> Spoilt:
    """The reply with this method in it, to be tried on these trials."""
    return finish_on(case, method, map(case.trace, trials))


def finish_on(case: ProgramCase, method: Method, traces: Iterable[Trace]) -> Spoilt:
    """The reply with this method in it, to be tried on these traces."""
    source = put_method(case.version.source, method)
    reply = case.reply.model_copy(update={"source": source}).model_dump(mode="json")
    return Spoilt(reply, case.pair(case.render(source), traces))


def _spoil_guard(
    case: ProgramCase,
    dice: random.Random,
    spoil: Callable[[Method, GuardClause, RuleTrial], Method | None],
    changes: bool = True,
) -> Spoilt | None:
    """Spoil one refusal that a trial has met."""
    for method, guard, trial in _list_met(case, dice, changes):
        spoilt = spoil(method, guard, trial)
        if spoilt is not None:
            rest = [
                each for each in case.find_trials(method.name, lambda _: True) if each is not trial
            ]
            return finish(case, spoilt, [trial, *rest])
    return None


def _list_met(
    case: ProgramCase, dice: random.Random, changes: bool
) -> Iterator[tuple[Method, GuardClause, RuleTrial]]:
    """Refusals together with a trial that breaks this rule and no other."""
    methods = cut_methods(case.version.source)
    for operation in shuffle(
        case.domain.changes if changes else case.domain.operations.values(), dice
    ):
        method, trials = methods[operation.name], case.find_trials(operation.name, is_refused)
        guards = list(method.guards)
        dice.shuffle(guards)
        for guard in guards:
            met = next((each for each in trials if each.code == guard.code), None)
            if met:
                yield method, guard, met


def _spoil_refusal(case: ProgramCase, dice: random.Random, statement: str) -> Spoilt | None:
    return _spoil_guard(
        case,
        dice,
        lambda method, guard, _: method.with_guard(guard, replace(guard, refusal=statement)),
    )


def _flip(condition: str) -> str:
    """The condition with the last of its boundaries moved; empty when it has none."""
    found = re.search(r"(?<= )(>=|<=|<|>)(?= [^<>]*$)", condition)
    return (
        condition[: found.start()] + _BOUNDARY[found[0]] + condition[found.end() :] if found else ""
    )


def _loosen(operation: Operation, code: str, case: ProgramCase) -> Operation | None:
    """The same in the domain model: the operation with this rule's limit, or this value's highest,
    moved by one."""
    if any(each.code == code and _flip(each.that) for each in operation.must):
        must = tuple(
            replace(each, that=_flip(each.that)) if each.code == code else each
            for each in operation.must
        )
        return replace(operation, must=must)
    ranged = [
        each for each in operation.takes if each.between and code == f"{each.name}_out_of_range"
    ]
    if not ranged or ranged[0].between is None:
        return None
    low, high = (case.domain.bound(each) for each in ranged[0].between)
    takes = tuple(
        replace(each, between=(low, high - 1)) if each is ranged[0] else each
        for each in operation.takes
    )
    return replace(operation, takes=takes)
