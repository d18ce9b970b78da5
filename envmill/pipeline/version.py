"""The version that began a run goes on with it. Steps, keys of calls and columns of two versions
differ, and half a run of each would be neither. What a run has is read and exported by later
versions."""

import shlex
from typing import Any

from envmill.base.errors import SettingsError
from envmill.base.version import __version__
from envmill.lake.lake import Lake
from schemas.base import Json, is_array, is_object
from schemas.run import RunConfig

LINE = __version__.rpartition(".")[0]
"""Versions that differ in their last number go on with each other's runs."""
_UNTOLD = "an older version"
"""Versions up to 0.1 did not say who they were."""
_OWN = ("run", "first")
"""Settings that belong to one run, and have no option."""


def check_version(run: str, lake: Lake) -> None:
    """SettingsError for a run that another version began."""
    config = lake.find_fixed(run, "config")
    begun = lake.find_fixed(run, "version") or ({"line": ""} if config else {"line": LINE})
    if begun["line"] != LINE:
        who = f"version {begun['line']}" if begun["line"] else _UNTOLD
        raise SettingsError(
            f"Run {run} was begun by {who}, and this is {__version__}. Its results can be read "
            "and exported, but it cannot be continued. Start a new one: "
            f"{render_order(config or {})}"
        )


def claim_version(run: str, lake: Lake) -> None:
    """Before anything else is fixed: a run without this was begun by a version that did not claim
    its runs."""
    check_version(run, lake)
    lake.fix(run, "version", {"line": LINE})


def render_order(config: dict[str, Any]) -> str:
    """The command that asks for a run of these settings."""
    known = {name: value for name, value in config.items() if name not in _OWN}
    changed = RunConfig.read(known).model_dump(mode="json", exclude_defaults=True)
    return shlex.join(
        [
            "envmill",
            "run",
            *(word for name, value in changed.items() for word in _render_option(name, value)),
        ]
    )


def _render_option(name: str, value: Json) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [option if value else f"--no-{option[2:]}"]
    if is_object(value):
        return [option, ",".join(f"{key}={share}" for key, share in value.items())]
    return [option, ",".join(map(str, value)) if is_array(value) else str(value)]
