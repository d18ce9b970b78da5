"""The gate: a survey's counts go through the suites, and a report comes out.

Great Expectations takes seconds to import, so only `judge` imports it: once per run, not once per step.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (great-expectations ships loose types)

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from quality.promise import PromiseTally
from quality.report import Report, TableReport, group_tallies


def judge(tallies: Sequence[PromiseTally], aside: Mapping[tuple[str, str], int] | None = None) -> Report:
    """Run every table's suite over its summary. `aside`: (table, promise) → rows set aside before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of its own dependencies
        return Report(tuple(_judge(tallies, aside or {})))


def _judge(tallies: Sequence[PromiseTally], aside: Mapping[tuple[str, str], int]) -> list[TableReport]:
    from quality.suites import make_frame, make_suite

    summaries = _open_summaries()
    findings: list[TableReport] = []
    for table, found in group_tallies(tallies).items():
        outcome = summaries.get_batch({"dataframe": make_frame(found)}).validate(make_suite(table, found))
        failed = {one.expectation_config.kwargs["column"] for one in outcome.results if not one.success}
        findings.append(
            TableReport(
                table,
                max(tally.rows for tally in found),
                tuple(tally.promise for tally in found),
                {tally.promise: tally.broken for tally in found if tally.promise in failed},
                {promise: count for (where, promise), count in aside.items() if where == table},
            )
        )
    return findings


def _open_summaries() -> Any:
    """A context that lives in memory, reports to nobody and draws no progress bars; one asset, as each costs it a dump of its settings."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.analytics_enabled = False
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return context.data_sources.add_pandas("lake").add_dataframe_asset("summaries").add_batch_definition_whole_dataframe("table")
