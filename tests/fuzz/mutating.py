"""Inputs out of good ones: a value changed in a few places, rendered in odd ways, and bytes changed
after that."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**40, 1e300, -0.0, 1e-320, "", " ", "\x00", "\x1b[2J",
    "\u202e", "\ud800", "\U0001f600", "x" * 5000, "../../etc/passwd", "/dev/zero", "a/b", ".", "..", "con\n", "=1+1", "null", "NaN",
    "2026-02-30T25:00:00Z", "__class__", "{}", "[", "%s%n", "'; --", "(a+)+$", "\\u", [], {}, [[]], [None], {"": None}, {"$ref": "#"},
    {"a": {"a": {"a": {}}}}, ["ab"] * 300, "id", "type", "text", "json", "blob", "ok", "string", "object",
)  # fmt: skip
"""Values that a reader meets seldom."""
_TOKENS = (
    b"NaN",
    b"1e400",
    b"-",
    b"00",
    b",",
    b"}",
    b"]",
    b'"',
    b"\\ud800",
    b"\xff",
    b"\x00",
    b"\n",
    b"[" * 200,
    b'{"a":' * 200,
    b"9" * 5000,
)


LARGEST = 4 << 20
"""Bytes of an input: doubled a few times over, a small one has fifty million."""


class Mutator:
    """Changes what it is given, by one stream of chance."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def change(self, value: Any, most: int = 4) -> Any:
        """A copy that differs in up to so many places."""
        copied = _copy(value)
        for _ in range(self.rng.randint(1, most)):
            copied = self._change_once(copied)
        return copied

    def render(self, value: Any) -> bytes:
        """JSON, mostly; now and then with a key twice, in another order or encoding, or broken."""
        text = json.dumps(
            value,
            ensure_ascii=self.rng.random() < 0.3,
            separators=self.rng.choice([(",", ":"), (", ", ": "), (" ,\n", ":\t")]),
        )
        if self.rng.random() < 0.05 and isinstance(value, dict) and value:
            key = self.rng.choice(list(value))
            text = text[:-1] + f",{json.dumps(key)}:{json.dumps(self.rng.choice(ODD))}" + "}"
        content = text.encode("utf-8", "surrogatepass")
        if self.rng.random() < 0.03:
            content = text.encode(
                self.rng.choice(["utf-16", "utf-8-sig", "utf-32"]), "surrogatepass"
            )
        return self.damage(content) if self.rng.random() < 0.3 else content

    def damage(self, content: bytes, most: int = 4) -> bytes:
        """Bytes that differ in up to so many places."""
        damaged = bytearray(content)
        for _ in range(self.rng.randint(1, most)):
            begin, end = sorted(
                (self.rng.randint(0, len(damaged)), self.rng.randint(0, len(damaged)))
            )
            end = min(end, begin + self.rng.choice([1, 4, 64, 4096]))
            kind = self.rng.randrange(6)
            if kind == 0:
                damaged[begin:begin] = self.rng.choice(_TOKENS)
            elif kind == 1:
                del damaged[begin:end]
            elif kind == 2 and begin < len(damaged):
                damaged[begin] ^= 1 << self.rng.randrange(8)
            elif kind == 3:
                damaged[begin:begin] = damaged[begin:end] * self.rng.choice([1, 2, 50])
            elif kind == 4 and begin < len(damaged):
                damaged[begin] = self.rng.randrange(256)
            elif kind == 5:
                damaged[begin:end] = self.rng.choice(_TOKENS)
            if len(damaged) > LARGEST:
                del damaged[LARGEST:]
        return bytes(damaged)

    def cut(self, content: bytes) -> list[bytes]:
        """The same bytes in pieces."""
        places = sorted(self.rng.randint(0, len(content)) for _ in range(self.rng.randrange(4)))
        return [
            content[begin:end]
            for begin, end in zip([0, *places], [*places, len(content)], strict=True)
        ]

    def odd(self) -> Any:
        """A value that is met seldom; sometimes very deep or wide."""
        if self.rng.random() < 0.03:
            return _nest(self.rng.choice([30, 70, 130, 200]), self.rng.random() < 0.5)
        if self.rng.random() < 0.02:
            # Not the longest text: a hundred megabytes are more than a frame or a state may have.
            wide = [value for value in ODD if not isinstance(value, str) or len(value) < 100]
            return [self.rng.choice(wide)] * self.rng.choice([1000, 20_000])
        return _copy(self.rng.choice(ODD))

    def _change_once(self, value: Any) -> Any:
        places = list_places(value)
        if not places:
            return self.odd()
        holder, key = self.rng.choice(places)
        inner = holder[key]
        edits: list[Callable[[], None]] = [
            lambda: _set(holder, key, self.odd()),
            lambda: _set(holder, key, self._bend(inner)),
            lambda: _set(
                holder,
                key,
                self.rng.choice([[inner], {"a": inner}, [inner, inner], str(inner)[:200]]),
            ),
            lambda: holder.pop(key),
            lambda: _put(holder, self.odd(), inner),
            lambda: _swap(self.rng.choice(places), (holder, key)),
        ]
        self.rng.choice(edits)()
        return value

    def _bend(self, value: Any) -> Any:
        """Something like it."""
        if isinstance(value, str):
            place = self.rng.randint(0, len(value))
            return (
                value[:place]
                + str(self.rng.choice(ODD))[:200]
                + value[place + self.rng.randrange(3) :]
            )
        if isinstance(value, bool) or value is None:
            return self.rng.choice([not value, int(bool(value)), "true"])
        if isinstance(value, int | float):
            return self.rng.choice(
                [value + 1, -value, value * 2**40, float(value), str(value), value - 1]
            )
        return self.odd()


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Each container in it, with each of its keys."""
    places, left = list[tuple[Any, Any]](), [value]
    while left and len(places) < 20_000:
        holder = left.pop()
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(len(holder))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            places.append((holder, key))
            left.append(holder[key])
    return places


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _nest(levels: int, of_lists: bool) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if of_lists else {"a": value}
    return value


def _set(holder: Any, key: Any, value: Any) -> None:
    holder[key] = value


def _put(holder: Any, name: Any, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name if isinstance(name, str) else str(name)[:100]] = value
    else:
        holder.append(value)


def _swap(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    # A part is put in another's place. Where it held that place itself, nothing may come to hold
    # itself.
    _set(*other, _copy(one[0][one[1]]))
