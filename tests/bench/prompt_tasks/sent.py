"""A prompt as it was sent at 405286e, and the recorded task that it belongs to."""

import json
import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from schemas.base import Json

STORE = Path(__file__).parent / "sent.jsonl.xz"


@dataclass(frozen=True)
class Sent:
    """One task of one run."""

    recipe: str
    number: int
    """Place in the order in which the run sent them."""
    item: str
    """Environment as `tests/real_authors` names it; `mined` before there is one."""
    stem: str
    """Prompt, with the tool or the number of the scenario: `cases.find_ovens`."""
    text: str
    schema: Json
    """Reply schema that was enforced and so sent a second time; None where there was none."""
    inputs: dict[str, str]
    """Slots as they were filled."""

    @property
    def kind(self) -> str:
        return self.stem.split(".")[0]

    @property
    def id(self) -> str:
        return f"{self.recipe}/{self.item}/{self.stem}"


@cache
def read_sent() -> tuple[Sent, ...]:
    with lzma.open(STORE, "rt", encoding="utf-8") as file:
        return tuple(Sent(**json.loads(line)) for line in file)
