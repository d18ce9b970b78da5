"""Exporter `sft`: trajectories as chat messages with tools, per split as OpenAI's fine-tuning JSONL and as Parquet with loss flags."""

from collections.abc import Mapping, Sequence

from envmill.exporters.base import SPLITS, TRANSFER, Cargo, Parcel, make_canary, spell_json, spell_lines
from envmill.exporters.columns import Column, write_parquet
from envmill.exporters.messages import as_openai
from schemas.base import Json
from schemas.rollout import Trajectory

NAME = "sft"

COLUMNS: tuple[Column[Trajectory], ...] = (
    Column("trajectory", "string", "Trajectory id.", lambda one: one.id),
    Column("scenario", "string", "Scenario id.", lambda one: one.scenario),
    Column("environment", "string", "Environment id.", lambda one: one.environment),
    Column("policy", "string", "Who acted.", lambda one: one.policy),
    Column("form", "string", "`single`: all was asked for at once; `conversation`: in turns.", lambda one: one.form),
    Column("messages", "json", "Chat messages; arguments are objects, a tool's reply is JSON.", lambda one: one.messages),
    Column("loss", "list<bool>", "Per message: whether it is trained on.", lambda one: one.loss),
    Column("tools", "json", "Interface: name, description, JSON Schema of the arguments.", lambda one: one.tools),
    Column("reward", "double", "Reward of the rollout, 0 to 1.", lambda one: one.reward),
    Column("state_hashes", "list<string>", "Hash of the state after each tool call.", lambda one: one.state_hashes),
    Column("features", "json", "Difficulty features of the scenario.", lambda one: one.features),
    Column("licence", "string", "Licence of the environment.", lambda one: one.licence),
)
"""Of the Parquet files; `messages` of the JSONL are in OpenAI's spelling."""


def export_sft(cargo: Cargo) -> list[Parcel]:
    """One folder: per split `SPLIT.jsonl` and `SPLIT.parquet`, and a manifest that says which line is which."""
    if not cargo.trajectories:
        return []
    files: dict[str, bytes] = {}
    rows = group_trajectories(cargo)
    for split, found in rows.items():
        files[f"{split}.jsonl"] = spell_lines([as_openai(row) for row in found])
        files[f"{split}.parquet"] = write_parquet(COLUMNS, found)
    files["manifest.json"] = spell_json({**_tell_manifest(rows), "tiers": cargo.tell_tiers({row.scenario for row in cargo.trajectories})})
    environments = tuple(sorted({row.environment for row in cargo.trajectories}))
    scenarios = tuple(sorted({row.scenario for row in cargo.trajectories}))
    return [Parcel(NAME, NAME, files, len(cargo.trajectories), environments, scenarios)]


def group_trajectories(cargo: Cargo) -> dict[str, list[Trajectory]]:
    """By split, each in the order of ids."""
    ordered = sorted(cargo.trajectories, key=lambda one: one.id)
    found = {split: [row for row in ordered if row.split == split] for split in SPLITS}
    return {split: rows for split, rows in found.items() if rows}


def _tell_manifest(rows: Mapping[str, Sequence[Trajectory]]) -> Json:
    told = {
        split: [{"trajectory": row.id, "scenario": row.scenario, "environment": row.environment, "policy": row.policy} for row in found]
        for split, found in rows.items()
    }
    every = [row for found in rows.values() for row in found]
    licences = sorted({row.licence for row in every})
    canary = make_canary([row.id for row in every])
    return {"exporter": NAME, "lines": told, "licences": licences, "transfer": TRANSFER, "canary": canary}
