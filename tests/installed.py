"""What is installed, beside the lock: names, versions, and the digest of every file as its wheel's
record has it.

    python -m tests.installed

pip compared each wheel with the lock's hashes when it was installed. This says whether something
was added, exchanged or changed since.
"""

import base64
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from envmill.base.settings import ROOT

OWN = "envmill"
_PIN = re.compile(r"^([\w.-]+)==([\w.!+-]+)", re.MULTILINE)


def read_pins(lock: str) -> dict[str, str]:
    """Version by name, of a lock."""
    return {normalise(name): version for name, version in _PIN.findall(lock)}


def normalise(name: str) -> str:
    """The one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_differences(pins: dict[str, str], installed: Iterable[Distribution]) -> Iterator[str]:
    """What is not as the lock and the records say."""
    left = dict(pins)
    for found in installed:
        name = normalise(found.name)
        if name == OWN:
            continue
        wanted = left.pop(name, None)
        if wanted != found.version:
            yield f"{name} {found.version}: the lock has {wanted or 'no such package'}"
        yield from (f"{name}: {path} is not as it was installed" for path in _list_changed(found))
    yield from (
        f"{name} {version}: not installed"
        for name, version in left.items()
        if name not in ("pip", "setuptools")
    )


def _list_changed(found: Distribution) -> Iterator[str]:
    for file in found.files or ():
        if file.hash is None:
            # The record itself, and files that are compiled here.
            continue
        place = Path(str(file.locate()))
        digest = (
            hashlib.new(file.hash.mode, place.read_bytes()).digest() if place.is_file() else b""
        )
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            yield str(file)


def main() -> int:
    differences = list(
        find_differences(read_pins((ROOT / "requirements.lock").read_text()), distributions())
    )
    sys.stdout.write("".join(f"{line}\n" for line in differences))
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
