# pyright: basic, reportMissingImports=false
"""Exported scenarios as a task of inspect-ai.

rows (public) ──load_samples──► samples ──begin──► tools ──play──► moves in the store ──passed──► 1, 0, or the sample's error
"""

from importlib.metadata import version

TESTED = "0.3.285"
"""Version of inspect-ai that this adapter was tested with."""

if version("inspect-ai").split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with inspect-ai {TESTED}, and {version('inspect-ai')} is "
        "installed, which may differ: "
        f"pip install inspect-ai=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .playing import MillStore, begin, play  # noqa: E402  the version is checked first
from .scoring import passed  # noqa: E402
from .task import envmill, load_samples  # noqa: E402

__all__ = ["MillStore", "begin", "envmill", "load_samples", "passed", "play"]
