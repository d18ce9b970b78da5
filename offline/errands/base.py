"""What errands are composed of: a world, the deeds that can be wanted in it, and the words they are
told in."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random

from envmill.base.settings import ROOT
from schemas.base import Json
from schemas.system import Service

WORDS = ROOT / "data" / "seeds" / "errands" / "words.toml"
DEEDS = ROOT / "data" / "seeds" / "errands" / "deeds"
SLOT = re.compile(r"@(\w+)@")


@dataclass(frozen=True)
class ErrandGoal:
    """One thing that can be wanted. Its texts have slots: `@name@` is the value in words, in tests
    as Python writes it."""

    name: str
    ask: str
    """What is asked for."""
    end: str
    """What stands there when it is done."""
    places: tuple[str, ...]
    """Paths that doing it changes or makes."""
    test: str
    """Functions that pass when it is done, and not before."""
    steps: tuple[str, ...]
    """Commands that do it; each is needed."""
    answers: tuple[str, ...] = ()
    """What has to be worked out."""
    restarts: tuple[str, ...] = ()
    """Services that have to be started again for it."""
    unless: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Another deed → functions that pass when this one did not do that one, too; asked where that
    one is not wanted."""


@dataclass(frozen=True)
class ErrandWorld:
    """What stands on a machine, and what can be wanted of it. Any deeds go together, in any
    order."""

    values: Mapping[str, Json]
    """Slot → value."""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Absolute path → text."""
    runs: tuple[str, ...] = ()
    """Commands that finish it."""
    first: str = ""
    """What stands there beside the files, in words."""
    initial: str = ""
    """Functions that ask for what no file says."""
    services: Mapping[str, Service] = field(default_factory=dict[str, Service])
    volatile: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Files that finishing it takes away again."""


@dataclass(frozen=True)
class WorldSite:
    """Where and for whom: what every world is composed from."""

    folder: str
    """One word, a folder below /srv."""
    dice: Random
    words: Mapping[str, Json]

    @property
    def home(self) -> str:
        return f"/srv/{self.folder}"

    def pick(self, kind: str, count: int) -> list[str]:
        """Words of a kind, none twice."""
        return self.dice.sample(self.words[kind], count)


@cache
def load_deeds(category: str) -> tuple[ErrandGoal, ...]:
    """What can be wanted there, as the data says."""
    raw = tomllib.loads((DEEDS / f"{category}.toml").read_text(encoding="utf-8"))
    return tuple(
        ErrandGoal(
            name,
            " ".join(told["ask"].split()),
            told["end"].strip(),
            tuple(told["places"]),
            told["test"].strip("\n"),
            tuple(step.strip("\n") for step in told["steps"]),
            tuple(told.get("answers", ())),
            tuple(told.get("restarts", ())),
            {other: test.strip("\n") for other, test in told.get("unless", {}).items()},
        )
        for name, told in raw.items()
    )


@cache
def load_words() -> Mapping[str, Json]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))


def render(text: str, values: Mapping[str, Json]) -> str:
    """With values in words."""
    return SLOT.sub(lambda found: str(values[found[1]]), text)


def code(text: str, values: Mapping[str, Json]) -> str:
    """With values as Python writes them."""
    return SLOT.sub(lambda found: repr(values[found[1]]), text)
