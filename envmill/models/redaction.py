"""Redaction: secrets taken out of whatever is written down or raised. A vendor's message may quote
the key it was sent."""

import base64
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NoReturn, TypeVar
from urllib.parse import quote

from envmill.base.errors import EnvMillError
from schemas.base import Json, is_array, is_object

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
        known = {
            form
            for secret in secrets
            if len(secret.strip()) >= _SHORTEST
            for form in _list_forms(secret.strip())
        }
        self._search, self._sub = _compile(known)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Secrets are never written to disk or sent to another process.")

    def finds(self, text: str) -> bool:
        """Whether a text holds one of ours."""
        return self._search(text) is not None

    def hide(self, text: str) -> str:
        """The text without secrets we hold. For what a model said: a shape alone may be its own
        words."""
        return self._sub(_HIDDEN, text)

    def hide_within(self, value: Json) -> Json:
        """A value without secrets in any of its texts and names."""
        if isinstance(value, str):
            return self.hide(value)
        if is_object(value):
            return {self.hide(name): self.hide_within(one) for name, one in value.items()}
        return [self.hide_within(one) for one in value] if is_array(value) else value

    def hide_all(self, text: str) -> str:
        """The text without secrets, and without what looks like one. For messages of vendors."""
        return _SHAPES.sub(_HIDDEN, self.hide(text))

    def clean(self, error: E) -> E:
        """The same error without secrets; its causes stay behind, since their texts and objects
        hold headers."""
        facts = {
            name: self.hide_all(value) if isinstance(value, str) else value
            for name, value in error.facts.items()
        }
        return type(error)(self.hide_all(error.message), **facts)


def _list_forms(secret: str) -> Iterator[str]:
    """How a secret may come back: as it is, as a program shows it, in an address, and reversed
    before or after it is coded.

    Base64 is known wherever in a longer text the secret stands. Each further form makes every
    search slower.
    """
    yield from (
        secret,
        repr(secret)[1:-1],
        secret[::-1],
        quote(secret.encode("utf-8", "surrogatepass")),
    )
    for told in (secret, secret[::-1]):
        for coded in _list_coded(told.encode("utf-8", "surrogatepass")):
            yield from (coded, coded[::-1])


def _list_coded(told: bytes) -> Iterator[str]:
    """In hexadecimal digits and in base64."""
    yield from (told.hex(), told.hex().upper())
    for before in range(3):
        # Characters of base64 that depend on what stands before and behind the secret are left out.
        skipped, kept = (0, 2, 3)[before], (before + len(told)) * 8 // 6
        for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
            coded = alphabet(bytes(before) + told).decode()[skipped:kept]
            if len(coded) >= _SHORTEST:
                yield coded


def _compile(secrets: Collection[str]) -> tuple[Callable[[str], object], Callable[[str, str], str]]:
    """Search and substitution. The pattern itself is not kept: it would show its secrets to whoever
    prints what a redactor holds."""
    if not secrets:
        return _find_nothing, _leave
    pattern = re.compile("|".join(map(re.escape, sorted(secrets, key=len, reverse=True))))
    return pattern.search, pattern.sub


def _find_nothing(text: str) -> None:  # noqa: ARG001  where no secret is known
    return None


def _leave(hidden: str, text: str) -> str:  # noqa: ARG001  where no secret is known
    return text
