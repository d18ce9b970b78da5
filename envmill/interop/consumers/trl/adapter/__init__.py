# pyright: basic, reportMissingImports=false
"""Exported scenarios in TRL's `GRPOTrainer`: environment classes, and rows to roll out, to imitate
and to prefer.

rows (public) ──load_rows──► train_dataset        sessions (sealed) ──load_environments──► environment_factory
the last words of a completion ──read_last_words──► environment ──get_reward──► 1, 0, or None where nothing was found out
"""

from importlib.metadata import PackageNotFoundError, version

TESTED = "1.16.0"
"""Version of TRL that this adapter was tested with."""

try:
    _found = version("trl")
except PackageNotFoundError:
    _found = TESTED  # rows and classes need no TRL
if _found.split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with trl {TESTED}, and {_found} is installed, which may differ: "
        f"pip install trl=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .environments import TrlEnvironment, load_environments, read_last_words  # noqa: E402  the version is checked first
from .loading import load_pairs, load_rows, load_trajectories  # noqa: E402

__all__ = [
    "TrlEnvironment",
    "load_environments",
    "load_pairs",
    "load_rows",
    "load_trajectories",
    "read_last_words",
]
