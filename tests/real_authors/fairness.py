"""`python -m tests.real_authors.fairness`: write the cases on which the map of gate S16 and its
judge are calibrated. With a file as its
argument: write every recorded scenario to it as such a case, whole, with what is known to be unfair
about it.

fairness.toml, recorded scenarios ─► scenarios whose fairness is known ─► `data/calibration/fairness/cases.jsonl`: a mapper reads each
                                   └► questions with their answers ─────► `data/calibration/cases/s16-*.jsonl`: a judge reads each

Of each scenario there are two honest requests, the second in other words, and one planted fault of
each code: a demand that nothing asks for, a wish that nothing checks, a sentence that shows the
way, and for some a request with two readings. Of the scenarios that a mapper reads, faults take
turns.
"""

import asyncio
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

from envmill.base.settings import Settings
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.reading.calibrations import FAIRNESS
from envmill.gates.reading.evidence import describe_item
from envmill.gates.reading.mapping import REST, ask_hint, ask_unasked, ask_unchecked, list_demands
from envmill.kinds.terminal import SHELL
from envmill.kinds.terminal.demands import render_demands
from envmill.sandbox import Sandbox
from envmill.sandbox.machines.exams import list_tests
from envmill.sandbox.machines.files import FINAL
from envmill.sandbox.machines.healthy import Healthy
from schemas.base import Json, canonical_json
from schemas.fairness import Demand, FairnessCase, FairnessCode
from schemas.seed import Brief
from schemas.suspicion import SuspicionCase, SuspicionItem, ToolText
from schemas.system import MachineState
from tests.real_authors.cases import list_scenarios, write_cases
from tests.real_authors.corpus import ROOT, Item, list_items
from tests.real_authors.outcomes import MACHINES
from tests.real_authors.texts import say_parameters

WRITTEN = ROOT / "fairness.toml"
_DATE = "2026-03-02T08:00:00+00:00"
_MOST = 30
"""Questions of a code and a side: as few as a calibration needs."""


def read_written() -> dict[str, Any]:
    return tomllib.loads(WRITTEN.read_text(encoding="utf-8"))


def compose_item(told: Mapping[str, Any]) -> FairnessCase:
    """One written by hand, as its first honest case."""
    rows = json.loads(told["rows"])
    tools = [ToolText(name=name, description=words, parameters={}) for name, words in told["tools"]]
    item = SuspicionItem(
        brief=Brief(theme=told["source"], text=told["text"], number=0),
        name=told["name"],
        rules=told["rules"],
        policy=told["policy"],
        tools=tools,
        request=told["request"],
        told=[],
        path={"calls": [{"name": tool.name, "arguments": {}} for tool in tools], "last_words": ""},
        rows=rows,
        witness=[],
    )
    demands = [Demand(id=f"d{number}", text=text) for number, text in enumerate(told["demands"], 1)]
    return FairnessCase(
        source=told["source"], planted="", truth="", item=item, date=_DATE, demands=[*demands, REST]
    )


def shorten_item(posed: ScenarioCase, told: Mapping[str, Any]) -> FairnessCase:
    """A recorded one, with the tools of its path and the rows that a demand, the path or the
    request speaks of."""
    demands = list_demands(posed)
    item = describe_item(posed, " ".join(one.text for one in demands))
    called = {call.name for call in posed.scenario.oracle}
    tools = [
        tool.model_copy(update={"parameters": say_parameters(tool.parameters)})
        for tool in item.tools
        if tool.name in called
    ]
    said = f"{' '.join(one.text for one in demands)} {canonical_json(item.path)} {item.request}"
    rows = {
        table: {key: row for key, row in held.items() if key in said}
        for table, held in _list_tables(item.rows)
    }
    changed = {
        "tools": tools,
        "rows": {table: held for table, held in rows.items() if held},
        "request": told.get("request", item.request).strip(),
    }
    return FairnessCase(
        source=told["source"],
        planted="",
        truth="",
        item=item.model_copy(update=changed),
        date=posed.scenario.clock,
        demands=demands,
    )


