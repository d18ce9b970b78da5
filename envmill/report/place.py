"""Where reports lie and how much they show; apart from what writes them, which takes a while to
import."""

from pathlib import Path

SAMPLE = 2_000
"""Attempts whose every turn is in a report, unless all are asked for."""


def find_place(bundles: Path, run: str) -> Path:
    """The folder of a run's report unless another one is named: beside the bundles."""
    return bundles.parent / "reports" / run
