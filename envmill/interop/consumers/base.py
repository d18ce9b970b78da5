"""What a consumer is: a library for training or evaluation that plays our scenarios in its own
loop, by one adapter for all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from envmill.interop.consumers.sessions import ScenarioRow

Papers: TypeAlias = Callable[[Sequence[ScenarioRow]], Mapping[str, str | bytes]]
"""Files of the folder beside the package, by path: the consumer's own manifest of a package, and
whatever else it looks for."""


def fill_needs(text: str, versions: Mapping[str, str]) -> str:
    """The text of a `pyproject.toml` with the exact versions in the place of `NEEDS`."""
    return text.replace(
        "NEEDS", ", ".join(f'"{name}=={version}"' for name, version in versions.items())
    )


def write_distribution(folder: Path, versions: Mapping[str, str]) -> Papers:
    """For a consumer that looks for nothing but a `pyproject.toml`, the same for all rows."""
    text = fill_needs((folder / "distribution.toml").read_text(encoding="utf-8"), versions)
    return lambda rows: {"pyproject.toml": text}  # noqa: ARG005  the same for all rows


def refuse_nothing(row: ScenarioRow) -> str:  # noqa: ARG001  a consumer may say why
    """For consumers that take every row."""
    return ""


@dataclass(frozen=True)
class Consumer:
    """One consumer, and what its folder is made of."""

    name: str
    package: str
    """Python package in its folder."""
    adapter: Path
    """Folder of the package's own files."""
    versions: Mapping[str, str]
    """Distribution → the version that the adapter was tested with, and that the folder asks for."""
    papers: Papers
    about: str
    """How the folder is installed and run, for its README."""
    refuse: Callable[[ScenarioRow], str] = refuse_nothing
    """Why a row has no place there; empty where it has one."""
