"""One Great Expectations suite per table: each promise is a column of the table's summary, and expects that nothing breaks it."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (great-expectations ships loose types)

from collections.abc import Sequence

import pandas as pd
from great_expectations.core.expectation_suite import ExpectationSuite
from great_expectations.expectations.core.expect_column_max_to_be_between import ExpectColumnMaxToBeBetween
from great_expectations.expectations.metadata_types import FailureSeverity

from quality.promise import PromiseTally


def make_suite(table: str, tallies: Sequence[PromiseTally]) -> ExpectationSuite:
    """A broken invariant is critical; a row that was not set aside yet is a warning."""
    expectations = [
        ExpectColumnMaxToBeBetween(
            column=tally.promise,
            min_value=0,
            max_value=0,
            severity=FailureSeverity.CRITICAL if tally.severity == "invariant" else FailureSeverity.WARNING,
            description=tally.about,
        )
        for tally in tallies
    ]
    return ExpectationSuite(f"{table} keeps its promises", expectations=expectations)


def make_frame(tallies: Sequence[PromiseTally]) -> pd.DataFrame:
    """One row: how many break each promise."""
    return pd.DataFrame([{tally.promise: tally.broken for tally in tallies}])
