"""Breaches as the engine takes them: rows for the quarantine, losses for the ledger, an error for
the step."""

import json
from collections import defaultdict
from collections.abc import Sequence

from envmill.base.errors import StepFailed
from envmill.pipeline.quarantine import Loss
from quality.promise import BrokenPromise
from schemas.quality import Quarantine

_TOLD = 5


def group_rows(breaches: Sequence[BrokenPromise]) -> dict[str, list[Quarantine]]:
    """By subject; a breach without a row leaves nothing to set aside."""
    rows: dict[str, list[Quarantine]] = defaultdict(list)
    for one in breaches:
        if one.id:
            content = json.loads(
                one.content, parse_constant=str
            )  # JSON knows no NaN: it is kept as the word
            rows[one.subject].append(
                Quarantine(
                    table_name=one.table,
                    row=one.id,
                    promise=one.promise,
                    detail=one.detail,
                    content=content,
                )
            )
    return rows


def find_losses(breaches: Sequence[BrokenPromise]) -> list[Loss]:
    """What subjects lose by them."""
    return [
        Loss(one.subject, one.promise, one.detail, one.id, one.costs == "subject")
        for one in breaches
        if one.costs != "nothing"
    ]


def fail(step: str, breaches: Sequence[BrokenPromise]) -> StepFailed:
    """Names promises and sample rows."""
    told = [
        f"{one.table} breaks `{one.promise}` ({one.detail}) at {one.id or one.subject or one.step}."
        for one in breaches[:_TOLD]
    ]
    more = f" And {len(breaches) - _TOLD} more." if len(breaches) > _TOLD else ""
    return StepFailed(
        f"{step}: what was written does not add up, so nothing goes on from it. "
        f"{' '.join(told)}{more} "
        "Look at these rows with `envmill sql`; restore lost files from a copy, then Retry.",
        items=sorted({one.id or one.subject for one in breaches}),
        promises=sorted({one.promise for one in breaches}),
    )
