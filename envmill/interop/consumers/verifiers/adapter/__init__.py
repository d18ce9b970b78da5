"""Environments made by EnvMill as a taskset of verifiers v1."""

# pyright: basic, reportMissingImports=false

from importlib.metadata import version

TESTED = "0.4.0"
"""Version of verifiers that this adapter was tested with."""

if version("verifiers").split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with verifiers {TESTED}, and {version('verifiers')} is "
        "installed, which may differ: "
        f"pip install verifiers=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .environment import MillEnv  # noqa: E402  the version is checked first
from .taskset import MillTask, MillTaskset  # noqa: E402

__all__ = ["MillEnv", "MillTask", "MillTaskset"]
