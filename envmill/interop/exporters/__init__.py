"""Exporters by name."""

from envmill.interop.exporters import atif, bundle, dataset, harbor, preferences, rl, sft, views
from envmill.interop.exporters.base import (
    Exporter,
    ExportSet,
    OutputFolder,
    StepCount,
    write_parcel,
    write_parcels,
)

__all__ = [
    "EXPORTERS",
    "ExportSet",
    "Exporter",
    "OutputFolder",
    "StepCount",
    "write_parcel",
    "write_parcels",
]

EXPORTERS: dict[str, Exporter] = {
    sft.NAME: sft.export_sft,
    rl.NAME: rl.export_rl,
    preferences.NAME: preferences.export_preferences,
    dataset.NAME: dataset.export_dataset,
    bundle.NAME: bundle.export_bundle,
    harbor.NAME: harbor.export_harbor,
    atif.NAME: atif.export_atif,
    views.NAME: views.export_views,
}
