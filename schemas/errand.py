"""An errand: what somebody wants done on a machine, the truth behind it, and what the prompts that
make one are given and answer.

cell ─► errand (request, truth) ─► initial test ─► final test ─► image ─► solution
"""

from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, leave_out
from schemas.cell import Cell
from schemas.seed import Brief
from schemas.system import Service

Part = Literal["initial_test", "final_test", "image", "solution", "system", "faults"]
"""What a machine is made of: four parts of an errand's, two of one that is healthy and then
broken."""


class Errand(Contract):
    """A request and, kept apart from it, the truth that nobody who acts is told."""

    request: str
    """What an agent is asked for: all that it is told."""
    at_first: str
    """What stands on the machine before anybody acts: files with their content, users, services."""
    at_the_end: str
    """What must stand there when it is done, with every value that was worked out."""
    places: list[str] = Field(min_length=1)
    """Absolute paths, files or folders, where doing it may change or make something."""
    answers: list[str] = []
    """Values that have to be worked out, and so can be read neither in the request nor on the
    machine."""
    restarts: list[str] = []
    """Services of the machine that have to be started again for what is asked to hold; left out
    when empty."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "restarts")


class Image(Contract):
    """The machine as somebody writes it: an image recipe, and the files that it copies."""

    recipe: str
    """Image recipe: FROM, then COPY, then RUN."""
    files: dict[str, str] = {}
    """Path beside the recipe → text."""
    services: dict[str, Service] = {}
    """What runs on the machine, in the order in which it starts."""
    volatile: list[str] = []
    """Absolute paths of what changes while it runs: logs, pid files."""


class Outfit(Contract):
    """An errand with all that was made and tried for it: what an environment keeps, and no
    container is ever given."""

    cell: Cell
    """Where it lies."""
    errand: Errand
    """Request and truth."""
    goals: list[str]
    """Final tests that fail on the machine nobody touched."""
    solution: list[str]
    """Commands of the reference path."""


class ErrandInput(Contract):
    """Think up one errand."""

    brief: Brief
    """Category, and the cell."""


class InitialTestInput(Contract):
    """Write the test of the machine that nobody touched."""

    brief: Brief
    at_first: str


class FinalTestInput(Contract):
    """Write the test of what the errand asks for."""

    brief: Brief
    request: str
    at_first: str
    at_the_end: str
    restarts: list[str] = []
    initial_test: str


class ImageInput(Contract):
    """Write the machine. Neither request nor final test are told: what stands there must not know
    what is asked."""

    brief: Brief
    at_first: str
    initial_test: str


class SolutionInput(Contract):
    """Write the reference path."""

    brief: Brief
    request: str
    at_first: str
    at_the_end: str
    restarts: list[str] = []
    final_test: str


class ExamReply(Contract):
    """One test file."""

    fenced: ClassVar[str] = "source"

    source: str
    """Text of the module: standard library and pytest."""


class SolutionReply(Contract):
    """Commands, each of which is needed."""

    commands: list[str] = Field(min_length=1)
    """Shell commands in order; each is one step."""
