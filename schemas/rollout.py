"""Rollout (an attempt, kept whatever came of it) and trajectory (a kept one, ready for
training)."""

from typing import ClassVar, Literal

from schemas.base import Contract, Json, Record
from schemas.scenario import Split

Outcome = Literal["pass", "fail", "error"]
Form = Literal["single", "conversation"]
Termination = Literal[
    "done",
    "step_limit",
    "token_limit",
    "time_limit",
    "user_stopped",
    "user_gave_up",
    "user_handed_over",
    "user_out_of_scope",
    "user_fault",
    "agent_error",
    "environment_error",
    "outage",
]
Misstep = Literal[
    "",
    "contradicts",
    "withholds",
    "reveals",
    "invents",
    "stops_early",
    "never_stops",
    "repeats",
    "silent",
    "oversteps",
    "impersonates",
    "pretends",
]
"""What a simulated user did that no person with this contract would do."""


class Suspected(Contract):
    """A misstep that the user's words suggest. Alone it is no fault: a judge has to confirm it."""

    misstep: Misstep
    """What it may be."""
    asked: str
    """The agent's message before it."""
    answer: str
    """The user's answer."""
    ruling: Literal["unasked", "confirmed", "unconfirmed"] = "unasked"
    """What a judge said of it; `unasked` where the run names none."""


class Verdict(Contract):
    """Result of a verifier for one end. An outage is `error`, never a reward of 0."""

    outcome: Outcome
    """Three-valued."""
    reward: float | None
    """Null when the outcome is error."""
    components: dict[str, float]
    """Value of each part the verifier has, 0 to 1: guards, frame, goals, procedure, facts, harm;
    and `judge`, where a model had a say."""
    reason: str = ""
    """First thing that failed, in words."""
    evidence: list[Json] = []
    """Everything that failed: component, name, what it asks for, and what was found instead."""


class Calibration(Contract):
    """How a judge ruled on ends of one scenario that are known to be right or wrong."""

    wrong: int
    """Wrong ends it was shown."""
    false_accepts: int
    """Those of them it called complete."""
    right: int
    """Right ends it was shown."""
    false_rejects: int
    """Those of them it did not call complete."""
    told: str = ""
    """Why it has no say on the scenario; empty where it has."""


class Ruling(Contract):
    """What a model said of an end that the verifier passed. It lowers the reward by at most its
    weight, and never raises it."""

    model: str
    """Model that was asked, as its server calls it; for one without a name, its provider."""
    prompt_hash: str
    """Hash of the prompt."""
    outcome: Literal[
        "complete",
        "incomplete",
        "server_error",
        "agent_error",
        "unreadable",
        "unreached",
        "unasked",
    ]
    """`unreadable` and `unreached` are no rulings, and make the verdict an error; `unasked` is of a
    judge without weight."""
    reason: str
    """Why, in its words."""
    weight: float
    """Share of the reward that depends on it."""
    calibration: Calibration
    """What the weight rests on."""


