"""Consumers' folders written out for tests, and what no policy may find in their public parts."""

from collections.abc import Sequence
from pathlib import Path

from envmill.interop.consumers import CONSUMERS, Consumer, export_for
from envmill.interop.exporters import ExportSet, write_output
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.scenario import Scenario, UserContract
from tests.specimens import make_environment, make_scenario
from tests.trust import posing

BARE = Consumer("bare", "envmill_bare", Path(__file__).with_name("bare"), {}, lambda rows: {}, "")
"""A consumer that is nothing but our own part."""


def write_consumer(consumer: Consumer, export_set: ExportSet, out: Path) -> Path:
    """Its folder."""
    (output,) = export_for(consumer, export_set)
    write_output(output, out, "r")
    return out / output.name


def make_export_set(pairs: Sequence[tuple[Scenario, Environment]]) -> ExportSet:
    """Scenarios and their environments."""
    homes = {home.id: home for _, home in pairs}
    return ExportSet(
        environments=tuple(homes.values()), scenarios=tuple(scenario for scenario, _ in pairs)
    )


async def find_scenarios(jail: Sandbox) -> list[tuple[Scenario, Environment]]:
    """A scenario that can be played as a conversation, and two more of one domain."""
    shed = make_environment()
    user = UserContract(opening="I need a drill.", facts={"member": "Ada"}, hidden=["member"])
    found: list[tuple[Scenario, Environment]] = [
        (make_scenario(shed, say="Done.", user=user), shed)
    ]
    for place, polarity in enumerate(posing.ANYTHING[:2]):
        spot = posing.Spot("clinic_scheduling", 0, place, polarity)
        environment, posed = (
            posing.make_environment(spot.theme, spot.number),
            await posing.find_clean(spot, jail),
        )
        assert isinstance(posed, Scenario)
        told = posed.model_dump() | {"environment": environment.id, "id": "", "number": place}
        found.append((Scenario.model_validate(told), environment))
    return found


def list_public(folder: Path) -> list[Path]:
    """Every file of a folder that lies outside of its sealed part."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "sealed" not in path.relative_to(folder).parts
    ]


__all__ = [
    "BARE",
    "CONSUMERS",
    "find_scenarios",
    "list_public",
    "make_export_set",
    "write_consumer",
]
