# pyright: basic, reportMissingImports=false
"""Exported scenarios as a resources server of NeMo Gym: an agent seeds a session, calls its tools
by their routes, and has it verified."""

from importlib.metadata import version

TESTED = "0.7.0"
"""Version of NeMo Gym that this adapter was tested with."""

if version("nemo-gym").split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with nemo-gym {TESTED}, and {version('nemo-gym')} is installed, "
        "which may differ: "
        f"pip install nemo-gym=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .server import GymConfig, MillServer  # noqa: E402  the version is checked first

__all__ = ["GymConfig", "MillServer"]
