"""Audit: every gate over an environment and its scenarios, whoever made them; no stop at the first
drop, nothing is written.

environment ─► each of ENVIRONMENT_GATES ─┐
scenarios   ─► each of SCENARIO_GATES ────┼─► entries: gate, finding, seconds
the set     ─► W10, F4 ───────────────────┘
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from envmill.base.errors import EnvMillError
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import (
    EnvironmentCase,
    Finding,
    Gate,
    GateContext,
    ScenarioCase,
    fail,
    stopwatch,
)
from envmill.gates.f4 import find_repeats
from envmill.gates.w10 import find_duplicates
from envmill.interop.bundles import Folder
from envmill.stages.passing import settle
from schemas.ledger import Lap
from schemas.scenario import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class AuditEntry:
    """Finding of one gate about one environment or scenario."""

    lap: Lap
    subject: str
    """Id."""
    name: str
    """Name of the environment or scenario."""
    title: str
    """What the gate asks."""
    finding: Finding


async def audit_folder(folder: Folder, means: GateContext) -> list[AuditEntry]:
    """An environment, then its scenarios in their order."""
    built = EnvironmentCase(folder.environment, folder.tests, _list_states(folder))
    entries = await _pass_all(
        ENVIRONMENT_GATES, built, folder.environment.id, folder.environment.name, means
    )
    for scenario in folder.scenarios:
        entries += await audit_scenario(folder, scenario, means)
    return entries


async def audit_scenario(
    folder: Folder, scenario: Scenario, means: GateContext
) -> list[AuditEntry]:
    """One scenario, with the others of its environment as siblings."""
    siblings = tuple(one for one in folder.scenarios if one.id != scenario.id)
    posed = ScenarioCase(scenario, folder.environment, siblings)
    return await _pass_all(SCENARIO_GATES, posed, scenario.id, _name(scenario), means)


def audit_set(folders: Sequence[Folder]) -> list[AuditEntry]:
    """What can only be said of many: near-duplicates among environments, and repeats among the
    scenarios of each."""
    names = {folder.environment.id: folder.environment.name for folder in folders}
    scenarios = {scenario.id: scenario for folder in folders for scenario in folder.scenarios}
    entries = [
        AuditEntry(
            "environments", key, names[key], "Is it new among those audited with it?", finding
        )
        for key, finding in find_duplicates([folder.environment for folder in folders]).items()
    ]
    return entries + [
        AuditEntry(
            "scenarios",
            key,
            _name(scenarios[key]),
            "Does it ask something its siblings do not?",
            finding,
        )
        for key, finding in find_repeats(list(scenarios.values())).items()
    ]


def _list_states(folder: Folder) -> tuple[dict[str, object], ...]:
    return (*folder.states.values(), *(scenario.initial_state for scenario in folder.scenarios))


def _name(scenario: Scenario) -> str:
    """What it was called where it comes from; else its number."""
    return str(scenario.features.get("released_as", scenario.number))


async def _pass_all(
    gates: Sequence[Gate[T]], subject: T, key: str, name: str, means: GateContext
) -> list[AuditEntry]:
    found = [
        (gate, finding) for gate in gates for finding in (await _ask(gate, subject, means)).spread()
    ]
    return [
        AuditEntry(gate.lap, key, name, gate.title, settle(gate, finding))
        for gate, finding in found
    ]


async def _ask(gate: Gate[T], subject: T, means: GateContext) -> Finding:
    """A gate that breaks is an error of that gate; the others still say what they see."""
    with stopwatch() as watch:
        try:
            finding = await gate.decide(subject, means)
        except EnvMillError as error:
            finding = fail(gate.name, type(error).__name__, error.message)
        except Exception as error:  # noqa: BLE001
            # one gate's failure becomes a line of the dossier
            finding = fail(gate.name, "gate_breaks", f"{type(error).__name__}: {error}")
    return finding.timed(watch.seconds)
