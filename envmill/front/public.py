"""The public names. `import envmill` offers these and no others."""

from envmill.base.errors import EnvMillError, Outage, SettingsError
from envmill.base.settings import Settings
from envmill.base.version import __version__
from envmill.front.asking import query
from envmill.front.environment import OpenEnvironment, open_environment
from envmill.front.recipe import RunSummary, run_recipe
from envmill.front.session import Session
from envmill.kinds.findings import Finding
from envmill.pipeline.audit import AuditEntry
from envmill.sandbox import Observation
from schemas.environment import Call, Environment, Tool
from schemas.rollout import Rollout, Verdict
from schemas.run import RunConfig
from schemas.scenario import Scenario

__all__ = [
    "AuditEntry",
    "Call",
    "EnvMillError",
    "Environment",
    "Finding",
    "Observation",
    "OpenEnvironment",
    "Outage",
    "Rollout",
    "RunConfig",
    "RunSummary",
    "Scenario",
    "Session",
    "Settings",
    "SettingsError",
    "Tool",
    "Verdict",
    "__version__",
    "open_environment",
    "query",
    "run_recipe",
]
