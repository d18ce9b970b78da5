"""A database tried before anybody writes a program for it: its schema is read, opened in the jail,
and filled.

schema.sql ──read──► tables ──tools' tables known?──► jail: open, fill, read back ──► faults, each named after the part that has it
"""

from collections.abc import Iterator, Sequence

from envmill.base.errors import BuildError
from envmill.kinds import sql
from envmill.kinds.authoring.derivation import find_promise_faults
from envmill.kinds.authoring.state import find_state_faults
from envmill.kinds.sql.servers import (
    find_foreign_touches,
    find_identity_faults,
    find_server_faults,
    find_table_faults,
)
from envmill.kinds.start import CLOCK
from envmill.sandbox import Look, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.base import Json
from schemas.database import Table
from schemas.environment import Blueprint
from schemas.scenario import Change

SCHEMA_FAULT, ROWS_FAULT, TOOLS_FAULT = "schema.sql: ", "rows: ", "tools: "
"""What a fault begins with: the part that has to be written anew."""
_NOBODY = "class Nobody:\n    def __init__(self, db):\n        self._db = db\n"


async def find_database_faults(plan: Blueprint, sandbox: Sandbox) -> list[str]:
    """What is wrong with the plan's database; nothing where it plans none."""
    if not plan.files:
        return []
    if faults := [TOOLS_FAULT + one for one in _find_promise_faults(plan)]:
        return faults
    if faults := list(find_server_faults(plan)):
        return faults
    try:
        tables = sql.derive_tables(plan.files, plan.policies)
    except BuildError as error:
        return [SCHEMA_FAULT + error.message]
    if faults := [SCHEMA_FAULT + one for one in find_table_faults(plan, tables)] or await _open(
        plan, {}, sandbox
    ):
        return faults
    faults = [
        *await _open(plan, plan.rows, sandbox),
        *(ROWS_FAULT + one for one in find_identity_faults(plan)),
    ]
    return [
        *faults,
        *_find_touch_faults(plan, tables),
        *(TOOLS_FAULT + one for one in find_foreign_touches(plan)),
    ]


def _find_promise_faults(plan: Blueprint) -> Iterator[str]:
    """What is derived from tools that disagree is nobody's database."""
    return (
        find_promise_faults(plan.promises, [tool.name for tool in plan.tools])
        if plan.promises
        else iter(())
    )


async def _open(plan: Blueprint, rows: dict[str, Json], sandbox: Sandbox) -> list[str]:
    """What happens when a session without tools starts on these rows; a schema that cannot be
    opened without any is itself at fault."""
    program, part = (
        Program({**plan.files, "program.py": _NOBODY}, "program:Nobody", []),
        ROWS_FAULT if rows else SCHEMA_FAULT,
    )
    try:
        begun, seen = await sandbox.play(program, [Reset(rows, CLOCK, 0), Look()])
    except BuildError as error:
        return [part + error.message]
    if begun.outcome != "ok":
        return [part + begun.message]
    if rows and (numbers := _list_numbers_as_text(diff_states(rows, seen.state))):
        return [
            f"{SCHEMA_FAULT}{', '.join(numbers)} hold numbers and are declared as texts: rows do "
            "not come back as they were written."
        ]
    return [part + words for _, words in find_state_faults(rows, seen.state)] if rows else []


def _list_numbers_as_text(changes: Sequence[Change]) -> list[str]:
    """Columns that give numbers back as texts."""
    return sorted(
        {
            f"{one.path[0]}.{one.path[-1]}"
            for one in changes
            if one.op == "set"
            and isinstance(one.before, int | float)
            and isinstance(one.after, str)
        }
    )


def _find_touch_faults(plan: Blueprint, tables: list[Table]) -> Iterator[str]:
    known = {table.name for table in tables}
    for tool in plan.tools:
        touch = plan.touches.get(tool.name)
        touched = [*touch.reads, *touch.writes] if touch else []
        if not touched:
            yield f"{TOOLS_FAULT}{tool.name} names no table it reads or writes."
        elif strange := [name for name in touched if name not in known]:
            yield (
                f"{TOOLS_FAULT}{tool.name} touches {strange[0]!r}; the tables are "
                f"{', '.join(sorted(known))}."
            )
        elif touch and bool(touch.writes) is not (tool.effect == "change"):
            yield (
                f"{TOOLS_FAULT}{tool.name} is a {tool.effect} and writes "
                f"{', '.join(touch.writes) or 'no table'}."
            )
