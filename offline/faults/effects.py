"""Mistakes in what a change does: an effect lost, doubled or misdirected, a row never kept, an
answer from before."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from offline.domain import Operation
from offline.faults.base import MOST_TRACES, FaultCase, Spoilt, shuffle, succeeds
from offline.faults.method import INDENT, Method, cut_methods, put_method
from offline.faults.rules import finish
from offline.tests import RuleTrial
from offline.witness import Play
from schemas.prompts import ProgramReply

ProgramCase = FaultCase[ProgramReply]

_ASSIGNED = re.compile(rf'^{INDENT}(\w+)\["(\w+)"\] = (.+)$')
_COUNTED = re.compile(rf'^{INDENT}(\w+)\["(\w+)"\] (\+|-)= (.+)$')
_KEPT = re.compile(rf'^{INDENT}self\.(\w+)\[(\w+)\["id"\]\] = \2$')
_NOW = "datetime.now()"
_DAY = 86400.0
_MADE_ID = re.compile(r'"id": new_id\("(\w+)"\)')


def forget_effect(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """One of the things a change must do is left undone."""
    return _spoil_line(
        case, dice, lambda line: () if _ASSIGNED.match(line) or _COUNTED.match(line) else None
    )


def overwrite_total(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """An amount replaces the total it should be added to."""

    def assign(line: str) -> tuple[str, ...] | None:
        found = _COUNTED.match(line)
        return (f'{INDENT}{found[1]}["{found[2]}"] = {found[4]}',) if found else None

    return _spoil_line(case, dice, assign)


def apply_twice(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """An amount is booked two times."""
    return _spoil_line(case, dice, lambda line: (line, line) if _COUNTED.match(line) else None)


def misspell_attribute(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A change goes to an attribute that nobody reads."""

    def misspell(line: str) -> tuple[str, ...] | None:
        found = _ASSIGNED.match(line)
        return (f'{INDENT}{found[1]}["new_{found[2]}"] = {found[3]}',) if found else None

    return _spoil_line(case, dice, misspell)


def set_wrong_status(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A life cycle moves on to a state it does not have."""
    words = {"done": "completed", "cancelled": "canceled", "active": "Active", "open": "opened"}

    def confuse(line: str) -> tuple[str, ...] | None:
        found = re.match(rf'^{INDENT}(\w+)\["status"\] = "([^"]+)"$', line)
        return (
            (f'{INDENT}{found[1]}["status"] = "{words.get(found[2], found[2].upper())}"',)
            if found
            else None
        )

    return _spoil_line(case, dice, confuse)


def forget_row(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """A new row is returned and never kept."""
    return _spoil_line(case, dice, lambda line: () if _KEPT.match(line) else None)


def number_rows(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """Ids are counted instead of asked for, so they can be guessed and may come twice."""
    for operation, method, trials in _list_done(case, dice):
        kept = next((found for line in method.effects if (found := _KEPT.match(line))), None)
        effects = (
            tuple(
                _MADE_ID.sub(rf'"id": f"\1_{{len(self.{kept[1]}) + 1:03d}}"', line)
                for line in method.effects
            )
            if kept
            else ()
        )
        if effects and effects != method.effects:
            assert operation.effect == "change"
            return finish(case, replace(method, effects=effects), trials)
    return None


def answer_stale(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """What is returned was read before the change."""
    for _, method, trials in _list_done(case, dice):
        found = re.match(rf"^{INDENT}return dict\((\w+)\)$", method.ending)
        if (
            found
            and method.effects
            and any(line.startswith(f"{INDENT}{found[1]} = self._find(") for line in method.opening)
        ):
            early = replace(
                method,
                effects=(f"{INDENT}before = dict({found[1]})", *method.effects),
                ending=f"{INDENT}return before",
            )
            return finish(case, early, trials)
    return None


def answer_nothing(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """The change is made and the caller learns nothing of it."""
    for _, method, trials in _list_done(case, dice):
        return finish(case, replace(method, ending=f"{INDENT}return {{}}"), trials)
    return None


def fix_date(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """Today is the day on which the program was written."""
    return _spoil_clock(case, dice, "datetime(2024, 1, 15)")


def read_clock_once(case: ProgramCase, dice: random.Random) -> Spoilt | None:
    """What day it is was asked where the program is loaded, and is not asked again when days have
    gone by."""
    return _spoil_clock(case, dice, "STARTED", "STARTED = datetime.now()\n\n", later=3 * _DAY)


def _spoil_clock(
    case: ProgramCase, dice: random.Random, moment: str, constant: str = "", later: float = 0.0
) -> Spoilt | None:
    """Where the session's clock is asked; in a program that never does, a change notes its day,
    which is right as long as it asks."""
    for right, trials in [*_list_timed(case, dice), *_list_noting(case, dice)]:
        spoilt = replace(right, effects=tuple(line.replace(_NOW, moment) for line in right.effects))
        clean, faulty = (
            case.render(_import_datetime(put_method(case.version.source, one), more))
            for one, more in ((right, ""), (spoilt, constant))
        )
        reply = case.reply.model_copy(update={"source": faulty.source}).model_dump(mode="json")
        traces = [replace(case.trace(each), later=later) for each in trials[:MOST_TRACES]]
        return Spoilt(reply, tuple((Play(clean, each), Play(faulty, each)) for each in traces))
    return None


def _import_datetime(source: str, constant: str) -> str:
    """With what a clock is read by, and a constant before the class."""
    imported = source.replace("from typing", "from datetime import datetime\nfrom typing", 1)
    return imported.replace("\nclass ", f"\n{constant}\nclass " if constant else "\nclass ", 1)


def _list_timed(case: ProgramCase, dice: random.Random) -> Iterator[tuple[Method, list[RuleTrial]]]:
    """Changes that write what day it is."""
    for _, method, trials in _list_done(case, dice):
        if any("now()" in line for line in method.effects):
            yield (
                replace(
                    method, effects=tuple(line.replace("now()", _NOW) for line in method.effects)
                ),
                trials,
            )


def _list_noting(
    case: ProgramCase, dice: random.Random
) -> Iterator[tuple[Method, list[RuleTrial]]]:
    """Changes of a row that is returned, with a note of their day."""
    for _, method, trials in _list_done(case, dice):
        found = re.match(rf"^{INDENT}return dict\((\w+)\)$", method.ending)
        if found and method.effects:
            yield (
                replace(
                    method,
                    effects=(
                        *method.effects,
                        f'{INDENT}{found[1]}["noted_on"] = {_NOW}.date().isoformat()',
                    ),
                ),
                trials,
            )


def _spoil_line(
    case: ProgramCase, dice: random.Random, spoil: Callable[[str], tuple[str, ...] | None]
) -> Spoilt | None:
    """Spoil one line of one change that a trial carries out."""
    for _, method, trials in _list_done(case, dice):
        numbers = list(range(len(method.effects)))
        dice.shuffle(numbers)
        for number in numbers:
            lines = spoil(method.effects[number])
            if lines is not None:
                return finish(case, method.with_effect(number, *lines), trials)
    return None


def _list_done(
    case: ProgramCase, dice: random.Random
) -> Iterator[tuple[Operation, Method, list[RuleTrial]]]:
    """Changes, their methods, and trials that carry them out."""
    methods = cut_methods(case.version.source)
    for operation in shuffle(case.domain.changes, dice):
        trials = case.find_trials(operation.name, succeeds)
        if trials:
            yield operation, methods[operation.name], trials
