"""What happened: runs, gates, exits, model calls. Events take their ids from their coordinates."""

from typing import ClassVar, Literal

from schemas.base import Json, Record
from schemas.environment import Call

Lap = Literal["environments", "scenarios"]
Stage = Literal["mine", "generate", "build", "verify", "filter", "collect", "export"]
GateOutcome = Literal[
    "kept",
    "suspected",
    "cleared",
    "corrected",
    "observed",
    "dropped",
    "error",
    "not_measured",
    "not_applicable",
]
"""`suspected`: a suspicion that no judge looked at; the item is kept in tier `suspected`.
`cleared`: a suspicion that the judge did not confirm. `corrected`: derived metadata that was
incomplete and has been corrected. `observed`: the gate would have dropped it, and the run only
observes; the item goes on in tier `observed`."""
ReasonClass = Literal["proof", "suspicion", "bookkeeping"]
"""What a reason code rests on: an executed witness, a reading of natural language, or incomplete
derived metadata."""
Exit = Literal["kept", "dropped", "error"]
Role = Literal["author", "critic", "judge", "policy", "user"]


class RunEvent(Record):
    """Something that happened to a run."""

    table: ClassVar[str] = "run_events"
    prefix: ClassVar[str] = "evt"
    identity: ClassVar[tuple[str, ...]] = ("event", "happened_at", "detail")

    event: Literal["started", "config", "budget", "pending", "finished", "failed", "crashed"]
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
    """Elapsed seconds while it was worked on; subjects share the machine, so sums exceed the wall
    clock."""
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


class Attack(Record):
    """A sequence of calls that a search found to be paid, kept to be tried on every other scenario
    of its environment."""

    table: ClassVar[str] = "attacks"
    prefix: ClassVar[str] = "atk"
    identity: ClassVar[tuple[str, ...]] = ("scenario", "manner", "calls", "said")

    environment: str
    """Environment id."""
    scenario: str
    """Scenario it was paid on."""
    manner: Literal["blind", "informed", "library"]
    """Found without the request, with its words, or on another scenario first."""
    calls: list[Call]
    """Calls, without those that it is paid without."""
    said: list[str]
    """Last words."""
    reward: float
    """What was paid."""
    solves: bool | None
    """Whether it ends where the reference path does: then it is a solution; null where there is no
    such path."""
    final_state_hash: str
    """Hash of the state it ends in."""


class ModelCall(Record):
    """One call to a model, journalled before its reply is used."""

    table: ClassVar[str] = "model_calls"
    prefix: ClassVar[str] = "call"
    identity: ClassVar[tuple[str, ...]] = ("request", "sample", "ordinal")

    schema_version: int = 4
    """Version of this record's shape; older versions stay readable."""
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
    role: Role = "author"
    """Whom the model played."""
    prompt: str
    """Prompt name."""
    prompt_hash: str
    """Hash of the prompt's text."""
    provider: str
    """Provider."""
    model: str
    """Model, as it was asked for."""
    served_model: str = ""
    """Model as the server named it; empty when it did not."""
    family: str = ""
    """Whose model it is, by its name; empty when unknown. A judge of the author's family is partial
    to it."""
    kin: bool = False
    """Whether it judges the work of a model of its own family."""
    repair: bool = False
    """Whether it asked again after a reply that was no use or that a gate complained about; false
    in rows before version 4."""
    outcome: Literal["reply", "part", "failure", "outage", "refused"]
    """A usable reply, a part of one that was cut off and gone on with, an unusable one, an outage,
    or a request the provider refused."""
    error: str = ""
    """What was wrong with the reply, or why none came; empty for a usable one."""
    reused: bool
    """Whether the reply came from a journal or the lake."""
    reused_from: str = ""
    """Run whose reply was reused; empty when it was this run's own, or none was."""
    retries: int
    """Retries before this outcome."""
    characters: int = 0
    """Characters sent, tools included: what tokens are counted from before a run."""
    tokens_in: int
    """Input tokens, those read from and written to a cache included."""
    tokens_cached: int = 0
    """Part of the input tokens that was read from a cache."""
    tokens_cache_write: int = 0
    """Part of the input tokens that was written to a cache."""
    tokens_out: int
    """Output tokens, reasoning included."""
    tokens_reasoning: int = 0
    """Part of the output tokens that was reasoning."""
    cost: float | None
    """Money; null when the price is unknown."""
    possibly_paid: int = 0
    """Sendings that the server had whole and gave no usable answer to, the last one of an outage
    included; the vendor may charge for
    each. They are part of no other column."""
    possibly_paid_tokens: int = 0
    """Tokens those may have taken, foreseen from the characters sent and from earlier replies to
    the prompt."""
    possibly_paid_cost: float | None = 0.0
    """Money those may have taken; null when the price is unknown."""
    price_source: str = ""
    """Where its price was read, and when; empty when the price is unknown or nothing was billed."""
    waited: float = 0.0
    """Seconds it was held back before it was first sent, by limits or a budget; not part of
    latency."""
    latency: float
    """Seconds from the first sending to the outcome, retries included."""
    asked_at: str
    """Wall-clock time of the outcome, ISO 8601 UTC."""
    reply: str
    """Reply text; reuse reads it back."""
    stop: Literal["", "end", "length", "tool", "refusal", "filter"] = ""
    """Why the reply ended; empty when none came or it was reused."""
    tool_calls: list[Json] = []
    """Calls of the reply: id, name, arguments as they came."""
    reasoning: str = ""
    """Thinking the model showed beside its reply."""
    signed: list[Json] = []
    """Reasoning behind its calls as the vendor signed it; the next turn sends it back."""
    token_ids: list[int] | None = None
    """Tokens of the reply, when they were asked for and the server gave them."""
    logprobs: list[float] | None = None
    """Log probability of each of them."""
    notes: list[str] = []
    """What could not be asked as wished: a knob the vendor lacks, a schema it could not take."""

    @property
    def answers(self) -> bool:
        """Whether the same question need not be asked again."""
        return self.outcome in ("reply", "part", "failure") and (
            not self.reused or self.reused_from != ""
        )
