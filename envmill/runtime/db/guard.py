"""What statements of generated code may do, asked of SQLite's own parser, and how long they may
run."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

OK, DENY, IGNORE = 0, 1, 2

_PRAGMA, _READ, _TRANSACTION, _UPDATE, _ATTACH, _DETACH = 19, 20, 22, 23, 24, 25
_INSERT, _DELETE, _SELECT, _FUNCTION, _SAVEPOINT, _RECURSIVE = 18, 9, 21, 31, 32, 33
_ALLOWED = frozenset((_READ, _UPDATE, _INSERT, _DELETE, _SELECT, _SAVEPOINT, _RECURSIVE))
_CREATE_INDEX, _CREATE_TABLE, _CREATE_TRIGGER, _CREATE_VIEW, _REINDEX, _CREATE_VIRTUAL = (
    1,
    2,
    7,
    8,
    27,
    29,
)
_OPENING = _ALLOWED | {
    _CREATE_INDEX,
    _CREATE_TABLE,
    _CREATE_TRIGGER,
    _CREATE_VIEW,
    _REINDEX,
    _FUNCTION,
}
"""What a schema may do: make what lasts, in this database."""

_FORBIDDEN = frozenset(
    (
        "load_extension",
        "sqlite_version",
        "sqlite_source_id",
        "sqlite_compileoption_get",
        "total_changes",
        "fts3_tokenizer",
    )
)
"""Functions that reach outside, or answer differently in the two backends."""

TOUCH = "envmill_touch"
"""The function our own triggers call, and nobody else."""

_HARMLESS = ("table_info", "table_xinfo")
"""They only tell columns, and sessions ask for the second in the middle of a tool's statement."""

MINE = "/* envmill */"
"""Ends every statement of ours: what was allowed to us stays prepared, and must not be found again
by another's text."""

TICK = 10_000
"""SQLite steps between two looks at the budget: costs nothing that can be measured."""
BUDGET = 50_000_000
"""SQLite steps of one statement: about two seconds. Counted, not timed, so that the same statement
ends the same way everywhere."""


_WRITES = frozenset((_INSERT, _DELETE, _UPDATE))
OURS = "envmill_"
"""Begins the name of every trigger and table of ours, and of nothing else: what such a trigger does
is not noted as the tool's."""
_REMEMBERED = 4096
"""Statements: SQLite asks once while one stays prepared, so what it touches is kept by its text."""


class Trust:
    """The time in which statements are our own; it nests. Not made by `contextmanager`, which takes
    as long as a statement does."""

    __slots__ = ("_guard",)

    def __init__(self, guard: "DatabaseGuard") -> None:
        self._guard = guard

    def __enter__(self) -> None:
        self._guard.trusted += 1

    def __exit__(self, *error: object) -> None:
        self._guard.trusted -= 1


class DatabaseGuard:
    """One database's guard; it looks away while the database itself is at work."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.trusted = 0
        """How often trust was begun and not ended: 0 while a tool's statement runs."""
        self._trust = Trust(self)
        self.opening = False
        """The schema is being read."""
        self.refused = ""
        """Why the last statement was refused, in words for its author."""
        self._budget = budget
        self._left = budget
        self._known: dict[str, set[tuple[str, bool]]] = {}
        self._played: set[str] = set()
        self._rest: set[tuple[str, bool]] = set()
        self._noted = self._rest

    def start(self, sql: str = "") -> None:
        """A tool's new statement: its whole budget, nothing refused yet, and no trust, whatever a
        deadline may have cut short."""
        self._left, self.refused, self.trusted = self._budget, "", 0
        known = self._known.get(sql)
        if known is None:
            known = (
                self._known.setdefault(sql, set()) if len(self._known) < _REMEMBERED else self._rest
            )
        self._noted = known
        self._played.add(sql)

    def drain_touched(self) -> set[tuple[str, bool]]:
        """Tables that statements touched since this was last asked, and whether they wrote."""
        found = self._rest.union(*(self._known.get(sql, ()) for sql in self._played))
        self.forget_touched()
        return found

    def forget_touched(self) -> None:
        """From here on nothing was touched yet."""
        self._played.clear()
        self._rest.clear()

    @contextmanager
    def open(self) -> Generator[None]:
        """Statements of a schema may create, and nothing else."""
        self.opening, self.refused = True, ""
        try:
            yield
        finally:
            self.opening = False

    def trust(self) -> Trust:
        """Statements of our own are not asked about."""
        return self._trust

    def allow(
        self,
        action: int,
        first: str | None,
        second: str | None,
        schema: str | None,  # noqa: ARG002
        trigger: str | None,
    ) -> int:
        """SQLite's authorizer."""
        if self.trusted:
            return OK
        if self.opening:
            return OK if action in _OPENING else self._refuse(_WORDS.get(action, _CREATES))
        if action in _ALLOWED:
            if first and first.startswith(OURS):
                return self._refuse(f"{first} is a table of the database itself")
            if (
                first
                and (action == _READ or action in _WRITES)
                and not (trigger or "").startswith(OURS)
            ):
                self._noted.add((first, action != _READ))
            return OK
        if action == _FUNCTION:
            forbidden = second in _FORBIDDEN or (
                second == TOUCH and not (trigger or "").startswith(OURS)
            )
            return (
                self._refuse(f"the function {second}() is not available here") if forbidden else OK
            )
        if action == _PRAGMA and first in _HARMLESS:
            return OK
        if action == _TRANSACTION:
            # BEGIN, COMMIT and ROLLBACK as statements do nothing: the call is the transaction
            return IGNORE
        return self._refuse(
            _WORDS.get(action, "the schema is fixed: a tool may select, insert, update and delete")
        )

    def tick(self) -> bool:
        """SQLite's progress handler: true ends the statement."""
        self._left -= TICK
        if self._left <= 0 and not self.trusted:
            self.refused = (
                f"the statement took more than {self._budget:,} steps; give it an index or a "
                "narrower condition"
            )
            return True
        return False

    def _refuse(self, why: str) -> int:
        self.refused = why
        return DENY


_CREATES = "a schema may only create tables, indexes, triggers and views that last"
_WORDS = {
    _PRAGMA: "PRAGMA is not available here",
    _ATTACH: "ATTACH is not available here",
    _DETACH: "DETACH is not available here",
    _CREATE_VIRTUAL: "the rows of a virtual table cannot be followed: make it a plain table",
}


_PLAIN = frozenset((str, float, bytes, type(None)))
"""Types that go to SQLite as they are; integers are looked at for their size."""


def render_parameters(parameters: object) -> Sequence[object] | Mapping[str, object]:
    """Parameters in the types SQLite stores, or ValueError naming the one that is not."""
    if type(parameters) is tuple and _PLAIN.issuperset(map(type, parameters)):  # pyright: ignore[reportUnknownArgumentType]
        return parameters  # pyright: ignore[reportUnknownVariableType]
    if isinstance(parameters, dict):
        return {
            str(name): _render(f":{name}", value)
            for name, value in cast("dict[Any, object]", parameters).items()
        }
    if isinstance(parameters, (list, tuple)):
        return tuple(
            _render(f"number {place}", value)
            for place, value in enumerate(cast("list[object]", parameters), 1)
        )
    raise ValueError(f"parameters are a list or a dict, not {type(parameters).__name__}")


def _render(name: str, value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"parameter {name} is an integer outside 64 bits")
    if value is None or isinstance(value, (str, bytes, int, float)):
        return value
    raise ValueError(
        f"parameter {name} is of type {type(value).__name__}; SQLite stores None, int, float, str "
        "and bytes "
        "(write lists and dicts as JSON text)"
    )
