"""Witnesses: the same calls played in the jail on two versions, and the first place where these
part.

pairs of plays ──jail──► seen, seen ──first difference──► witness, or none: then the fault is called equivalent and does not count
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from envmill.base.errors import BuildError
from envmill.kinds.start import CLOCK
from envmill.kinds.stateful import derive_tools
from envmill.runtime.program import SCHEMA
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Reset, Sandbox, Step
from offline.domain import State
from schemas.base import canonical_json
from schemas.environment import Call, Effect, Tool

SEED = 7
"""Of every session's ids and randomness: both versions get the same, so only what they do can
differ."""


@dataclass(frozen=True)
class PlannedProgram:
    """A program, and what it was planned to offer."""

    source: str
    """Module text."""
    class_name: str
    """Class whose public methods are the tools."""
    tools: Mapping[str, Effect]
    """Planned tools."""
    schema: str = ""
    """Schema of its database, where it has one."""


@dataclass(frozen=True)
class Trace:
    """A state and the calls made on it."""

    state: State
    """Where the session starts."""
    calls: tuple[Call, ...]
    """What is called, in order."""
    expect: str = ""
    """What somebody claims the last call comes to; empty where nobody claims anything."""
    later: float = 0.0
    """Seconds by which the session's clock moves on before the first call."""
    ends: bool = False
    """Whether only the end counts, the ids of new rows aside: two paths to one end are no fault of
    either."""


@dataclass(frozen=True)
class Play:
    """One version on one trace."""

    version: PlannedProgram
    """What runs."""
    trace: Trace
    """On what it runs."""


Pair = tuple[Play, Play]
"""The clean play and the faulty one."""


@dataclass(frozen=True)
class Witness:
    """A pair of plays that differ."""

    clean: Play
    """As it should be."""
    faulty: Play
    """As it is."""
    expected: str
    """What the clean one came to where they part."""
    seen: str
    """What the faulty one came to there."""


async def find_witness(pairs: Iterable[Pair], sandbox: Sandbox) -> Witness | None:
    """The first pair that differs when both run in the jail."""
    for clean, faulty in pairs:
        expected, seen = await observe(clean, sandbox), await observe(faulty, sandbox)
        if expected != seen:
            longest = max(len(expected), len(seen))
            lines = zip(_pad(expected, longest), _pad(seen, longest), strict=True)
            return Witness(clean, faulty, *next(pair for pair in lines if pair[0] != pair[1]))
    return None


async def observe(play: Play, sandbox: Sandbox) -> list[str]:
    """One line per step of a play: what it came to, and the hash of the state afterwards."""
    version, trace = play.version, play.trace
    try:
        tools = _read_tools(version.source, version.class_name, tuple(version.tools.items()))
    except BuildError as error:
        return [f"does not build: {error.message}"]
    files = {"office.py": version.source} | ({SCHEMA: version.schema} if version.schema else {})
    program = Program(files, f"office:{version.class_name}", tools)
    begin: list[Step] = [
        Reset(trace.state, CLOCK, SEED),
        *([Advance(trace.later)] if trace.later else []),
    ]
    steps = [*begin, *map(Invoke, trace.calls)]
    if trace.ends:
        *_, final = await sandbox.play(program, [*steps, Look()], hashes="none")
        return erase_new_ids(final.state or {}, trace.state)
    seen = await sandbox.play(program, steps)
    return [*map(_render, seen), *_compare(seen[-1], trace.expect)]


@lru_cache(maxsize=512)
def _read_tools(source: str, class_name: str, tools: tuple[tuple[str, Effect], ...]) -> list[Tool]:
    return derive_tools(source, class_name, dict(tools))


def erase_new_ids(state: State, start: State) -> list[str]:
    """Rows in an order of their own; ids of new rows are chance, wherever they stand."""
    new = {row_id for name, rows in state.items() for row_id in rows if row_id not in start[name]}
    return sorted(
        canonical_json(
            [
                name,
                {
                    key: "new" if isinstance(value, str) and value in new else value
                    for key, value in row.items()
                },
            ]
        )
        for name, rows in state.items()
        for row in rows.values()
    )


def _render(seen: Observation) -> str:
    # Messages are left out: a crash quotes line numbers, which differ without any difference in
    # what is done.
    return canonical_json([seen.outcome, seen.code, seen.parts, seen.state_hash])


def _compare(last: Observation, expect: str) -> list[str]:
    if not expect:
        return []
    outcome = "success" if last.outcome == "ok" else last.outcome
    return ["as expected" if outcome == expect else "not as expected"]


def _pad(lines: list[str], length: int) -> list[str]:
    return lines + [""] * (length - len(lines))
