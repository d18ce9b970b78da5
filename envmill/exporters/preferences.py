"""Exporter `preferences`: pairs of a passed and a failed attempt that begin alike, per split as JSONL and Parquet."""

from collections.abc import Sequence

from envmill.exporters.base import SPLITS, TRANSFER, Cargo, Parcel, make_canary, spell_json, spell_lines
from envmill.exporters.columns import Column, write_parquet
from envmill.exporters.messages import spell_messages, tell_tools
from schemas.base import Json
from schemas.pair import Pair

NAME = "preferences"

COLUMNS: tuple[Column[Pair], ...] = (
    Column("pair", "string", "Pair id.", lambda one: one.id),
    Column("scenario", "string", "Scenario id.", lambda one: one.scenario),
    Column("environment", "string", "Environment id.", lambda one: one.environment),
    Column("policy", "string", "Who acted in both.", lambda one: one.policy),
    Column("form", "string", "`single`: all was asked for at once; `conversation`: in turns.", lambda one: one.form),
    Column("prompt", "json", "Messages that both begin with.", lambda one: one.shared),
    Column("chosen", "json", "How the attempt that passed goes on.", lambda one: one.better),
    Column("chosen_loss", "list<bool>", "Per message of it: whether the policy said it.", lambda one: one.better_loss),
    Column("rejected", "json", "How the attempt that failed goes on.", lambda one: one.worse),
    Column("rejected_loss", "list<bool>", "Per message of it: whether the policy said it.", lambda one: one.worse_loss),
    Column("tools", "json", "Interface: name, description, JSON Schema of the arguments.", lambda one: one.tools),
    Column("margin", "double", "By how much the rewards differ.", lambda one: one.margin),
    Column("chosen_rollout", "string", "Rollout that passed.", lambda one: one.chosen),
    Column("rejected_rollout", "string", "Rollout that failed.", lambda one: one.rejected),
    Column("licence", "string", "Licence of the environment.", lambda one: one.licence),
)
"""Of the Parquet files."""


def export_preferences(cargo: Cargo) -> list[Parcel]:
    """One folder, or none where no attempt failed beside one that passed."""
    if not cargo.pairs:
        return []
    files: dict[str, bytes] = {}
    for split, found in group_pairs(cargo).items():
        files[f"{split}.jsonl"] = spell_lines([as_line(pair) for pair in found])
        files[f"{split}.parquet"] = write_parquet(COLUMNS, found)
    files["manifest.json"] = spell_json({**_tell_manifest(cargo.pairs), "tiers": cargo.tell_tiers({pair.scenario for pair in cargo.pairs})})
    environments = tuple(sorted({pair.environment for pair in cargo.pairs}))
    scenarios = tuple(sorted({pair.scenario for pair in cargo.pairs}))
    return [Parcel(NAME, NAME, files, len(cargo.pairs), environments, scenarios)]


def as_line(pair: Pair) -> Json:
    """Conversations in OpenAI's spelling under the names that preference trainers look for."""
    return {
        "prompt": spell_messages(pair.shared),
        "chosen": spell_messages(pair.better),
        "rejected": spell_messages(pair.worse),
        "tools": tell_tools(pair.tools),
    }


def group_pairs(cargo: Cargo) -> dict[str, list[Pair]]:
    """By split, each in the order of ids."""
    ordered = sorted(cargo.pairs, key=lambda one: one.id)
    found = {split: [pair for pair in ordered if pair.split == split] for split in SPLITS}
    return {split: rows for split, rows in found.items() if rows}


def _tell_manifest(pairs: Sequence[Pair]) -> Json:
    return {
        "exporter": NAME,
        "pairs": sorted(pair.id for pair in pairs),
        "licences": sorted({pair.licence for pair in pairs}),
        "transfer": TRANSFER,
        "canary": make_canary([pair.id for pair in pairs]),
    }
