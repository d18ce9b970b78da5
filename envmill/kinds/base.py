"""What every kind of environment must be able to do: one object with all that depends on what an
environment is.

blueprint ─► find_plan_faults, try_plan ─► build ─► environment ─► compose_scenario, or an author ─► derive_verifier ─► gates, forms

A kind is given what it works with: the sandbox, a workshop to build in, what checks look at. It
never asks for the recipe or the run.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from envmill.base.settings import Settings
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import Repair
from envmill.kinds.findings import Finding, GateContext
from envmill.models.gateway import ModelSession
from envmill.sandbox import Sandbox
from envmill.sandbox.host import Host
from envmill.verifiers.compose import ComposedVerifier
from envmill.verifiers.ending import Ending
from schemas.base import Json, Record
from schemas.database import Policy, Table
from schemas.dialogue import Repertoire
from schemas.environment import Blueprint, Effect, Environment, Tool
from schemas.errand import Part
from schemas.folder import Touch
from schemas.ledger import ReasonClass
from schemas.prompts import ScenarioReply
from schemas.run import Reward
from schemas.scenario import Draft, Scenario

FORBIDDEN_NAMES = frozenset(
    (
        "reset",
        "step",
        "state",
        "close",
        "get_reward",
        "verify",
        "seed_session",
        "aggregate_metrics",
        "mcp",
    )
)
"""Tool names that collide with the methods of the consumers' frameworks; so do `_x` and anything
with `__`."""

Policies: TypeAlias = Mapping[str, Policy | float]
"""`table.column` → its policy, or a tolerance."""
Look: TypeAlias = Callable[[Any, GateContext], Awaitable[Finding]]
"""A gate's check: Built or Posed in, a finding out."""


@dataclass(frozen=True)
class BuildResult:
    """What building came to: the environment and whatever else is kept, and what was found."""

    records: tuple[Record, ...] = ()
    findings: tuple[Finding, ...] = ()


NOTHING_COMPOSED = "no_composition"
"""Reason of a composition where no other one would hold."""


@dataclass(frozen=True)
class Composition:
    """A scenario that no author wrote, not yet executed, or why there is none."""

    reply: ScenarioReply
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Sources:
    """Texts of an environment that are programs, by which it is compared with others."""

    texts: Sequence[str]
    examined: bool = False
    """Whether they refuse by what they assert, as tests do."""


