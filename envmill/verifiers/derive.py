"""A verifier from what the oracle changed, run twice: what differs between the runs is chance, and is not asked for."""

from collections.abc import Iterator

from envmill.verifiers.diff import same
from envmill.verifiers.judge import classify
from schemas.base import Json, is_object
from schemas.scenario import Change, Check, Verifier


def derive_verifier(initial: Json, changes: list[Change], elsewhere: list[Change]) -> Verifier:
    """Checks for one oracle. `elsewhere` is the same oracle under another seed and clock."""
    twin_by_path = {tuple(change.path): change for change in elsewhere}
    checks: list[Check] = []
    frame: list[list[str]] = []
    for change in changes:
        twin = twin_by_path.get(tuple(change.path))
        if twin is None:  # a row under a generated key: any key will do
            checks.append(_expect_row(change, _strangers(change, elsewhere)))
            continue
        frame.append(change.path)
        checks.extend(_expect_values(change, twin))
    goals, guards = classify(checks, initial)
    return Verifier(goals=goals, guards=guards, frame=frame)


def _expect_values(change: Change, twin: Change) -> Iterator[Check]:
    if change.op == "remove":
        yield Check(name=f"{'.'.join(change.path)} is gone", op="absent", path=change.path)
    else:
        yield from _expect_equal(change.path, change.after, twin.after)


def _expect_equal(path: list[str], value: Json, twin: Json) -> Iterator[Check]:
    """One check for what both runs agree on; where they differ inside a row, its steady fields."""
    if same(value, twin):
        yield Check(name=f"{'.'.join(path)} is {value!r}"[:200], op="equals", path=path, value=value)
    elif is_object(value) and is_object(twin):
        for key in sorted(value.keys() & twin.keys()):
            yield from _expect_equal([*path, key], value[key], twin[key])


def _expect_row(change: Change, others: list[Json]) -> Check:
    row: dict[str, Json] = change.after if is_object(change.after) else {}
    steady = {key: value for key, value in row.items() if any(is_object(o) and key in o and same(o[key], value) for o in others)}
    return Check(name=f"a row in {'.'.join(change.path[:-1])} with {steady!r}"[:200], op="present", path=change.path[:-1], value=steady)


def _strangers(change: Change, elsewhere: list[Change]) -> list[Json]:
    return [other.after for other in elsewhere if other.op == "add" and other.path[:-1] == change.path[:-1]]
