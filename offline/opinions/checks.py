"""Check functions for a scenario, rendered from what the reference path changed: one per goal, and
one for all that must stay."""

import ast
import re
from functools import cache
from typing import Any

from offline.domain import Domain, Row
from offline.formula import parse_statement
from schemas.base import Json, is_object
from schemas.prompts import ChecksInput, ChecksReply, WrittenCheck
from schemas.scenario import Change

CLOCK = {"today", "after", "later"}


def write_checks(asked: ChecksInput, domain: Domain) -> ChecksReply:
    """Goals first, the guard last. What depends on chance, new ids and the day, is asked for by its
    form alone."""
    chance = _Chance(
        domain,
        {
            change.path[-1]
            for change in asked.changes
            if len(change.path) == 2 and change.op == "add"
        },
    )
    set_, new = _sort(asked.changes)
    goals = [_write_changed(place, row, asked.initial_state, chance) for place, row in set_.items()]
    goals += [_write_new(name, rows, chance) for name, rows in new.items()]
    return ChecksReply(checks=[*goals, _write_guard(set_, new)])


class _Chance:
    """Tells which values another run would have otherwise."""

    def __init__(self, domain: Domain, new_ids: set[str]) -> None:
        self._dated = list_dated(domain)
        self._new_ids = new_ids

    def decides(self, key: str, value: Json) -> bool:
        return (
            key == "id"
            or value in self._new_ids
            or (key in self._dated and isinstance(value, str) and _is_day(value))
        )


@cache
def _list_dated(steps: tuple[str, ...]) -> frozenset[str]:
    named: set[str] = set()
    for node in (each for step in steps for each in ast.walk(parse_statement(step))):
        match node:
            case ast.keyword(arg=str() as name, value=value) if _reads_clock(value):
                named.add(name)
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if _reads_clock(value):
                named.add(name)
            case _:
                pass
    return frozenset(named)


def list_dated(domain: Domain) -> frozenset[str]:
    """Attributes that some operation fills by the clock."""
    return _list_dated(tuple(step.do for each in domain.operations.values() for step in each.then))


def _reads_clock(node: ast.AST) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in CLOCK
        for each in ast.walk(node)
    )


def _sort(changes: list[Change]) -> tuple[dict[tuple[str, str], Row], dict[str, list[Row]]]:
    """Changed rows with their new values, and new rows by collection."""
    changed: dict[tuple[str, str], Row] = {}
    new: dict[str, list[Row]] = {}
    for change in changes:
        if len(change.path) == 2 and change.op == "add" and is_object(change.after):
            new.setdefault(change.path[0], []).append(change.after)
        elif len(change.path) >= 3:
            changed.setdefault((change.path[0], change.path[1]), {})[change.path[2]] = change.after
    return changed, new


def _write_changed(
    place: tuple[str, str], row: Row, initial: dict[str, Any], chance: _Chance
) -> WrittenCheck:
    name, row_id = place
    lines = [f'    row = final.get("{name}", {{}}).get("{row_id}", {{}})']
    for key, value in row.items():
        if chance.decides(key, value):
            old = initial.get(name, {}).get(row_id, {}).get(key)
            lines += _refuse(f'row.get("{key}") == {old!r}')
        else:
            lines += _refuse(f'row.get("{key}") != {value!r}')
    told = (
        ", ".join(f"{key} {value}" for key, value in row.items() if not chance.decides(key, value))
        or f"another {', '.join(row)}"
    )
    return _wrap(f"{name}: {row_id} has {told}"[:180], lines)


def _write_new(name: str, rows: list[Row], chance: _Chance) -> WrittenCheck:
    lines = [
        f'    new = [row for key, row in final.get("{name}", {{}}).items() if key not in '
        f'initial["{name}"]]',
        *_refuse(f"len(new) != {len(rows)}"),
    ]
    for row in rows:
        sure = [
            f'row.get("{key}") == {value!r}'
            for key, value in row.items()
            if not chance.decides(key, value)
        ]
        twins = sum(
            all(
                other.get(key) == value
                for key, value in row.items()
                if not chance.decides(key, value)
            )
            for other in rows
        )
        lines += _refuse(f"sum({' and '.join(sure)} for row in new) < {twins}") if sure else []
    return _wrap(f"{name}: {len(rows)} new, as asked for", lines)


def _write_guard(changed: dict[tuple[str, str], Row], new: dict[str, list[Row]]) -> WrittenCheck:
    lines = [
        f"    allowed = { {place: sorted(row) for place, row in changed.items()}!r}",
        f"    growing = {sorted(new)!r}",
        "    for name, rows in initial.items():",
        "        if name not in growing and len(final.get(name, {})) != len(rows):",
        "            return False",
        "        for key, row in rows.items():",
        "            now = final.get(name, {}).get(key, {})",
        "            if any(now.get(each) != row[each] for each in row if each not in "
        "allowed.get((name, key), ())):",
        "                return False",
    ]
    return _wrap("nothing else was changed", lines)


def _refuse(condition: str) -> list[str]:
    return [f"    if {condition}:", "        return False"]


def _wrap(name: str, lines: list[str]) -> WrittenCheck:
    return WrittenCheck(
        name=name, source="\n".join(["def check(initial, final):", *lines, "    return True", ""])
    )


def _is_day(value: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value))
