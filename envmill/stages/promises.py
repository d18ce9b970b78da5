"""Promises of tools, held against what a program does once its tests are green: what each tool
ensures afterwards, and requires before.

accepted test ─► does what the tool ensures hold on its end, and what it requires on its start?
accepted test ─► its rows with another value, so that what the tool requires does not hold ─► JAIL ─► the call must be refused
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from envmill.gates.base import Finding, keep, pass_by
from envmill.gates.exploring.memory import find_program
from envmill.gates.w3 import play_tests
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.promises import PromisedCall, read_row
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Reset, Sandbox
from envmill.sandbox.batches import play_plans
from schemas.base import Json, is_object
from schemas.database import Promise
from schemas.environment import Environment, Test
from schemas.statements import Statement, list_statements, read_statement

GATE = "promises"
BROKEN, NOT_HELD, NOT_REFUSED = "ensures_broken", "requires_broken", "requires_not_refused"
_TRIES = 2
"""States on which what a tool requires does not hold, for each statement."""


@dataclass(frozen=True)
class PromiseCheck:
    """What came of holding a version to its promises."""

    complaints: tuple[Complaint, ...] = ()
    new: tuple[Complaint, ...] = ()
    """Those that are to be sent back."""
    told: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many statements there are, were compared with some call, and are prose."""

    def list_findings(self) -> tuple[Finding, ...]:
        """For the ledger. A promise that is still broken drops nothing: agents never read it."""
        if not self.told:
            return ()
        if not self.complaints:
            return (keep(GATE, dict(self.told)),)
        words = [one.render() for one in self.complaints]
        return (
            replace(
                pass_by(GATE, self.complaints[0].code, words[0]),
                evidence={**self.told, "broken": words},
            ),
        )


UNPROMISED = PromiseCheck()
"""Of a version that did not get as far, or of which nothing is promised."""


@dataclass(frozen=True)
class _Broken:
    tool: str
    statement: str
    complaint: Complaint


class PromiseKeeper:
    """Holds the versions of one program to its promises. A broken one is told once, since the
    promise itself may be wrong."""

    def __init__(self, promises: Mapping[str, Promise]) -> None:
        self._promises = promises
        self._told = set[tuple[str, str]]()

    async def check(
        self, environment: Environment, tests: Sequence[Test], sandbox: Sandbox
    ) -> PromiseCheck:
        """What is broken, and what of it is to be sent back."""
        if not self._promises:
            return UNPROMISED
        calls = await self._play(environment, tests, sandbox)
        found = [*_find_broken(calls), *await _find_unrefused(environment, calls, sandbox)]
        first = {(one.tool, one.statement): one for one in reversed(found)}
        new = [one for key, one in first.items() if key not in self._told]
        self._told |= set(first)
        checked = {
            (call.call.name, one)
            for call in calls
            for one, before in _list_said(call.promise)
            if _is_seen(call, one, before=before)
        }
        texts = [text for one in self._promises.values() for text in (*one.requires, *one.ensures)]
        counts = {
            "statements": len(texts),
            "compared": len(checked),
            "prose": sum(read_statement(text) is None for text in texts),
        }
        return PromiseCheck(
            tuple(one.complaint for one in first.values()),
            tuple(one.complaint for one in new),
            counts,
        )

    async def _play(
        self, environment: Environment, tests: Sequence[Test], sandbox: Sandbox
    ) -> list[PromisedCall]:
        accepted = [
            test
            for test in tests
            if test.expect == "success" and not test.setup and test.call.name in self._promises
        ]
        looked = [test.model_copy(update={"exact": True}) for test in accepted]
        return [
            PromisedCall(
                self._promises[test.call.name],
                test.call,
                test.initial_state,
                seen[-1].state,
                environment.tables,
            )
            for test, seen in await play_tests(environment, looked, sandbox)
            if seen[-1].outcome == "ok" and is_object(seen[-1].state)
        ]


def _list_said(promise: Promise) -> Iterator[tuple[Statement, bool]]:
    """Statements that can be compared, and whether they are about what was before."""
    yield from ((one, True) for one in list_statements(promise.requires))
    yield from ((one, False) for one in list_statements(promise.ensures))


def _is_seen(call: PromisedCall, statement: Statement, *, before: bool) -> bool:
    return call.holds(statement, call.before if before else call.after) is not None


def _find_broken(calls: Sequence[PromisedCall]) -> Iterator[_Broken]:
    for call in calls:
        for texts, state, code, words in (
            (
                call.promise.ensures,
                call.after,
                BROKEN,
                "ended well, and afterwards `{said}` does not hold: {seen}",
            ),
            (
                call.promise.requires,
                call.before,
                NOT_HELD,
                "is accepted, and before it `{said}` did not hold: {seen}",
            ),
        ):
            for said in texts:
                statement = read_statement(said)
                if statement is not None and call.holds(statement, state) is False:
                    yield _describe(
                        call,
                        said,
                        code,
                        words.format(said=said, seen=_show(call, statement, state)),
                    )


async def _find_unrefused(
    environment: Environment, calls: Sequence[PromisedCall], sandbox: Sandbox
) -> list[_Broken]:
    """Calls that are accepted on rows on which what the tool requires does not hold."""
    tried = list(_list_tries(calls))
    plans = [[Reset(state, CLOCK, 0), Invoke(call.call)] for call, _, state in tried]
    played = await play_plans(find_program(environment), plans, sandbox)
    found = list[_Broken]()
    for (call, said, state), (begun, end) in zip(tried, played, strict=True):
        statement = read_statement(said)
        if begun.outcome == end.outcome == "ok" and statement is not None:
            words = f"is accepted where `{said}` does not hold: {_show(call, statement, state)}"
            found.append(_describe(call, said, NOT_REFUSED, words))
    return found


def _list_tries(
    calls: Sequence[PromisedCall],
) -> Iterator[tuple[PromisedCall, str, dict[str, Json]]]:
    made = dict[tuple[str, str], int]()
    for call in calls:
        for said in call.promise.requires:
            key, statement = (call.call.name, said), read_statement(said)
            if (
                statement is None
                or made.get(key, 0) == _TRIES
                or not call.holds(statement, call.before)
            ):
                continue
            if (state := call.spoil(statement, _list_seen(statement, calls))) is not None:
                made[key] = made.get(key, 0) + 1
                yield call, said, state


def _list_seen(statement: Statement, calls: Sequence[PromisedCall]) -> list[Json]:
    """Values of the column in the rows of all tests, each once."""
    tables = [call.before.get(statement.table) for call in calls]
    rows = [row for table in tables if is_object(table) for row in table.values() if is_object(row)]
    return list(
        dict.fromkeys(
            value for row in rows if isinstance(value := row.get(statement.column), str | int)
        )
    )


def _show(call: PromisedCall, statement: Statement, state: Mapping[str, Json]) -> str:
    rows = [(row, held) for row in call.find_rows(statement) if (held := read_row(state, row))]
    return ", ".join(
        f"{'/'.join(row)} has {statement.column} {held.get(statement.column)!r}"
        for row, held in rows[:3]
    )


def _describe(call: PromisedCall, said: str, code: str, words: str) -> _Broken:
    contract = (
        f"The plan of {call.call.name} says so: what it requires must hold before an accepted "
        "call, what it ensures after it."
    )
    return _Broken(
        call.call.name,
        said,
        Complaint(
            GATE, code, words, tool=call.call.name, arguments=call.call.arguments, contract=contract
        ),
    )
