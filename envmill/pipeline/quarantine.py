"""Setting rows aside: they go to `quarantine` as they were found, and the exits of their subjects
are told anew.

rows, losses ──by bucket──► lease ─► latest exits ─► one published attempt (quarantine rows, a `quality` gate row and an exit per subject)
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from envmill.lake.coordination import hold
from envmill.lake.lake import group_rows
from envmill.pipeline.line import STEP
from envmill.pipeline.runner import Runner, bucket_of
from schemas.base import digest
from schemas.ledger import Attrition
from schemas.quality import Quarantine

GATE = "quality"


@dataclass(frozen=True)
class Loss:
    """What a subject loses: one child, or its place."""

    subject: str
    promise: str
    detail: str
    row: str
    """Id of the row set aside; empty when the child never was a row."""
    whole: bool
    """Whether the subject itself falls."""


async def set_aside(
    walk: Runner, step: str, rows: Mapping[str, Sequence[Quarantine]], losses: Sequence[Loss]
) -> bool:
    """`rows`: by subject. False when another process took an attempt: look again before going
    on."""
    if step not in STEP:
        return _put_by_themselves(walk, [row for found in rows.values() for row in found])
    buckets = int(walk.lake.fix(walk.context.run, step, {"buckets": 1})["buckets"])
    touched: dict[int, set[str]] = defaultdict(set)
    for subject in {*rows, *(loss.subject for loss in losses)}:
        touched[bucket_of(subject, buckets)].add(subject)
    done = [
        await _set_bucket_aside(walk, step, bucket, subjects, rows, losses)
        for bucket, subjects in sorted(touched.items())
    ]
    return all(done)


async def _set_bucket_aside(
    walk: Runner,
    step: str,
    bucket: int,
    subjects: set[str],
    rows: Mapping[str, Sequence[Quarantine]],
    losses: Sequence[Loss],
) -> bool:
    async with hold(walk.coordinator, f"{walk.context.run}/{step}-{bucket:02d}") as lease:
        lake, run, mark = walk.lake, walk.context.run, walk.marks[step]
        aside = group_rows(row for subject in sorted(subjects) for row in rows.get(subject, ()))
        stamp, attempt = await lake.attempts.take_turn(
            partial(walk.stamp, step, mark.fingerprint, bucket), aside, lease=lease
        )
        number = stamp.try_number
        exits = _latest_exits(lake.read(Attrition, run, mark), subjects)
        lost = {subject: [loss for loss in losses if loss.subject == subject] for subject in exits}
        told = [
            row
            for subject, exit in exits.items()
            for row in _describe_anew(exit, lost[subject], number)
        ]
        return lake.commit(attempt, aside, told, stamp)


def _put_by_themselves(walk: Runner, rows: Sequence[Quarantine]) -> bool:
    """Rows that no step made have no exit to tell anew."""
    name = f"{GATE}-{digest(sorted(row.id for row in rows))}"
    walk.lake.put(Quarantine, rows, name, walk.stamp(GATE, "", 0, 1))
    return True


def _latest_exits(attrition: Iterable[Attrition], subjects: set[str]) -> dict[str, Attrition]:
    """Of subjects that are kept: the others have nothing left to lose."""
    latest: dict[str, Attrition] = {}
    for row in attrition:
        if (
            row.gate == "exit"
            and row.subject in subjects
            and row.try_number > getattr(latest.get(row.subject), "try_number", 0)
        ):
            latest[row.subject] = row
    return {subject: row for subject, row in sorted(latest.items()) if row.outcome == "kept"}


def _describe_anew(exit: Attrition, losses: Sequence[Loss], number: int) -> list[Attrition]:
    """Without a child left, or without what it was kept for, the subject is dropped here; nothing
    was spent on that."""
    if not losses:
        return []
    gone = len({loss.row for loss in losses if loss.row and not loss.whole}) + sum(
        not loss.row for loss in losses
    )
    left = 0 if any(loss.whole for loss in losses) else max(0, exit.children - gone)
    why = "; ".join(sorted({f"{loss.promise}: {loss.detail}" for loss in losses}))
    spent = {
        "try_number": number,
        "seconds": 0.0,
        "tokens": 0,
        "cost": 0.0,
        "detail": why,
        "evidence": "",
    }
    dropped = {"outcome": "dropped", "reason": "quality"}
    last = dropped if left == 0 else {"outcome": "kept", "reason": ""}
    return [
        _change(exit, spent | dropped | {"gate": GATE, "children": 0}),
        _change(exit, spent | last | {"children": left}),
    ]


def _change(row: Attrition, changes: dict[str, Any]) -> Attrition:
    return Attrition.model_validate(row.model_dump(exclude={"id"}) | changes)
