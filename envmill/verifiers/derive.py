"""Derives a verifier from the changes of a reference path that runs twice, with different seeds and
clocks. Values that differ between the runs depend on chance.

change under the same path in both runs ──► equals / absent, and the path joins the frame
row under a generated key               ──► present: one row like it, whatever its key
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from envmill.base.errors import BuildError
from envmill.runtime.results import list_pointers
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.judge import classify
from envmill.verifiers.pattern import is_specific, make_pattern
from schemas.base import Json, is_object
from schemas.scenario import Change, Check, Verifier

Met: TypeAlias = Mapping[str, str]
"""Key in a reply of one run → key at the same place in the reply to the same call of the other
run."""
NOTHING_MET: Met = MappingProxyType({})


def derive_verifier(
    initial: Json, changes: Sequence[Change], elsewhere: Sequence[Change], met: Met = NOTHING_MET
) -> Verifier:
    """Checks for one reference path. Raises BuildError if its two runs cannot be compared."""
    twins = {(*change.path, change.op): change for change in elsewhere}
    pairs = [
        (change, twins[*change.path, change.op])
        for change in changes
        if (*change.path, change.op) in twins
    ]
    known = {(*change.path, change.op) for change, _ in pairs}
    strangers = pair_rows([change for change in changes if (*change.path, change.op) not in known],
                           [change for change in elsewhere if (*change.path, change.op) not in known], met)  # fmt: skip
    rows = {(one.path[-1], other.path[-1]): number for number, (one, other) in enumerate(strangers)}
    present = [
        _expect_row(number, one, other, rows) for number, (one, other) in enumerate(strangers, 1)
    ]
    checks = [_expect_value(one, other, rows) for one, other in pairs]
    goals, guards = classify(checks, initial)
    return Verifier(
        goals=[*present, *goals], guards=guards, frame=[change.path for change, _ in pairs]
    )


def asks_for_something(verifier: Verifier) -> bool:
    """Whether any goal demands more than a change whose value depends on chance."""
    return any(goal.op == "absent" or is_specific(goal.value) for goal in verifier.goals)


def pair_rows(
    ours: Sequence[Change], theirs: Sequence[Change], met: Met = NOTHING_MET
) -> list[tuple[Change, Change]]:
    """Pairs of new rows of both runs, by similarity. Among equally similar rows, `met` pairs those
    that the same call returned."""
    pairs: list[tuple[Change, Change]] = []
    left = list(theirs)
    for change in ours:
        alike = [
            other
            for other in left
            if other.op == change.op == "add" and other.path[:-1] == change.path[:-1]
        ]
        if not alike:
            raise BuildError(
                f"The oracle changes {'.'.join(change.path)} in one run only: its path depends on "
                "chance."
            )
        twin = max(
            alike,
            key=lambda other: (
                _count_agreement(change.after, other.after),
                met.get(change.path[-1]) == other.path[-1],
            ),
        )
        left.remove(twin)
        pairs.append((change, twin))
    if left:
        raise BuildError(
            f"The oracle changes {'.'.join(left[0].path)} in one run only: its path depends on "
            "chance."
        )
    return pairs


def meet_keys(deeds: Sequence[CompletedCall], elsewhere: Sequence[CompletedCall]) -> Met:
    """Texts and numbers that differ between the replies of two runs of one path. The first place
    where a value occurs decides."""
    met: dict[str, str] = {}
    for one, other in zip(deeds, elsewhere, strict=False):
        theirs = dict(list_pointers(list(other.parts)))
        for pointer, value in list_pointers(list(one.parts)):
            twin = theirs.get(pointer)
            if isinstance(value, str | int) and isinstance(twin, str | int) and value != twin:
                met.setdefault(str(value), str(twin))
    return met


def _count_agreement(one: Json, other: Json) -> int:
    if is_object(one) and is_object(other):
        return sum(key in other and other[key] == one[key] for key in one)
    return int(one == other)


def _expect_value(change: Change, twin: Change, rows: Mapping[tuple[str, str], int]) -> Check:
    place = ".".join(change.path)
    if change.op == "remove":
        return Check(name=f"{place} is gone", op="absent", path=change.path)
    value = make_pattern(change.after, twin.after, rows)
    return Check(name=f"{place} is {value!r}"[:200], op="equals", path=change.path, value=value)


def _expect_row(
    number: int, change: Change, twin: Change, rows: Mapping[tuple[str, str], int]
) -> Check:
    value = make_pattern(change.after, twin.after, rows)
    name = f"new row {number}, in {'.'.join(change.path[:-1])}: {_describe_row(value)}"
    return Check(name=name[:200], op="present", path=change.path[:-1], value=value)


def _describe_row(value: Json) -> str:
    """The values that a row must have, in words, without generated ids, because no request asks for
    them."""
    if not is_object(value):
        return repr(value)
    return ", ".join(f"{name} {one!r}" for name, one in value.items() if not is_object(one))
