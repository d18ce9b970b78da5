"""Wording: how people ask for what they want, from a grammar of registers and the domain's own phrases."""

from envmill.author.wording.phrases import Names, Wish, can_say, capitalise, follow, list_facts, name_facts, name_goal, say, spell_value
from envmill.author.wording.request import Piece, compose_request, write_request

__all__ = [
    "Names",
    "Piece",
    "Wish",
    "can_say",
    "capitalise",
    "compose_request",
    "follow",
    "list_facts",
    "name_facts",
    "name_goal",
    "say",
    "spell_value",
    "write_request",
]
