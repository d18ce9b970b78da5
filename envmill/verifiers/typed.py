"""Derives a verifier for an end state of tables: the changes of the reference path, where each
column is compared by its policy.

row under a generated key             ──► present: one row like it, whatever its key; references to it follow
row under a known key                 ──► equals / absent, and the row joins the frame
changed column                        ──► equals, and the column joins the frame, with the exempt columns of its row

hard ─► equal · tolerance ─► near · semantic ─► same text · exempt ─► not compared; must not change in rows that the path leaves alone
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.verifiers.derive import NOTHING_MET, Met, derive_verifier, pair_rows
from envmill.verifiers.judge import classify
from envmill.verifiers.pattern import EXEMPT, NEAR, ROW, TEXT, is_near, is_same_text, make_pattern
from schemas.base import Json, is_object
from schemas.database import Column, Table
from schemas.scenario import Change, Check, Verifier

Pair = tuple[Change, Change]
"""A change, and the same change in the other run of the reference path."""


def derive_end(
    tables: Sequence[Table],
    initial: Json,
    changes: Sequence[Change],
    elsewhere: Sequence[Change],
    met: Met = NOTHING_MET,
) -> Verifier:
    """Goals, guards and frame. Columns of tables are compared by policy. In a JSON state, only
    values that depend on chance are free."""
    return (
        derive_typed(tables, initial, changes, elsewhere, met)
        if tables
        else derive_verifier(initial, changes, elsewhere, met)
    )


def derive_typed(
    tables: Sequence[Table],
    initial: Json,
    changes: Sequence[Change],
    elsewhere: Sequence[Change],
    met: Met = NOTHING_MET,
) -> Verifier:
    """Checks for one reference path that ran twice. Raises BuildError if its runs cannot be
    compared."""
    layout = Layout.of(tables)
    for change in (*changes, *elsewhere):
        layout.check(change)
    twins = {(*change.path, change.op): change for change in elsewhere}
    direct = [
        (change, twins[*change.path, change.op])
        for change in changes
        if (*change.path, change.op) in twins
    ]
    known = {(*change.path, change.op) for change, _ in direct}
    ours, theirs = (
        [change for change in run if (*change.path, change.op) not in known]
        for run in (changes, elsewhere)
    )
    pairs = [*direct, *pair_rows(ours, theirs, met)]
    fresh = [pair for pair in pairs if pair[0].op == "add" and layout.is_loose(pair[0].path[0])]
    news = NewRows.of(fresh)
    present = [_expect_new(layout, number, pair, news) for number, pair in enumerate(fresh)]
    fixed = [pair for pair in pairs if pair not in fresh]
    checks = [check for pair in fixed for check in _expect_change(layout, pair, news)]
    goals, guards = classify(checks, initial)
    return Verifier(
        goals=[*present, *goals], guards=guards, frame=layout.frame([change for change, _ in fixed])
    )


@dataclass(frozen=True)
class NewRows:
    """New rows of both runs, by table and key → number of the row's goal."""

    ours: Mapping[tuple[str, str], int]
    theirs: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, fresh: Sequence[Pair]) -> "NewRows":
        ours, theirs = (
            {(pair[side].path[0], pair[side].path[-1]): number for number, pair in enumerate(fresh)}
            for side in (0, 1)
        )
        return cls(ours, theirs)

    def find(self, references: str, value: Json, twin: Json) -> int | None:
        """The goal whose row both values refer to."""
        table = references.partition(".")[0]
        number = self.ours.get((table, str(value)))
        return (
            number if number is not None and number == self.theirs.get((table, str(twin))) else None
        )


@dataclass(frozen=True)
class Layout:
    """Tables by name."""

    tables: Mapping[str, Table]
    columns: Mapping[str, Mapping[str, Column]]

    @classmethod
    def of(cls, tables: Sequence[Table]) -> "Layout":
        return cls(
            {one.name: one for one in tables},
            {one.name: {column.name: column for column in one.columns} for one in tables},
        )

    def is_loose(self, name: str, above: tuple[str, ...] = ()) -> bool:
        """Whether the table's key is generated: it is exempt, or refers to such a key."""
        return any(
            self._is_given(self.columns[name][key], (*above, name)) for key in self.tables[name].key
        )

    def _is_given(self, column: Column, above: tuple[str, ...]) -> bool:
        target = column.references.partition(".")[0]
        return column.policy == "exempt" or (
            target in self.tables and target not in above and self.is_loose(target, above)
        )

    def check(self, change: Change) -> None:
        """Raises BuildError unless the change is about a row of a table or one of its columns."""
        place = ".".join(change.path)
        if len(change.path) < 2 or change.path[0] not in self.tables:
            raise BuildError(
                f"{place} is no row of a table: the initial state must name every table of the "
                "schema, and no other."
            )
        if len(change.path) > 2 and (
            change.op != "set" or change.path[2] not in self.columns[change.path[0]]
        ):
            raise BuildError(
                f"{place} is not there at both ends: the initial state must give every row all "
                "its columns."
            )

    def frame(self, changes: Sequence[Change]) -> list[list[str]]:
        """Paths that may change: those that the reference path changed, and exempt columns of the
        rows that it touched."""
        touched = dict.fromkeys(
            tuple(change.path[:2]) for change in changes if len(change.path) > 2
        )
        loose = [
            [table, key, column.name]
            for table, key in touched
            for column in self.columns[table].values()
            if column.policy == "exempt" and column.name not in self.tables[table].key
        ]
        paths = [change.path for change in changes]
        return [*paths, *(path for path in loose if path not in paths)]


def _expect_new(layout: Layout, number: int, pair: Pair, news: NewRows) -> Check:
    table = pair[0].path[0]
    value = _expect_row(layout, pair, news)
    return Check(
        name=f"new row {number + 1}, in {table}: {_describe(value)}"[:200],
        op="present",
        path=[table],
        value=value,
    )


def _expect_change(layout: Layout, pair: Pair, news: NewRows) -> list[Check]:
    change, twin = pair
    place = ".".join(change.path)
    if change.op == "remove":
        return [Check(name=f"{place} is gone", op="absent", path=change.path)]
    if len(change.path) == 2:
        value = _expect_row(layout, pair, news)
        return [
            Check(
                name=f"{place} is there: {_describe(value)}"[:200],
                op="equals",
                path=change.path,
                value=value,
            )
        ]
    column = layout.columns[change.path[0]][change.path[2]]
    if column.policy == "exempt":
        return []
    value = _expect_value(column, change.after, twin.after, news)
    return [Check(name=f"{place} is {value!r}"[:200], op="equals", path=change.path, value=value)]


def _expect_row(layout: Layout, pair: Pair, news: NewRows) -> dict[str, Json]:
    change, twin = pair
    columns = layout.columns[change.path[0]]
    return {
        name: _expect_value(columns[name], value, twin.after.get(name), news)
        for name, value in change.after.items()
    }


def _expect_value(column: Column, value: Json, twin: Json, news: NewRows) -> Json:
    if column.policy == "exempt":
        return {EXEMPT: True}
    if column.references and (number := news.find(column.references, value, twin)) is not None:
        return {ROW: number}
    if column.policy == "tolerance" and is_near(twin, value, column.tolerance):
        return {NEAR: [value, column.tolerance]}
    if (
        column.policy == "semantic"
        and isinstance(value, str)
        and isinstance(twin, str)
        and is_same_text(value, twin)
    ):
        return {TEXT: value}
    return make_pattern(value, twin, {})


def _describe(row: Mapping[str, Json]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in row.items() if not is_object(value))
