"""Exactness: the rows that an author names as needed carry a graph alone, and no smaller set of
them does; all others are distractors.

state, cut down to the needed rows ─► carried out again ─► the same calls, values and changes?     no: something is missing
the needed rows without one of them ─► carried out again ─► something else?                         no: that row is not needed
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.base.errors import BuildError
from envmill.kinds.endings import list_keys
from envmill.recipes.drafting.rechecking import find_keys
from envmill.sandbox import Program, Reset, Sandbox
from envmill.toolgraph.chain_player import Enacted, enact
from envmill.toolgraph.validity import limit_written
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Environment
from schemas.tool_prompts import DagReply

Rows = Mapping[str, Sequence[str]]
"""Table → keys of its rows."""
MADE = "*"
"""In place of the id of a record that the path makes: it need not be the same."""
MOST = 60
"""Rows that are left out one at a time: each is carried out once more."""


@dataclass(frozen=True)
class RowFault:
    """What is wrong with the rows that an author names."""

    code: str
    words: str


async def find_row_fault(
    reply: DagReply, enacted: Enacted, environment: Environment, reset: Reset, sandbox: Sandbox
) -> list[RowFault]:
    """Rows that are missing; else rows that are not needed."""
    if unknown := list(_list_unknown(reply.needed, reset.state)):
        return [
            RowFault(
                "row_unknown",
                f"`needed` names {', '.join(unknown)}, which `initial_state` does not hold",
            )
        ]
    if sum(map(len, reply.needed.values())) > MOST:
        return [RowFault("too_many_rows", f"`needed` names more than {MOST} rows")]
    if gone := list(_list_gone(reply.needed, reset.state)):
        return [RowFault("row_missing", words) for words in gone]
    player = _Player(reply, environment, reset, sandbox)
    whole = player.describe(enacted, reset.state)
    alone = await player.play(reply.needed)
    if isinstance(alone, str):
        return [RowFault("row_missing", f"on the rows of `needed` alone, {alone}")]
    if differs := _compare(whole, alone):
        return [RowFault("row_missing", f"on the rows of `needed` alone, {differs}")]
    found = list[RowFault]()
    for table, key in list(_list_free(reply.needed, reset.state)):
        fewer = {
            name: [one for one in keys if (name, one) != (table, key)]
            for name, keys in reply.needed.items()
        }
        played = await player.play(fewer)
        if not isinstance(played, str) and not _compare(alone, played):
            found.append(
                RowFault(
                    "row_not_needed",
                    f"without {table}.{key}, the graph makes the same calls and the same changes",
                )
            )
    return found


def _list_unknown(needed: Rows, state: Mapping[str, Json]) -> Iterator[str]:
    for table, keys in needed.items():
        rows = state.get(table)
        yield from (f"{table}.{key}" for key in keys if not is_object(rows) or key not in rows)


def _list_values(rows: Rows, state: Mapping[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """Table, key and each value of the rows that are named."""
    for table, keys in rows.items():
        held = state[table]
        yield from ((table, key, value) for key in keys for value in held[key].values())


def _list_gone(needed: Rows, state: Mapping[str, Json]) -> Iterator[str]:
    """References from needed rows to rows that are not named."""
    homes = find_keys([state])
    for table, key, value in _list_values(needed, state):
        home = homes.get(value, "") if isinstance(value, str) else ""
        if home and value not in needed.get(home, ()):
            yield f"{table}.{key} refers to {home}.{value}, which `needed` does not name"


def _list_free(needed: Rows, state: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Rows that no other needed row refers to: the others are needed because of these."""
    named = {
        (key, value) for _, key, value in _list_values(needed, state) if isinstance(value, str)
    }
    return [
        (table, key)
        for table, keys in needed.items()
        for key in keys
        if not any(value == key != other for other, value in named)
    ]


@dataclass(frozen=True)
class _Outcome:
    """What a graph came to, without ids that only this session has."""

    calls: list[tuple[str, str]]
    derived: dict[str, str]
    changes: list[str]


class _Player:
    """Carries one graph out on parts of its state."""

    def __init__(
        self, reply: DagReply, environment: Environment, reset: Reset, sandbox: Sandbox
    ) -> None:
        self._reply, self._reset, self._sandbox = reply, reset, sandbox
        self._program, self._most = Program.of(environment), limit_written(environment.brief).most
        self._loose = {
            (table.name, column.name)
            for table in environment.tables
            for column in table.columns
            if column.policy == "exempt"
        }

    async def play(self, rows: Rows) -> _Outcome | str:
        """On these rows alone; why it cannot be carried out."""
        state = {
            table: _keep(held, rows.get(table, ())) for table, held in self._reset.state.items()
        }
        try:
            done = await enact(
                self._reply.chain,
                self._reply.filling,
                self._program,
                replace(self._reset, state=state),
                self._sandbox,
                self._most,
            )
        except BuildError as error:
            return error.message
        return self.describe(done, state)

    def describe(self, done: Enacted, state: Mapping[str, Json]) -> _Outcome:
        made = list_keys(done.state) - list_keys(dict(state))
        calls = [
            (step, _render_call(call, made))
            for step, call in zip(done.steps, done.calls, strict=True)
        ]
        derived = {
            name: canonical_json(blank_made(values, made)) for name, values in done.derived.items()
        }
        return _Outcome(calls, derived, sorted(self._list_changes(state, done.state, made)))

    def _list_changes(
        self, before: Mapping[str, Json], after: Json, made: set[str]
    ) -> Iterator[str]:
        for change in diff_states(dict(before), after):
            if len(change.path) > 2 and (change.path[0], change.path[-1]) in self._loose:
                continue
            row = change.after
            if change.op == "add" and is_object(row):
                row = {
                    name: value
                    for name, value in row.items()
                    if (change.path[0], name) not in self._loose
                }
            yield canonical_json(blank_made([*change.path, change.op, row], made))


def _keep(held: Json, keys: Sequence[str]) -> Json:
    return {key: row for key, row in held.items() if key in keys} if is_object(held) else held


def _render_call(call: Call, made: set[str]) -> str:
    return canonical_json([call.name, blank_made(call.arguments, made)])


def blank_made(value: Json, made: set[str]) -> Json:
    """A value with the same sign for every id that the path made: two runs name them
    differently."""
    if is_object(value):
        return {name: blank_made(one, made) for name, one in value.items()}
    if is_array(value):
        return [blank_made(one, made) for one in value]
    return MADE if isinstance(value, str) and value in made else value


def _compare(whole: _Outcome, part: _Outcome) -> str:
    """How the part differs, in words; empty where it does not."""
    for (step, was), (other, now) in zip(whole.calls, part.calls, strict=False):
        if (step, was) != (other, now):
            return f"{step} calls {now} and not {was}"
    if len(whole.calls) != len(part.calls):
        return f"{len(part.calls)} calls are made and not {len(whole.calls)}"
    for name, was in whole.derived.items():
        if part.derived.get(name) != was:
            return f"{name} gives {part.derived.get(name)} and not {was}"
    if whole.changes != part.changes:
        other = sorted({*whole.changes} ^ {*part.changes})
        return f"the changes differ: {other[0] if other else 'one is made twice'}"
    return ""
