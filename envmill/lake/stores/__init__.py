"""Where a lake can lie. Every store here has put-if-absent; `open_store` also proves it."""

from collections.abc import Callable
from pathlib import Path

from envmill.base.errors import SettingsError
from envmill.lake.stores.base import Store, probe
from envmill.lake.stores.local import LocalStore
from envmill.lake.stores.s3 import S3Store

STORES: dict[str, Callable[[str], Store]] = {"file": LocalStore, "s3": S3Store}
"""URL scheme → store."""


def pick_store(url: str | Path) -> Store:
    """The store of a folder or URL, not touched yet. A scheme is refused whose put-if-absent is a
    check followed by a write."""
    text = str(url)
    scheme = text.partition("://")[0] if "://" in text else "file"
    if scheme not in STORES:
        raise SettingsError(
            f"A lake cannot be on {scheme}://: that store cannot create a file only if it is absent, as two writers need. "
            "Set ENVMILL_LAKE to a local folder, or to s3://bucket/prefix."
        )
    return STORES[scheme](text)


def open_store(url: str | Path) -> Store:
    """The store, after it proved that it has the primitive."""
    store = pick_store(url)
    probe(store)
    return store
