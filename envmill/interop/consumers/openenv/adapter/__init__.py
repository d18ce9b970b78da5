# pyright: basic, reportMissingImports=false
"""Exported scenarios as one OpenEnv environment: a server that plays any of them, and its client.

client ──reset(scenario)──► messages, tools      ──step(tool, arguments)──► reply      ──step(say)──► done, reward
"""

from .client import OpenEnvClient
from .models import OpenEnvAction, OpenEnvObservation, OpenEnvState

__all__ = ["OpenEnvAction", "OpenEnvClient", "OpenEnvObservation", "OpenEnvState"]
