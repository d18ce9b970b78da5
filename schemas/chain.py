"""A chain: tools in an order, and where each argument comes from. Data only: what walks it is
trusted code, and nothing of it is executed.

step ──► step ──► reason ──► step          each argument: from the user, a record, an earlier node, the item of a loop
  └──► each: [step, if: [step] else: []]
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from schemas.base import Contract, Json

Rule = Literal["choose", "count", "total", "difference", "compose"]


class FromUser(Contract):
    """The user says it."""

    kind: Literal["user"] = "user"
    """Tells sources apart."""


class FromRecord(Contract):
    """It stands in a record of the initial state that is looked up."""

    kind: Literal["record"] = "record"
    """Tells sources apart."""
    table: str
    """Table of the record."""
    column: str
    """Column of the value."""


class FromNode(Contract):
    """An earlier node gave it."""

    kind: Literal["node"] = "node"
    """Tells sources apart."""
    node: str
    """Id of a step, or of a reasoning node."""
    path: str = ""
    """Where in a step's reply, `orders[].id`; empty for what a reasoning node derived."""


class FromItem(Contract):
    """It stands in the item that a loop is at."""

    kind: Literal["item"] = "item"
    """Tells sources apart."""
    loop: str
    """Id of the loop."""
    path: str
    """Where in the reply that the loop goes over, from the reply's beginning."""


Source = Annotated[FromUser | FromRecord | FromNode | FromItem, Field(discriminator="kind")]


class ChainStep(Contract):
    """One call of a tool."""

    model_config = ConfigDict(title="Step")  # part of the key of a call: it stays

    kind: Literal["step"] = "step"
    """Tells nodes apart."""
    id: str
    """Name within the chain."""
    tool: str
    """Tool called."""
    arguments: dict[str, Source] = {}
    """Path of an input → where its value comes from; optional inputs may be left out."""


class Reason(Contract):
    """Something derived between calls, that no tool gives."""

    kind: Literal["reason"] = "reason"
    """Tells nodes apart."""
    id: str
    """Name within the chain."""
    rule: Rule
    """`choose` one of many; `count` or `total` of many; `difference` of two numbers; `compose` a
    text."""
    takes: list[Source]
    """What it is derived from."""


class Branch(Contract):
    """Some nodes only where a value compares so."""

    kind: Literal["if"] = "if"
    """Tells nodes apart."""
    id: str
    """Name within the chain."""
    left: Source
    """Value looked at."""
    op: Literal["equals", "differs", "above", "below"]
    """How it compares."""
    right: Json
    """With what; null: with something that the user says."""
    then: "list[Node]"
    """Nodes where it does."""
    otherwise: "list[Node]" = []
    """Nodes where it does not."""


class Loop(Contract):
    """Some nodes for each item of a list."""

    kind: Literal["each"] = "each"
    """Tells nodes apart."""
    id: str
    """Name within the chain."""
    over: FromNode
    """The list: a path that ends in `[]`."""
    body: "list[Node]"
    """Nodes for each item."""


Node = Annotated[ChainStep | Reason | Branch | Loop, Field(discriminator="kind")]


class Chain(Contract):
    """Nodes in the order in which they are done."""

    sampler: str
    """What made it."""
    nodes: list[Node]
    """Steps, and what stands between them."""
    given: list[str] = []
    """Preconditions that the initial state has to meet."""


class Infeasible(Contract):
    """Why no scenario can follow a sampled chain."""

    node: str
    """Id of the node that cannot be carried out."""
    reason: str
    """Why, in one sentence."""


class Overlap(Contract):
    """How much of a sampled chain a reference path contains, as its calls and replies show."""

    sampler: str
    """Sampler that drew the chain."""
    nodes: int
    """Steps of the sampled chain."""
    nodes_found: int
    """Steps that calls of the path carry out, in the chain's order."""
    flows: int
    """Arguments that the sampled chain takes from earlier replies."""
    flows_found: int
    """Arguments that the path takes from the same replies."""

    @property
    def share(self) -> float:
        """Share of steps and arguments found."""
        return (
            (self.nodes_found + self.flows_found) / (self.nodes + self.flows) if self.nodes else 1.0
        )


class Pick(Contract):
    """Which one of many is chosen: the first whose value there is this."""

    path: str
    """Where in the reply that the choice is made from, from the reply's beginning."""
    equals: Json
    """Value it has."""


class Filling(Contract):
    """What a chain needs to be carried out: the values that its sources stand for."""

    said: dict[str, Json] = {}
    """`step.argument` → what the user says there; of a branch its id → what its value is compared
    with."""
    records: dict[str, str] = {}
    """Table → key of the one record of it that values are taken from: they belong together."""
    picks: dict[str, Pick] = {}
    """Reasoning node that chooses → which one; the first where nothing is said."""
