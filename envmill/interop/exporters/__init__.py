"""Exporters by name."""

from envmill.interop.exporters import atif, bundle, dataset, harbor, preferences, rl, sft, views
from envmill.interop.exporters.base import (
    Exporter,
    ExportSet,
    OutputFolder,
    StepCount,
    write_output,
    write_outputs,
)

__all__ = [
    "EXPORTERS",
    "ExportSet",
    "Exporter",
    "OutputFolder",
    "StepCount",
    "write_output",
    "write_outputs",
]

EXPORTERS: dict[str, Exporter] = {
    one.name: one
    for one in (
        sft.EXPORTER,
        rl.EXPORTER,
        preferences.EXPORTER,
        dataset.EXPORTER,
        bundle.EXPORTER,
        harbor.EXPORTER,
        atif.EXPORTER,
        views.EXPORTER,
    )
}