class Rollout(Record):
    """One attempt of a policy at a scenario, with all that is needed to judge it again."""

    table: ClassVar[str] = "rollouts"
    prefix: ClassVar[str] = "rol"
    identity: ClassVar[tuple[str, ...]] = (
        "scenario",
        "policy",
        "rollout_group",
        "attempt",
        "form",
        "checkpoint",
        "manner",
    )
    late: ClassVar[tuple[str, ...]] = ("form", "checkpoint", "manner")

    schema_version: int = 8
    """Version of this record's shape; older versions stay readable."""
    scenario: str
    """Scenario id."""
    environment: str
    """Environment id."""
    policy: str
    """Who acted."""
    rollout_group: str
    """Why it was made: probe, weak (of the weak policy, where that is another) or teacher."""
    attempt: int
    """Which attempt of the group."""
    seed: int
    """Seed of the policy's choices."""
    outcome: Outcome
    """Verdict's outcome."""
    reward: float | None
    """Verdict's reward; null on error."""
    components: dict[str, float]
    """Verdict's components."""
    reason: str
    """Verdict's reason."""
    steps: int
    """Tool calls made."""
    termination: Termination
    """Why it ended."""
    final_state_hash: str
    """Hash of the state at the end; empty on error."""
    transcript: list[Json]
    """Messages, tool calls and replies, with the state hash after each call, and `wait` entries
    with what was told meanwhile. A call's
    `actor` is left out where it is the agent; `raw` stands beside a call that could not be read and was never made, `reasoning` beside a
    message whose thinking was shown, `sampled` beside one whose token ids the server gave."""
    evidence: list[Json] = []
    """Verdict's evidence."""
    changes: list[Json] | None = None
    """How the final state differs from the initial one; null when it is not known. Judging again
    needs nothing else of the session."""
    weather: Json = None
    """Profile and seed of the trouble between call and tool; null is clear sky."""
    met: list[str] = []
    """Kinds of trouble met, in order."""
    uses: dict[str, int] = {}
    """How often clock, ids and randomness were used."""
    form: Form = "single"
    """Whether everything was asked for at once, or bit by bit by a simulated user."""
    checkpoint: str = ""
    """Model that acted, as its server calls it; empty for a scripted policy."""
    turns: int = 0
    """Messages the agent sent, with or without calls."""
    agent_errors: int = 0
    """Calls that could not be read."""
    misstep: Misstep = ""
    """What the simulated user did wrong, proven or confirmed by a judge; such a rollout ends in
    error and teaches nothing."""
    detail: str = ""
    """More about how it ended, in words: which limit, which fault, which outage."""
    usage: dict[str, int] = {}
    """Tokens of the model that acted: input, output, cached, reasoning. A reply that was known
    counts as what it took at first."""
    limits: dict[str, float] = {}
    """Bounds it was held to: steps, turns, tokens, seconds, errors; those it did not have are left
    out."""
    shares: dict[str, float] = {}
    """How its calls compare with the reference path, 0 to 1 each: trace, state, length, format, and
    what they come to (paid). Nothing of
    it decides the reward; empty on error."""
    ruling: Ruling | None = None
    """What a model said of it behind the verifier; null where nobody was asked."""
    suspected: list[Suspected] = []
    """Missteps of the simulated user that its words suggest, each with what a judge said of it."""
    verifier_version: str = ""
    """Hash of the code that judged it; empty in rows before version 7."""
    person: Literal["", "scripted", "model"] = ""
    """Who played the user of a conversation; empty without one, and in rows before version 8."""
    manner: str = ""
    """How that user talked, by name; empty where the contract alone said it."""


class Trajectory(Record):
    """A kept rollout, ready for training."""

    table: ClassVar[str] = "trajectories"
    prefix: ClassVar[str] = "trj"
    identity: ClassVar[tuple[str, ...]] = ("rollout",)

    schema_version: int = 4
    """Version of this record's shape; older versions stay readable."""
    rollout: str
    """Rollout id."""
    scenario: str
    """Scenario id."""
    environment: str
    """Environment id."""
    policy: str
    """Who acted."""
    messages: list[Json]
    """Chat messages; tool arguments are objects here, each target renders them its own way."""
    tools: list[Json]
    """Interface as the agent saw it."""
    loss: list[bool]
    """Per message: whether it is trained on."""
    state_hashes: list[str]
    """State hash after each tool call."""
    reward: float
    """Reward."""
    licence: str
    """Licence of the environment."""
    form: Form = "single"
    """Whether everything was asked for at once, or in turns."""
    features: dict[str, Json] = {}
    """Difficulty features of the scenario."""
    split: Split = "train"
    """Split of the scenario."""
    sampled: list[Json] = []
    """Per message: `ids` and `logprobs` of its tokens as the server sampled them; null where it
    gave none. Empty without any."""
    manner: str = ""
    """How the user of the conversation talked, by name; empty where the contract alone said it."""


class Bundle(Record):
    """What left the factory."""

    table: ClassVar[str] = "bundles"
    prefix: ClassVar[str] = "bun"
    identity: ClassVar[tuple[str, ...]] = ("exporter", "content_hash")

    schema_version: int = 2
    """Version of this record's shape; older versions stay readable."""
    exporter: str
    """Format."""
    content_hash: str
    """Hash over the files' bytes."""
    path: str
    """Folder, relative to the bundles folder unless it was named by hand."""
    files: dict[str, int]
    """File name → bytes."""
    rows: int
    """Records inside."""
    environments: list[str] = []
    """Environments it holds or was made in."""
    scenarios: list[str] = []
    """Scenarios it holds or was made of: what a recall looks for."""
