"""Consumers' folders written out for tests, and what no policy may find in their public parts."""

from collections.abc import Sequence
from pathlib import Path

from envmill.interop.consumers import CONSUMERS, Consumer, export_for
from envmill.interop.exporters import ExportSet, write_parcel
from schemas.environment import Environment
from schemas.scenario import Scenario

BARE = Consumer("bare", "envmill_bare", Path(__file__).with_name("bare"), {}, lambda rows: {}, "")
"""A consumer that is nothing but our own part."""


def write_consumer(consumer: Consumer, cargo: ExportSet, out: Path) -> Path:
    """Its folder."""
    (parcel,) = export_for(consumer, cargo)
    write_parcel(parcel, out, "r")
    return out / parcel.name


def make_cargo(pairs: Sequence[tuple[Scenario, Environment]]) -> ExportSet:
    """Scenarios and their environments."""
    homes = {home.id: home for _, home in pairs}
    return ExportSet(environments=tuple(homes.values()), scenarios=tuple(scenario for scenario, _ in pairs))


def list_public(folder: Path) -> list[Path]:
    """Every file of a folder that lies outside of its sealed part."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "sealed" not in path.relative_to(folder).parts]


__all__ = ["BARE", "CONSUMERS", "list_public", "make_cargo", "write_consumer"]
