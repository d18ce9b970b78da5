"""The check of what is installed finds what was added, exchanged, changed and left out."""

import base64
import hashlib
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.installed import find_differences, read_pins


def install(
    folder: Path, name: str = "Some_Thing", version: str = "1.0", content: bytes = b"x = 1\n"
) -> Distribution:
    (folder / "some_thing.py").write_bytes(content)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"x = 1\n").digest()).rstrip(b"=").decode()
    (info / "RECORD").write_text(
        f"some_thing.py,sha256={digest},6\n{info.name}/RECORD,,\n__pycache__/some_thing.pyc,,\n"
    )
    return PathDistribution(info)


def test_what_is_as_it_was_installed_is_not_told(tmp_path: Path) -> None:
    assert list(find_differences({"some-thing": "1.0"}, [install(tmp_path)])) == []


@pytest.mark.parametrize(
    ("pins", "content", "told"),
    [
        ({"some-thing": "1.1"}, b"x = 1\n", "some-thing 1.0: the lock has 1.1"),
        ({}, b"x = 1\n", "some-thing 1.0: the lock has no such package"),
        ({"some-thing": "1.0", "other": "2"}, b"x = 1\n", "other 2: not installed"),
        ({"some-thing": "1.0"}, b"x = 2\n", "some-thing: some_thing.py is not as it was installed"),
    ],
    ids=["exchanged", "added", "left out", "changed"],
)
def test_what_differs_is_told(
    tmp_path: Path, pins: dict[str, str], content: bytes, told: str
) -> None:
    assert list(find_differences(pins, [install(tmp_path, content=content)])) == [told]


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    found = install(tmp_path)
    (tmp_path / "some_thing.py").unlink()
    assert len(list(find_differences({"some-thing": "1.0"}, [found]))) == 1


def test_the_lock_is_read_whole() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert len(read_pins(lock)) == sum(
        bool(line) and line[0] not in " #" for line in lock.splitlines()
    )
