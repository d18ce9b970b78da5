"""One Great Expectations suite per frame: what every row keeps, and where each mean should lie."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (great-expectations ships loose types)

import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.nights.drift import MeanBounds
from quality.nights.frames import FRAMES, FrameColumn, RowFrame

if TYPE_CHECKING:
    import pandas as pd

_SITE = "night"


def run_suites(
    run: str,
    frames: "Mapping[str, pd.DataFrame]",
    bounds: Mapping[str, MeanBounds],
    docs: Path | None = None,
) -> dict[str, str]:
    """Everything that the frames break: `frame.column` or `frame.column mean` → what was expected
    and what is there, in words.

    With `docs` the Data Docs of the night are written into that folder.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of its own dependencies
        context = _open_context(docs)
        source, broken = context.data_sources.add_pandas("lake"), dict[str, str]()
        for frame in (one for one in FRAMES if one.name in frames):
            outcome = _validate(context, source, run, frame, frames[frame.name], bounds)
            broken |= dict(_list_broken(frame, outcome))
        if docs:
            context.build_data_docs(site_names=[_SITE])
        return broken


def _validate(
    context: Any,
    source: Any,
    run: str,
    frame: RowFrame,
    rows: "pd.DataFrame",
    bounds: Mapping[str, MeanBounds],
) -> Any:
    import great_expectations as gx

    batch = source.add_dataframe_asset(frame.name).add_batch_definition_whole_dataframe(run)
    suite = context.suites.add(
        gx.ExpectationSuite(
            frame.name, expectations=list(_expect(frame, bounds)), notes=frame.about
        )
    )
    checked = context.validation_definitions.add(
        gx.ValidationDefinition(name=frame.name, data=batch, suite=suite)
    )
    return checked.run(batch_parameters={"dataframe": rows}, run_id=gx.RunIdentifier(run_name=run))


def _expect(frame: RowFrame, bounds: Mapping[str, MeanBounds]) -> Iterator[Any]:
    """In words that Data Docs show beside the outcome."""
    from great_expectations.expectations.core.expect_column_mean_to_be_between import (
        ExpectColumnMeanToBeBetween,
    )
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )
    from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
        ExpectColumnValuesToBeInSet,
    )
    from great_expectations.expectations.core.expect_column_values_to_be_unique import (
        ExpectColumnValuesToBeUnique,
    )
    from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
        ExpectColumnValuesToNotBeNull,
    )

    for one in frame.columns:
        if one.filled and not one.share:
            yield ExpectColumnValuesToNotBeNull(
                column=one.name, description=f"Every row has: {one.about}"
            )
        if one.unique:
            yield ExpectColumnValuesToBeUnique(
                column=one.name, description=f"No two rows have the same: {one.about}"
            )
        if one.among:
            said = f"{one.about}: one of {', '.join(one.among)}"
            yield ExpectColumnValuesToBeInSet(
                column=one.name, value_set=list(one.among), description=said
            )
        if not one.share and (one.least, one.most) != (None, None):
            said = f"{one.about}: {_describe_range(one)} in every row"
            yield ExpectColumnValuesToBeBetween(
                column=one.name, min_value=one.least, max_value=one.most, description=said
            )
        if found := bounds.get(f"{frame.name}.{one.name}"):
            said = (
                f"{one.about}: {found.low:.4g} to {found.high:.4g} on average, as in the last "
                f"{found.nights} nights"
            )
            yield ExpectColumnMeanToBeBetween(
                column=one.name, min_value=found.low, max_value=found.high, description=said
            )


def list_rules(one: FrameColumn) -> Iterator[str]:
    """What is expected of each value, for a person."""
    if one.share:
        return
    if one.filled:
        yield "filled"
    if one.unique:
        yield "unique"
    if one.among:
        yield "one of " + ", ".join(f"`{word}`" for word in one.among)
    if (one.least, one.most) != (None, None):
        yield _describe_range(one)


def _describe_range(one: FrameColumn) -> str:
    if one.least == one.most:
        return f"{one.least:g}"
    return f"at least {one.least:g}" if one.most is None else f"{one.least or 0:g} to {one.most:g}"


def _list_broken(frame: RowFrame, outcome: Any) -> Iterator[tuple[str, str]]:
    for one in outcome.results:
        if one.success:
            continue
        told, config = one.result, one.expectation_config
        mean = config.type == "expect_column_mean_to_be_between"
        seen = (
            f"it is {told.get('observed_value', 0):.4g}"
            if mean
            else f"{told.get('unexpected_count', '?')} rows differ"
        )
        if one.exception_info and one.exception_info.get("raised_exception"):
            seen = str(one.exception_info.get("exception_message"))[:200]
        yield (
            f"{frame.name}.{config.kwargs['column']}{' mean' if mean else ''}",
            f"{config.description}; {seen}",
        )


def _open_context(docs: Path | None) -> Any:
    """A context that lives in memory, reports to nobody and draws no progress bars."""
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    settings = DataContextConfig(
        # Its own site would be a folder in /tmp that nobody removes.
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )
    context = gx.get_context(mode="ephemeral", project_config=settings)
    if docs:
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(docs)}
        index = {"class_name": "DefaultSiteIndexBuilder"}
        context.add_data_docs_site(
            _SITE,
            {"class_name": "SiteBuilder", "site_index_builder": index, "store_backend": store},
        )
    return context
