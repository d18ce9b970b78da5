"""Exporter `preferences`: pairs of a passed and a failed attempt with the same beginning, per split
as JSONL and Parquet."""

from collections.abc import Iterable, Sequence
from typing import IO

from envmill.interop.exporters.base import (
    TRANSFER,
    Exporter,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
    stream_lines,
)
from envmill.interop.exporters.columns import ExportColumn, join_columns, stream_parquet
from envmill.interop.exporters.contents import Contents
from envmill.interop.exporters.messages import describe_tools, render_messages
from envmill.interop.exporters.rows import group_by_split
from envmill.interop.exporters.sources import make_column
from envmill.interop.tokens.rows import TokenPair, TokenSheet
from schemas.base import Json
from schemas.pair import Pair
from schemas.stored import list_ids

NAME = "preferences"

COLUMNS: tuple[ExportColumn[Pair], ...] = (
    ExportColumn("pair", "string", "Pair id.", lambda one: one.id),
    ExportColumn("scenario", "string", "Scenario id.", lambda one: one.scenario),
    ExportColumn("environment", "string", "Environment id.", lambda one: one.environment),
    ExportColumn("policy", "string", "Policy that acted in both.", lambda one: one.policy),
    ExportColumn(
        "form",
        "string",
        "`single`: the user asked for everything at once; `conversation`: in turns.",
        lambda one: one.form,
    ),
    ExportColumn("prompt", "json", "First messages, the same in both.", lambda one: one.shared),
    ExportColumn("chosen", "json", "Rest of the attempt that passed.", lambda one: one.better),
    ExportColumn(
        "chosen_loss",
        "list<bool>",
        "For each of its messages, whether the policy wrote it.",
        lambda one: one.better_loss,
    ),
    ExportColumn("rejected", "json", "Rest of the attempt that failed.", lambda one: one.worse),
    ExportColumn(
        "rejected_loss",
        "list<bool>",
        "For each of its messages, whether the policy wrote it.",
        lambda one: one.worse_loss,
    ),
    ExportColumn(
        "tools",
        "json",
        "Interface: name, description, JSON Schema of the arguments.",
        lambda one: one.tools,
    ),
    ExportColumn("margin", "double", "Difference of the rewards.", lambda one: one.margin),
    ExportColumn("chosen_rollout", "string", "Rollout that passed.", lambda one: one.chosen),
    ExportColumn("rejected_rollout", "string", "Rollout that failed.", lambda one: one.rejected),
    ExportColumn("licence", "string", "Licence of the environment.", lambda one: one.licence),
)
"""Columns of the Parquet files."""

TOKEN_COLUMNS: tuple[ExportColumn[TokenPair], ...] = (
    ExportColumn(
        "prompt_ids",
        "list<int32>",
        "The prompt in the tokenizer's template, up to the policy's first message.",
        lambda pair: pair.chosen.prompt,
    ),
    ExportColumn(
        "chosen_ids",
        "list<int32>",
        "Rest of the attempt that passed.",
        lambda pair: pair.chosen.ids,
    ),
    ExportColumn(
        "chosen_mask",
        "list<bool>",
        "For each of its tokens, whether the policy wrote it.",
        lambda pair: pair.chosen.mask,
    ),
    ExportColumn(
        "chosen_logprobs",
        "list<double>",
        "For each of its tokens, the log probability as sampled; null for other tokens; null without any.",
        lambda pair: pair.chosen.logprobs,
    ),
    ExportColumn(
        "rejected_ids",
        "list<int32>",
        "Rest of the attempt that failed.",
        lambda pair: pair.rejected.ids,
    ),
    ExportColumn(
        "rejected_mask",
        "list<bool>",
        "For each of its tokens, whether the policy wrote it.",
        lambda pair: pair.rejected.mask,
    ),
    ExportColumn(
        "rejected_logprobs",
        "list<double>",
        "For each of its tokens, the log probability as sampled; null for other tokens; null without any.",
        lambda pair: pair.rejected.logprobs,
    ),
)
"""Columns that a tokenizer adds."""


def export_preferences(export_set: ExportSet) -> list[OutputFolder]:
    """One folder; none without pairs."""
    if not export_set.pairs:
        return []
    contents = Contents()
    columns = (*COLUMNS, make_column(export_set.sources))
    for split, found in group_pairs(export_set).items():
        contents.put(f"{split}.jsonl", stream_lines(map(as_line, found)))
        contents.take(f"{split}.parquet", _write_table(columns, found, export_set.tokens, contents))
    scenarios, environments, licences = set[str](), set[str](), set[str]()
    for pair in export_set.pairs:
        scenarios.add(pair.scenario)
        environments.add(pair.environment)
        licences.add(pair.licence)
    contents.files["manifest.json"] = render_json(
        {
            **_describe_manifest(list_ids(export_set.pairs), licences),
            "tiers": export_set.describe_tiers(scenarios),
            "contamination": export_set.describe_contamination(scenarios),
            "sources": export_set.describe_sources(list_ids(export_set.pairs)),
            **export_set.describe_tokens(),
        }
    )
    homes, posed = tuple(sorted(environments)), tuple(sorted(scenarios))
    count, (files, staged) = len(export_set.pairs), (contents.files, contents.staged)
    return [OutputFolder(NAME, NAME, files, count, homes, posed, staged)]


def _write_table(
    columns: Sequence[ExportColumn[Pair]],
    found: Sequence[Pair],
    tokens: TokenSheet | None,
    contents: Contents,
) -> IO[bytes]:
    sink = contents.open()
    if tokens is None:
        stream_parquet(columns, found, sink)
    else:
        parts = ((pair, tokens.pairs[pair.id]) for pair in found)
        stream_parquet(join_columns(columns, TOKEN_COLUMNS), parts, sink)
    return sink


def as_line(pair: Pair) -> Json:
    """Conversations in OpenAI's format, under the names that preference trainers expect."""
    return {
        "prompt": render_messages(pair.shared),
        "chosen": render_messages(pair.better),
        "rejected": render_messages(pair.worse),
        "tools": describe_tools(pair.tools),
    }


def group_pairs(export_set: ExportSet) -> dict[str, Sequence[Pair]]:
    """Rows by split, in the order of ids."""
    return group_by_split(export_set.pairs)


def _describe_manifest(pairs: Sequence[str], licences: Iterable[str]) -> Json:
    return {
        "exporter": NAME,
        "pairs": sorted(pairs),
        "licences": sorted(licences),
        "transfer": TRANSFER,
        "canary": make_canary(pairs),
    }


EXPORTER = Exporter(NAME, export_preferences, rows=("pairs",))
