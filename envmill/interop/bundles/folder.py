"""What a bundle folder holds once it is read."""

from dataclasses import dataclass, field

from schemas.base import Json
from schemas.environment import Environment, Test
from schemas.scenario import Scenario


@dataclass(frozen=True)
class Folder:
    """One environment and everything that belongs to it."""

    environment: Environment
    tests: tuple[Test, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    states: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    """States by name that it can start from besides those of its scenarios."""
    compared: bool = field(default=False, compare=False)
    """Whether its files were compared with SHA256SUMS."""
