"""Gate F3 against the shipped sketches: what it adds to each scenario, and once to each process."""

import json
import statistics
import time
from typing import Any

from envmill.base.settings import ROOT, Settings
from envmill.gates.f3 import check_for_contamination, list_scenario_texts
from envmill.gates.protected_texts import read_sketch
from envmill.gates.protecting.interface import ComparedWorld
from envmill.gates.protecting.same_task import AskedTask
from tests.specimens import make_environment, make_scenario

ROUNDS = 300


def rows() -> list[dict[str, Any]]:
    """Medians of one process. The texts differ, so that no cache answers."""
    folder = Settings.read({}).sketches
    began = time.perf_counter()
    for path in sorted(folder.glob("*.sketch")):
        read_sketch(path)
    loaded = time.perf_counter() - began
    home = make_environment()
    texts = [
        json.loads(line)["text"]
        for line in (ROOT / "data/seeds/tasks.jsonl").read_text(encoding="utf-8").splitlines()
    ][:ROUNDS]
    posed = [make_scenario(home, number=number, request=text) for number, text in enumerate(texts)]
    world = ComparedWorld.of(home)
    taken: list[float] = []
    for scenario in posed:
        began = time.perf_counter()
        check_for_contamination(
            list_scenario_texts(scenario), folder, asked=AskedTask.of(scenario), world=world
        )
        taken.append(time.perf_counter() - began)
    return [
        _row(
            "scenario",
            "a scenario compared with the shipped sketches",
            statistics.median(taken) * 1000,
        ),
        _row("load", "the shipped sketches read, once a process", loaded * 1000),
    ]


def _row(name: str, what: str, measured: float) -> dict[str, Any]:
    return {
        "id": name,
        "what": what,
        "measured": round(measured, 2),
        "baseline": None,
        "unit": "ms",
    }
