"""Exporter `sft`: trajectories as chat messages with tools, per split as OpenAI's fine-tuning JSONL
and as Parquet with loss flags."""

from collections.abc import Mapping, Sequence
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
from envmill.interop.exporters.messages import as_openai
from envmill.interop.exporters.rows import group_by_split
from envmill.interop.exporters.sources import make_column
from envmill.interop.tokens.rows import TokenRow, TokenSheet
from schemas.base import Json
from schemas.rollout import Trajectory
from schemas.stored import list_ids

NAME = "sft"

COLUMNS: tuple[ExportColumn[Trajectory], ...] = (
    ExportColumn("trajectory", "string", "Trajectory id.", lambda one: one.id),
    ExportColumn("scenario", "string", "Scenario id.", lambda one: one.scenario),
    ExportColumn("environment", "string", "Environment id.", lambda one: one.environment),
    ExportColumn("policy", "string", "Policy that acted.", lambda one: one.policy),
    ExportColumn(
        "form",
        "string",
        "`single`: the user asked for everything at once; `conversation`: in turns.",
        lambda one: one.form,
    ),
    ExportColumn(
        "messages",
        "json",
        "Chat messages; arguments are objects, a tool's reply is JSON.",
        lambda one: one.messages,
    ),
    ExportColumn(
        "loss", "list<bool>", "For each message, whether it is trained on.", lambda one: one.loss
    ),
    ExportColumn(
        "tools",
        "json",
        "Interface: name, description, JSON Schema of the arguments.",
        lambda one: one.tools,
    ),
    ExportColumn("reward", "double", "Reward of the rollout, 0 to 1.", lambda one: one.reward),
    ExportColumn(
        "state_hashes",
        "list<string>",
        "Hash of the state after each tool call.",
        lambda one: one.state_hashes,
    ),
    ExportColumn(
        "features", "json", "Difficulty features of the scenario.", lambda one: one.features
    ),
    ExportColumn("licence", "string", "Licence of the environment.", lambda one: one.licence),
    ExportColumn(
        "manner",
        "string",
        "Manner in which the user talked; empty if the user said the contract's own text.",
        lambda one: one.manner,
    ),
)
"""Columns of the Parquet files. The JSONL has `messages` in OpenAI's format."""

TOKEN_COLUMNS: tuple[ExportColumn[TokenRow], ...] = (
    ExportColumn(
        "part",
        "int64",
        "0 for the whole conversation; then beginnings of it, where the template needs them.",
        lambda one: one.part,
    ),
    ExportColumn(
        "token_ids",
        "list<int32>",
        "The conversation in the tokenizer's template.",
        lambda one: one.ids,
    ),
    ExportColumn(
        "assistant_mask",
        "list<bool>",
        "For each token, whether the policy wrote it.",
        lambda one: one.said,
    ),
    ExportColumn(
        "loss_mask", "list<bool>", "Per token: whether it is trained on.", lambda one: one.loss
    ),
    ExportColumn(
        "logprobs",
        "list<double>",
        "For each token, the log probability as sampled; null for other tokens; null without any.",
        lambda one: one.logprobs,
    ),
)
"""Columns that a tokenizer adds. Then each part of a trajectory is a row."""


def export_sft(export_set: ExportSet) -> list[OutputFolder]:
    """One folder: `SPLIT.jsonl` and `SPLIT.parquet` for each split, and a manifest that says which
    trajectory each line is."""
    if not export_set.trajectories:
        return []
    contents = Contents()
    rows, columns = group_trajectories(export_set), (*COLUMNS, make_column(export_set.sources))
    scenarios, environments = set[str](), set[str]()
    for split, found in rows.items():
        contents.put(f"{split}.jsonl", stream_lines(map(as_openai, found)))
        contents.take(f"{split}.parquet", _write_table(columns, found, export_set.tokens, contents))
    for one in export_set.trajectories:
        scenarios.add(one.scenario)
        environments.add(one.environment)
    contents.files["manifest.json"] = render_json(
        {
            **_describe_manifest(rows),
            "tiers": export_set.describe_tiers(scenarios),
            "contamination": export_set.describe_contamination(scenarios),
            "sources": export_set.describe_sources(list_ids(export_set.trajectories)),
            **export_set.describe_tokens(),
        }
    )
    homes, posed = tuple(sorted(environments)), tuple(sorted(scenarios))
    count, (files, staged) = len(export_set.trajectories), (contents.files, contents.staged)
    return [OutputFolder(NAME, NAME, files, count, homes, posed, staged)]


def _write_table(
    columns: Sequence[ExportColumn[Trajectory]],
    found: Sequence[Trajectory],
    tokens: TokenSheet | None,
    contents: Contents,
) -> IO[bytes]:
    sink = contents.open()
    if tokens is None:
        stream_parquet(columns, found, sink)
    else:
        parts = ((one, part) for one in found for part in tokens.trajectories[one.id])
        stream_parquet(join_columns(columns, TOKEN_COLUMNS), parts, sink)
    return sink


def group_trajectories(export_set: ExportSet) -> dict[str, Sequence[Trajectory]]:
    """Rows by split, in the order of ids."""
    return group_by_split(export_set.trajectories)


def _describe_manifest(rows: Mapping[str, Sequence[Trajectory]]) -> Json:
    told = {
        split: [
            {
                "trajectory": row.id,
                "scenario": row.scenario,
                "environment": row.environment,
                "policy": row.policy,
            }
            for row in found
        ]
        for split, found in rows.items()
    }
    licences = sorted({row.licence for found in rows.values() for row in found})
    canary = make_canary([name for found in rows.values() for name in list_ids(found)])
    return {
        "exporter": NAME,
        "lines": told,
        "licences": licences,
        "transfer": TRANSFER,
        "canary": canary,
    }


EXPORTER = Exporter(NAME, export_sft, rows=("trajectories",), teaches=True)
