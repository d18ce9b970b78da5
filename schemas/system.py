"""A healthy system as data, the named places in which it can be broken, and what was done to
one."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, Json, leave_out


class Named(Contract):
    """Base of every handle: a place of the system that fault operators know how to spoil."""

    name: str
    """What the place is called; one word per system."""
    can: list[str]
    """Operators that may be used here, by name."""
    told: str = ""
    """File of the system in which the right value can be read; empty: the administrator's page."""
    facts: list[str] = []
    """What an administrator must be able to read there in order to put it right, beside the value
    itself."""


class FileLine(Named):
    """A piece of one line of a file that stands in it exactly once."""

    kind: Literal["line"] = "line"
    """Kind of handle."""
    file: str
    """Absolute path."""
    text: str
    """The piece, as it stands there."""
    value: str = ""
    """The part of it that is a value; empty where only the whole line can be spoiled."""
    wrong: list[str] = []
    """Values that look right and are not."""
    partner: str = ""
    """Value of the same line that `value` can be taken for (`swapped_keys`)."""


class OwnedPath(Named):
    """A file or directory, with who owns it and who may do what."""

    kind: Literal["file", "directory"]
    """What stands there."""
    path: str
    """Absolute path."""
    wrong_owner: str = ""
    """`user:group` that locks out whoever needs it."""
    wrong_mode: str = ""
    """Octal mode that locks out whoever needs it."""
    copy_of: str = ""
    """File with the same content, from which it can be brought back."""
    stray: str = ""
    """What somebody might leave there (`stray_file`)."""


class Symlink(Named):
    """A symbolic link."""

    kind: Literal["link"] = "link"
    """Kind of handle."""
    path: str
    """Absolute path."""
    target: str
    """What it points at."""
    other: str = ""
    """Something that exists and is not what it should point at (`stale_link`)."""


class Lock(Named):
    """A lock or pid file that is not there while nothing runs."""

    kind: Literal["lock"] = "lock"
    """Kind of handle."""
    path: str
    """Absolute path."""
    content: str = "4242"
    """What a dead owner left in it."""


class Spool(Named):
    """A directory that takes so many files and no more."""

    kind: Literal["spool"] = "spool"
    """Kind of handle."""
    path: str
    """Absolute path."""
    limit: int
    """How many files it takes."""
    suffix: str = ".tmp"
    """Ending of what can be thrown away."""


class DatabaseRow(Named):
    """A value in a table of a SQLite database."""

    kind: Literal["row"] = "row"
    """Kind of handle."""
    file: str
    """Absolute path of the database."""
    table: str
    """Table."""
    where: str
    """Condition that one row meets."""
    column: str
    """Column of the value."""
    value: str
    """The right value, as SQL writes it."""
    wrong: str
    """Another value, as SQL writes it."""
    row: str = ""
    """The whole row, as `INSERT` lists it (`missing_row`)."""


class GitBranch(Named):
    """The branch that a bare repository gives to whoever clones it."""

    kind: Literal["branch"] = "branch"
    """Kind of handle."""
    path: str
    """Absolute path of the repository."""
    value: str
    """Its branch."""
    wrong: str
    """Another name."""


Handle: TypeAlias = Annotated[
    FileLine | OwnedPath | Symlink | Lock | Spool | DatabaseRow | GitBranch,
    Field(discriminator="kind"),
]
"""Any of them."""


class Service(Contract):
    """Something that runs."""

    start: str
    """Command that starts it and returns."""
    program: str
    """Absolute path of the program that its process must be an instance of."""
    pattern: str
    """What its command line contains, and no other's."""
    port: str = ""
    """Port that it alone listens on, over TCP; empty for none."""


