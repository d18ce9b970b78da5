"""Wording: how people ask for what they want, from a grammar of registers and the domain's own
phrases."""

from offline.wording.phrases import (
    Names,
    WantedChange,
    can_say,
    capitalise,
    follow,
    list_facts,
    name_facts,
    name_goal,
    render_phrase,
    render_value,
)
from offline.wording.request import Piece, compose_request, write_request

__all__ = [
    "Names",
    "Piece",
    "WantedChange",
    "can_say",
    "capitalise",
    "compose_request",
    "follow",
    "list_facts",
    "name_facts",
    "name_goal",
    "render_phrase",
    "render_value",
    "write_request",
]
