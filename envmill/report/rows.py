"""Rows of a run as parts of the page's records, one batch of one file in memory at a time.

Views put a table's rows in order of attempts, for which they hold them all; texts of a hundred
thousand rollouts are too many for that.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from envmill.lake.lake import Lake
from envmill.lake.reading import file_version, open_file, read_file
from envmill.report.shards import Fragment
from schemas.base import Json, Record
from schemas.shapes import shape_of, version_of
from schemas.tables import TABLES

_BATCH = 256  # rows at once; a transcript may take a megabyte


@dataclass(frozen=True)
class RecordPart:
    """How a table's rows enter the page's records."""

    table: str
    subject: str
    """Column with the id of the record they belong to."""
    field: str
    """Where they stand in it."""
    columns: tuple[str, ...]
    """What is shown of them."""


_ALL = ("",)

PARTS: tuple[RecordPart, ...] = (
    RecordPart("seeds", "id", "seed", ("brief", "licence", "source")),
    RecordPart(
        "blueprints",
        "id",
        "blueprint",
        (
            "name",
            "summary",
            "kind",
            "brief",
            "collections",
            "rules",
            "tools",
            "policy_document",
            "origin",
        ),
    ),
    RecordPart("environments", "id", "environment", _ALL),
    RecordPart("tests", "environment", "tests", ("name", "setup", "call", "expect")),
    RecordPart(
        "builds", "subject", "builds", ("repair", "outcome", "failure", "fault", "content_hash")
    ),
    RecordPart(
        "drafts",
        "id",
        "draft",
        (
            "environment",
            "number",
            "request",
            "user",
            "oracle",
            "polarity",
            "say",
            "tell",
            "avoid",
            "changes",
        ),
    ),
    RecordPart("scenarios", "id", "scenario", _ALL),
    RecordPart("rollouts", "id", "rollout", _ALL),
    RecordPart("trajectories", "rollout", "trajectory", ("id", "loss", "split", "licence")),
    RecordPart("attacks", "scenario", "attacks", ("manner", "calls", "said", "reward", "solves")),
    RecordPart(
        "attrition",
        "subject",
        "ledger",
        (
            "lap",
            "stage",
            "gate",
            "try_number",
            "outcome",
            "reason",
            "detail",
            "evidence",
            "parent",
            "seconds",
            "tokens",
            "cost",
        ),
    ),
    RecordPart("gate_evidence", "subject", "evidence", ("id", "gate", "finding")),
    RecordPart(
        "model_calls",
        "subject",
        "calls",
        (
            "step",
            "role",
            "prompt",
            "model",
            "outcome",
            "error",
            "reused",
            "tokens_in",
            "tokens_out",
            "cost",
            "asked_at",
        ),
    ),
    RecordPart(
        "verdicts",
        "subject",
        "verdicts",
        ("gate", "outcome", "reward", "reason", "judged_at", "outcome_before", "reward_before"),
    ),
    RecordPart("reviews", "subject", "reviews", ("reviewer", "judgement", "note", "reviewed_at")),
    RecordPart("withdrawals", "subject", "withdrawals", ("reason", "bundles", "withdrawn_at")),
    RecordPart("quarantine", "row", "quarantine", ("table_name", "promise", "detail", "content")),
)
"""Every table with something to show about one thing."""


def list_fragments(
    lake: Lake, run: str, shown: Collection[str], aside: Collection[tuple[str, str]]
) -> Iterator[Fragment]:
    """Everything there is to show about single things. `shown`: rollouts whose turns are; `aside`:
    (table, row) that was set aside."""
    files = lake.snapshot(run).files
    for part in PARTS:
        for entry in files[part.table]:
            for row in _read_rows(lake, entry.name, part):
                if part.field in ("rollout", "trajectory") and row[part.subject] not in shown:
                    continue
                if (part.table, row["id"]) not in aside:
                    yield Fragment(
                        row[part.subject],
                        part.field,
                        row["id"],
                        row["try_number"],
                        _choose(row, part),
                    )


def read_shown(lake: Lake, run: str, shown: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows of those rollouts, as far as playing them again takes."""
    part = RecordPart(
        "rollouts", "id", "rollout", ("scenario", "environment", "transcript", "weather")
    )
    for entry in lake.snapshot(run, [part.table]).files[part.table]:
        for row in _read_rows(lake, entry.name, part):
            if row["id"] in shown:
                yield _choose(row, part) | {"id": row["id"], "try_number": row["try_number"]}


def _choose(row: Mapping[str, Any], part: RecordPart) -> dict[str, Json]:
    record = TABLES[part.table]
    json_names = {one.name for one in shape_of(record) if one.type == "json"}
    names = [one.name for one in shape_of(record)] if part.columns == _ALL else part.columns
    return {
        name: json.loads(row[name]) if name in json_names and row[name] is not None else row[name]
        for name in names
    }


def _read_rows(lake: Lake, name: str, part: RecordPart) -> Iterator[dict[str, Any]]:
    """Of a file of the present version, batch by batch; of an older one at once, since it is
    rewritten on the way."""
    record = TABLES[part.table]
    columns = _columns(record, part)
    file = open_file(lake.store, name)
    if file_version(file.schema_arrow) != version_of(record):
        yield from read_file(lake.store, name, record, columns).to_pylist()
        return
    for batch in file.iter_batches(_BATCH, columns=columns):
        yield from batch.to_pylist()


def _columns(record: type[Record], part: RecordPart) -> list[str]:
    chosen = [one.name for one in shape_of(record)] if part.columns == _ALL else part.columns
    return list(dict.fromkeys(("id", part.subject, *chosen, "try_number")))
