"""What a run starts from."""

from typing import Any, ClassVar, Literal

from pydantic import SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Record, leave_out
from schemas.cell import Cell
from schemas.proposal import Outline


class Brief(Contract):
    """The few words an author gets about what to make; every later prompt carries it along."""

    aside: ClassVar[tuple[str, ...]] = ("outline",)

    theme: str
    """Working-life domain, for example `tool_lending`."""
    text: str
    """One or two sentences that describe the theme."""
    number: int
    """Which variation of the theme is wanted."""
    tools: int | None = None
    """How many tools it should have; the author's choice when nothing is said. Left out when empty,
    as are the other sizes, so that older
    ids stay."""
    collections: int | None = None
    """How many collections of records it should have."""
    rows: int | None = None
    """How many records the state of a scenario should hold."""
    calls: int | None = None
    """How many calls the reference path of a scenario should have."""
    distractors: int | None = None
    """How many near misses should stand beside each record that a scenario is about."""
    outline: Outline | None = None
    """Tools and tables that documents propose, where it is made of these."""
    user_side: bool = False
    """Whether one tool is to be the user's alone: the agent can but ask for what it does."""
    servers: int | None = None
    """How many servers it should be made of, each with tools and tables of its own, that share
    identities; one where nothing is said."""
    cell: Cell | None = None
    """Category, complexity and persona, where it is drawn from a space of these."""
    written: Literal["", "operators", "system"] = ""
    """What an author writes of a system that is broken: fault operators, or the system as well."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        sizes = ("tools", "collections", "rows", "calls", "distractors", "servers")
        return leave_out(write(self), *sizes, "outline", "user_side", "cell", "written")


class Seed(Record):
    """One starting point for one candidate environment."""

    table: ClassVar[str] = "seeds"
    prefix: ClassVar[str] = "seed"
    identity: ClassVar[tuple[str, ...]] = ("recipe", "brief", "source")
    late: ClassVar[tuple[str, ...]] = ("source",)

    schema_version: int = 3
    """Version of this record's shape; older versions stay readable."""
    recipe: str
    """Recipe that will think it up."""
    brief: Brief
    """What the author is told."""
    licence: str
    """Licence of the seed text; unknown is not exported by default."""
    source: str = ""
    """Id of the text it was mined from; empty for a theme that came with the factory."""
    usefulness: int = 0
    """How much somebody who learns there learns for real work, 1 to 10 as judged when it was mined;
    0 where nobody was asked."""
    modelability: int = 0
    """How well a program can stand for it, 1 to 10; 0 where nobody was asked."""
    field: str = ""
    """Field of work that the author named; empty if no author was asked."""
