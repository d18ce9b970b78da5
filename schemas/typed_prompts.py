"""What the prompts of recipes with typed tools and rewritten requests are given and must answer,
beside those that all recipes share."""

from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from schemas.base import Contract, Json, is_object, leave_out
from schemas.calls import WrittenCall, WrittenPattern
from schemas.chain import Chain, Filling
from schemas.document_prompts import SelectedReply
from schemas.environment import Tool, ToolPlan
from schemas.scenario import Fact, Polarity
from schemas.seed import Brief
from schemas.servers import ClaimedIdentity, SharedIdentity
from schemas.sketch import Signature
from schemas.table_prompts import InterfaceInput, PlannedTool, SchemaInput
from schemas.tool_prompts import ChainInput, ChainReply

Operator = Literal[
    "goal_expansion", "compression", "implicit_reference", "ambiguity", "minimal_information"
]


class SketchInput(Contract):
    """Sketch the tools of a place of work: signatures and what they are for, no bodies."""

    brief: Brief


class SketchedTool(ToolPlan, Signature):
    """A tool with types on both sides."""

    @property
    def plan(self) -> ToolPlan:
        """The tool alone."""
        return ToolPlan(name=self.name, description=self.description, effect=self.effect)

    @property
    def signature(self) -> Signature:
        """Its types alone."""
        return Signature(inputs=self.inputs, outputs=self.outputs)


class SketchReply(Contract):
    """A server, before anybody has written its code or thought of its state."""

    name: str
    summary: str
    requirements: list[str]
    """What people ask for, one sentence each."""
    rules: list[str]
    tools: list[SketchedTool]
    policy: str = ""
    shared: list[SharedIdentity] = []
    """Where the brief asks for several servers: what they share."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "shared")


class StateInput(SchemaInput):
    """Find the tables that sketched tools need."""

    tools: list[SketchedTool]
    shared: list[SharedIdentity] = []
    """What its servers share; empty where it is one server."""


class MetadataInput(InterfaceInput):
    """Settle each tool's types, and the tables it touches."""

    tools: list[SketchedTool] = []
    """As they were sketched; empty where documents describe them."""


class TypedTool(PlannedTool):
    """A tool, the tables it may touch, and its types. What is left out stays as it was sketched."""

    description: str = ""
    inputs: Json = {}
    """JSON Schema of the arguments object."""
    outputs: Json = {}
    """JSON Schema of the reply."""

    def settle(self, sketch: SketchedTool | None) -> "TypedTool":
        """With what its sketch says, where nothing else is said."""
        if sketch is None:
            return self
        kept = {
            "description": sketch.description,
            "inputs": sketch.inputs,
            "outputs": sketch.outputs,
        }
        return self.model_copy(
            update={name: value for name, value in kept.items() if not getattr(self, name)}
        )

    @property
    def signature(self) -> Signature:
        """Its types alone."""
        return Signature(inputs=self.inputs, outputs=self.outputs)


class MetadataReply(SelectedReply):
    """The interface, with types on both sides."""

    tools: list[TypedTool]  # pyright: ignore[reportIncompatibleVariableOverride]  a narrower list, never written to


class TopologyInput(ChainInput):
    """Write one scenario along a chain that was sampled from the graph of tools."""

    requests: int = 1
    """How many requests the person makes, one after the other."""
    servers: int = 1
    """How many servers the path needs."""
    shared: list[SharedIdentity] = []
    """What the servers share; empty where there is one."""


class WrittenRequest(Contract):
    """One of several requests."""

    request: str = Field(min_length=1)
    until: str
    """Node of the chain with which it is fulfilled."""
    say: str = ""
    """Last words of this part of the path, where the user must be told something."""
    tell: list[Fact] = []
    """What those words must hold."""


class TopologyReply(ChainReply):
    """A scenario with a chain, for one request or several."""

    request: str = ""
    """What the person asks for. Left out where `requests` holds several."""
    requests: list[WrittenRequest] = []
    """Several requests in their order; `request`, `say` and `tell` are left out then. Empty for
    one."""
    identities: list[ClaimedIdentity] = []
    """Of several servers: what the state holds of the shared identities, and which servers know
    it."""

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, given: Any) -> Any:
        """What all requests say together, where none of it is said apart."""
        if not is_object(given) or not given.get("requests") or given.get("request"):
            return given
        written = [WrittenRequest.model_validate(one) for one in given["requests"]]
        return given | {
            "request": "\n\n".join(one.request for one in written),
            "say": " ".join(one.say for one in written if one.say),
            "tell": [
                fact.model_copy(update={"asked": place, "where": "any"})
                for place, one in enumerate(written, 1)
                for fact in one.tell
            ],
        }

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "requests", "identities")

    @model_validator(mode="after")
    def _ask_for_something(self) -> Self:
        if not self.request.strip() and self.infeasible is None:
            raise ValueError("`request` is empty, and so is `requests`")
        if self.requests and (self.hidden or self.polarity != "achieve"):
            raise ValueError(
                "a scenario of several requests hides no facts, and its polarity is `achieve`"
            )
        return self


class RewordInput(Contract):
    """Word a request otherwise, so that it asks for the same and leaves more to whoever reads
    it."""

    brief: Brief
    name: str
    rules: list[str]
    tools: list[Tool]
    number: int
    polarity: Polarity
    operator: Operator
    """What is to be done to the words."""
    method: str
    """How that is done."""
    request: str
    opening: str
    facts: dict[str, Json]
    hidden: list[str]
    goals: list[str]
    initial_state: dict[str, Json]
    oracle: list[WrittenCall]
    """The reference path: what the words ask for."""
    avoid: list[WrittenPattern] = []
    """Calls that must not be made, by a longer path neither."""
    chain: Chain | None = None
    """The same as a chain, where there is one."""
    filling: Filling | None = None
    """Its values."""


class RewordReply(Contract):
    """Other words, and what they add; the request as it was where the operator finds no place."""

    request: str = Field(min_length=1)
    opening: str = ""
    facts: dict[str, Json] = {}
    hidden: list[str] = []
    goals: list[str] = []
    chain: Chain | None = None
    """Of an expanded goal: the longer chain, in which the old nodes stand first, as they were;
    nothing otherwise."""
    filling: Filling | None = None
    """Its values, the old ones among them."""
    variants: dict[str, list[str]] = {}
    """Text that an added call writes and the request dictates → other wordings that are as good."""
    say: str = ""
    """Stands at the end of the path's last words."""
    tell: list[Fact] = []
    """What it must hold."""
