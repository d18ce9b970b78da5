"""What an importer gives back: folders for what could be mapped, and for everything else its
reason."""

import re
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, read_folder, write_folder
from envmill.interop.bundles.envrun.files import parse_json
from envmill.interop.bundles.envrun.layout import REPORT
from envmill.sandbox import Sandbox
from schemas.base import Json

MAX_RELEASE = 256 * 2**20
"""Bytes of one file of a release."""


@dataclass(frozen=True)
class Remark:
    """Something that was not mapped, or not as it stood."""

    subject: str
    """Environment or scenario, as its release calls it."""
    part: str
    """What of it: a tool, a check, a container; empty for the whole."""
    weight: Literal["refused", "changed", "noted"]
    """Left out; mapped to something else; mapped, and worth knowing."""
    code: str
    """Reason code, for counting."""
    detail: str
    """In words."""


@dataclass
class Harvest:
    """All that came of one release."""

    folders: dict[str, Folder] = field(default_factory=dict[str, Folder])
    """By the id the release uses."""
    remarks: list[Remark] = field(default_factory=list[Remark])
    counted: dict[str, int] = field(default_factory=dict[str, int])
    """What the release holds."""
    parity: dict[str, Json] = field(default_factory=dict[str, Json])
    """Of a release that says what its own evaluator pays: what is paid here, by environment."""

    def report(self, importer: str) -> dict[str, Json]:
        """For `import.json`."""
        return {
            "importer": importer,
            "found": self.counted,
            "mapped": {
                "environments": len(self.folders),
                "scenarios": sum(len(one.scenarios) for one in self.folders.values()),
                "checks": sum(
                    len(scenario.verifier.goals)
                    for one in self.folders.values()
                    for scenario in one.scenarios
                ),
            },
            "remarks": [vars(remark) for remark in self.remarks],
            **({"parity": self.parity} if self.parity else {}),
        }


Importer: TypeAlias = Callable[[Path, Sandbox], Awaitable[Harvest]]

MAX_NAME = 200
"""Bytes of a folder's name; file systems take 255."""


def drop_unreadable(harvest: Harvest) -> Harvest:
    """Leave out, with a remark, what would be written and could not be read again: an importer
    should have refused it."""
    for name, folder in list(harvest.folders.items()):
        with tempfile.TemporaryDirectory() as place:
            write_folder(Path(place) / "folder", folder)
            try:
                read_folder(Path(place) / "folder")
            except SettingsError as error:
                del harvest.folders[name]
                harvest.remarks.append(
                    Remark(
                        name, "", "refused", "unreadable", f"as a bundle folder: {error.message}"
                    )
                )
    return harvest


def is_folder_name(name: str) -> bool:
    """Whether an id can name a folder beside the report."""
    return (
        bool(re.fullmatch(r"\w[\w.-]*", name))
        and len(name.encode()) <= MAX_NAME
        and name.lower() != REPORT
    )


def parse_text(text: str) -> Json:
    """JSON out of a row; ValueError says why it is none, so that the row alone is refused."""
    return parse_json(text, "", complain=_make_error)


def _make_error(_: str, what: str, __: str, place: str = "") -> ValueError:
    return ValueError(f"{what}{f', {place}' if place else ''}")
