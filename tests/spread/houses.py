"""Packages of a runner, in an environment of their own."""

import sys
from pathlib import Path

from schemas.base import digest
from tests.interop.exporters.consumers import HOUSES, build_house

LOCKS = Path(__file__).parent / "locks"


def find_house(runner: str) -> Path:
    """Made at the first call; where no index answers the test is skipped, and fails in CI."""
    lock = LOCKS / f"{runner}.txt"
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    house = HOUSES / f"{runner}-{digest(lock.read_text(), 8)}-{version}"
    if not house.exists():
        build_house(house, runner, ["--no-deps", "-r", str(lock)])
    return house


def find_packages(house: Path) -> Path:
    """Where its modules lie."""
    (site,) = house.glob("lib/python*/site-packages")
    return site
