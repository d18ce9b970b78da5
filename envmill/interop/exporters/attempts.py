"""Rows of stored attempts, beside the prompts of exporter `rl`: for trainers that learn from what
another policy did.

attempts, their groups ──┐
transcripts, turn logs ──┼─► attempts/SPLIT.parquet, a row per attempt; with a tokenizer, per part of it
token ids, as sampled ───┘
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from envmill.agents.transcript import list_tools
from envmill.interop.exporters.advantages import group_attempts
from envmill.interop.exporters.base import SPLITS, AttemptTranscript, ExportSet
from envmill.interop.exporters.columns import ExportColumn, join_columns, write_parquet
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.exporters.sft import TOKEN_COLUMNS
from envmill.interop.exporters.sources import Sources, make_column
from schemas.base import Json
from schemas.environment import Environment


@dataclass(frozen=True)
class AttemptRow:
    """A stored attempt, with what it earned beside its group."""

    transcript: AttemptTranscript
    environment: Environment
    told: dict[str, Json]
    """Group, attempt, policy, checkpoint, termination, mask, reward, advantage, as `attempts` of
    the `rl` row has them."""

    @property
    def id(self) -> str:
        """Rollout."""
        return self.transcript.id


COLUMNS: tuple[ExportColumn[AttemptRow], ...] = (
    ExportColumn("rollout", "string", "Rollout id.", lambda one: one.id),
    ExportColumn("scenario", "string", "Scenario id.", lambda one: one.transcript.scenario),
    ExportColumn(
        "environment", "string", "Environment id.", lambda one: one.transcript.environment
    ),
    ExportColumn(
        "form",
        "string",
        "`single` or `conversation`, as in the `rl` row.",
        lambda one: one.transcript.form,
    ),
    ExportColumn("group", "string", "Why it was made: `probe`.", lambda one: one.told["group"]),
    ExportColumn(
        "attempt", "int64", "Which attempt of the group.", lambda one: one.told["attempt"]
    ),
    ExportColumn("policy", "string", "Who acted.", lambda one: one.told["policy"]),
    ExportColumn(
        "checkpoint",
        "string",
        "Model that acted, as its server calls it; empty for a script.",
        lambda one: one.told["checkpoint"],
    ),
    ExportColumn("termination", "string", "How it ended.", lambda one: one.told["termination"]),
    ExportColumn(
        "mask",
        "string",
        "Why it counts nowhere; empty where it counts.",
        lambda one: one.told["mask"],
    ),
    ExportColumn(
        "reward", "double", "Reward; null where it is masked.", lambda one: one.told["reward"]
    ),
    ExportColumn(
        "turn_reward",
        "double",
        "What of the reward is for single turns; 0 unless `--turn-reward` asked for it.",
        lambda one: one.told["turn_reward"],
    ),
    ExportColumn(
        "advantage",
        "double",
        "Advantage; null where it is masked.",
        lambda one: one.told["advantage"],
    ),
    ExportColumn(
        "messages",
        "json",
        "Chat messages; arguments are objects, a tool's reply is JSON.",
        lambda one: list(one.transcript.messages),
    ),
    ExportColumn(
        "loss",
        "list<bool>",
        "Per message: whether the policy said it, and it could be read.",
        lambda one: list(one.transcript.loss),
    ),
    ExportColumn(
        "tools",
        "json",
        "Interface in OpenAI's spelling.",
        lambda one: describe_tools(list_tools(one.environment)),
    ),
    ExportColumn(
        "turns",
        "json",
        "Per turn of the policy: `calls` (`ok` or the code of the refusal), `state_hash`, and by "
        "number `goals_met`, `goals_lost`, "
        "`guards_broken`, `guards_mended`; null where it is not known. Of a machine goals and "
        "guards are told at the last turn alone.",
        lambda one: (
            None
            if one.transcript.turns is None
            else [asdict(turn) for turn in one.transcript.turns]
        ),
    ),
    ExportColumn(
        "licence", "string", "Licence of the environment.", lambda one: one.transcript.licence
    ),
)
"""With a tokenizer those of `sft` follow, and an attempt is as many rows as it has parts."""


def list_columns(sources: Sources) -> tuple[ExportColumn[AttemptRow], ...]:
    """With what each attempt rests on."""
    return (*COLUMNS, make_column(sources))


def group_rows(cargo: ExportSet) -> dict[str, list[AttemptRow]]:
    """By split, each in the order of ids; nothing unless transcripts were asked for."""
    homes = {one.id: one for one in cargo.environments}
    told = {
        one["rollout"]: one for group in group_attempts(cargo).values() for one in group.describe()
    }
    leaving = {one.id for one in cargo.scenarios}
    found: defaultdict[str, list[AttemptRow]] = defaultdict(list)
    for one in sorted(cargo.transcripts, key=lambda one: one.id):
        if one.id in told and one.scenario in leaving:
            found[one.split].append(AttemptRow(one, homes[one.environment], told[one.id]))
    return {split: found[split] for split in SPLITS if split in found}


def write_rows(cargo: ExportSet, rows: Sequence[AttemptRow]) -> bytes:
    """One Parquet file."""
    columns = list_columns(cargo.sources)
    if cargo.tokens is None:
        return write_parquet(columns, rows)
    parts = [(row, part) for row in rows for part in cargo.tokens.attempts[row.id]]
    return write_parquet(join_columns(columns, TOKEN_COLUMNS), parts)


def describe_attempts(cargo: ExportSet) -> dict[str, Json]:
    """The entry of a manifest about them; none where they were not asked for."""
    if not cargo.transcripts:
        return {}
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(cargo.transcripts, key=lambda one: one.id):
        if one.turns is None:
            unknown[one.turns_unknown].append(one.id)
    return {"attempt_rows": len(cargo.transcripts), "turns_unknown": dict(sorted(unknown.items()))}
