"""The recorded work of a real model: replies by recipe, item and slot, and what a real agent did
with the drafts.

<recipe>/<item>/seed.json               brief the item begins from
<recipe>/<item>/<prompt>[.<slot>].json  last version of a reply; `{"file": …}` stands for a text
beside it
<recipe>/<item>/rejected/….<n>.json     versions before it, in order
<recipe>/<item>/agents/<number>.<policy>-<attempt>.json
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schemas.base import Json
from schemas.environment import Call
from schemas.seed import Brief, Seed

ROOT = Path(__file__).parent
POSING = ("scenario", "chain", "walk", "topology", "dag", "errand")
"""Prompts whose reply is, or becomes, a scenario."""


@dataclass(frozen=True)
class Item:
    """One world of one recipe, with everything its author wrote for it."""

    recipe: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.recipe}/{self.name}"

    @property
    def folder(self) -> Path:
        return ROOT / self.recipe / self.name

    @property
    def seed(self) -> Seed:
        brief = Brief.model_validate(read_json(self.folder / "seed.json"))
        return Seed(recipe=self.recipe, brief=brief, licence="Apache-2.0")

    @property
    def numbers(self) -> list[int]:
        """Numbers of the scenarios that were written for it. A machine has one, which is its
        errand."""
        stems = [path.name.split(".") for path in self.folder.glob("*.json")]
        return sorted(
            int(stem[1]) if stem[1].isdigit() else 0 for stem in stems if stem[0] in POSING
        )

    @property
    def rejected(self) -> list[str]:
        """Versions that were sent back when they were recorded: `<prompt>[.<slot>].<n>`."""
        return sorted(path.stem for path in self.folder.glob("rejected/*.json"))

    def read(self, stem: str) -> Json:
        """A reply as it was recorded; None where there is none. A stem with a version is a rejected
        one."""
        found = [
            path
            for path in (self.folder / f"{stem}.json", self.folder / "rejected" / f"{stem}.json")
            if path.exists()
        ]
        return read_json(found[0]) if found else None


@dataclass(frozen=True)
class Attempt:
    """What an agent did with a draft."""

    item: Item
    name: str
    number: int
    form: str
    """`single`: it was given the whole request. `conversation`: it had to ask a simulated user."""
    calls: tuple[Call, ...]
    said: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.item.id}/{self.name}"


@cache
def list_items() -> list[Item]:
    found = [path.parent for path in sorted(ROOT.glob("*/*/seed.json"))]
    return [Item(folder.parent.name, folder.name) for folder in found]


def list_attempts() -> Iterator[Attempt]:
    for item in list_items():
        for path in sorted(item.folder.glob("agents/*.json")):
            told: Any = read_json(path)
            calls = [
                Call.model_validate(call)
                for turn in told["turns"]
                for call in turn.get("calls", ())
            ]
            said = [turn["said"] for turn in told["turns"] if turn.get("said")]
            yield Attempt(
                item, path.stem, told["scenario"], told["form"], tuple(calls), tuple(said)
            )


def read_json(path: Path) -> Json:
    return _resolve(json.loads(path.read_text(encoding="utf-8")), path.parent)


def _resolve(value: Any, folder: Path) -> Json:
    """The value with each text that is kept in a file of its own."""
    if isinstance(value, dict) and set(value) == {"file"}:
        return (folder / value["file"]).read_text(encoding="utf-8")
    return (
        {name: _resolve(one, folder) for name, one in value.items()}
        if isinstance(value, dict)
        else value
    )