@dataclass(frozen=True)
class CompositionFindings:
    """What the gates found of a scenario that a kind composed while building."""

    complaints: tuple[Complaint, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Breach:
    """A right end with one rule of the policy broken."""

    rule: str
    what: str
    """What was done against it, in words."""
    ending: Ending
    others: frozenset[str] = frozenset()
    """Names of the verifier's parts that are about other rules alone."""


class PartAuthor(Protocol):
    """Who writes the parts that a kind asks for by name."""

    @property
    def write_part(
        self,
    ) -> Callable[[Part, Blueprint, Mapping[Part, str], Repair, ModelSession], Awaitable[str]]:
        """The part as text: a module, or the JSON of an image or of commands. The third argument
        holds the parts there are, the part's
        failed version too."""
        ...

    @property
    def write_atoms(
        self,
    ) -> Callable[[Environment, Repertoire | None, Repair, ModelSession], Awaitable[Repertoire]]:
        """What scenarios of a dialogue are composed of; with the one before, its repair."""
        ...


class BuildContext(Protocol):
    """What a kind builds with; the stage offers it."""

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def models(self) -> ModelSession:
        """Through which the author is asked."""
        ...

    @property
    def author(self) -> PartAuthor: ...

    @property
    def rehearses(self) -> bool:
        """Whether the run puts versions to the gates while they can still be repaired."""
        ...

    async def write_program(self, blueprint: Blueprint) -> BuildResult:
        """A program and its tests by the author, in the repair loop that all programs share."""
        ...

    async def judge_scenario(
        self, environment: Environment, reply: ScenarioReply, models: ModelSession
    ) -> CompositionFindings:
        """Execute a scenario on an environment that is being built, and put it to the gates."""
        ...


class Kind(Protocol):
    """A kind of environment; each is one object of a module of this folder."""

    name: str
    tabled: bool
    """Whether states are tables with keys, columns and policies, which its environments list."""
    resets_in_place: bool
    """Whether a session may be served by a process that served another."""
    looks_freely: bool
    """Whether a look at the state costs so little that it is taken after every step of a person's
    session."""
    keeps_clock: bool
    """Whether programs see the time of the session, which the scenario sets."""
    takes_checklists: bool
    """Whether an author may write the checks of a scenario."""
    tests_move: bool
    """Whether each change has a test that sees it change something: the one record of a side is not
    in every state from which some tool has something to do."""
    knows_near_misses: bool
    """Whether wrong ends near the reference path can be made, by which a judge is calibrated."""
    gates: Mapping[str, Look | str]
    """Gate → the kind's own check, or why the gate does not apply; other gates look as they do
    everywhere."""
    codes: Mapping[str, Mapping[str, ReasonClass]]
    """Gate → class of the reason codes that only the kind's own check reports."""

    def find_plan_faults(self, plan: Blueprint) -> list[str]:
        """Everything that is wrong with a blueprint as it reads, in words for its author."""
        ...

    async def try_plan(self, plan: Blueprint, sandbox: Sandbox) -> list[str]:
        """What goes wrong when the settled parts of a blueprint are tried, before anything is
        written for it."""
        ...

    async def build(self, blueprint: Blueprint, workshop: BuildContext) -> BuildResult:
        """Blueprint → environment."""
        ...

    def open_host(self, settings: Settings) -> Host | None:
        """What opens its sessions; None where the jail does."""
        ...

    def find_home(self, entry: str) -> str:
        """The file that an environment with this entry cannot do without."""
        ...

    def derive_tools(
        self, source: str, class_name: str, effects: Mapping[str, Effect]
    ) -> list[Tool]:
        """Read the interface out of the source, or raise BuildError. The source is never
        executed."""
        ...

    def derive_tables(self, files: Mapping[str, str], policies: Policies) -> list[Table]:
        """Tables of the state with each column's policy, or BuildError; none where states are not
        tables."""
        ...

    def add_touches(
        self, tools: Sequence[Tool], touches: Mapping[str, Touch], tables: Sequence[Table]
    ) -> list[Tool]:
        """The tools, each with the tables it may touch, or BuildError."""
        ...

    def list_policies(self, tables: Sequence[Table]) -> dict[str, Policy | float] | None:
        """The policies that make these tables out of their schema; None where a folder has no place
        for them."""
        ...

    def list_sources(self, environment: Environment) -> Sources:
        """What novelty is measured on."""
        ...

    def count_scenarios(self, environment: Environment, asked: int) -> int:
        """How many scenarios an environment is asked for."""
        ...

    async def compose_scenario(
        self, environment: Environment, number: int, seed: int, turn: int, sandbox: Sandbox
    ) -> Composition | None:
        """The n-th scenario, composed; another one with another seed or turn. None where an author
        is asked."""
        ...

    async def derive_verifier(
        self, draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox
    ) -> ComposedVerifier:
        """The verifier of a draft whose reference path ended so, here and elsewhere; BuildError
        where nothing would be proved."""
        ...

    def list_breaches(
        self, environment: Environment, scenario: Scenario, right: Ending
    ) -> Iterator[Breach]:
        """Ends that break one rule of the policy each, made of the end of the reference path; none
        where the policy is prose."""
        ...

    def choose_reward(self, asked: Reward) -> Reward:
        """How it pays, where the run asks for this."""
        ...

    def find_formless(self, exporter: str, scenario: Scenario) -> str:
        """Why an exporter has no form for a scenario; empty where it has one."""
        ...

    def locate_verifier(self, environment: Environment, scenario: Scenario) -> Json:
        """Where an exported row finds what judges it."""
        ...

    def render_demands(self, environment: Environment, scenario: Scenario) -> Iterator[str]:
        """What the verifier asks for, one sentence a demand, for a reader who looks for the words
        that ask for it."""
        ...

    def describe(self, environment: Environment) -> Iterator[str]:
        """What a person reads first of an environment: what its state is, and what may be done
        there."""
        ...


def is_forbidden(name: str) -> bool:
    """Whether a tool may not bear this name."""
    return name in FORBIDDEN_NAMES or name.startswith("_") or "__" in name
