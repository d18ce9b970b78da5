"""Blind reading: what two readers who know neither gate nor author say of drops, keeps and decoys,
mixed.

drops, a sample of keeps ─┐
known fair, known unfair ─┴─► packets in one order ─► reader one, reader two ─► readings ─► kappa, wrong drops, unfair keeps
"""

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from envmill.base.errors import BadReply
from envmill.gates.reading.evidence import describe_item, show_tools
from envmill.gates.reading.mapping import list_demands, show_map
from envmill.kinds import kind_of
from envmill.kinds.findings import ScenarioCase
from envmill.lake.lake import Lake
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from schemas.base import Contract, digest
from schemas.environment import Environment
from schemas.fairness import FairnessCase, MapperInput
from schemas.scenario import Scenario
from schemas.suspicion import ToolText
from tests.authors.items import Item
from tests.real_authors.operators import FAMILIES, is_sound, list_places

PROMPTS = Path(__file__).parent / "prompts"
SEED = 20261126
DECOYS = 20
"""Known scenarios of either sort."""
SPOILT = 3
"""Kept programs that are shown with a fault."""

Verdict = Literal["fair", "unfair", "ambiguous", "sound", "faulty"]
GOOD: frozenset[Verdict] = frozenset(("fair", "sound"))


class ScenarioReading(Contract):
    """What a reader says of a task."""

    verdict: Literal["fair", "unfair", "ambiguous"]
    words: str
    """The words of the request, or the id of the demand, that decide it; empty where it is fair."""
    why: str = Field(max_length=600)
    """One or two sentences."""


class ProgramInput(Contract):
    """A service as its reader sees it."""

    name: str
    summary: str
    rules: list[str]
    policy: str
    tools: list[ToolText]
    tables: list[str]
    source: str


class ProgramReading(Contract):
    """What a reader says of a program."""

    verdict: Literal["sound", "faulty"]
    words: str
    """The rule or description that is broken, copied; empty where the program is sound."""
    why: str = Field(max_length=600)
    """The call for which it is broken, and what happens."""


SCENARIO = Prompt.load(PROMPTS / "scenario.md", MapperInput, ScenarioReading)
PROGRAM = Prompt.load(PROMPTS / "program.md", ProgramInput, ProgramReading)


class Packet(Contract):
    """One thing to read."""

    id: str
    sort: Literal["drop", "keep", "decoy"]
    about: Literal["scenario", "program"]
    subject: str
    """Item, or source of the decoy."""
    truth: str = ""
    """Of a decoy: what it is known to be."""
    scenario: MapperInput | None = None
    program: ProgramInput | None = None


class Reading(Contract):
    """One reader's answer."""

    packet: str
    reader: str
    verdict: Verdict
    words: str
    why: str


def draw_packets(
    items: Sequence[Item],
    lake: Lake,
    known: Sequence[FairnessCase],
    keeps: int,
    drawn: Sequence[Packet] = (),
) -> list[Packet]:
    """Packets that were not drawn before: every drop, kept scenarios until there are `keeps`, and
    decoys the first time.

    Which scenarios are kept for reading and in what order packets come follows from hashes of their
    ids: neither says anything of them.
    """
    shelf, dice = Shelf(lake), random.Random(SEED)
    subjects = {one.subject for one in drawn}
    scenarios = [one for one in items if one.lap == "scenarios" and one.built]
    drops = [one for one in scenarios if one.fate in ("dropped", "observed") and has_own_drop(one)]
    kept = sorted(
        (one for one in scenarios if one.fate in ("clean", "suspected")),
        key=lambda one: digest([one.id, SEED]),
    )
    packets = [shelf.pack_scenario(one, "drop") for one in drops if one.id not in subjects]
    packets += [shelf.pack_scenario(one, "keep") for one in kept[:keeps] if one.id not in subjects]
    packets += _draw_programs([one for one in items if one.id not in subjects], shelf, dice)
    if not drawn:
        fair, unfair = (
            [one for one in known if not one.planted],
            [one for one in known if one.planted],
        )
        packets += [
            _pack_known(one) for one in (*dice.sample(fair, DECOYS), *dice.sample(unfair, DECOYS))
        ]
    return sorted(packets, key=lambda one: one.id)


def has_own_drop(item: Item) -> bool:
    """Whether a gate spoke against it itself, and not against its environment alone."""
    return any(one.outcome in ("dropped", "observed") for one in item.found)


