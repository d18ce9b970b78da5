# pyright: basic, reportMissingImports=false
"""Exported scenarios in SkyRL: one environment of SkyRL-gym that plays the scenario of a row.

row ──make──► SkyrlEnvironment ──init──► messages      text of a model ──step──► replies of tools, or the user's answer; in the end 1 or 0
"""

from importlib.metadata import PackageNotFoundError, version

TESTED = "0.4.0"
"""Version of SkyRL-gym that this adapter was tested with."""

try:
    _found = version("skyrl-gym")
except PackageNotFoundError:
    raise ImportError(f"This adapter needs SkyRL-gym: pip install skyrl-gym=={TESTED}.") from None
if _found.split(".")[:2] != TESTED.split(".")[:2]:
    raise ImportError(
        f"This adapter was tested with skyrl-gym {TESTED}, and {_found} is installed, which may "
        "differ: "
        f"pip install skyrl-gym=={TESTED}, or export the scenarios again with a newer EnvMill."
    )

from .environment import SkyrlEnvironment, register_environment  # noqa: E402  the version is checked first
from .sessions import OutageError  # noqa: E402

__all__ = ["OutageError", "SkyrlEnvironment", "register_environment"]