def _list_tables(rows: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    found: Any = rows
    yield from found.items()


def vary(first: FairnessCase, told: Mapping[str, Any]) -> Iterator[FairnessCase]:
    """Both honest requests, and one of each fault; faults are planted in the first and in the
    second request in turn."""
    second = ask(first, told["other"].strip())
    yield first
    yield second
    base = second if len(told["source"]) % 2 else first
    extra = Demand(id=f"d{len(base.demands)}", text=told["unasked"])
    yield fault(base, "unasked", told["unasked"]).model_copy(
        update={"demands": [*base.demands[:-1], extra, REST]}
    )
    yield fault(
        ask(base, join(base.item.request, told["unchecked"])), "unchecked", told["unchecked"]
    )
    yield fault(ask(base, join(base.item.request, told["way"])), "shows_way", told["way"])
    if "two" in told:
        yield fault(
            ask(first, told["two"].strip()), "two_readings", f"{told['one']} / {told['another']}"
        )


def join(request: str, sentence: str) -> str:
    return f"{request}\n{sentence}" if "\n" in request else f"{request} {sentence}"


def ask(case: FairnessCase, request: str) -> FairnessCase:
    return case.model_copy(update={"item": case.item.model_copy(update={"request": request})})


def fault(case: FairnessCase, code: FairnessCode, truth: str) -> FairnessCase:
    return case.model_copy(update={"planted": code, "truth": truth})


def choose(varied: Sequence[Sequence[FairnessCase]]) -> Iterator[FairnessCase]:
    """All honest requests, and of the faults 20 of each: unasked and unchecked in turn, two
    readings and the way for the third."""
    counts: Counter[str] = Counter()
    for cases in varied:
        yield from (one for one in cases if not one.planted)
    for place, cases in enumerate(varied):
        by_code = {one.planted: one for one in cases}
        third = by_code.get("two_readings") or by_code["shows_way"]
        picks = {
            "unasked": by_code["unasked"],
            "unchecked": by_code["unchecked"],
            "ambiguous": third,
        }
        left_out = list(picks)[place % 3]
        for name, one in picks.items():
            if name != left_out and counts[name] < 20:
                counts[name] += 1
                yield one


def list_questions(
    varied: Sequence[Sequence[FairnessCase]], written: Sequence[Mapping[str, Any]]
) -> Iterator[SuspicionCase]:
    """Of each code as many planted questions as honest ones, which are about words that a demand
    checks, or a demand that is asked for."""
    for place, (cases, told) in enumerate(zip(varied, written, strict=True)):
        honest = cases[place % 2]
        wish = told["other_wish" if place % 2 else "wish"]
        texts = [one.text for one in honest.demands]
        by_code = {one.planted: one for one in cases}
        planted: dict[FairnessCode, str] = {
            "unasked": ask_unasked(told["unasked"]),
            "unchecked": ask_unchecked(told["unchecked"], texts),
            "shows_way": ask_hint(told["way"]),
        }
        kept: dict[FairnessCode, str] = {
            "unasked": ask_unasked(texts[place % (len(texts) - 1)]),
            "unchecked": ask_unchecked(wish, texts),
            "shows_way": ask_hint(wish),
        }
        for code, question in planted.items():
            yield SuspicionCase(
                gate="S16", reason=code, planted=True, item=by_code[code].item, question=question
            )
            yield SuspicionCase(
                gate="S16", reason=code, planted=False, item=honest.item, question=kept[code]
            )


async def make_cases() -> tuple[list[FairnessCase], list[SuspicionCase]]:
    told = read_written()
    with tempfile.TemporaryDirectory() as home:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": home})) as sandbox:
            posed = {source: one async for source, one in list_scenarios(GateContext(sandbox))}
    first = [shorten_item(posed[one["source"]], one) for one in told["item"]] + [
        compose_item(one) for one in told["hand"]
    ]
    written = [*told["item"], *told["hand"]]
    varied = [list(vary(case, one)) for case, one in zip(first, written, strict=True)]
    return list(choose(varied)), list(list_questions(varied[:_MOST], written[:_MOST]))


RECORDED: Mapping[str, FairnessCode] = {
    "agentscaler/helpdesk_tickets_customers/0": "two_readings",
    "agentscaler/rentals_vehicles_stations/0": "unasked",
    "awm/social_housing_allocation/0": "unchecked",
    "endless_terminals/services/0": "shows_way",
    "envscaler/harbor_pilot_dispatch/1": "two_readings",
}
"""What `expected.toml` says is unfair about recorded scenarios today. Two verifiers that asked for
too much are derived otherwise now: the subjects of two tickets may be told as a count, and an
optional text may hold anything."""


def find_known(source: str) -> FairnessCode | Literal[""]:
    return RECORDED.get(source) or ""


def take_whole(source: str, posed: ScenarioCase) -> FairnessCase:
    """As the gate shows it."""
    demands = list_demands(posed)
    item = describe_item(posed, " ".join(one.text for one in demands))
    return FairnessCase(
        source=source,
        planted=find_known(source),
        truth="",
        item=item,
        date=posed.scenario.clock,
        demands=demands,
    )


def take_machine(item: Item) -> FairnessCase:
    """A recorded errand, by its texts: no machine is built."""
    errand, test = item.read("errand"), item.read("final_test")["source"]
    state = MachineState.model_validate(
        {
            "exam": FINAL,
            "breaks": [],
            "places": [],
            "health": dict.fromkeys(list_tests(test), "ill"),
        }
    )
    healthy = cast(Healthy, SimpleNamespace(exams={FINAL: test}, system=None))
    texts = [*render_demands(healthy, state)]
    told = SuspicionItem(
        brief=item.seed.brief.model_copy(update={"outline": None}),
        name=item.id,
        rules=[],
        policy="",
        tools=[
            ToolText(name=SHELL.name, description=SHELL.description, parameters=SHELL.parameters)
        ],
        request=errand["request"],
        told=[],
        path=[],
        rows=[],
        witness=[],
    )
    demands = [*(Demand(id=f"d{number}", text=text) for number, text in enumerate(texts, 1)), REST]
    source = f"{item.id}/0"
    return FairnessCase(
        source=source, planted=find_known(source), truth="", item=told, date=_DATE, demands=demands
    )


async def list_recorded() -> list[FairnessCase]:
    with tempfile.TemporaryDirectory() as home:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": home})) as sandbox:
            found = [
                take_whole(source, posed)
                async for source, posed in list_scenarios(GateContext(sandbox))
            ]
    return [*found, *(take_machine(item) for item in list_items() if item.recipe in MACHINES)]


def main() -> None:
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(
            "".join(f"{one.model_dump_json()}\n" for one in asyncio.run(list_recorded())),
            encoding="utf-8",
        )
        return
    cases, questions = asyncio.run(make_cases())
    FAIRNESS.parent.mkdir(parents=True, exist_ok=True)
    FAIRNESS.write_text("".join(f"{one.model_dump_json()}\n" for one in cases), encoding="utf-8")
    write_cases(questions)


if __name__ == "__main__":
    main()
