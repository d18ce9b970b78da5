"""What people and later checks say of stored rows: reviews, re-verifications, quarantine,
withdrawals."""

from typing import ClassVar, Literal

from schemas.base import Json, Record
from schemas.rollout import Outcome


class Reverification(Record):
    """A stored artefact judged again, later or by a newer gate."""

    table: ClassVar[str] = "verdicts"
    prefix: ClassVar[str] = "ver"
    identity: ClassVar[tuple[str, ...]] = ("subject", "gate", "judged_at")

    schema_version: int = 3
    """Version of this record's shape; older versions stay readable."""
    subject: str
    """Environment, scenario or rollout id."""
    gate: str
    """Gate or verifier that judged."""
    outcome: Outcome
    """Three-valued."""
    reward: float | None
    """Reward, null when the outcome is error or nothing was rewarded."""
    reason: str
    """What was seen, empty on a pass."""
    judged_at: str
    """Wall-clock time, ISO 8601 UTC."""
    components: dict[str, float] = {}
    """Value of each part of the verdict."""
    evidence: list[Json] = []
    """Everything that failed."""
    outcome_before: Literal["", "pass", "fail", "error"] = ""
    """What had been said of it; empty where nothing had."""
    reward_before: float | None = None
    """Reward it had borne."""
    basis: Literal["", "changes", "replay", "none"] = ""
    """Where the final state of a rollout came from: its stored changes, or a replay."""
    verifier_version: str = ""
    """Hash of the code that judged a rollout again; empty in rows before version 3, and of other
    subjects."""


class Review(Record):
    """A person's judgement of one stored thing."""

    table: ClassVar[str] = "reviews"
    prefix: ClassVar[str] = "rev"
    identity: ClassVar[tuple[str, ...]] = ("subject", "reviewer", "reviewed_at")

    subject: str
    """What was looked at."""
    reviewer: str
    """Who looked, as they call themselves."""
    judgement: Literal["accept", "reject", "note"]
    """What they decided."""
    note: str
    """Their words."""
    locks: list[str]
    """Facts, rules or checks that no repair may change."""
    reviewed_at: str
    """Wall-clock time, ISO 8601 UTC."""


class Quarantine(Record):
    """A row that broke a promise of its table and was set aside."""

    table: ClassVar[str] = "quarantine"
    prefix: ClassVar[str] = "qua"
    identity: ClassVar[tuple[str, ...]] = ("table_name", "row", "promise")

    table_name: str
    """Table the row stands in."""
    row: str
    """Id of the row."""
    promise: str
    """Promise it broke."""
    detail: str
    """What was wrong, in words."""
    content: Json
    """The row as it was found."""


class Withdrawal(Record):
    """Something that was shipped and is recalled."""

    table: ClassVar[str] = "withdrawals"
    prefix: ClassVar[str] = "wdr"
    identity: ClassVar[tuple[str, ...]] = ("subject", "withdrawn_at")

    subject: str
    """Scenario or environment id."""
    reason: str
    """Why, with the evidence."""
    bundles: list[str]
    """Bundles that hold it."""
    withdrawn_at: str
    """Wall-clock time, ISO 8601 UTC."""
