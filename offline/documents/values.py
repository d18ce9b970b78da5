"""Values: where those of a column and of a parameter come from, by its type and name."""

import random
from dataclasses import dataclass
from itertools import product

from envmill.toolgraph.words import Words
from offline.domain import Attribute, Number, OperationParameter
from schemas.base import Json, is_object

LABELS, FRESH = 40, 24
"""Names that first rows may have, and those that only new ones get."""
_CHOICES = 6
_SPREAD = 30
"""Distance of the least and the largest number drawn, unless the document says less."""
_FIRST = (
    "amber birch cedar coral delta ember falcon granite harbour iris juniper lagoon maple north "
    "opal pine quartz river slate willow"
)
_SECOND = (
    "archive beacon bridge canvas field garden gate lantern market meadow mill orchard platform "
    "port relay station tower vault"
)
_PROSE = (
    "kept for the audit", "shared with the finance team", "to be checked every month", "asked for by the branch office",
    "replaces the one from last year", "set up for the trial", "used by the night shift", "moved over from the old system",
)  # fmt: skip
_PROSAIC = "description note comment message text reason body content summary subject title"
_DAYS = "date day until deadline"
_FLAGS = frozenset(
    ["apply", "delete", "dry", "force", "overwrite", "promote", "remove", "reset", "skip"]
)
YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Values:
    """What a value may be: of a first row, and of an argument. Both are of one sort."""

    attribute: Attribute
    one_of: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    between: tuple[Number, Number] | None = None
    step: Number = 1
    day: tuple[int, int] | None = None

    @property
    def default(self) -> str:
        """What a new row holds where nobody says it, as a formula: of texts and days nothing."""
        if self.one_of == YES_NO:
            return repr("no")
        return str(self.between[0]) if self.between else repr(self.one_of[0] if self.one_of else "")

    def take(self, name: str, about: str) -> OperationParameter:
        return OperationParameter(
            name=name,
            about=about,
            one_of=self.one_of,
            text=self.text,
            between=self.between,
            step=self.step,
            day=self.day,
        )


def find_values(words: Words, schema: Json, dice: random.Random) -> Values | None:
    """By the document's type and choices; nothing for lists, objects, and flags of the call itself:
    no record is `force yes`."""
    kind = schema.get("type") if is_object(schema) else ""
    choices = (
        tuple(one for one in schema.get("enum", ()) if isinstance(one, str) and one.strip())[
            :_CHOICES
        ]
        if kind == "string"
        else ()
    )
    if kind == "boolean" and words[0] in _FLAGS:
        return None
    if kind == "boolean":
        choices = YES_NO
    if len(choices) > 1:
        return Values(Attribute(one_of=choices), one_of=choices)
    if kind in ("integer", "number"):
        low, high = _find_range(schema)
        step: Number = 1 if kind == "integer" else 0.5
        between = (low, high) if kind == "integer" else (float(low), float(high))
        return Values(Attribute(between=between, step=step), between=between, step=step)
    if kind != "string":
        return None
    if schema.get("format") in ("date", "date-time") or words[-1] in _DAYS.split():
        return Values(Attribute(day=(2, 40)), day=(2, 40))
    drawn = _PROSE if words[-1] in _PROSAIC.split() else tuple(sample_names(12, dice))
    return Values(Attribute(one_of=drawn), text=drawn)


def _find_range(schema: Json) -> tuple[int, int]:
    low = max(int(schema.get("minimum", 1)), 1)
    return low, max(low + 1, min(int(schema.get("maximum", low + _SPREAD)), low + _SPREAD))


def sample_names(count: int, dice: random.Random) -> list[str]:
    """Names as people give to what they make."""
    return dice.sample(
        [f"{first}-{second}" for first, second in product(_FIRST.split(), _SECOND.split())], count
    )
