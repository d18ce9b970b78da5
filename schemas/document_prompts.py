"""What the prompts of recipes over documents of tools are given and must answer, beside those of
recipes over tables."""

from schemas.base import Contract
from schemas.prompts import ThemeReply
from schemas.proposal import Outline
from schemas.table_prompts import InterfaceReply
from schemas.tool_prompts import SampledInput, SampledReply


class Source(Contract):
    """What a run reads tools from."""

    documents: str
    """`reader:source`, with commas between; empty for the documents that come with the factory."""
    seed: int
    """Seed of partition and walks."""
    wanted: int
    """Most environments that are worth proposing."""
    tools: int | None = None
    """Most tools of one; the usual number when nothing is said."""
    collections: int | None = None
    """Least tables of one, where its documents have as many."""
    candidates: str = "names"
    """What proposes pairs of tools besides names and tables; `names` is nothing else."""
    likeness: float = 0.6
    """Least cosine of a pair that an embedder proposes."""


class Found(ThemeReply):
    """A domain found in documents: a theme, and what it is made of."""

    outline: Outline
    """Its tools, tables and walks."""
    licence: str
    """Licence of its documents."""


class SelectedReply(InterfaceReply):
    """The interface, and what of the documents is no part of it."""

    left_out: dict[str, str] = {}
    """Tool of the documents → why it is not written."""


class WalkInput(SampledInput):
    """Write one scenario around a walk."""


class WalkReply(SampledReply):
    """A scenario along a walk, or why there is none."""
