"""A lake's name: drawn when it is first used, and remembered by every home that used it.

An object-store bucket that appears empty, because it was emptied or a setting names another one, has no name. Continuing there would
repeat and pay for everything.
"""

import uuid
from pathlib import Path

import orjson

from envmill.base.errors import LakeError
from envmill.lake.stores.base import Store
from schemas.base import digest

_NAME = "_lake.json"


def check_identity(store: Store, home: Path) -> None:
    """LakeError for a lake that is not the one this home used at this address. A folder is whoever stands there."""
    if "://" not in store.url:
        return
    kept = home / "lakes" / f"{digest([store.url])}.json"
    found = _read(store)
    remembered = orjson.loads(kept.read_bytes())["id"] if kept.exists() else None
    if remembered is not None and found != remembered:
        what = "has another name" if found else "appears empty: its name is gone"
        raise LakeError(
            f"The lake at {store.url} {what}, and is not the one that {home} has used. The object-store bucket was emptied or restored, or "
            "ENVMILL_LAKE or AWS_ENDPOINT_URL names another one. Nothing was written, and no model was asked. To begin "
            f"there, delete {kept}, then run again."
        )
    if found is None:
        store.put_if_absent(_NAME, orjson.dumps({"id": uuid.uuid4().hex}))
        found = _read(store)
    if remembered is None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(orjson.dumps({"id": found, "url": store.url}))


def _read(store: Store) -> str | None:
    try:
        return orjson.loads(store.read(_NAME))["id"]
    except FileNotFoundError:
        return None
