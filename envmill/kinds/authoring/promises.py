"""What tools promise, held against calls: the rows that a statement is about, and a state on which
what a tool requires does not hold.

call ─► rows that it names or changes, and those that these refer to ─► does the statement hold of one of its table?
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.base import Json, is_array, is_object
from schemas.database import Column, Mention, Promise, Table
from schemas.environment import Call
from schemas.statements import Statement

State = Mapping[str, Json]
_Row = tuple[str, str]
"""Table and key."""
_ID = "id"


@dataclass(frozen=True)
class PromisedCall:
    """One call of a tool, and the states around it."""

    promise: Promise
    call: Call
    before: State
    after: State
    tables: Sequence[Table]

    def find_rows(self, statement: Statement) -> list[_Row]:
        """Rows that the statement can be about: those that the call names or changes, and those
        that these refer to, before or after."""
        named = [*self._list_named(), *self._list_changed(statement.table)]
        referred = [
            row
            for one in named
            for state in (self.before, self.after)
            for row in self._list_referred(one, statement.table, state)
        ]
        return [row for row in dict.fromkeys((*named, *referred)) if row[0] == statement.table]

    def holds(self, statement: Statement, state: State) -> bool | None:
        """Whether it holds of one of its rows; None where there is none, or they lack the
        column."""
        rows = [read_row(state, row) for row in self.find_rows(statement)]
        told = [row[statement.column] for row in rows if statement.column in row]
        return any(map(statement.holds, told)) if told else None

    def spoil(self, statement: Statement, seen: Sequence[Json]) -> dict[str, Json] | None:
        """The state before, changed so that the statement holds of none of its rows; None where no
        value is known for that."""
        mention = next((one for one in self.promise.mentions if one.of == statement.place), None)
        column = next(
            (
                one
                for table in self.tables
                if table.name == statement.table
                for one in table.columns
                if one.name == statement.column
            ),
            None,
        )
        rows = [row for row in self.find_rows(statement) if read_row(self.before, row)]
        if column is None or not rows or (mention is not None and mention.unique):
            return None
        target = column.references.partition(".")[0]
        keys = [key for key in _read_table(self.before, target)] if target else []
        other = next(
            (one for one in _list_others(mention, keys, seen) if not statement.holds(one)),
            statement,
        )
        if isinstance(other, Statement):
            return None
        state = {
            table: dict(held) if is_object(held) else held for table, held in self.before.items()
        }
        for table, key in rows:
            state[table][key] = {**state[table][key], statement.column: other}
        return state

    def _list_columns(self, statement: Statement) -> Iterator[Column]:
        for table in self.tables:
            yield from (
                one
                for one in table.columns
                if (table.name, one.name) == (statement.table, statement.column)
            )

    def _list_named(self) -> Iterator[_Row]:
        for name, mention in self.promise.takes.items():
            table, _, column = mention.of.partition(".")
            given = self.call.arguments.get(name)
            for value in given if is_array(given) else [given]:
                if mention.refers or column == _ID:
                    yield (mention.refers or table, str(value))
                elif value is not None:
                    yield from (
                        (table, key)
                        for key, row in _read_table(self.before, table).items()
                        if is_object(row) and row.get(column) == value
                    )

    def _list_changed(self, wanted: str) -> Iterator[_Row]:
        """Rows of the table that are others after the call; of tables that get new rows, these."""
        old, new = _read_table(self.before, wanted), _read_table(self.after, wanted)
        yield from ((wanted, key) for key, row in new.items() if row != old.get(key))
        for table in self.promise.makes:
            yield from (
                (table, key)
                for key in _read_table(self.after, table)
                if key not in _read_table(self.before, table)
            )

    def _list_referred(self, row: _Row, wanted: str, state: State) -> Iterator[_Row]:
        held = read_row(state, row)
        for column in (
            column for table in self.tables if table.name == row[0] for column in table.columns
        ):
            if column.references.partition(".")[0] == wanted and (key := held.get(column.name)):
                yield wanted, str(key)


def read_row(state: State, row: _Row) -> Mapping[str, Json]:
    """Empty where it is not there."""
    found = _read_table(state, row[0]).get(row[1])
    return found if is_object(found) else {}


def _read_table(state: State, table: str) -> Mapping[str, Json]:
    held = state.get(table)
    return held if is_object(held) else {}


def _list_others(
    mention: Mention | None, keys: Sequence[str], seen: Sequence[Json]
) -> Iterator[Json]:
    """Values that the column can hold, as far as that is known. A reference names a row that is
    there."""
    if mention is not None and mention.values:
        yield from mention.values
    elif keys:
        yield from keys
    else:
        yield from (value for value in seen if value not in (None, ""))
    if mention is not None and mention.empty:
        yield None
