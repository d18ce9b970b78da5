"""A healthy system, ready to be set up in a container: what it is made of, who owns it, and how its
health is asked."""

import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from schemas.system import System

SERVICES = "/usr/local/sbin/services"
"""Starts, stops and restarts what the system runs; an administrator's only way, for there is no
init."""

quote = shlex.quote


class Healthy(NamedTuple):
    """One variation of a system, ready to be set up."""

    system: System
    variation: int
    values: dict[str, str]
    files: dict[str, bytes]
    """Absolute path → content."""
    check: str
    """Health check, for whoever judges; it never stands in the container before."""
    exams: Mapping[str, str] = {}
    """Test files that can be asked in its place, by name; they come into the container only to be
    asked, too."""


def owner_of(healthy: Healthy, path: str) -> str:
    return healthy.system.owners.get(path, "root:root")


def mode_of(healthy: Healthy, path: str) -> str:
    return healthy.system.modes.get(path, "755" if is_directory(healthy, path) else "644")


def is_directory(healthy: Healthy, path: str) -> bool:
    return path in healthy.system.directories or any(
        PurePosixPath(path) in PurePosixPath(each).parents for each in healthy.files
    )
