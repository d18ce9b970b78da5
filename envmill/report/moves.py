"""What each call of a shown attempt changed: the attempt is played again in the jail, and the state
looked at after every move.

A rollout stores a hash after each call and its changes in all; what one call did is found out by
doing it again.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from duckdb import DuckDBPyConnection

from envmill.agents.log import StoredCall, StoredWait, read_moves
from envmill.base.errors import SandboxError
from envmill.kinds.start import start
from envmill.lake.arrow import from_arrow
from envmill.lake.lake import Lake
from envmill.report.rows import read_shown
from envmill.report.shards import Fragment
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.base import Json, Record
from schemas.environment import Environment
from schemas.scenario import Scenario

R = TypeVar("R", bound=Record)

_AT_ONCE = 64  # attempts between two looks for their scenarios


async def list_moves(
    lake: Lake, connection: DuckDBPyConnection, run: str, shown: Collection[str], sandbox: Sandbox
) -> AsyncIterator[Fragment]:
    """One part for each shown attempt that can be played again."""
    every = read_shown(lake, run, shown)
    while rows := list(islice(every, _AT_ONCE)):
        held = _Held(connection, run, {row["scenario"]: row["environment"] for row in rows})
        for row, moves in zip(
            rows, await asyncio.gather(*(_play(row, held, sandbox) for row in rows)), strict=True
        ):
            if moves is not None:
                yield Fragment(row["id"], "moves", row["id"], row["try_number"], moves)


class _Held:
    """Scenarios of a batch and the environments they are played in, as far as the run still holds
    them."""

    def __init__(
        self, connection: DuckDBPyConnection, run: str, scenarios: Mapping[str, str]
    ) -> None:
        environments = _read(connection, run, Environment, {*scenarios.values()})
        self.programs = {one.id: Program.shown(one) for one in environments}
        self.starts = {one.id: start(one) for one in _read(connection, run, Scenario, {*scenarios})}


def _read(
    connection: DuckDBPyConnection, run: str, record: type[R], keys: Collection[str]
) -> list[R]:
    names = list(record.model_fields)
    question = (
        f"select {', '.join(names)} from {record.table} where run = ? and id in "
        f"({', '.join('?' * len(keys))})"
    )
    rows = connection.execute(question, [run, *sorted(keys)]).fetchall()
    return from_arrow(record, (dict(zip(names, row, strict=True)) for row in rows))


async def _play(row: Mapping[str, Any], held: _Held, sandbox: Sandbox) -> Json:
    if row["scenario"] not in held.starts or row["environment"] not in held.programs:
        return None
    moves = list(read_moves(row["transcript"]))
    reset = replace(held.starts[row["scenario"]], weather=row["weather"])
    try:
        began, *seen = await sandbox.play(
            held.programs[row["environment"]], [reset, *_interleave(moves)]
        )
    except SandboxError:
        return None
    if began.outcome != "ok":
        return None
    same = all(
        move.state_hash == reply.state_hash for move, reply in zip(moves, seen[1::2], strict=True)
    )
    return {"same": same, "changes": list(_compare(seen[0::2])) if same else []}


def _interleave(moves: Sequence[StoredCall | StoredWait]) -> Iterator[Look | Advance | Invoke]:
    yield Look()
    for move in moves:
        yield Advance(move.seconds) if isinstance(move, StoredWait) else Invoke(move.call)
        yield Look()


def _compare(looks: Iterable[Observation]) -> Iterator[Json]:
    before: Json = None
    for place, look in enumerate(looks):
        if place:
            yield (
                [change.model_dump() for change in diff_states(before, look.state)]
                if look.state is not None
                else []
            )
        before = look.state if look.state is not None else before