def _draw_programs(items: Sequence[Item], shelf: "Shelf", dice: random.Random) -> list[Packet]:
    """Dropped programs, as many kept ones, and a few kept ones with a fault planted."""
    built = [
        one
        for one in items
        if one.lap == "environments" and one.built and shelf.reads_rows(shelf.environment(one))
    ]
    drops = [one for one in built if one.fate in ("dropped", "observed")]
    kept = [one for one in built if one.fate in ("clean", "suspected")]
    shown = dice.sample(kept, min(len(kept) // 2, max(len(drops), SPOILT)))
    spoilt = [one for one in kept if one not in shown]
    packets = [shelf.pack_program(one, "drop") for one in drops] + [
        shelf.pack_program(one, "keep") for one in shown
    ]
    return packets + [
        shelf.pack_program(one, "decoy", dice)
        for one in dice.sample(spoilt, min(len(spoilt), SPOILT))
    ]


class Shelf:
    """Records of the measured runs, by id."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._environments: dict[str, Environment] = {}
        self._scenarios: dict[str, Scenario] = {}
        self._read: set[str] = set()

    def environment(self, item: Item) -> Environment:
        self._open(item.run)
        return self._environments[item.environment or item.id]

    def case(self, item: Item) -> ScenarioCase:
        environment = self.environment(item)
        return ScenarioCase(self._scenarios[item.id], environment)

    def holds_source(self, item: Item) -> bool:
        return self.reads_rows(self.environment(item))

    @staticmethod
    def reads_rows(environment: Environment) -> bool:
        """Whether it is a program over rows, and no machine."""
        return kind_of(environment).looks_freely

    def pack_scenario(self, item: Item, sort: Literal["drop", "keep"]) -> Packet:
        case = self.case(item)
        demands = list_demands(case)
        shown = show_map(
            describe_item(case, " ".join(one.text for one in demands)), case.scenario.clock, demands
        )
        return Packet(
            id=digest([item.id, "read"]),
            sort=sort,
            about="scenario",
            subject=item.id,
            scenario=shown,
        )

    def pack_program(
        self, item: Item, sort: Literal["drop", "keep", "decoy"], dice: random.Random | None = None
    ) -> Packet:
        """With `dice` a fault is planted."""
        environment = self.environment(item)
        source = environment.files[f"{environment.entry.partition(':')[0]}.py"]
        if dice:
            places = [
                one
                for family in ("guards", "writes", "signs")
                for one in list_places(source, family)
                if family in FAMILIES
            ]
            place = next(one for one in dice.sample(places, len(places)) if is_sound(one, source))
            source = place.apply(source)
        shown = ProgramInput(
            name=environment.name,
            summary=environment.summary,
            rules=environment.rules,
            policy=environment.policy_document,
            tools=show_tools(environment),
            tables=[
                environment.files[name]
                for name in sorted(environment.files)
                if name.endswith(".sql")
            ],
            source=f"```python\n{source}\n```",
        )
        truth = "faulty" if dice else ""
        return Packet(
            id=digest([item.id, source]),
            sort=sort,
            about="program",
            subject=item.id,
            truth=truth,
            program=shown,
        )

    def _open(self, run: str) -> None:
        if run not in self._read:
            self._read.add(run)
            self._environments |= {one.id: one for one in self._lake.read(Environment, run)}
            self._scenarios |= {one.id: one for one in self._lake.read(Scenario, run)}


def _pack_known(case: FairnessCase) -> Packet:
    shown = show_map(case.item, case.date, case.demands)
    name = digest([case.source, case.planted, case.item.request])
    truth = {"": "fair", "two_readings": "ambiguous"}.get(case.planted, "unfair")
    return Packet(
        id=name,
        sort="decoy",
        about="scenario",
        subject=f"{case.source} {case.planted}".strip(),
        truth=truth,
        scenario=shown,
    )


async def read_packets(
    packets: Sequence[Packet], reader: str, models: ModelSession
) -> list[Reading]:
    """What one reader says of each; of what it gives no usable reply to, nothing."""
    found = await asyncio.gather(*(_read(one, reader, models) for one in packets))
    return [one for one in found if one]


async def _read(packet: Packet, reader: str, models: ModelSession) -> Reading | None:
    try:
        if packet.scenario:
            said: ScenarioReading | ProgramReading = await models.ask(
                SCENARIO, packet.scenario, ScenarioReading, role="judge"
            )
        else:
            assert packet.program
            said = await models.ask(PROGRAM, packet.program, ProgramReading, role="judge")
    except BadReply:
        return None
    return Reading(
        packet=packet.id, reader=reader, verdict=said.verdict, words=said.words, why=said.why
    )


def pair_up(
    packets: Sequence[Packet], readings: Sequence[Reading]
) -> Iterator[tuple[Packet, Mapping[str, Reading]]]:
    """Each packet with its readings by reader."""
    by_packet: dict[str, dict[str, Reading]] = {}
    for one in readings:
        by_packet.setdefault(one.packet, {})[one.reader] = one
    for packet in packets:
        yield packet, by_packet.get(packet.id, {})


def describe_readings(readings: Sequence[Reading]) -> list[dict[str, Any]]:
    return [one.model_dump() for one in readings]