class Fault(Contract):
    """One thing that was broken, and how it is put right."""

    operator: str
    """Fault operator."""
    handle: str
    """Where."""
    places: list[str]
    """Paths that breaking it changes."""
    break_script: str
    """Shell commands that break it."""
    mend_script: str
    """Shell commands that undo exactly that: one step of the oracle."""
    shares: bool = False
    """It leaves every line where it is, so that others of its kind fit beside it in the same
    file."""
    wrong: str = ""
    """What stands there now."""
    right: list[str] = []
    """What has to be known in order to mend it."""


class System(Contract):
    """A healthy system, as its files describe it. `@name@` stands for a variable's value everywhere
    but in `variables`' own names."""

    name: str
    """Folder's name."""
    about: str
    """What it is, in one sentence."""
    licence: str
    """Licence of the files."""
    page: str
    """File that its administrator keeps: what is where, what should be, how to restart."""
    variables: dict[str, list[str]]
    """What differs from one variation to the next; the lists are read side by side."""
    users: list[str] = []
    """Users that are made, each with a group of its name."""
    groups: dict[str, list[str]] = {}
    """Further groups → members."""
    owners: dict[str, str] = {}
    """Path → `user:group`, where that is not `root:root`."""
    modes: dict[str, str] = {}
    """Path → octal mode, where that is not 644, or 755 for a directory."""
    directories: list[str] = []
    """Directories that are empty at first."""
    volatile: list[str] = []
    """What changes while it runs: logs, spools, pid files."""
    set_up: str = ""
    """Shell commands that finish it once the files stand."""
    services: dict[str, Service] = {}
    """In the order in which they start."""
    complaints: dict[str, str]
    """Probe of the health check → what somebody who suffers from it says: symptoms, never
    causes."""
    facts: dict[str, Json] = {}
    """What a request may name."""
    handles: list[Handle]
    """Where it can be broken."""
    faults: list[Fault] = []
    """Faults of its own that an author proposed for it and machines proved; left out when empty."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "faults")


class BrokenSystem(Contract):
    """A system with faults, in the order in which they were made."""

    system: str
    """Which system."""
    variation: int
    """Which values its variables have."""
    faults: list[Fault]
    """At least one. They are mended in the opposite order."""


class Proof(Contract):
    """What a composition was held to, and what was seen."""

    reason: str = ""
    """Why it is refused; empty when it holds."""
    detail: str = ""
    """What was seen, in words."""
    symptoms: dict[str, str] = {}
    """Probe → what it says of the broken system."""
    hidden: dict[str, str] = {}
    """Operator at a handle → the other one that must be mended before anybody can see it."""
    walks: int = 0
    """Machines that were taken from healthy over broken to mended."""
    checks: int = 0
    """Times that the health check was asked."""


class Judgement(Contract):
    """What became of a system in an agent's hands."""

    verdict: Literal["pass", "fail", "error"]
    """`error`: nothing is known about the agent."""
    reason: str = ""
    """First thing that is wrong."""
    detail: str = ""
    """In words."""


Condition: TypeAlias = Literal["well", "ill", "unasked"]
"""What a probe says; `unasked` where something was found before that makes its word worthless."""


class MachineState(Contract):
    """State of a terminal: how it was begun, and what the judge's examination found. No agent sees
    it."""

    exam: str = ""
    """Test file of the environment that is asked in place of its health check; left out when
    empty."""
    breaks: list[str] = []
    """Scripts that were run on the healthy system, in this order; none leave it healthy."""
    places: list[str] = []
    """Paths where mending may change something."""
    room: bool = True
    """Whether there was room for the judge's own files."""
    replaced: dict[str, bool] = {}
    """Programs and libraries that the judge runs by and that are others now."""
    inside: dict[str, bool] = {}
    """Of the places, those where something was changed."""
    outside: dict[str, bool] = {}
    """Paths that were changed and are not among the places."""
    health: dict[str, Condition] = {}
    """Probe → what it says of the machine as it was left."""
    lasting: dict[str, Condition] = {}
    """Probe → what it says after a restart."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "exam")
