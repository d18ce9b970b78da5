"""Blobs: once each, under their hash, checked when read."""

from pathlib import Path

import pytest

from envmill.base.errors import LakeError
from envmill.lake.blobs import Blobs
from envmill.lake.stores import pick_store


@pytest.mark.parametrize("place", ["file", "s3"], indirect=True)
def test_a_blob_comes_back_and_is_stored_once(place: str) -> None:
    blobs = Blobs(pick_store(place))
    name = blobs.put(b"\x00\xff" * 1000)
    assert blobs.put(b"\x00\xff" * 1000) == name
    assert blobs.read(name) == b"\x00\xff" * 1000


def test_a_damaged_a_missing_and_a_foreign_blob_are_named(tmp_path: Path) -> None:
    blobs = Blobs(pick_store(tmp_path))
    name = blobs.put(b"right")
    (tmp_path / f"blobs/{name[:2]}/{name}").write_bytes(b"wrong")
    with pytest.raises(LakeError, match=f"{name} is damaged"):
        blobs.read(name)
    (tmp_path / f"blobs/{name[:2]}/{name}").unlink()
    with pytest.raises(LakeError, match=f"{name} is missing"):
        blobs.read(name)
    with pytest.raises(LakeError, match="is no blob's hash"):
        blobs.read("../../etc/passwd")
