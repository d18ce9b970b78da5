"""What happened: runs, gates, exits, model calls. Events take their ids from their coordinates."""

from typing import ClassVar, Literal

from schemas.base import Json, Record

Lap = Literal["environments", "scenarios"]
Stage = Literal["generate", "build", "verify", "filter", "collect", "export"]
GateOutcome = Literal["kept", "dropped", "error", "not_measured", "not_applicable"]
Exit = Literal["kept", "dropped", "error"]


class RunEvent(Record):
    """Something that happened to a run."""

    table: ClassVar[str] = "run_events"
    prefix: ClassVar[str] = "evt"
    identity: ClassVar[tuple[str, ...]] = ("event", "happened_at", "detail")

    event: Literal["started", "config", "budget", "finished", "failed", "crashed"]
    """What happened."""
    happened_at: str
    """Wall-clock time, ISO 8601 UTC."""
    detail: Json
    """Config at the start; failure text at a failure."""


class Attrition(Record):
    """One candidate at one gate in one attempt; gate `exit` is the step's outcome for it."""

    table: ClassVar[str] = "attrition"
    prefix: ClassVar[str] = "att"
    identity: ClassVar[tuple[str, ...]] = ("lap", "stage", "gate", "subject", "try_number")

    lap: Lap
    """Environments or scenarios."""
    stage: Stage
    """Stage of the line."""
    gate: str
    """Gate, or `exit`."""
    subject: str
    """Candidate id."""
    parent: str
    """What the candidate was made from."""
    try_number: int
    """Which attempt of its step this was."""
    outcome: GateOutcome
    """Kept and dropped are results; error is not."""
    reason: str
    """Reason code, empty when kept."""
    detail: str
    """What happened, in words, with the mend."""
    evidence: str
    """Id of the dossier in gate_evidence, empty when there is none."""
    children: int
    """Records the step made of it (exit rows)."""
    recipe: str
    """Recipe of its lineage."""
    theme: str
    """Domain of its lineage."""
    seconds: float
    """Elapsed seconds while it was worked on; subjects share the machine, so sums exceed the wall clock."""
    tokens: int
    """Model tokens spent on it here, replies that were reused not counted."""
    cost: float | None
    """Money spent on it here; null when a price was unknown."""


class Evidence(Record):
    """A gate's dossier about one candidate."""

    table: ClassVar[str] = "gate_evidence"
    prefix: ClassVar[str] = "gev"
    identity: ClassVar[tuple[str, ...]] = ("gate", "subject", "finding")

    gate: str
    """Gate."""
    subject: str
    """Candidate id."""
    finding: Json
    """What was seen."""


class ModelCall(Record):
    """One call to a model, journalled before its reply is used."""

    table: ClassVar[str] = "model_calls"
    prefix: ClassVar[str] = "call"
    identity: ClassVar[tuple[str, ...]] = ("request", "sample", "ordinal")

    request: str
    """Hash of the whole request; with the sample index it is the key of reply reuse."""
    sample: int
    """Sample index."""
    ordinal: str
    """Journal and line that hold it, so that two rows never share an id."""
    step: str
    """Step that asked."""
    subject: str
    """Candidate it was for."""
    prompt: str
    """Prompt name."""
    prompt_hash: str
    """Hash of the prompt's text."""
    provider: str
    """Provider."""
    model: str
    """Model."""
    outcome: Literal["reply", "failure", "outage"]
    """A reply, a typed failure, or an outage."""
    reused: bool
    """Whether the reply came from the journal or lake of this run."""
    retries: int
    """Retries before this outcome."""
    tokens_in: int
    """Input tokens."""
    tokens_out: int
    """Output tokens."""
    cost: float | None
    """Money; null when the price is unknown."""
    latency: float
    """Seconds until the reply."""
    asked_at: str
    """Wall-clock time, ISO 8601 UTC."""
    reply: str
    """Reply text; reuse reads it back."""
