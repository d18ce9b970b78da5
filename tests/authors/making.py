"""The runs of a measurement: which recipe makes how many environments and scenarios, of which
texts.

plan ─► `envmill run --observe`, one after the other, in a home of its own ─► a lake
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TEXTS = Path(__file__).parent / "texts.jsonl"
"""Requests of places that no test and no seed of the factory knows: one environment is mined from
each."""
PORT = 4390


@dataclass(frozen=True)
class PlannedRun:
    """One run."""

    name: str
    recipe: str
    scenarios: int
    extra: tuple[str, ...] = ()
    environments: int = 1


def list_plan(folder: Path, shares: Mapping[str, tuple[int, int]]) -> Iterator[PlannedRun]:
    """Recipe → environments, scenarios of each. A recipe that takes texts gets one text for each
    environment."""
    texts = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    for recipe, (environments, scenarios) in shares.items():
        if recipe == "endless_terminals":
            yield PlannedRun(recipe, recipe, scenarios, environments=environments)
            continue
        own = [one for one in texts if one["recipe"] == recipe][:environments]
        if len(own) < environments:
            sys.exit(
                f"{TEXTS} holds {len(own)} texts for {recipe}, and {environments} are wanted: add "
                "some."
            )
        for told in own:
            yield PlannedRun(
                f"{recipe}-{told['id']}", recipe, scenarios, tuple(_point_at(told, folder))
            )


def _point_at(told: dict[str, Any], folder: Path) -> Iterator[str]:
    """Options by which a run takes one text, or one document of tools."""
    if documents := told.get("documents"):
        yield from ("--documents", documents)
        return
    corpus = folder / "texts" / f"{told['id']}.jsonl"
    corpus.parent.mkdir(parents=True, exist_ok=True)
    corpus.write_text(
        json.dumps({"id": told["id"], "text": told["text"], "licence": "Apache-2.0"}) + "\n",
        encoding="utf-8",
    )
    yield from ("--corpus", str(corpus), "--score", "1")


def make_runs(
    plan: Sequence[PlannedRun], folder: Path, model: str, judge: str, policy: str
) -> None:
    """Every run of the plan that has not ended yet. A run that fails is told, and the next one
    begins."""
    surroundings = surround(folder)
    done = folder / "done.txt"
    ended = set(done.read_text(encoding="utf-8").split()) if done.exists() else set[str]()
    envmill = [sys.executable, "-m", "flows.cli"]
    provider, _, name = model.partition(":")
    subprocess.run([*envmill, "up"], env=surroundings, check=True)
    try:
        for number, one in enumerate(plan):
            if one.name in ended:
                continue
            options = [
                "--recipe",
                one.recipe,
                "--environments",
                one.environments,
                "--scenarios",
                one.scenarios,
                "--seed",
                100 + number,
            ]
            options += [
                "--provider",
                provider,
                *(["--model", name] if name else []),
                "--judge",
                judge,
                "--policy",
                policy,
                "--attempts",
                2,
                "--form",
                "single",
            ]
            options += ["--observe", "--holdout", "validation=0,test=0", *one.extra]
            code = subprocess.run(
                [*envmill, "run", *map(str, options)], env=surroundings, check=False
            ).returncode
            if code == 0:
                with done.open("a", encoding="utf-8") as file:
                    file.write(f"{one.name}\n")
            else:
                sys.stderr.write(
                    f"{one.name} ended with {code}. It is tried again when this command is.\n"
                )
    finally:
        subprocess.run([*envmill, "down"], env=surroundings, check=False)


def surround(folder: Path) -> dict[str, str]:
    """The environment of the runs: a home, a lake and bundles inside the folder."""
    own = {
        "ENVMILL_HOME": folder / "home",
        "ENVMILL_LAKE": folder / "lake",
        "ENVMILL_BUNDLES": folder / "bundles",
        "ENVMILL_PORT": PORT,
    }
    return {**os.environ, **{name: str(value) for name, value in own.items()}}
