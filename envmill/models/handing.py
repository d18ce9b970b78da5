"""Handing in: what a step asked of batches goes out once everybody has asked, and whoever waits
makes the step pending."""

from collections.abc import Sequence
from datetime import timedelta

from envmill.base.errors import BudgetReached, Pending
from envmill.models.base import Provider
from envmill.models.batch import Batch, RunningBatch, wait_before_looking


async def hand_in(providers: Sequence[Provider]) -> tuple[RunningBatch, ...]:
    """Send what waits; what is under way now. Other providers have answered already."""
    batches = {id(one): one for one in providers if isinstance(one, Batch)}.values()
    return tuple([underway for batch in batches for underway in await batch.hand_in()])


def describe_pending(
    step: str, items: int, underway: Sequence[RunningBatch], now: float
) -> Pending:
    """What a step waits for, and when looking again is worth it."""
    seconds = wait_before_looking(underway, now)
    told = "; ".join(_describe(one) for one in underway[:5]) or "nothing under way"
    return Pending(
        f"{step}: {_count(items, 'item waits', 'items wait')} for "
        f"{_count(len(underway), 'batch', 'batches')} ({told}). "
        f"Everything else is saved. "
        f"The run continues by itself in {timedelta(seconds=round(seconds))}, or when it is resumed.",
        step=step,
        items=items,
        again_in=seconds,
        slips=[one.slip.name for one in underway],
    )


def outlast(pending: Pending | None, failures: Sequence[BaseException]) -> Pending | None:
    """What waits, where nothing but the budget failed beside it: the run then goes on by itself.
    None where somebody has to mend first."""
    if pending is None or not all(isinstance(one, BudgetReached) for one in failures):
        return None
    if not failures:
        return pending
    return Pending(
        f"{pending.message}\nThe budget did not cover others: {failures[0]}", **pending.facts
    )


def _describe(one: RunningBatch) -> str:
    return (
        f"{one.slip.carrier} {one.id or one.slip.name}: {one.standing.said}, {one.standing.done} "
        f"of {len(one.slip.items)} done"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
