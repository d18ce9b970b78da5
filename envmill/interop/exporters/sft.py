"""Exporter `sft`: trajectories as chat messages with tools, per split as OpenAI's fine-tuning JSONL
and as Parquet with loss flags."""

from collections.abc import Mapping, Sequence

from envmill.interop.exporters.base import (
    SPLITS,
    TRANSFER,
    ExportSet,
    OutputFolder,
    make_canary,
    render_json,
    render_lines,
)
from envmill.interop.exporters.columns import ExportColumn, join_columns, write_parquet
from envmill.interop.exporters.messages import as_openai
from envmill.interop.exporters.sources import make_column
from envmill.interop.tokens.rows import TokenRow, TokenSheet
from schemas.base import Json
from schemas.rollout import Trajectory

NAME = "sft"

COLUMNS: tuple[ExportColumn[Trajectory], ...] = (
    ExportColumn("trajectory", "string", "Trajectory id.", lambda one: one.id),
    ExportColumn("scenario", "string", "Scenario id.", lambda one: one.scenario),
    ExportColumn("environment", "string", "Environment id.", lambda one: one.environment),
    ExportColumn("policy", "string", "Who acted.", lambda one: one.policy),
    ExportColumn(
        "form",
        "string",
        "`single`: all was asked for at once; `conversation`: in turns.",
        lambda one: one.form,
    ),
    ExportColumn(
        "messages",
        "json",
        "Chat messages; arguments are objects, a tool's reply is JSON.",
        lambda one: one.messages,
    ),
    ExportColumn(
        "loss", "list<bool>", "Per message: whether it is trained on.", lambda one: one.loss
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
        "How the user talked, by name; empty where the contract alone said it.",
        lambda one: one.manner,
    ),
)
"""Of the Parquet files; `messages` of the JSONL are in OpenAI's spelling."""

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
        "Per token: whether the policy said it.",
        lambda one: one.said,
    ),
    ExportColumn(
        "loss_mask", "list<bool>", "Per token: whether it is trained on.", lambda one: one.loss
    ),
    ExportColumn(
        "logprobs",
        "list<double>",
        "Per token: its log probability as sampled, null where it was not; null without any.",
        lambda one: one.logprobs,
    ),
)
"""With a tokenizer; then a trajectory is as many rows as it has parts."""


def export_sft(cargo: ExportSet) -> list[OutputFolder]:
    """One folder: per split `SPLIT.jsonl` and `SPLIT.parquet`, and a manifest that says which line
    is which."""
    if not cargo.trajectories:
        return []
    files: dict[str, bytes] = {}
    rows, columns = group_trajectories(cargo), (*COLUMNS, make_column(cargo.sources))
    for split, found in rows.items():
        files[f"{split}.jsonl"] = render_lines([as_openai(row) for row in found])
        files[f"{split}.parquet"] = _write_table(columns, found, cargo.tokens)
    files["manifest.json"] = render_json(
        {
            **_describe_manifest(rows),
            "tiers": cargo.describe_tiers({row.scenario for row in cargo.trajectories}),
            "contamination": cargo.describe_contamination(
                {row.scenario for row in cargo.trajectories}
            ),
            "sources": cargo.describe_sources([row.id for row in cargo.trajectories]),
            **cargo.describe_tokens(),
        }
    )
    environments = tuple(sorted({row.environment for row in cargo.trajectories}))
    scenarios = tuple(sorted({row.scenario for row in cargo.trajectories}))
    return [OutputFolder(NAME, NAME, files, len(cargo.trajectories), environments, scenarios)]


def _write_table(
    columns: Sequence[ExportColumn[Trajectory]],
    found: Sequence[Trajectory],
    tokens: TokenSheet | None,
) -> bytes:
    if tokens is None:
        return write_parquet(columns, found)
    return write_parquet(
        join_columns(columns, TOKEN_COLUMNS),
        [(one, part) for one in found for part in tokens.trajectories[one.id]],
    )


def group_trajectories(cargo: ExportSet) -> dict[str, list[Trajectory]]:
    """By split, each in the order of ids."""
    ordered = sorted(cargo.trajectories, key=lambda one: one.id)
    found = {split: [row for row in ordered if row.split == split] for split in SPLITS}
    return {split: rows for split, rows in found.items() if rows}


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
    every = [row for found in rows.values() for row in found]
    licences = sorted({row.licence for row in every})
    canary = make_canary([row.id for row in every])
    return {
        "exporter": NAME,
        "lines": told,
        "licences": licences,
        "transfer": TRANSFER,
        "canary": canary,
    }
