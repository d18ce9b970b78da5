"""What a fault operator is, and the shell that breaking and mending is written in."""

import random
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from envmill.sandbox.machines.healthy import Healthy, quote
from schemas.system import Fault, FileLine, Handle


class OperatorInput(NamedTuple):
    """What an operator is given."""

    healthy: Healthy
    handle: Handle
    dice: random.Random


Operator: TypeAlias = Callable[[OperatorInput], Fault | None]
"""Breaks a healthy system at a handle; None where it does not apply there."""


def read_lines(healthy: Healthy, file: str) -> list[str]:
    """A file of the healthy system, line by line."""
    return healthy.files[file].decode().split("\n")


def find_line(healthy: Healthy, line: FileLine) -> int | None:
    """Number of the one line that the handle's text stands in, from 1; None when there is none or
    more than one."""
    found = [
        number for number, each in enumerate(read_lines(healthy, line.file), 1) if line.text in each
    ]
    return found[0] if len(found) == 1 else None


def substitute(file: str, old: str, new: str) -> str:
    """Replace a piece of a line that has to be there. The file stays the same inode, so owner, mode
    and open handles stay."""
    return (
        f"grep -qF -- {quote(old)} {quote(file)}\n"
        f"{edit(file, f's|{_escape_old(old)}|{_escape_new(new)}|')}"
    )


def edit(file: str, program: str) -> str:
    """Apply a sed program."""
    return f"sed -i --follow-symlinks {quote(program)} {quote(file)}"


def insert(file: str, number: int, text: str) -> str:
    """Put a whole line before the one that has that number now."""
    return edit(file, f"{number}{{h;s|.*|{_escape_new(text)}|;G}}")


def make_directory(path: str, owner: str, mode: str) -> str:
    return f"mkdir {quote(path)}\nchown {owner} {quote(path)}\nchmod {mode} {quote(path)}"


def _escape_old(text: str) -> str:
    return "".join(f"\\{each}" if each in r"\.*[]^$|" else each for each in text)


def _escape_new(text: str) -> str:
    return "".join(f"\\{each}" if each in r"\&|" else each for each in text)
