"""Where reports lie; apart from what writes them, which takes a while to import."""

from pathlib import Path


def find_place(bundles: Path, run: str) -> Path:
    """The folder of a run's report unless another one is named: beside the bundles."""
    return bundles.parent / "reports" / run
