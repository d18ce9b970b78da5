"""A blob: bytes a tool answers with. They travel by hash and are fetched apart, never inlined in a
reply."""

import base64
import hashlib
import re
from typing import Any

MAX_BLOB = 4 * 1024 * 1024
"""Bytes of one blob: encoded in base64 it fits into a frame three times over."""
MAX_HELD = 32 * 1024 * 1024
"""Bytes of all blobs of a session since its reset."""

MEDIA_TYPE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,64}")


class Blob:
    """Bytes with a media type, as a tool returns them."""

    def __init__(self, data: bytes, media_type: str) -> None:
        self.data = data
        self.media_type = media_type


class BadBlob(ValueError):
    """A blob that is too large, or none at all."""


class BlobStore:
    """The blobs a session has answered with since its reset."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, bytes]] = {}
        self._size = 0

    def put(self, blob: Blob) -> dict[str, Any]:
        """Keep the bytes, and return the part that stands for them."""
        data, media_type = bytes(blob.data), str(blob.media_type)
        if not MEDIA_TYPE.fullmatch(media_type):
            raise BadBlob(f"{media_type[:80]!r} is no media type; write one like image/png")
        if len(data) > MAX_BLOB:
            raise BadBlob(f"a blob of {len(data)} bytes, more than the {MAX_BLOB} allowed")
        name = hashlib.blake2b(data, digest_size=32).hexdigest()
        if name not in self._held:
            if self._size + len(data) > MAX_HELD:
                raise BadBlob(f"more than {MAX_HELD} bytes of blobs in one session")
            self._held[name] = (media_type, data)
            self._size += len(data)
        return {"type": "blob", "hash": name, "media_type": media_type, "size": len(data)}

    def fetch(self, name: str) -> dict[str, Any] | None:
        """A blob's part with its bytes in base64; None when the session never answered with it."""
        if name not in self._held:
            return None
        media_type, data = self._held[name]
        return {
            "type": "blob",
            "hash": name,
            "media_type": media_type,
            "size": len(data),
            "data": base64.b64encode(data).decode(),
        }
