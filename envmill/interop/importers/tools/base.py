"""What a reader of tool lists gives back: sketches under names of their own, and a remark for
whatever was not mapped as it stood."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from envmill.interop.importers.base import Remark
from envmill.kinds.base import is_forbidden
from schemas.base import Json
from schemas.sketch import ToolSketch


@dataclass
class ToolHarvest:
    """All that came of some documents."""

    sketches: list[ToolSketch] = field(default_factory=list[ToolSketch])
    remarks: list[Remark] = field(default_factory=list[Remark])
    """In their order, none twice."""
    found: int = 0
    """Tools that the documents hold, mapped or refused."""
    _said: set[Remark] = field(default_factory=set[Remark])

    def refuse(self, subject: str, code: str, detail: str, part: str = "") -> None:
        """Left out."""
        self._remark(Remark(subject, part, "refused", code, detail))

    def change(self, subject: str, code: str, detail: str, part: str = "") -> None:
        """Mapped to something else."""
        self._remark(Remark(subject, part, "changed", code, detail))

    def note(self, subject: str, code: str, detail: str, part: str = "") -> None:
        """Mapped, and worth knowing."""
        self._remark(Remark(subject, part, "noted", code, detail))

    def _remark(self, remark: Remark) -> None:
        if remark not in self._said:
            self._said.add(remark)
            self.remarks.append(remark)

    def add(self, sketch: ToolSketch) -> None:
        self.sketches.append(sketch)

    def settle(self) -> "ToolHarvest":
        """One tool a name: names that several services have, or that agents' software keeps for
        itself, get their service's in front."""
        services = defaultdict[str, set[str]](set)
        for sketch in self.sketches:
            services[sketch.name].add(sketch.service)
        kept, known = list[ToolSketch](), set[str]()
        for sketch in self.sketches:
            name = sketch.name
            if len(services[name]) > 1 or is_forbidden(name):
                name = f"{make_name(sketch.service)}_{name}"
                self.change(
                    name,
                    "renamed",
                    f"was {sketch.name}: several services have that name, or it is reserved",
                )
            if name in known:
                self.refuse(name, "name_twice", "another tool of the same service bears its name")
                continue
            known.add(name)
            kept.append(sketch if name == sketch.name else sketch.model_copy(update={"name": name}))
        self.sketches = kept
        return self

    def report(self, reader: str) -> dict[str, Json]:
        """What was found, what came of it, and every remark."""
        counted = Counter(f"{one.weight}: {one.code}" for one in self.remarks)
        services = {sketch.service for sketch in self.sketches}
        return {
            "reader": reader,
            "found": self.found,
            "mapped": len(self.sketches),
            "services": len(services),
            "counted": dict(sorted(counted.items())),
            "remarks": [vars(remark) for remark in self.remarks],
        }


Reader: TypeAlias = Callable[[Sequence[str]], ToolHarvest]
"""Files, or names of services, in; what they hold out."""


def make_name(text: str) -> str:
    """A name that agents' software takes: words in small letters, joined by `_`."""
    letters = "".join(
        one if one.isascii() and one.isalnum() else "_" for one in _part_words(text)
    ).lower()
    name = "_".join(part for part in letters.split("_") if part) or "tool"
    return name if name[0].isalpha() else f"tool_{name}"


def _part_words(text: str) -> str:
    """`getPetById` as `get_Pet_By_Id`, `DBInstance` as `DB_Instance`."""
    parted = ""
    for place, one in enumerate(text):
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        starts = one.isupper() and (
            before.islower() or before.isdigit() or (before.isupper() and after.islower())
        )
        parted += f"_{one}" if starts else one
    return parted
