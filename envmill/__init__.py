"""EnvMill as a library: open an environment, play it, judge it, audit it, or run a recipe.

    import envmill

    with envmill.open_environment("worlds/bundle/tool-shed") as shed, shed.start(shed.scenarios[0]) as session:
        session.call("list_tools")
        session.say("Done.")
        print(session.judge().outcome)

Names load when they are first used, so `import envmill` stays cheap. docs/library.md describes all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from envmill.version import __version__

if TYPE_CHECKING:
    from envmill.front.names import (
        AuditEntry,
        Call,
        Environment,
        EnvMillError,
        Finding,
        Observation,
        OpenEnvironment,
        Outage,
        Rollout,
        RunConfig,
        RunSummary,
        Scenario,
        Session,
        Settings,
        SettingsError,
        Tool,
        Verdict,
        open_environment,
        query,
        run_recipe,
    )

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("envmill.front.names"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
