"""Rows of stored attempts, written by exporter `rl`: for trainers that learn from what another
policy did.

attempts, their groups ──┐
transcripts, turn logs ──┼─► attempts/SPLIT.parquet, a row per attempt; with a tokenizer, per part of it
token ids, as sampled ───┘
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import IO

from envmill.agents.transcript import list_tools
from envmill.interop.exporters.advantages import group_attempts
from envmill.interop.exporters.base import SPLITS, AttemptTranscript, ExportSet
from envmill.interop.exporters.columns import ExportColumn, join_columns, stream_parquet
from envmill.interop.exporters.messages import describe_tools
from envmill.interop.exporters.rows import MadeRows
from envmill.interop.exporters.sft import TOKEN_COLUMNS
from envmill.interop.exporters.sources import Sources, make_column
from schemas.base import Json
from schemas.environment import Environment
from schemas.stored import find_by_id, list_owners, order, pick


@dataclass(frozen=True)
class AttemptRow:
    """A stored attempt, with its reward and advantage in its group."""

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
    ExportColumn(
        "group", "string", "Purpose of the attempt: `probe`.", lambda one: one.told["group"]
    ),
    ExportColumn(
        "attempt", "int64", "Number of the attempt in the group.", lambda one: one.told["attempt"]
    ),
    ExportColumn("policy", "string", "Policy that acted.", lambda one: one.told["policy"]),
    ExportColumn(
        "checkpoint",
        "string",
        "Model that acted, by its server's name for it; empty for a script.",
        lambda one: one.told["checkpoint"],
    ),
    ExportColumn("termination", "string", "Why it ended.", lambda one: one.told["termination"]),
    ExportColumn(
        "mask",
        "string",
        "Why it is masked; empty if it is valid.",
        lambda one: one.told["mask"],
    ),
    ExportColumn(
        "reward", "double", "Reward; null where it is masked.", lambda one: one.told["reward"]
    ),
    ExportColumn(
        "turn_reward",
        "double",
        "Part of the reward for single turns; 0 unless `--turn-reward` asked for it.",
        lambda one: one.told["turn_reward"],
    ),
    ExportColumn(
        "advantage",
        "double",
        "Advantage; null if it is masked.",
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
        "For each message, whether the policy wrote it and it could be parsed.",
        lambda one: list(one.transcript.loss),
    ),
    ExportColumn(
        "tools",
        "json",
        "Interface in OpenAI's format.",
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
"""Columns without a tokenizer. With one, the token columns of `sft` follow, and each part of an
attempt is a row."""


def list_columns(sources: Sources) -> tuple[ExportColumn[AttemptRow], ...]:
    """The columns, with the sources of each attempt."""
    return (*COLUMNS, make_column(sources))


def group_rows(export_set: ExportSet) -> dict[str, Sequence[AttemptRow]]:
    """Rows by split, in the order of ids; none unless transcripts were asked for."""
    find_home, splits = find_by_id(export_set.environments), export_set.splits
    told = {
        one["rollout"]: one
        for group in group_attempts(export_set).values()
        for one in group.describe()
    }
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for name, scenario in list_owners(export_set.transcripts, "scenario").items():
        if name in told and scenario in splits:
            ids[splits[scenario]].add(name)

    def make(names: Collection[str]) -> Sequence[AttemptRow]:
        found = order(pick(export_set.transcripts, names))
        return MadeRows(
            len(found),
            lambda: (AttemptRow(one, find_home(one.environment), told[one.id]) for one in found),
        )

    return {split: make(ids[split]) for split in SPLITS if split in ids}


def write_rows(export_set: ExportSet, rows: Iterable[AttemptRow], sink: IO[bytes]) -> None:
    """Write one Parquet file while the transcripts are read."""
    columns = list_columns(export_set.sources)
    if (sheet := export_set.tokens) is None:
        stream_parquet(columns, rows, sink)
        return
    parts = ((row, part) for row in rows for part in sheet.attempts[row.id])
    stream_parquet(join_columns(columns, TOKEN_COLUMNS), parts, sink)


def describe_attempts(export_set: ExportSet) -> dict[str, Json]:
    """The manifest's entry about attempts; none if they were not asked for."""
    if not export_set.transcripts:
        return {}
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for one in order(export_set.transcripts):
        if one.turns is None:
            unknown[one.turns_unknown].append(one.id)
    return {
        "attempt_rows": len(export_set.transcripts),
        "turns_unknown": dict(sorted(unknown.items())),
    }
