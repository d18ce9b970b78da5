"""Compares the tables each tool declares with those it touches. Calls of the exploration are played
again and followed by a question about the tables.

declared reads  ◄─ compared ─► tables that SQLite's own parser reported as read
declared writes ◄─ compared ─► rows that differ after the call, and statements that could have written
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envmill.gates.base import EnvironmentCase, GateContext
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.stored_tests import SEED
from envmill.kinds import kind_of
from envmill.kinds.start import CLOCK
from envmill.sandbox import Changes, Invoke, Reset, Sandbox, Step, Touched
from envmill.sandbox.batches import play_plans
from schemas.base import Json, canonical_json, is_object
from schemas.database import Table
from schemas.environment import Tool

_SHOWN = 5
_DONE, _REFUSED = 12, 4
"""Calls of each tool to play again: successful and refused ones."""


@dataclass
class Touches:
    reads: set[str] = field(default_factory=set[str])
    writes: set[str] = field(default_factory=set[str])
    """Tables that its statements could write, by a trigger that did not fire or a cascade without
    rows, too."""
    changed: set[str] = field(default_factory=set[str])
    """Tables with changed rows after a call."""
    done: int = 0
    """Number of successful calls."""
    tried: list[Json] = field(default_factory=list[Json])
    """Arguments of some of them."""


@dataclass(frozen=True)
class TouchMismatch:
    """A tool that touches other tables than it declares."""

    reason: str
    tool: str
    tables: list[str]
    words: str
    tried: Sequence[Json] = ()
    """Arguments of some successful calls."""


async def find_untrue(
    built: EnvironmentCase, exploration: ExplorationRun, means: GateContext
) -> tuple[list[TouchMismatch], Json]:
    """All mismatches, and the touched tables of each tool. Both are empty for JSON states."""
    if not kind_of(built.environment).tabled:
        return [], {}
    seen = await _watch(built, exploration, means.sandbox)
    if (found := _compare_all(built, seen)) and means.sandbox.searches:
        # Sessions that were reset in place may suspect a declaration; sessions of their own decide.
        seen = await _watch(built, exploration, means.sandbox.careful)
        found = _compare_all(built, seen)
    told: Json = {
        name: {"reads": sorted(one.reads), "writes": sorted(one.writes)}
        for name, one in seen.items()
    }
    return found, told


def find_misread(tables: Sequence[Table], state: Json) -> str:
    """The difference between the record's tables and the database's; empty if there is none."""
    declared = {table.name: [column.name for column in table.columns] for table in tables}
    if declared.keys() != state.keys():
        return (
            f"the schema makes the tables {', '.join(sorted(state))}; the record has "
            f"{', '.join(sorted(declared))}"
        )
    for name, rows in state.items():
        row: Json = next(iter(rows.values()), None)
        if is_object(row) and sorted(row) != sorted(declared[name]):
            return (
                f"{name} has the columns {', '.join(sorted(row))}; the record has "
                f"{', '.join(sorted(declared[name]))}"
            )
    return ""


def _compare_all(built: EnvironmentCase, seen: Mapping[str, Touches]) -> list[TouchMismatch]:
    tables = {table.name: table for table in built.environment.tables}
    return [
        one
        for tool in built.environment.tools
        if tool.name in seen
        for one in _compare(tool, seen[tool.name], tables)
    ]


async def _watch(
    built: EnvironmentCase, exploration: ExplorationRun, sandbox: Sandbox
) -> dict[str, Touches]:
    calls = [
        observed
        for tool in built.environment.tools
        for observed in _pick(exploration.of(tool.name))
    ]
    plans = [list(_plan(observed)) for observed in calls]
    seen: dict[str, Touches] = {}
    program = find_program(built.environment)
    played = await play_plans(program, plans, sandbox, in_place=True)
    for observed, told in zip(calls, played, strict=True):
        *_, before, _, call, after, touched = told
        if touched.outcome == before.outcome == after.outcome == "ok":
            one, value = seen.setdefault(observed.call.name, Touches()), touched.parts[0]["value"]
            one.changed |= _list_changed(before.parts[0]["value"], after.parts[0]["value"])
            one.reads |= set(value.get("reads", ()))
            one.writes |= set(value.get("writes", ()))
            one.done += call.outcome == "ok"
            one.tried += [observed.call.arguments] if call.outcome == "ok" else []
    return seen


def _pick(calls: Sequence[ObservedCall]) -> list[ObservedCall]:
    done = [observed for observed in calls if observed.seen.outcome == "ok"]
    refused = [
        observed
        for observed in calls
        if observed.seen.outcome == "rejection" and observed.seen.code != "invalid_arguments"
    ]
    return [*done[:_DONE], *refused[:_REFUSED]]


def _plan(observed: ObservedCall) -> Iterator[Step]:
    yield Reset(observed.start, CLOCK, SEED)
    yield from map(Invoke, observed.route)
    yield from (Changes(), Touched(), Invoke(observed.call), Changes(), Touched())


def _list_changed(before: list[Json], after: list[Json]) -> set[str]:
    """Tables whose changes since the start differ between the two lists."""
    old, new = (
        {canonical_json(change): change["path"][0] for change in changes}
        for changes in (before, after)
    )
    return {
        table for change, table in (old | new).items() if (change in old) is not (change in new)
    }


def _compare(tool: Tool, seen: Touches, tables: Mapping[str, Table]) -> Iterator[TouchMismatch]:
    """All writes must be declared, and all reads except those that SQLite makes because of a
    write."""
    if hidden := sorted(seen.changed - set(tool.writes)):
        yield TouchMismatch(
            "undeclared_write",
            tool.name,
            hidden,
            f"{tool.name} writes {', '.join(hidden)} and does not say so",
        )
    written = {*tool.writes, *seen.writes}
    beside = {*written, *_list_linked(written, tables)}
    if hidden := sorted(seen.reads - set(tool.reads) - beside):
        yield TouchMismatch(
            "undeclared_read",
            tool.name,
            hidden,
            f"{tool.name} reads {', '.join(hidden)} and does not say so",
        )
    if seen.done and (idle := sorted(set(tool.writes) - seen.writes)):
        words = f"{tool.name} says it writes {', '.join(idle)}, and did not in {seen.done} calls"
        yield TouchMismatch("write_not_seen", tool.name, idle, words, seen.tried[:_SHOWN])


def _list_linked(written: Collection[str], tables: Mapping[str, Table]) -> Iterator[str]:
    """Tables that SQLite reads because of foreign keys when these tables are written."""
    for table in tables.values():
        targets = {
            column.references.partition(".")[0] for column in table.columns if column.references
        }
        yield from targets if table.name in written else ()
        yield from (table.name,) if not targets.isdisjoint(written) else ()
