"""A tool as a document describes it, before anybody has written its code: what graphs of tools are
made of."""

from typing import Literal

from schemas.base import Contract, Json


class Signature(Contract):
    """What goes into a tool and what comes out of it, both as schemas that the runtime
    validates."""

    inputs: Json
    """JSON Schema of the arguments object."""
    outputs: Json
    """JSON Schema of the reply; it promises something of every value."""


class ToolSketch(Contract):
    """One tool, whatever kind of document it was read from."""

    name: str
    """Name, one of its kind in its set."""
    description: str = ""
    """What it does."""
    service: str = ""
    """Whose tool it is: the API, the server."""
    entity: str = ""
    """What it is about, in the singular (`order`); empty: taken from its name."""
    effect: Literal["query", "change", "unknown"] = "unknown"
    """Whether it only reads, as far as its document says."""
    inputs: Json
    """JSON Schema of the arguments object."""
    outputs: Json = {}
    """JSON Schema of the reply; empty where nobody says."""
    about: dict[str, str] = {}
    """Path of an input → what it is said of, where that is not the entity: the `id` of
    `/orders/{id}/lines` is an order's."""
    told: dict[str, bool] = {}
    """Path of an input → whether a user can say it; paths left out are judged by name and type."""
    reads: list[str] = []
    """Tables it reads, where known."""
    writes: list[str] = []
    """Tables it writes."""
    requires: list[str] = []
    """What must hold before, as short statements that other tools' `ensures` repeat word for
    word."""
    ensures: list[str] = []
    """What holds afterwards; `not X` says that X does no longer."""
    licence: str = "unknown"
    """Licence of the document."""
    source: str = ""
    """What it was read from: `openapi`, `mcp`, `botocore`, `environment`."""
