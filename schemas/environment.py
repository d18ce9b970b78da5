"""Blueprint (the idea), environment (the built thing), and what building leaves behind."""

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Json, Record, leave_out
from schemas.database import Policy, Promise, Table, Touch
from schemas.origin import Origin
from schemas.seed import Brief
from schemas.servers import SharedIdentity
from schemas.sketch import Signature

Effect = Literal["query", "change"]
Kind = Literal["stateful", "sql", "terminal", "dialogue"]
Fault = Literal["none", "unknown", "code", "test", "state", "spec"]


class ToolPlan(Contract):
    """An operation the blueprint promises."""

    name: str
    """Tool name."""
    description: str
    """What it does, for the agent."""
    effect: Effect
    """Whether it only reads, or changes state."""


class Blueprint(Record):
    """The idea of an environment: state, rules, tools, policy document."""

    table: ClassVar[str] = "blueprints"
    prefix: ClassVar[str] = "bp"
    identity: ClassVar[tuple[str, ...]] = (
        *("kind", "brief", "name", "summary", "collections", "rules", "tools", "policy_document"),
        *(
            "requirements",
            "files",
            "policies",
            "touches",
            "rows",
            "promises",
            "signatures",
            "shared",
        ),
    )
    late: ClassVar[tuple[str, ...]] = (
        "requirements",
        "files",
        "policies",
        "touches",
        "rows",
        "promises",
        "signatures",
        "shared",
    )

    schema_version: int = 5
    """Version of this record's shape; older versions stay readable."""
    kind: Kind
    """Kind of environment to build."""
    brief: Brief
    """Brief it was thought up from."""
    name: str
    """Title for people."""
    summary: str
    """What this world is, in a few sentences."""
    collections: dict[str, list[str]]
    """Collection name → names of the attributes of its rows."""
    rules: list[str]
    """Rules the tools must enforce."""
    tools: list[ToolPlan]
    """Operations to write."""
    policy_document: str
    """Policy document an agent has to follow; empty when there is none."""
    requirements: list[str] = []
    """What people ask for in such a place, where the state was designed from that."""
    files: dict[str, str] = {}
    """Path → text of what is settled before the program is written: the schema, where state is
    tables."""
    policies: dict[str, Policy | float] = {}
    """`table.column` → its policy, or a tolerance, where state is tables."""
    touches: dict[str, Touch] = {}
    """Tool → tables it may read and write, where state is tables."""
    rows: dict[str, Json] = {}
    """Rows that the schema was tried with; the program's tests begin with them."""
    promises: dict[str, Promise] = {}
    """Tool → what it takes, looks at and leaves behind, where the tables were derived from that."""
    signatures: dict[str, Signature] = {}
    """Tool → types of what goes in and what comes out, where they were settled before the
    program."""
    shared: list[SharedIdentity] = []
    """Identities that its servers share. Tools and tables begin with the name of their server.
    Empty where it is one server."""
    licence: str
    """Licence inherited from the seed."""
    origin: Origin
    """Provenance."""


class Tool(Contract):
    """One entry of an environment's interface, derived from its code."""

    name: str
    """Name the agent calls."""
    description: str
    """What the agent reads."""
    parameters: Json
    """JSON Schema (the fixed subset the runtime validates) of the arguments object."""
    effect: Effect
    """Declared effect; gates hold the code to it."""
    actors: list[str] = ["agent"]
    """Who may call it. The agent alone is left out when written, so that ids from before actors
    stay what they were."""
    reads: list[str] = []
    """Tables it may read, where state is tables; left out when empty, as are those it writes."""
    writes: list[str] = []
    """Tables it may write, by triggers and cascades too."""
    outputs: Json = {}
    """JSON Schema of what it replies, where that was promised; left out when empty."""
    discoverable: bool = False
    """Whether agents are not offered it at first, but once a reply names it; left out when
    false."""
    sibling: str = ""
    """Service it belongs to where that is not the environment's; left out when empty. No policy is
    told."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = leave_out(write(self), "reads", "writes", "outputs", "discoverable", "sibling")
        if self.actors == ["agent"]:
            written.pop("actors", None)
        return written


class Environment(Record):
    """A built environment: files that run in the jail, and the interface they offer."""

    table: ClassVar[str] = "environments"
    prefix: ClassVar[str] = "env"
    identity: ClassVar[tuple[str, ...]] = (
        "kind",
        "brief",
        "files",
        "entry",
        "tools",
        "rules",
        "policy_document",
        "tables",
        "beside",
        "shared",
    )
    late: ClassVar[tuple[str, ...]] = ("tables", "beside", "shared")

    schema_version: int = 4
    """Version of this record's shape; older versions stay readable."""
    kind: Kind
    """What it is."""
    files: dict[str, str]
    """Path → source text."""
    entry: str
    """`module:Class` the session constructs."""
    tools: list[Tool]
    """Interface, derived from the code."""
    rules: list[str]
    """Rules the tools enforce."""
    policy_document: str
    """Policy document for the agent."""
    tables: list[Table] = []
    """Tables of kind `sql`, read from its schema, with each column's policy."""
    beside: list[Tool] = []
    """Tools of sibling services that agents are shown besides: answered as by a service without
    records, and called by no gate."""
    shared: list[SharedIdentity] = []
    """Identities that its servers share. Tools and tables begin with the name of their server.
    Empty where it is one server."""
    name: str
    """Title for people."""
    summary: str
    """What this world is."""
    brief: Brief
    """Brief at its root."""
    blueprint: str
    """Blueprint id."""
    licence: str
    """Licence; unknown is not exported by default."""
    origin: Origin
    """Provenance."""

    @property
    def shown(self) -> list[Tool]:
        """Tools as agents see them. Where tools of sibling services are among them, they are in name
        order, so that their position reveals nothing."""
        return (
            sorted([*self.tools, *self.beside], key=lambda tool: tool.name)
            if self.beside
            else self.tools
        )


