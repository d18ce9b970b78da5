"""Golden runs: one small run of each recipe, and a summary of what it left in the lake.

GOLDEN ──recipe──► run with the embedded author, no Prefect ──► lake ──► summary ──► tests/house/golden/<recipe>.json

A summary holds ids, digests and counts, and nothing that depends on the clock or the machine. A
change of the code that keeps behaviour keeps every summary. After a change that is meant to alter
behaviour, `python -m tests.house.golden [RECIPE ...]` writes them again.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from flows.opening import open_walk
from schemas.base import Json, Record, digest
from schemas.environment import Blueprint, Build, Environment, Test
from schemas.ledger import Attack, Attrition
from schemas.pair import Pair
from schemas.rollout import Bundle, Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed

FOLDER = Path(__file__).parent / "golden"
RUN = "golden"

_SMALL: dict[str, Any] = {
    "environments": 2,
    "scenarios": 2,
    "attempts": 2,
    "search": 20,
    "seed": 11,
    "mistakes": 0.6,
    "exporters": ("sft", "rl", "preferences", "dataset", "bundle"),
}
GOLDEN: dict[str, RunConfig] = {
    name: RunConfig.model_validate({"recipe": name} | _SMALL | own)
    for name, own in {
        "envscaler": {"environments": 3, "scenarios": 3},
        "awm": {},
        "scaleenv": {"mistakes": 0.4},
        "agentscaler": {"seed": 13},
        "envfactory": {"seed": 7, "mistakes": 0.3},
        "autoforge": {"seed": 7, "mistakes": 0.1},
        "perturb": {"environments": 1, "polarities": {"achieve": 1}},
        # Seed and rate plant no mistake whose outcome depends on the clock.
        "endless_terminals": {"polarities": {"achieve": 1}, "seed": 10, "mistakes": 0.15},
        "tau2": {"polarities": {"achieve": 1}, "mistakes": 0.15},
    }.items()
}
"""Recipe → its run. The embedded author makes many mistakes, so that repairs and drops are part of
what is compared."""

_CONTENT: tuple[type[Record], ...] = (
    Seed,
    Blueprint,
    Environment,
    Test,
    Draft,
    Scenario,
    Attack,
    Rollout,
    Trajectory,
    Pair,
)


async def summarise_run(recipe: str, folder: Path) -> dict[str, Json]:
    """Make the recipe's run in a folder and summarise it."""
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    places = {key: str(folder / name) for key, name in names.items()}
    images = {key: os.environ[key] for key in ("ENVMILL_IMAGES",) if key in os.environ}
    settings = Settings.read({**places, **images, "ENVMILL_PORT": "0"})
    async with open_walk(RUN, GOLDEN[recipe], settings) as walk:
        await walk.walk()
    return summarise(Lake(settings.lake))


def summarise(lake: Lake) -> dict[str, Json]:
    """What makes two runs equal."""
    return {
        "ids": {
            record.table: sorted({row.id for row in lake.read(record, RUN)}) for record in _CONTENT
        },
        "verifiers": {
            one.id: digest(one.verifier.model_dump(mode="json")) for one in lake.read(Scenario, RUN)
        },
        "ends": _group((row.scenario, _describe_end(row)) for row in lake.read(Rollout, RUN)),
        "verdicts": _count(
            f"{row.rollout_group} {row.outcome} {row.reward} {row.termination}"
            for row in lake.read(Rollout, RUN)
        ),
        "attrition": _count(
            f"{row.lap}-{row.stage} {row.gate} {row.outcome} {row.reason}".strip()
            for row in lake.read(Attrition, RUN)
        ),
        "dropped": _group(
            (row.subject, f"{row.lap}-{row.stage} {row.gate} {row.outcome} {row.reason}")
            for row in lake.read(Attrition, RUN)
            if row.outcome in ("dropped", "suspected", "error")
        ),
        "builds": _group((row.subject, _describe_build(row)) for row in lake.read(Build, RUN)),
        "exported": _list_rows(lake.read(Bundle, RUN)),
    }


def _describe_end(row: Rollout) -> str:
    judged = digest([row.components, row.reason, row.evidence])
    return (
        f"{row.rollout_group} {row.attempt} {row.form} {row.outcome} {row.reward} steps "
        f"{row.steps} end {row.final_state_hash} {judged}"
    )


def _describe_build(row: Build) -> str:
    complaints = " ".join(f"{one.gate}:{one.reason}" for one in row.sent_back)
    return f"{row.repair} {row.outcome} {row.content_hash} {complaints}".strip()


def _list_rows(bundles: Iterable[Bundle]) -> dict[str, list[int]]:
    """Exporter → rows of each of its folders. A folder's own id is left out: it hashes the runtime
    that the folder carries."""
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for bundle in bundles:
        rows[bundle.exporter].append(bundle.rows)
    return {exporter: sorted(counts) for exporter, counts in sorted(rows.items())}


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in pairs:
        grouped[name].append(text)
    return {name: sorted(texts) for name, texts in sorted(grouped.items())}


def read_summary(recipe: str) -> dict[str, Json]:
    """The stored summary."""
    return json.loads((FOLDER / f"{recipe}.json").read_text())


def list_differences(stored: Json, found: Json, path: str = "") -> list[str]:
    """Every place where two summaries differ, one line each."""
    if isinstance(stored, dict) and isinstance(found, dict):
        names = sorted({*stored, *found})
        return [
            line
            for name in names
            for line in list_differences(stored.get(name), found.get(name), f"{path}/{name}")
        ]
    return [] if stored == found else [f"{path}: {json.dumps(stored)} is now {json.dumps(found)}"]


def main(recipes: Sequence[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for recipe in recipes or list(GOLDEN):
        with tempfile.TemporaryDirectory() as folder:
            summary = asyncio.run(summarise_run(recipe, Path(folder)))
        (FOLDER / f"{recipe}.json").write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n")
        sys.stdout.write(
            f"{recipe}: {json.dumps(summary['attrition'])} {json.dumps(summary['verdicts'])}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
