"""What a bundle folder holds once it is read, and the names of the files it holds it in."""

from dataclasses import dataclass, field

from schemas.base import Json
from schemas.environment import Environment, Test
from schemas.scenario import Scenario

MANIFEST = "bundle.json"
TOOLS = "tools.json"
TESTS = "tests.json"
REPORT = "import.json"
PROGRAM, STATES, SCENARIOS = "program", "states", "scenarios"
SCENARIO, VERIFIER = "scenario.json", "verifier.json"
PROVENANCE = "provenance.json"
CARRIED = "envrun"
"""Folder of what an exported bundle runs by where nothing is installed. Here it is passed over: what runs here is our own."""
PAPERS = ("README", "LICENSE", "LICENCE", "NOTICE", REPORT, PROVENANCE)
"""Files that may lie beside; nobody reads them."""


@dataclass(frozen=True)
class Folder:
    """One environment and everything that hangs on it."""

    environment: Environment
    tests: tuple[Test, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    states: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])
    """States by name that it can start from besides those of its scenarios."""
