"""Where chance enters an environment: each source is varied alone, and what differs then is named
after it.

the plan ─► played ─► again            differs: the machine's own clock, its entropy, or addresses, told apart by the values
                   ─► shaken memory    differs: addresses
                   ─► other hash seed  differs: hashes, or the order of sets
                   ─► another clock, another seed: chance under control
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from envmill.kinds.replay import describe
from envmill.runtime.recorder import list_differences
from envmill.sandbox import Look, Program, Reset, Sandbox, Step
from schemas.base import Json, is_array, is_object

Source = Literal["wall_clock", "entropy", "addresses", "hash_order", "clock", "ids", "randomness"]
Path: TypeAlias = tuple[str, ...]
Differences: TypeAlias = dict[Path, tuple[Json, Json]]

UNCONTROLLED: frozenset[Source] = frozenset(("wall_clock", "entropy", "addresses", "hash_order"))
"""Sources that no seed governs: an environment that has one cannot be replayed."""

_SHAKES = (1, 2, 3)
_DAY = 86400.0
_ELSEWHERE = "2001-02-03T04:05:06+00:00"
"""Another clock, far from any machine's."""
_ADDRESS = re.compile(r"0x[0-9a-f]{9,}|^(1[34]\d{13}|9[34]\d{12})$")
"""As `repr` writes it, or as `id` gives it: heaps of 64-bit Linux begin with 0x55, 0x7e or 0x7f."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Chance:
    """One source of chance, and where it shows first."""

    source: Source
    step: int
    """Which step of the plan."""
    path: Path
    """Where in what was observed."""
    seen: tuple[Json, Json]
    """Two values of the same thing."""

    @property
    def controlled(self) -> bool:
        return self.source not in UNCONTROLLED

    def __str__(self) -> str:
        return (
            f"{self.source} at step {self.step}, {'.'.join(self.path)}: "
            f"{str(self.seen[0])[:80]!r} or {str(self.seen[1])[:80]!r}"
        )


async def find_chance(
    program: Program, steps: Sequence[Step], home: Sandbox, away: Sandbox
) -> list[Chance]:
    """Every source the plan meets. `away` is a sandbox with another hash seed; the plan begins with
    a Reset."""
    plan = [*steps, Look()]
    start = plan[0]
    if not isinstance(start, Reset):
        raise TypeError("A plan begins with a Reset.")

    async def play(sandbox: Sandbox, first: Reset) -> Json:
        return describe(await sandbox.play(program, [first, *plan[1:]], fresh=True))

    base = await play(home, start)
    again = _differ(base, await play(home, start))
    shaken: Differences = {}
    for number in _SHAKES:
        shaken |= _differ(base, await play(home, replace(start, shaken=number)))
    hashed = _differ(base, await play(away, start))
    # Another hash seed lays memory out anew, where shaking it may have missed.
    shaken |= {
        path: pair
        for path, pair in hashed.items()
        if all(_ADDRESS.search(repr(value)) for value in pair)
    }
    elsewhere = await play(home, replace(start, clock=_ELSEWHERE))
    clocked, seeded = (
        _differ(base, elsewhere),
        _differ(base, await play(home, replace(start, seed=start.seed + 1))),
    )
    wall = {path: pair for path, pair in again.items() if _is_wall(pair)} | _stale(elsewhere)
    moved = _moved(again)
    entropy = _without(again, wall, moved)
    addresses = moved | _without(shaken, again, wall)
    order = _without(_elsewhere(hashed, shaken), again, wall)
    loose = (again, shaken, hashed, wall)
    drawn = "ids" if not _uses(base, "randomness") else "randomness"
    found: Mapping[Source, Differences] = {
        "wall_clock": wall,
        "entropy": entropy,
        "addresses": addresses,
        "hash_order": order,
        "clock": _without(clocked, *loose),
        drawn: _without(seeded, *loose),
    }
    return [_name(source, differences) for source, differences in found.items() if differences]


def _differ(one: Json, other: Json) -> Differences:
    return {path: (before, after) for path, before, after in list_differences(one, other)}


def _without(differences: Differences, *known: Differences) -> Differences:
    """What differs here and nowhere else. A hash differs whenever anything does, so it counts only
    while nothing is known."""
    named = any(known)
    return {
        path: pair
        for path, pair in differences.items()
        if not any(path in one for one in known) and not (named and path[-1] == "state_hash")
    }


def _elsewhere(differences: Differences, known: Differences) -> Differences:
    """What differs outside the lists in which something known does: an order of addresses leaves
    one place or another as it was."""
    lists = {_broad(path) for path in known}
    return _without(
        {path: pair for path, pair in differences.items() if _broad(path) not in lists}, known
    )


def _broad(path: Path) -> Path:
    """A path at its step, whichever place in a list it names."""
    return path[:1] + tuple("*" if part.isdigit() else part for part in path[1:])


def _name(source: Source, differences: Differences) -> Chance:
    path = min(differences, key=lambda one: (one[-1] == "state_hash", int(one[0])))
    return Chance(source, int(path[0]), path[1:], differences[path])


def _moved(differences: Differences) -> Differences:
    """What two plays of one process tree give in another order, or as an address: memory was laid
    out otherwise, nothing was drawn."""
    groups: dict[Path, Differences] = {}
    for path, pair in differences.items():
        groups.setdefault(tuple("*" if part.isdigit() else part for part in path), {})[path] = pair
    moved: Differences = {}
    for group in groups.values():
        before, after = (sorted(repr(pair[side]) for pair in group.values()) for side in (0, 1))
        if before == after or all(_ADDRESS.search(text) for text in (*before, *after)):
            moved |= group
    return moved


def _uses(observations: Json, source: str) -> int:
    return sum(one["uses"].get(source, 0) for one in observations)


def _stale(observations: Json) -> Differences:
    """Values that read as the machine's own time, though the session's clock stood elsewhere."""
    return {
        path: (value, value) for path, value in _leaves(observations, ()) if _reads_as_now(value)
    }


def _leaves(value: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    if is_object(value):
        for key, one in value.items():
            yield from _leaves(one, (*path, key))
    elif is_array(value):
        for place, one in enumerate(value):
            yield from _leaves(one, (*path, str(place)))
    else:
        yield path, value


def _is_wall(pair: tuple[Json, Json]) -> bool:
    return all(map(_reads_as_now, pair))


def _reads_as_now(value: Json) -> bool:
    """Whether a value is a date or a time of this very day: ISO text, or seconds, milli-, micro- or
    nanoseconds since 1970."""
    today = datetime.datetime.now(datetime.UTC)
    if isinstance(value, str):
        near = {(today + datetime.timedelta(days=days)).date().isoformat() for days in (-1, 0, 1)}
        return any(found in near for found in _DATE.findall(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return any(abs(value / unit - today.timestamp()) < _DAY for unit in (1, 1e3, 1e6, 1e9))
    return False
