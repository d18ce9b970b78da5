"""Draft (generated, executed) and scenario (with a verifier that runs)."""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Json, Record, leave_out
from schemas.chain import Chain, Overlap
from schemas.environment import Call
from schemas.origin import Origin

Polarity = Literal["achieve", "answer", "refuse", "escalate", "clarify"]
LEFT_ALONE: frozenset[Polarity] = frozenset(("refuse", "escalate", "clarify"))
"""What is asked for is not done."""
Split = Literal["train", "validation", "test"]


class UserContract(Contract):
    """What the simulated user knows and wants. Whatever is empty is left out, so that older ids
    stay."""

    opening: str
    """First message of a conversation; for a single-request scenario it is the request itself."""
    facts: dict[str, Json] = {}
    """Facts the user can give when asked."""
    persona: str = ""
    """Who they are and how they speak."""
    goals: list[str] = []
    """What they want, in words."""
    hidden: list[str] = []
    """Names of facts that are told only when asked; the others stand in the opening. Where none is
    hidden nothing needs a conversation."""
    fallbacks: dict[str, str] = {}
    """What they say when asked for what they do not know, by a word of what is asked; the empty
    word is for anything else."""
    stop: str = ""
    """When they are content, in words."""
    wordings: dict[str, list[str]] = {}
    """Questions with which an agent may ask for a hidden fact, by the fact's name. Each of them
    must get its value as the answer."""
    later: list[str] = []
    """Further requests, in order. The user makes each of them when the agent has ended the one
    before; the opening is the first."""
    able: list[Call] = []
    """Calls of their own that they make when they are told to, besides those of the reference
    path."""
    needs: dict[str, list[str]] = {}
    """What they must be told before they do it: name of the deed → arguments whose values the agent
    has to name."""
    reports: list[str] = []
    """Tools of their own whose replies they read out."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(
            write(self),
            "persona",
            "goals",
            "hidden",
            "fallbacks",
            "stop",
            "wordings",
            "later",
            "able",
            "needs",
            "reports",
        )


class RequestPart(Contract):
    """One request of a scenario that makes several over one state, and the part of the reference
    path that fulfils it."""

    request: str
    """What the user asks for."""
    calls: int
    """Calls of the reference path that fulfil it. They follow those of the request before."""
    say: str = ""
    """Last words of this part of the path."""


class Change(Contract):
    """One difference between two states."""

    path: list[str]
    """Keys from the root; list items are addressed by position."""
    op: Literal["add", "remove", "set"]
    """What happened at the path."""
    before: Json = None
    """Value before (set, remove)."""
    after: Json = None
    """Value after (set, add)."""


class CallPattern(Contract):
    """Which calls a predicate is about."""

    name: str
    """Tool; empty for any."""
    arguments: dict[str, Json] = {}
    """Arguments it must have, patterns among them; any other argument is free."""
    actor: str = "agent"
    """Who calls."""


class Predicate(Contract):
    """One assertion about the calls of a rollout. A call that was refused or failed did not
    happen."""

    name: str
    """What it asserts, in words."""
    op: Literal["required", "seen", "before", "forbidden", "at_most", "only", "after", "agreed"]
    """`required`: made at least once. `seen`: one such call was answered with all of `shows`.
    `before`: `first` was made before every
    such call. `forbidden`: never. `at_most`: `most` times. `only`: every such call is one of
    `among`. `after`: none once `first` was made.
    `agreed`: the user said yes before every such call, to a message that names its arguments `names`."""
    call: CallPattern
    """The calls it is about."""
    first: CallPattern | None = None
    """What must come earlier (`before`), or ends it (`after`)."""
    most: int = 0
    """How often it may be made (`at_most`)."""
    shows: list[Json] = []
    """Values, or rows for the values of their fields, that one reply must hold, wherever in it
    (`seen`): whatever route led there."""
    refused: list[CallPattern] = []
    """Calls whose refusal by a rule of the program shows the same (`required`, `seen`): the agent
    tried what was asked and was told
    why not. Left out where there is none."""
    among: list[CallPattern] = []
    """Calls that are allowed (`only`); left out when empty, as are names."""
    names: list[str] = []
    """Arguments that a message names before the user says yes (`agreed`)."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "refused", "among", "names")


def _hide_asked(schema: dict[str, Any]) -> None:
    """An author writes a fact under the request that asks for it, and is shown no number."""
    schema["properties"].pop("asked")


