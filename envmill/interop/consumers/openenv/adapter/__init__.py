# pyright: basic, reportMissingImports=false
"""Exported scenarios as one OpenEnv environment: a server that plays any of them, and its client.

client ──reset(scenario)──► messages, tools      ──step(tool, arguments)──► reply      ──step(say)──► done, reward
"""

from importlib.metadata import version

TESTED = "0.10.0"
"""Version of OpenEnv that this adapter was tested with."""

if version("openenv").split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with openenv {TESTED}, and {version('openenv')} is installed, "
        "which may differ: "
        f"pip install openenv=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .client import OpenEnvClient  # noqa: E402  the version is checked first
from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState  # noqa: E402

__all__ = ["OpenEnvAction", "OpenEnvClient", "OpenEnvObservation", "OpenEnvState"]
