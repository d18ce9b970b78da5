"""Faults of recipe `awm` followed to where they end: an author who makes one and never mends it,
each place another one.

place ──turn──► (prompt, kind) ──planted in every version──► the line's own stages ──► dropped where, or kept: then a witness is looked for
"""

from collections.abc import Sequence
from dataclasses import dataclass

import offline as author
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.models.offline import Author
from envmill.recipes.drafting.themes import read_themes
from flows.opening import open_walk
from offline.faults import KINDS, PlantedFault
from offline.witness import find_witness
from schemas.base import Json
from schemas.ledger import Attrition
from schemas.run import RunConfig

PROMPTS = ("requirements", "schema", "rows", "interface", "code", "trials")
UNTOLD = {("requirements", "omitted_rule")}
"""What no gate can hold against anybody: a rule that nobody was told is none."""
PLANTED = [
    (prompt, kind) for prompt in PROMPTS for kind in KINDS[prompt] if (prompt, kind) not in UNTOLD
]
RUN = "catalogue"


@dataclass(frozen=True)
class Ending:
    """One place, its fault, and what became of it."""

    prompt: str
    kind: str
    theme: str
    ended: str
    """`stage/reason`; empty where it was kept."""
    shows: bool
    """Whether it is one: by words, or by a witness in the jail."""


async def follow(
    settings: Settings,
    count: int,
    turn: int,
    seed: int,
    planted: Sequence[tuple[str, str]] = PLANTED,
) -> list[Ending]:
    """So many places, each with the fault whose turn it is. What has no room for its fault is left
    out."""
    found: dict[str, tuple[str, str, PlantedFault]] = {}
    names = [name for name, _ in read_themes()]

    def answer(
        prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
    ) -> str:
        brief: Json = inputs.get("brief") or {}
        if brief.get("theme") in names:
            wanted, kind = planted[(names.index(brief["theme"]) + turn) % len(planted)]
            if wanted == prompt and (fault := author.plant(prompt, kind, inputs, seed, sample)):
                found.setdefault(brief["theme"], (prompt, kind, fault))
                return fault.text
        return author.answer(prompt, inputs, seed, sample, 0.0, talk)

    await _walk(
        settings,
        RunConfig(recipe="awm", environments=count, seed=seed, mistakes=0.0, review=True),
        answer,
    )
    ends = _read_ends(Lake(settings.lake))
    async with open_walk(RUN, RunConfig(), settings) as walk:
        return [
            Ending(
                prompt,
                kind,
                theme,
                ends[theme],
                bool(
                    fault.words
                    or ends[theme]
                    or await find_witness(fault.pairs, walk.context.sandbox)
                ),
            )
            for theme, (prompt, kind, fault) in found.items()
        ]


async def _walk(settings: Settings, config: RunConfig, answer: Author) -> None:
    async with open_walk(RUN, config, settings, answer) as walk:
        await walk.walk(
            [step for step in walk.line if step.lap == "environments" and step.stage != "filter"]
        )


def _read_ends(lake: Lake) -> dict[str, str]:
    """Theme → where its environment was dropped; empty where it was kept to the end."""
    exits = [
        row
        for row in lake.read(Attrition, RUN)
        if row.gate == "exit" and row.stage != "mine" and row.reason not in _UNCHOSEN
    ]
    ends = {row.theme: "" for row in exits}
    return ends | {row.theme: f"{row.stage}/{row.reason}" for row in exits if row.outcome != "kept"}


_UNCHOSEN = ("same_theme", "over_quota")
