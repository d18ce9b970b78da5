"""A database tried before anybody writes a program for it: its schema is read, opened in the jail, and filled.

schema.sql ──read──► tables ──tools' tables known?──► jail: open, fill, read back ──► faults, each named after the part that has it
"""

from collections.abc import Iterator

from envmill.drafting.state import find_state_fault
from envmill.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.sandbox import Look, Program, Reset, Sandbox
from schemas.database import Table
from schemas.environment import Blueprint

SCHEMA_FAULT, ROWS_FAULT, TOOLS_FAULT = "schema.sql: ", "rows: ", "tools: "
"""What a fault begins with: the part that has to be written anew."""
_NOBODY = "class Nobody:\n    def __init__(self, db):\n        self._db = db\n"


async def find_database_faults(plan: Blueprint, sandbox: Sandbox) -> list[str]:
    """What is wrong with the plan's database; nothing where it plans none."""
    if not plan.files:
        return []
    try:
        tables = KINDS[plan.kind].derive_tables(plan.files, plan.policies)
    except BuildError as error:
        return [SCHEMA_FAULT + error.message]
    if fault := await _open(plan, sandbox, empty=True):
        return [SCHEMA_FAULT + fault]
    fault = await _open(plan, sandbox)
    return [*([ROWS_FAULT + fault] if fault else []), *_find_touch_faults(plan, tables)]


async def _open(plan: Blueprint, sandbox: Sandbox, empty: bool = False) -> str:
    """What happens when a session without tools starts on these rows, or on none."""
    program = Program({**plan.files, "program.py": _NOBODY}, "program:Nobody", [])
    rows = {} if empty else plan.rows
    try:
        begun, seen = await sandbox.play(program, [Reset(rows, CLOCK, 0), Look()])
    except BuildError as error:
        return error.message
    if begun.outcome != "ok":
        return begun.message
    fault = None if empty else find_state_fault(rows, seen.state)
    return fault[1] if fault else ""


def _find_touch_faults(plan: Blueprint, tables: list[Table]) -> Iterator[str]:
    known = {table.name for table in tables}
    for tool in plan.tools:
        touch = plan.touches.get(tool.name)
        touched = [*touch.reads, *touch.writes] if touch else []
        if not touched:
            yield f"{TOOLS_FAULT}{tool.name} names no table it reads or writes."
        elif strange := [name for name in touched if name not in known]:
            yield f"{TOOLS_FAULT}{tool.name} touches {strange[0]!r}; the tables are {', '.join(sorted(known))}."
        elif touch and bool(touch.writes) is not (tool.effect == "change"):
            yield f"{TOOLS_FAULT}{tool.name} is a {tool.effect} and writes {', '.join(touch.writes) or 'no table'}."
