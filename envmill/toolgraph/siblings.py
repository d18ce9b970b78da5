"""Siblings: tools of other services that agents see beside an environment's own tools. Reads
`data/seeds/siblings.json`.

services, shuffled for each environment ─► their tools, one service after the other ─► as many as are to be seen
"""

import json
import random
from collections.abc import Iterator
from functools import cache

from pydantic import TypeAdapter, ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from schemas.environment import Environment, Tool
from schemas.run import RunConfig

PATH = ROOT / "data/seeds/siblings.json"
_READER = TypeAdapter(dict[str, list[Tool]])


@cache
def read_services() -> dict[str, list[Tool]]:
    """Service → its tools."""
    try:
        return _READER.validate_python(json.loads(PATH.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise SettingsError(f"{PATH} holds no services: {error}. Mend that file.") from error


def choose_siblings(environment: Environment, visible: int) -> list[Tool]:
    """Sibling tools that bring the visible tools to the wanted number. A service of the
    environment's own theme is left out, because its tools would not be a distraction."""
    shown = {tool.name for tool in environment.tools}
    wanted = visible - sum("agent" in tool.actors for tool in environment.tools)
    chosen: list[Tool] = []
    for tool in _list_shuffled(environment):
        if len(chosen) >= wanted:
            break
        name = tool.name if tool.name not in shown else f"{tool.sibling}_{tool.name}"
        if name not in shown:
            shown.add(name)
            chosen.append(tool.model_copy(update={"name": name}))
    if len(chosen) < wanted:
        raise SettingsError(
            f"{PATH} has tools for {visible - wanted + len(chosen)} visible ones; set `visible` "
            "to that or less."
        )
    return chosen


def _list_shuffled(environment: Environment) -> Iterator[Tool]:
    services = sorted(name for name in read_services() if name != environment.brief.theme)
    random.Random(f"siblings/{environment.id}").shuffle(services)
    for name in services:
        yield from (tool.model_copy(update={"sibling": name}) for tool in read_services()[name])


def show_siblings(environment: Environment, config: RunConfig) -> Environment:
    """The environment with sibling tools, if agents are to see more tools than it has."""
    if config.visible is None:
        return environment
    beside = choose_siblings(environment, config.visible)
    return (
        Environment.model_validate(environment.model_dump() | {"id": "", "beside": beside})
        if beside
        else environment
    )
