"""The gate: a survey's counts as a report, table by table."""

from collections.abc import Mapping, Sequence

from quality.promise import PromiseTally
from quality.report import Report, TableReport, group_tallies


def judge(
    tallies: Sequence[PromiseTally], aside: Mapping[tuple[str, str], int] | None = None
) -> Report:
    """What broke which promise. `aside`: (table, promise) → rows set aside before."""
    return Report(
        tuple(
            _judge_table(table, found, aside or {})
            for table, found in group_tallies(tallies).items()
        )
    )


def _judge_table(
    table: str, found: Sequence[PromiseTally], aside: Mapping[tuple[str, str], int]
) -> TableReport:
    return TableReport(
        table,
        max(tally.rows for tally in found),
        tuple(tally.promise for tally in found),
        {tally.promise: tally.broken for tally in found if tally.broken},
        {promise: count for (where, promise), count in aside.items() if where == table},
    )
