"""A promise: something every row of a table, or the table as a whole, keeps.

A `RowPromise` is a condition on one row; all of a table are counted in one pass. A `TablePromise`
is a question whose answer names what is wrong. A row that breaks its promise is set aside, a claim
costs its subject a child it told of, a broken invariant ends the step.

Conditions and questions read these relations of one run, made by `quality.relations`:

    <table>         every row of the run under its present fingerprints, without those set aside
    new_<table>     those of them that are being judged
    raw_<table>     every row there is, those set aside included
    finals          one row per step and subject: its exit in its latest attempt; `who` is hash(step, subject): numbers join faster
    new_finals      those of the steps being judged
    raw_made        (step, bucket, try_number) of every batch that wrote its step's product
    made_by         (who, there): how many rows of the product readers see that were made of a subject
    expected        (who, step, subject): what the steps before left to enter
    asked           one row: whether the run's model calls are in the lake yet
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["row", "claim", "invariant"]
Cost = Literal["nothing", "child", "subject"]


@dataclass(frozen=True)
class RowPromise:
    """A condition on one row."""

    name: str
    about: str
    """What is promised, for people."""
    broken: str
    """SQL condition that holds for a row that breaks it; never null."""
    seen: str = "''"
    """SQL expression that shows what the row says instead."""
    step: str = ""
    """Step whose end makes the promise due, when that is not the step that wrote the row. The row
    is that step's subject."""
    costs_subject: bool = False
    """Whether a subject was kept on the strength of the row."""
    severity: Severity = "row"


@dataclass(frozen=True)
class TablePromise:
    """A question about the table; each row of its answer (id, subject, step, seen) is one
    breach."""

    name: str
    about: str
    """What is promised, for people."""
    question: str
    """SQL query that finds breaches."""
    severity: Severity = "invariant"


Promise = RowPromise | TablePromise


@dataclass(frozen=True)
class TablePromises:
    """What one table promises."""

    table: str
    promises: tuple[Promise, ...]
    maker: str = "''"
    """SQL expression: the subject a row was made of, at the step that wrote it."""


@dataclass(frozen=True)
class BrokenPromise:
    """One broken promise, and the row or subject that breaks it."""

    table: str
    promise: str
    severity: Severity
    id: str
    """The row; empty when no row is at fault."""
    subject: str
    """Subject of the step it happened at; empty when unknown."""
    step: str
    detail: str
    """What was wrong, in words."""
    costs: Cost = "nothing"
    """What the subject loses with it."""
    content: str = "null"
    """The row as JSON."""


@dataclass(frozen=True)
class PromiseTally:
    """How one promise fared."""

    table: str
    promise: str
    severity: Severity
    about: str
    rows: int
    """Rows of the table that were judged."""
    broken: int