class Fact(Contract):
    """Something the user must be told."""

    model_config = ConfigDict(json_schema_extra=_hide_asked)

    name: str
    """What it is, in words."""
    kind: Literal["text", "number", "date", "pattern"]
    """How it is looked for: words, a number or a date in any usual spelling, or an RE2 pattern."""
    value: Json
    """What must be said."""
    also: list[str] = []
    """Other wordings that say the same."""
    rivals: list[Json] = []
    """Values that would be said by somebody who recites everything; said beside it, the fact does
    not count."""
    weight: float = 1.0
    """Share among goals and facts."""
    where: Literal["last", "any"] = "last"
    """In which message: the last words, or any one."""
    asked: int = 0
    """Which of several requests asks for it, from 1: it must be told before the next one is made.
    Left out where the scenario has one."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "asked")


class Draft(Record):
    """A scenario before it has a verifier. Gold state and answers come only from running the
    oracle."""

    table: ClassVar[str] = "drafts"
    prefix: ClassVar[str] = "dft"
    identity: ClassVar[tuple[str, ...]] = (
        "environment",
        "number",
        "initial_state",
        "request",
        "user",
        "oracle",
        "polarity",
        "clock",
        "seed",
        "say",
        "tell",
        "avoid",
        "variants",
        "waived",
        "parts",
    )
    late: ClassVar[tuple[str, ...]] = ("say", "tell", "avoid", "variants", "waived", "parts")

    schema_version: int = 7
    """Version of this record's shape; older versions stay readable."""
    environment: str
    """Environment id."""
    number: int
    """Which scenario of its environment."""
    initial_state: dict[str, Json]
    """State every session starts from."""
    request: str
    """What the agent is asked to do."""
    user: UserContract
    """Contract of the simulated user."""
    oracle: list[Call]
    """Reference path."""
    overlap: Overlap | None = None
    """Sampler of the chain that the author was offered, and how much of that chain the path
    contains; null where none was binding."""
    chain: Chain | None = None
    """The reference path with where each argument comes from, as the validator of chains passed it;
    null where a recipe makes none."""
    polarity: Polarity
    """What success means here."""
    clock: str
    """Virtual time at the start, ISO 8601 UTC."""
    seed: int
    """Seed of the session's ids and randomness."""
    changes: list[Change]
    """What the oracle changed when it ran."""
    gold_hash: str
    """Hash of the state after the oracle."""
    say: str = ""
    """Last words of the reference path."""
    tell: list[Fact] = []
    """What the user must be told."""
    avoid: list[CallPattern] = []
    """Calls that must never be made."""
    variants: dict[str, list[str]] = {}
    """Text that the reference path writes → other wordings of it that are as good."""
    waived: list[str] = []
    """Look-ups that follow from the reference path and are not demanded, since a judge found that
    nobody needs them."""
    parts: list[RequestPart] = []
    """Of a scenario of several requests: each with its part of the path. `request` and `say` hold
    all of them. Empty for one request."""
    origin: Origin
    """Provenance."""


class Check(Contract):
    """One assertion about a final state: declarative and run by trusted code, or generated and run
    in the judge's jail."""

    name: str
    """What it asserts, in words."""
    op: Literal["equals", "present", "absent", "generated"]
    """`equals` and `absent` look at the path; `present` asks for one new row below it, under any
    key; `generated` runs the source."""
    path: list[str]
    """Keys from the root."""
    value: Json = None
    """Expected value; `{"$any": type}` stands for what chance decides, `{"$row": n}` for the key of
    the row goal n found."""
    weight: float = 1.0
    """Share among the goals."""
    source: str = ""
    """Of a generated check: a file that defines `check(initial, final) -> bool`. Left out when
    empty, so that older ids stay."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "source")


class Verifier(Contract):
    """How success is judged. Goals are false at the start, guards true; classes are found by
    running them.

    reward = guards · frame · procedure · harm × weighted goals and facts
    """

    goals: list[Check]
    """What must become true."""
    guards: list[Check]
    """What must stay true."""
    frame: list[list[str]]
    """Paths that may change; any other change breaks the frame."""
    partial: bool = False
    """Whether goals and facts pay in part; binary otherwise."""
    procedure: list[Predicate] = []
    """How it must be done: required reads, one thing before another. Left out when empty, as are
    facts and harm, so that older ids stay."""
    facts: list[Fact] = []
    """What the user must be told."""
    harm: list[Predicate] = []
    """What must never happen on the way."""
    free: list[str] = []
    """Columns (`table.column`) whose text is not compared in rows that may change: optional texts
    that nobody asked for."""
    worded: list[str] = []
    """Columns that must hold some text in rows that may change: texts that nobody dictated."""
    sides: dict[str, str] = {}
    """Collection → side whose it is, where the end states of several sides are reported apart."""
    unjudged: list[str] = []
    """What only a model could judge, and none is asked: where all else holds, the verdict is an error and no pass."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(
            write(self), "procedure", "facts", "harm", "free", "worded", "sides", "unjudged"
        )


class Bounds(Contract):
    """Upper bounds on a verifier's error rates, with the number of trials behind them."""

    false_accept: float
    """ρ0: upper bound of accepting a wrong end."""
    false_accept_n: int
    """Trials behind it."""
    false_reject: float
    """ρ1: upper bound of rejecting a right end."""
    false_reject_n: int
    """Trials behind it."""


class Scenario(Record):
    """A request in an environment, with a verifier that was run on the oracle and on doing
    nothing."""

    table: ClassVar[str] = "scenarios"
    prefix: ClassVar[str] = "scn"
    identity: ClassVar[tuple[str, ...]] = (
        "environment",
        "number",
        "initial_state",
        "request",
        "user",
        "oracle",
        "polarity",
        "clock",
        "seed",
        "verifier",
        "say",
        "parts",
    )
    late: ClassVar[tuple[str, ...]] = ("say", "parts")

    schema_version: int = 3
    """Version of this record's shape; older versions stay readable."""
    environment: str
    """Environment id."""
    number: int
    """Which scenario of its environment."""
    draft: str
    """Draft id."""
    initial_state: dict[str, Json]
    """State every session starts from."""
    request: str
    """What the agent is asked to do."""
    user: UserContract
    """Contract of the simulated user."""
    oracle: list[Call]
    """Reference path."""
    polarity: Polarity
    """What success means here."""
    clock: str
    """Virtual time at the start, ISO 8601 UTC."""
    seed: int
    """Seed of the session's ids and randomness."""
    verifier: Verifier
    """How success is judged."""
    features: dict[str, Json]
    """Difficulty features."""
    split: Split
    """Split of its domain, given when scenarios-build begins. Of alike domains the most held out one
    counts."""
    oracle_reward: float
    """Reward of the oracle, measured at build."""
    do_nothing_reward: float
    """Reward of doing nothing, measured at build."""
    bounds: Bounds | None = None
    """Error bounds; null means not measured."""
    say: str = ""
    """Last words of the reference path."""
    parts: list[RequestPart] = []
    """Of a scenario of several requests: each with its part of the path. Empty for one request."""
    origin: Origin
    """Provenance."""
