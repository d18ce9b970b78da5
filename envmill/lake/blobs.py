"""Blobs: bytes too large for a row, stored once under their own hash."""

import hashlib
import re

from envmill.base.errors import LakeError
from envmill.lake.stores import Store

_HASH = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """Blobs of one store, `blobs/aa/<hash>`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, content: bytes) -> str:
        """Store it, unless it is there, and return its hash."""
        name = hash_blob(content)
        self._store.put_if_absent(_path(name), content)
        return name

    def read(self, name: str) -> bytes:
        """The bytes, checked against their hash."""
        place = self._store.locate(_path(name))
        try:
            content = self._store.read(_path(name))
        except FileNotFoundError as error:
            raise LakeError(f"{place} is missing. Restore it from a copy.", blob=name) from error
        if hash_blob(content) != name:
            raise LakeError(
                f"{place} is damaged: its bytes have another hash than its name. Restore it from "
                "a copy.",
                blob=name,
            )
        return content


def hash_blob(content: bytes) -> str:
    """A blob's name."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def _path(name: str) -> str:
    if not _HASH.fullmatch(name):
        raise LakeError(f"{name!r} is no blob's hash: it takes 64 hexadecimal digits.", blob=name)
    return f"blobs/{name[:2]}/{name}"
