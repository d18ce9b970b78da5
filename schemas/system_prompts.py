"""What the prompts that write systems and fault operators are given and must answer.

sort of system ─► system: files, services, health check ─► proved healthy ─► operators ─► each proved alone
"""

from typing import ClassVar

from pydantic import Field

from schemas.base import Contract
from schemas.seed import Brief
from schemas.system import FileLine, Handle, Service


class SystemInput(Contract):
    """Write one healthy system."""

    brief: Brief


class SystemReply(Contract):
    """A healthy system, with places where it can be broken, and the check of its health."""

    fenced: ClassVar[str] = "check"

    about: str
    """What it is, in one sentence."""
    page: str
    """Absolute path of the file that its administrator keeps; it is among `files`."""
    files: dict[str, str] = Field(min_length=2)
    """Absolute path → text."""
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
    complaints: dict[str, str] = Field(min_length=2)
    """Probe of the check → what somebody who suffers from it says: symptoms, never causes."""
    handles: list[FileLine] = []
    """Lines of files that the factory's own operators may break."""
    check: str
    """Text of the module `check.py`."""


class FaultsInput(Contract):
    """Write fault operators for a system."""

    about: str
    page: str
    files: dict[str, str]
    services: dict[str, Service]
    complaints: dict[str, str]
    handles: list[Handle]
    check: str


class ProposedFault(Contract):
    """One way of breaking the system, with its exact opposite."""

    operator: str
    """What sort of fault it is, in snake_case."""
    places: list[str] = Field(min_length=1)
    """All absolute paths that breaking it changes, makes or takes away."""
    break_script: str
    """Shell commands that break it, as root, while no service runs."""
    mend_script: str
    """Shell commands that undo exactly that, without looking at a copy."""
    wrong: str = ""
    """What stands there now, where it is a value."""
    right: list[str] = []
    """Texts that must be known in order to mend it; each stands word for word on the
    administrator's page."""


class FaultsReply(Contract):
    """Operators, none like another or like a handle."""

    operators: list[ProposedFault] = Field(min_length=1)
    """Three to six."""
