"""Mistakes in SQL: a condition left out or on the wrong column, a row not inserted, an answer that
stops too early, a table misspelt."""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from offline.domain import Operation
from offline.faults.base import FaultCase, Spoilt, shuffle, succeeds
from offline.faults.method import INDENT, Method, cut_methods
from offline.faults.rules import finish, finish_on
from offline.faults.search import ask_widely
from schemas.prompts import ProgramReply

CodeCase = FaultCase[ProgramReply]
_ASKED = 16
_UPDATED = re.compile(r" WHERE id = \?(.*), (\w+\[\"id\"\]),?\)\)$")
_INSERTED = re.compile(rf"^{INDENT}self\._db\.execute\(.INSERT INTO")
_REREAD = re.compile(r"return self\._find\((\"\w+\"), (\w+)\[\"id\"\], (\"\w+\")\)$")
_LOOKED_UP = re.compile(r"self\._find\(\"(\w+)\", (\w+), .*\)$")
_SEARCHED = re.compile(r"instr\(lower\((\"?\w+\"?)\), \?\) > 0")
_FILTERED = re.compile(r" AND \"?\w+\"? (?:=|<>) '[^']*'")
_MATCHED = re.compile(r"WHERE (\w+_id) = \?")
_MADE_ID = re.compile(r'new_id\("(\w+)"\)')


def forget_where(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """An update without WHERE: every row of the table is changed."""
    return _spoil_effect(case, dice, lambda line: _UPDATED.sub(_shorten, line))


def forget_insert(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A new row is made and never inserted."""
    return _spoil_effect(case, dice, lambda line: "" if _INSERTED.match(line) else line)


def number_rows(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """Keys are counted instead of asked for, so they can be guessed and may come twice."""
    for operation, method in _list(case, case.domain.changes, dice):
        table = next(
            (
                found[1]
                for line in method.effects
                if (found := re.search(r"INSERT INTO (\w+)", line))
            ),
            "",
        )
        counted = (
            f"f\"\\1_{{self._db.query('SELECT count(*) AS n FROM {table}')[0]['n'] + 1:03d}}\""
        )
        effects = (
            tuple(_MADE_ID.sub(counted, line) for line in method.effects)
            if table
            else method.effects
        )
        if effects != method.effects:
            return finish(
                case, replace(method, effects=effects), case.find_trials(operation.name, succeeds)
            )
    return None


def answer_stale(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """What is returned was read before the change."""
    for operation, method in _list(case, case.domain.changes, dice):
        found = _REREAD.search(method.ending)
        if found and any(
            line.startswith(f"{INDENT}{found[2]} = self._find(") for line in method.opening
        ):
            early = replace(
                method,
                effects=(f"{INDENT}before = dict({found[2]})", *method.effects),
                ending=f"{INDENT}return before",
            )
            return finish(case, early, case.find_trials(operation.name, succeeds))
    return None


def crash_on_unknown(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A key nobody knows is an IndexError instead of a refusal."""
    for operation, method in _list(case, case.domain.operations.values(), dice):
        bare = r"""self._db.query("SELECT * FROM \1 WHERE id = ?", (\2,))[0]"""
        opening = tuple(_LOOKED_UP.sub(bare, line) for line in method.opening)
        trials = case.find_trials(operation.name, lambda code: code.startswith("unknown_"))
        if trials and opening != method.opening:
            return finish(case, replace(method, opening=opening), trials)
    return None


def misspell_table(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A statement names a table that there is not."""
    return _spoil_line(
        case, dice, lambda line: re.sub(r"(FROM|UPDATE|INTO) (\w+?)s\b", r"\1 \2", line, count=1)
    )


def forget_filter(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """One of two conditions of a query is left out."""
    return _spoil_line(case, dice, lambda line: _FILTERED.sub("", line, count=1))


def match_other_column(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """Rows are matched by their own key where they should be by the one they refer to."""
    return _spoil_line(case, dice, lambda line: _MATCHED.sub("WHERE id = ?", line, count=1))


def limit_rows(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """Of many rows that fit, one is given."""
    return _spoil_query(
        case, dice, lambda line: line.replace(" ORDER BY rowid", " ORDER BY rowid LIMIT 1")
    )


def order_by_chance(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """Rows come in an order that chance decides."""
    return _spoil_query(
        case, dice, lambda line: line.replace(" ORDER BY rowid", " ORDER BY random()")
    )


def mind_case(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A search finds words only in the very case they were entered in."""
    return _spoil_query(case, dice, lambda line: _SEARCHED.sub(r"instr(\1, ?) > 0", line))


def match_beginning(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A search finds texts that begin so and no others."""
    return _spoil_query(case, dice, lambda line: _SEARCHED.sub(r"instr(lower(\1), ?) = 1", line))


def write_on_read(case: CodeCase, dice: random.Random) -> Spoilt | None:
    """A query leaves a mark on what it looks at."""
    for operation, method in _list(case, _queries(case), dice):
        table = re.search(r"FROM (\w+)", method.ending)
        trials = case.find_trials(operation.name, succeeds)
        if table and trials and "status" in case.domain.collections[table[1]].attributes:
            mark = f"{INDENT}self._db.execute(\"UPDATE {table[1]} SET status = 'seen'\")"
            return finish(case, replace(method, effects=(*method.effects, mark)), trials)
    return None


def _shorten(found: re.Match[str]) -> str:
    """The end of a statement without its last parameter."""
    comma = "" if "," in found[1].partition("(")[2] else ","
    return f"{found[1]}{comma}))"


def _queries(case: CodeCase) -> Iterable[Operation]:
    return (each for each in case.domain.operations.values() if each.effect == "query")


def _list(
    case: CodeCase, operations: Iterable[Operation], dice: random.Random
) -> list[tuple[Operation, Method]]:
    methods = cut_methods(case.version.source)
    return [(each, methods[each.name]) for each in shuffle(operations, dice)]


def _spoil_effect(
    case: CodeCase, dice: random.Random, spoil: Callable[[str], str]
) -> Spoilt | None:
    """Spoil one statement of a change that a trial carries out."""
    for operation, method in _list(case, case.domain.changes, dice):
        trials = case.find_trials(operation.name, succeeds)
        numbers = [number for number, line in enumerate(method.effects) if spoil(line) != line]
        if trials and numbers:
            number = dice.choice(numbers)
            line = spoil(method.effects[number])
            return finish(case, method.with_effect(number, *([line] if line else [])), trials)
    return None


def _spoil_line(case: CodeCase, dice: random.Random, spoil: Callable[[str], str]) -> Spoilt | None:
    """Spoil a statement wherever it stands in a method: in a refusal, an effect or the answer."""
    for operation, method in _list(case, case.domain.operations.values(), dice):
        guards = tuple(replace(each, condition=spoil(each.condition)) for each in method.guards)
        spoilt = replace(
            method,
            guards=guards,
            effects=tuple(map(spoil, method.effects)),
            ending=spoil(method.ending),
        )
        if spoilt != method:
            return finish(case, spoilt, case.find_trials(operation.name, lambda _: True))
    return None


def _spoil_query(case: CodeCase, dice: random.Random, spoil: Callable[[str], str]) -> Spoilt | None:
    """Spoil what a query answers, and ask it so that it has much to tell."""
    for operation, method in _list(case, _queries(case), dice):
        guards = tuple(replace(each, condition=spoil(each.condition)) for each in method.guards)
        spoilt = replace(method, guards=guards, ending=spoil(method.ending))
        if spoilt != method:
            return finish_on(case, spoilt, ask_widely(operation, case.start, dice, _ASKED))
    return None
