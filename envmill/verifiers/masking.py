"""Masks arguments of a required read, so that every equivalent call matches.

left out: default values, paging and sorting · texts: compared without regard to spelling ·
everything else: unchanged
"""

import re
from collections.abc import Mapping

from envmill.verifiers.pattern import TEXT
from schemas.base import Json
from schemas.environment import Call, Tool
from schemas.scenario import CallPattern

_PAGING = re.compile(
    r"(?:^|_)(?:limit|offset|page|page_size|per_page|sort|sort_by|order_by|descending|ascending|"
    r"verbose)$"
)
"""Arguments that control the form of a reply and not its subject."""


def mask_call(call: Call, tool: Tool) -> CallPattern:
    """The pattern of a call. An argument that is not in the pattern may have any value."""
    schemas: Mapping[str, Json] = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    kept = {
        name: _mask(value, schemas.get(name, {}))
        for name, value in call.arguments.items()
        if name in required
        or not (_PAGING.search(name) or schemas.get(name, {}).get("default") == value)
    }
    return CallPattern(name=call.name, arguments=kept, actor=call.actor)


def _mask(value: Json, schema: Mapping[str, Json]) -> Json:
    return {TEXT: value} if isinstance(value, str) and "enum" not in schema else value
