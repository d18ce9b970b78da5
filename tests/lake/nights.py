"""Novelty over ten nights, measured: `python -m tests.lake.nights` makes them with the embedded
author and writes docs/nights.md.

ten runs in one lake, fresh and not ─► view novelty, W10's evidence ─► one row per night, and what so many draws hold
scenarios that their gates kept ─► new sequences of tools, requests that come again in any night before
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT, Settings
from envmill.gates.f4 import find_repeats
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from flows.opening import open_walk
from schemas.run import RunConfig
from schemas.scenario import Scenario

PAGE = ROOT / "docs/nights.md"
NIGHTS, SEED = 10, 20261101
SMALL: Mapping[str, Any] = {"environments": 4, "scenarios": 2, "mistakes": 0.2, "search": 5}
STAGES = ("generate", "build", "verify")
"""Of the scenarios' lap: what comes after them makes none and compares none with another
night's."""
DRAWS = (1, 5, 10, 20, 40)

_NIGHTS = """
    with met as (select theme, min(run) as first from exits
                 where lap = 'environments' and stage = 'generate' and stopped_by <> 'choice' group by all)
    select run, seeds, count(theme) as new_themes, judged, new_structures, duplicates
    from novelty left join met on met.first = run group by all order by run"""
_CLASSES = """
    with judged as (select subject, finding -> 'sketch' ->> 'structure' as structure, finding ->> 'twin' as twin
                    from gate_evidence where gate = 'W10'),
    kept as (select distinct subject, structure from judged where structure is not null)
    select coalesce(judged.structure, kept.structure, judged.twin), count(*) from judged
    left join kept on kept.subject = judged.twin group by 1"""
_KEPT = """select distinct subject from exits where run = $run and lap = 'scenarios' and stage = 'verify' and outcome = 'kept'"""
_THEMES = """select theme, count(*) from exits where lap = 'environments' and stage = 'generate' and stopped_by <> 'choice' group by 1"""


async def make_nights(recipe: str, folder: Path, *, fresh: bool) -> Lake:
    """Ten runs in one lake, one after the other, each with the seed of its day."""
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )
    for night in range(NIGHTS):
        config = RunConfig.model_validate(
            {"recipe": recipe, "seed": SEED + night, "fresh": fresh, **SMALL}
        )
        async with open_walk(f"night-{night + 1:02d}", config, settings) as walk:
            await walk.walk(
                [
                    step
                    for step in walk.line
                    if step.lap == "environments" or (fresh and step.stage in STAGES)
                ]
            )
    return Lake(settings.lake)


def expect_distinct(sizes: Sequence[int], draws: int) -> float | None:
    """Classes expected among so many draws without putting back; None where there are fewer to draw
    from."""
    total = sum(sizes)
    return (
        None
        if draws > total
        else sum(1 - comb(total - size, draws) / comb(total, draws) for size in sizes)
    )


def count_scenarios(lake: Lake) -> dict[str, tuple[int, int, int]]:
    """Night → scenarios that their gates kept, those whose calls name tools in an order that no
    earlier one had, and those that an earlier
    one said before, in the same or nearly the same words with the same calls."""
    found, before, ways = (
        dict[str, tuple[int, int, int]](),
        list[Scenario](),
        set[tuple[str, ...]](),
    )
    for run in sorted(lake.runs()):
        kept = {subject for (subject,) in fetch(lake, _KEPT, {"run": run})}
        made = [one for one in lake.read(Scenario, run) if one.id in kept]
        # F4 keeps the first in id order, whatever its night: what a night adds to the drops came
        # again.
        repeats = find_repeats([*before, *made])
        again = sum(repeats[one.id].outcome != "kept" for one in [*before, *made]) - sum(
            one[2] for one in found.values()
        )
        new = {tuple(call.name for call in one.oracle) for one in made} - ways
        found[run], before, ways = (len(made), len(new), again), [*before, *made], ways | new
    return found


def render(recipe: str, fresh: Lake, listed: Lake) -> str:
    """The page."""
    rows = [
        "| night | seeds | new themes | compared | new structures | duplicates | new themes | "
        "new structures | duplicates |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (run, seeds, themes, judged, new, same), (_, _, old_themes, _, old_new, old_same) in zip(
        fetch(fresh, _NIGHTS), fetch(listed, _NIGHTS), strict=True
    ):
        rows.append(
            f"| {run.removeprefix('night-')} | {seeds} | {themes} | {judged} | {new} | {same} | "
            f"{old_themes} | {old_new} | {old_same} |"
        )
    asked = [
        "| night | scenarios kept | new sequences of tools | said before |",
        "|---|---|---|---|",
    ]
    for run, numbers in count_scenarios(fresh).items():
        asked.append(f"| {run.removeprefix('night-')} | {' | '.join(map(str, numbers))} |")
    curves = {
        name: [[count for _, count in fetch(lake, question)] for lake in (fresh, listed)]
        for name, question in (("themes", _THEMES), ("structures", _CLASSES))
    }
    head = "| draws | themes | structures | themes, `--no-fresh` | structures, `--no-fresh` |"
    drawn = [head, "|---|---|---|---|---|"]
    for draws in DRAWS:
        found = [
            expect_distinct(curves[name][place], draws)
            for place in (0, 1)
            for name in ("themes", "structures")
        ]
        drawn.append(
            f"| {draws} | {' | '.join('–' if one is None else f'{one:.1f}' for one in found)} |"
        )
    tables = {"table": "\n".join(rows), "asked": "\n".join(asked), "curve": "\n".join(drawn)}
    return _TEXT.format(
        recipe=recipe, nights=NIGHTS, seed=SEED, last=SEED + NIGHTS - 1, **tables, **SMALL
    )


_TEXT = """# Novelty over ten nights

{nights} runs of recipe `{recipe}` in one lake, one after the other, with the embedded author: {environments} environments of
{scenarios} scenarios each, up to the gates of scenarios, seeds {seed} to {last}.
The three columns on the right are the same nights with `--no-fresh`: themes as they are listed, earlier runs not counted, no scenarios.
**These numbers are plumbing**: they show that the choice of seeds moves and that W10 sees what comes again. How varied a model's
worlds are, they do not say.

`python -m tests.lake.nights` makes this page.

{table}

The scenarios of these nights, as their gates kept them. A sequence of tools is the order in which the reference path calls them; it is new
where no earlier scenario of any night has it. A request was said before where gate F4 would drop it beside those of earlier nights.

{asked}

How many distinct themes and structures are expected among so many seeds and environments of all nights, drawn without putting back:

{curve}

The views [`novelty`](views/novelty.md) and [`rarefaction`](views/rarefaction.md) say the same of each run; the report page has both under
*Coverage*. How seeds are chosen: [operating](operating.md#nights-move).
"""


def main(recipe: str = "envscaler") -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        fresh = asyncio.run(make_nights(recipe, Path(one), fresh=True))
        listed = asyncio.run(make_nights(recipe, Path(other), fresh=False))
        PAGE.write_text(render(recipe, fresh, listed), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
