"""`python -m tests.real_authors.cases`: write the cases on which a judge of suspicions is
calibrated to `data/calibration/cases`.

recorded scenarios ──texts──┐
embedded author, faults ────┴─► cases by reason code ─► as many planted as honest, sources in turn ─► one file a code
"""

import asyncio
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from envmill.base.settings import ROOT, Settings
from envmill.gates import s8, s10
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.exploring.trials import list_writes
from envmill.gates.reading.answers import FactCheck
from envmill.sandbox import Sandbox
from schemas.scenario import Scenario
from schemas.suspicion import SuspicionCase
from tests.real_authors.corpus import list_items
from tests.real_authors.making import make
from tests.real_authors.outcomes import MACHINES
from tests.real_authors.referents import list_openings, list_rows, list_twins
from tests.real_authors.texts import (
    Text,
    list_answers,
    list_arguments,
    list_told_answers,
    list_values,
    make_case,
)
from tests.trust.posing import find_clean, make_environment, plant
from tests.trust.scenarios import pick

FOLDER = ROOT / "data/calibration/cases"
MOST = 40
"""Planted cases of a code, and honest ones."""
LEAST = 30
"""A code of which there are fewer is left out: a judge could not be calibrated on them."""
_SPOTS, _SEED = 60, 20261123
_EMBEDDED: dict[str, tuple[Any, str]] = {
    "withheld_fact": (s8, "underivable_argument"),
    "wrong_answer": (s8, "wrong_answer"),
    "unnecessary_step": (s10, "unasked_change"),
}
"""Fault of the embedded author → the gate and the code that names it."""


async def list_scenarios(means: GateContext) -> AsyncIterator[tuple[str, ScenarioCase]]:
    """Every recorded scenario over rows, as it was written."""
    for item in list_items():
        if item.recipe in MACHINES:
            continue
        made = await make(item, means.sandbox)
        assert made.environment is not None
        for number, scenario in made.scenarios.items():
            yield f"{item.id}/{number}", ScenarioCase(scenario, made.environment)


async def list_recorded(means: GateContext) -> AsyncIterator[tuple[str, Text]]:
    async for source, posed in list_scenarios(means):
        async for text in list_texts(posed, means, random.Random(source)):
            yield source, text


async def list_texts(
    posed: ScenarioCase, means: GateContext, dice: random.Random
) -> AsyncIterator[Text]:
    """Every fault and look-alike that one scenario gives."""
    lists = (
        list_values(posed, means, dice),
        list_arguments(posed, means),
        list_answers(posed, means, dice),
        list_told_answers(posed),
        list_rows(posed, means, dice),
        list_twins(posed, means),
        list_openings(posed),
    )
    for texts in lists:
        async for text in texts:
            yield text


async def list_embedded(means: GateContext) -> AsyncIterator[tuple[str, SuspicionCase]]:
    """The embedded author's scenarios with a fault in their words, and the same ones without it."""
    for kind, (gate, reason) in _EMBEDDED.items():
        for spot in pick(_SPOTS, _SEED, kind):
            faulty, clean = (
                await plant(spot, kind, means.sandbox),
                await find_clean(spot, means.sandbox),
            )
            if not isinstance(faulty, Scenario) or not isinstance(clean, Scenario):
                continue
            environment = make_environment(spot.theme, spot.number)
            posed, honest = ScenarioCase(faulty, environment), ScenarioCase(clean, environment)
            found = [
                one for one in (await gate.check(posed, means)).spread() if one.reason == reason
            ]
            for finding in found[:1]:
                source = f"embedded/{spot.theme}"
                yield source, make_case(posed, finding, planted=True)
                for question in _ask_honestly(finding, posed, honest)[:1]:
                    yield (
                        source,
                        make_case(honest, replace(finding, question=question), planted=False),
                    )


def _ask_honestly(finding: Finding, faulty: ScenarioCase, honest: ScenarioCase) -> list[str]:
    """The same question of the scenario without the fault: of an argument as it is, of an answer
    and a change with what is right."""
    if finding.reason == "underivable_argument":
        return [finding.question]
    if finding.reason == "unasked_change":
        return [s10.ask_unasked(honest.scenario.oracle[place]) for place in list_writes(honest)]
    right = honest.scenario.verifier.facts
    changed = [
        one
        for one in right
        if one not in faulty.scenario.verifier.facts and repr(one.name) in finding.question
    ]
    return [
        FactCheck(one, "underivable", "").ask()
        for one in changed
        if "rather than" not in finding.question
    ]


def choose(found: Iterable[tuple[str, SuspicionCase]]) -> Iterator[SuspicionCase]:
    """Of each code as many planted cases as honest ones, sources in turn, none twice."""
    sides: dict[tuple[str, str, bool], dict[str, dict[str, SuspicionCase]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for source, case in found:
        sides[case.gate, case.reason, case.planted][source].setdefault(
            f"{case.item.request} {case.item.rows} {case.question}", case
        )
    picked = {
        side: take_turns([list(cases.values()) for cases in by_source.values()])
        for side, by_source in sides.items()
    }
    for gate, reason in sorted({side[:2] for side in sides}):
        planted, honest = (
            picked.get((gate, reason, True), []),
            picked.get((gate, reason, False), []),
        )
        count = min(len(planted), len(honest), MOST)
        if count >= LEAST:
            yield from planted[:count]
            yield from honest[:count]


def take_turns(queues: Sequence[Sequence[SuspicionCase]]) -> list[SuspicionCase]:
    return [case for row in zip_longest(*queues) for case in row if case is not None]


def write_cases(cases: Iterable[SuspicionCase]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        lines[f"{case.gate}-{re.sub('_', '-', case.reason)}"].append(f"{case.model_dump_json()}\n")
    for name, own in lines.items():
        (FOLDER / f"{name.lower()}.jsonl").write_text("".join(own), encoding="utf-8")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": folder})) as sandbox:
            means = GateContext(sandbox)
            recorded = [(source, text) async for source, text in list_recorded(means)]
            embedded = [one async for one in list_embedded(means)]
    write_cases(
        choose(
            [
                *((source, case) for source, text in recorded for case in text.list_cases()),
                *embedded,
            ]
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