class ResultUse(Contract):
    """An argument of a reference path that is filled with the result of an earlier call of it."""

    into: str
    """JSON pointer into the arguments."""
    call: int
    """Label of the earlier call."""
    path: str
    """JSON pointer into its reply."""
    was: Json
    """Value when the path was recorded. The use counts only while the argument holds this."""


def _hide_links(schema: dict[str, Any]) -> None:
    """An author writes references into the arguments, and is shown no more than these."""
    for name in ("label", "uses", "asks"):
        schema["properties"].pop(name)


class Call(Contract):
    """One tool call, as asked for."""

    model_config = ConfigDict(json_schema_extra=_hide_links)

    name: str
    """Tool name."""
    arguments: dict[str, Json] = {}
    """Arguments object."""
    actor: str = "agent"
    """Who calls."""
    label: int = 0
    """Number of the call in its reference path, from 1, where a later call uses its result. Left
    out where none does."""
    uses: list[ResultUse] = []
    """Arguments that results of earlier calls fill. Left out where none is."""
    asks: str = ""
    """Of a reference path: what the agent asks the user before it makes the call, and goes on after
    a yes. Left out when empty."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "label", "uses", "asks")


class Test(Record):
    """A stored procedural test, hash-linked to the code it tests."""

    __test__: ClassVar[bool] = False
    table: ClassVar[str] = "tests"
    prefix: ClassVar[str] = "tst"
    identity: ClassVar[tuple[str, ...]] = (
        "environment",
        "initial_state",
        "setup",
        "call",
        "expect",
        "reply",
        "after",
        "exact",
    )
    late: ClassVar[tuple[str, ...]] = ("reply", "after", "exact")

    schema_version: int = 3
    """Version of this record's shape; older versions stay readable."""
    environment: str
    """Id of the environment whose code this tests."""
    name: str
    """What is tried, in words."""
    initial_state: dict[str, Json]
    """State the session starts from."""
    setup: list[Call]
    """Calls made first; they must succeed."""
    call: Call
    """The call under test."""
    expect: Literal["success", "rejection"]
    """Success, or an anticipated rejection."""
    reply: Json = None
    """Part of the reply to a success: an object's values under their names, and for each entry of a
    list one that fits it."""
    after: dict[str, dict[str, Json]] = {}
    """Part of the state after the call: collection → key → values. `*` is a row that the test made,
    or a list of such rows; null is a row
    that is not there."""
    exact: bool = False
    """Whether `after` names the whole change: what it does not name is as it was before. There, the
    value `*` is any other than before."""
    origin: Origin
    """Provenance."""


class SentBack(Contract):
    """One kind of complaint about a version."""

    gate: str
    """Gate or stage that complained."""
    reason: str
    """Its reason code."""


class Build(Record):
    """One repair attempt: what failed, what was sent back, what changed."""

    table: ClassVar[str] = "builds"
    prefix: ClassVar[str] = "bld"
    identity: ClassVar[tuple[str, ...]] = ("subject", "repair")

    schema_version: int = 2
    """Version of this record's shape; older versions stay readable."""
    subject: str
    """What is worked on: a blueprint or draft being built, a seed being thought about, a place
    being filled."""
    repair: int
    """0 is the first version, then one per repair; the one after two repairs was asked for
    afresh."""
    outcome: Literal["built", "failed"]
    """Built: it ran and its tests were green."""
    failure: str
    """What failed, as quoted to the author; empty when it ran."""
    fault: Fault
    """Whom the failure is attributed to; a red test alone does not say whether it or the program is
    wrong."""
    content_hash: str
    """Hash of the version tried, so that "nothing changed" shows."""
    sent_back: list[SentBack] = []
    """Gates and reason codes of its complaints, each once; empty when it ran."""
