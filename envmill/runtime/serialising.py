"""Serialises a state again and again: only what changed since the last time is rendered again.

public attributes ──marshal──► same bytes as last time? ──yes──► the piece of last time
                                        └──no──► rows ──marshal──► … ──► canonical JSON
"""

import marshal
from typing import Any

from envmill.runtime.canonical import MAX_DEPTH, MAX_STATE, NotJson, fingerprint, plain, render
from envmill.runtime.start import VERSION

_ROWS = 8
"""Rows from which a collection is remembered row by row."""

_Piece = tuple[bytes, bytes]
"""Marshalled, and rendered. Equal bytes mean equal values; where equal values come in other bytes,
they are rendered once more."""


class StateSerialiser:
    """Remembers how one session's state was last serialised."""

    def __init__(self) -> None:
        self._pieces: dict[str, _Piece] = {}
        self._rows: dict[str, dict[str, _Piece]] = {}
        self._names: dict[str, bytes] = {}
        self._whole = b""
        self._hash = ""

    def render(self, public: dict[str, Any]) -> bytes:
        """Canonical bytes of a state, or NotJson."""
        if self._refresh(public):
            self._hash = ""
            self._whole = (
                b"{"
                + b",".join(self._name(name) + self._pieces[name][1] for name in sorted(public))
                + b"}"
            )
            if len(self._whole) > MAX_STATE:
                size, self._whole = len(self._whole), b""
                self._pieces.clear()
                raise NotJson(f"{size} bytes of JSON, more than the {MAX_STATE} allowed")
        return self._whole

    def fingerprint(self, public: dict[str, Any]) -> str:
        """Hash of the canonical bytes."""
        whole = self.render(public)
        self._hash = self._hash or fingerprint(whole)
        return self._hash

    def _refresh(self, public: dict[str, Any]) -> bool:
        """Bring the pieces up to date; whether any of them changed."""
        changed = not self._whole
        if self._pieces.keys() != public.keys():
            changed = True
            # At once: a deadline may strike before the rest is done.
            self._whole = b""
            for name in self._pieces.keys() - public.keys():
                del self._pieces[name]
                self._rows.pop(name, None)
        for name, value in public.items():
            quick = _marshal(value)
            kept = self._pieces.get(name)
            if kept is None or not quick or quick != kept[0]:
                changed = True
                # Whatever goes wrong from here on, the whole is not the last one any more.
                self._whole = b""
                self._pieces[name] = (quick, self._render_attribute(name, value))
        return changed

    def _render_attribute(self, name: str, value: Any) -> bytes:
        try:
            if type(value) is dict and len(value) >= _ROWS and set(map(type, value)) == {str}:  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
                return self._render_rows(name, value)  # pyright: ignore[reportUnknownArgumentType]
            self._rows.pop(name, None)
            return render(plain(value, MAX_DEPTH - 1))
        except NotJson as fault:
            self._pieces.pop(name, None)
            fault.path.append(name)
            raise

    def _render_rows(self, name: str, rows: dict[str, Any]) -> bytes:
        last, dumps = self._rows.get(name, {}), marshal.dumps
        now: dict[str, _Piece] = {}
        parts: list[bytes] = []
        for key in sorted(rows):
            row = rows[key]
            try:
                quick = dumps(row, VERSION)
            except ValueError:
                quick = b""
            kept = last.get(key)
            if kept is None or not quick or quick != kept[0]:
                kept = (quick, _render_row(key, row))
            now[key] = kept
            parts.append(kept[1])
        self._rows[name] = now
        return b"{" + b",".join(parts) + b"}"

    def _name(self, name: str) -> bytes:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = render(name) + b":"
        return found


def _render_row(key: str, row: Any) -> bytes:
    try:
        return render(key) + b":" + render(plain(row, MAX_DEPTH - 2))
    except NotJson as fault:
        fault.path.append(key)
        raise


def _marshal(value: Any) -> bytes:
    try:
        return marshal.dumps(value, VERSION)
    except ValueError:
        return b""
