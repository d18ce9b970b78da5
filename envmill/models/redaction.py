"""Redaction: secrets taken out of whatever is written down or raised. A vendor's message may quote the key it was sent."""

import re
from collections.abc import Iterable
from typing import TypeVar

from envmill.errors import EnvMillError

E = TypeVar("E", bound=EnvMillError)

_HIDDEN = "[secret]"
_SHORTEST = 8  # characters: a shorter "secret" would be found in every text
_SHAPES = re.compile(
    r"""
    \b(?:sk|pk|rk)-[\w-]{16,}                                        # keys of both vendors and of many gateways
    | (?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}                       # a header
    | (?i:\b(?:x-)?api[-_]?key\b["']?\s*[:=]\s*["']?)[\w.~+/=-]{8,}
    | (?<=://)[^/@\s:]+:[^/@\s]+(?=@)                                # name and password of an address
    """,
    re.VERBOSE,
)


class Redactor:
    """Knows the secrets of this process by value, and others by their shape."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets for form in (secret.strip(), repr(secret.strip())[1:-1]) if len(form) >= _SHORTEST}
        self._known = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True)))) if known else None

    def finds(self, text: str) -> bool:
        """Whether a text holds one of ours."""
        return self._known is not None and self._known.search(text) is not None

    def hide(self, text: str) -> str:
        """The text without secrets we hold. For what a model said: a shape alone may be its own words."""
        return text if self._known is None else self._known.sub(_HIDDEN, text)

    def hide_all(self, text: str) -> str:
        """The text without secrets, and without what looks like one. For messages of vendors."""
        return _SHAPES.sub(_HIDDEN, self.hide(text))

    def clean(self, error: E) -> E:
        """The same error without secrets; its causes stay behind, since their texts and objects hold headers."""
        facts = {name: self.hide_all(value) if isinstance(value, str) else value for name, value in error.facts.items()}
        return type(error)(self.hide_all(error.message), **facts)
