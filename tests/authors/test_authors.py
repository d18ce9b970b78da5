"""The measurement itself: what it counts, what its readers see, and which claims a sample bears
out."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import drop, keep
from envmill.gates.exploring.ends import list_ends
from envmill.gates.reading.calibrations import FAIRNESS
from envmill.gates.reading.fairness import read_fairness_cases
from envmill.kinds import open_sandbox
from envmill.kinds.findings import Finding, GateContext, ScenarioCase
from envmill.lake.events import note as note_event
from envmill.lake.lake import Lake
from schemas.rollout import Rollout
from schemas.scenario import Check, Verifier
from tests.authors.attacks import AttackReply, Try, attack, search
from tests.authors.counts import bound_above, bound_below, measure_agreement
from tests.authors.evidence import (
    Decided,
    Evidence,
    Flaw,
    Shown,
    read_evidence,
    read_records,
    write_items,
    write_records,
)
from tests.authors.items import Found, Item, list_items
from tests.authors.ladder import LadderAttempt, climb, list_between, note, pair_rates, rate
from tests.authors.page import write_page
from tests.authors.publishing import render
from tests.authors.readings import (
    DECOYS,
    PROGRAM,
    SCENARIO,
    Packet,
    ProgramReading,
    Reading,
    ScenarioReading,
    Shelf,
    draw_packets,
    pair_up,
    read_packets,
)
from tests.authors.second import SecondVerifier, judge_twice, list_distinct
from tests.authors.settling import judge_readings, settle_ends
from tests.authors.targets import list_targets
from tests.pipeline.test_tiers import run_line

KNOWN = read_fairness_cases(FAIRNESS)


async def refuse_first(posed: ScenarioCase, means: GateContext) -> Finding:
    return (
        keep("S9")
        if posed.scenario.number
        else drop("S9", "expected_value", "the request names its value")
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A run that observes, with a gate that would drop one of two scenarios."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "envmill.stages.passing.SCENARIO_GATES", (replace(GATES["S9"], check=refuse_first),)
        )
        lake = run_line(tmp_path_factory.mktemp("authors"), observe=True)[0]
    note_event(lake, "r1", "finished", [])
    return lake


@pytest.fixture(scope="module")
def items(lake: Lake) -> list[Item]:
    return list_items(lake, {})


@pytest.fixture(scope="module")
def cases(lake: Lake, items: list[Item]) -> dict[str, ScenarioCase]:
    shelf = Shelf(lake)
    return {one.id: shelf.case(one) for one in items if one.lap == "scenarios"}


@pytest.fixture
async def means(tmp_path: Path) -> AsyncIterator[GateContext]:
    async with open_sandbox(Settings.read({"ENVMILL_HOME": str(tmp_path)}), drivers=1) as sandbox:
        yield GateContext(sandbox, seed=1, episodes=40)


# Items.


@pytest.mark.long
def test_each_candidate_is_listed_with_its_fate(items: list[Item]) -> None:
    assert [(one.lap, one.fate) for one in items if one.lap == "environments"] == [
        ("environments", "clean")
    ]
    fates = {one.fate: one for one in items if one.lap == "scenarios"}
    assert set(fates) == {"clean", "observed"}
    assert [(one.gate, one.reason, one.outcome) for one in fates["observed"].found] == [
        ("S9", "expected_value", "observed")
    ]
    assert all(one.calls > 0 and one.polarity == "achieve" and one.built for one in fates.values())


def test_items_survive_their_file(items: list[Item], tmp_path: Path) -> None:
    write_items(tmp_path / "items.jsonl", items)
    assert read_evidence(tmp_path).items == items


# Readings.


def test_a_packet_shows_neither_gate_nor_author_nor_reference_path(
    lake: Lake, items: list[Item], cases: dict[str, ScenarioCase]
) -> None:
    packets = draw_packets(items, lake, KNOWN, 60)
    assert sum(one.sort == "decoy" and one.about == "scenario" for one in packets) == 2 * DECOYS
    assert {one.sort for one in packets if one.subject in cases} == {"drop", "keep"}
    for packet in packets:
        prompt, inputs, reply = (
            (SCENARIO, packet.scenario, ScenarioReading)
            if packet.scenario
            else (PROGRAM, packet.program, ProgramReading)
        )
        assert inputs is not None
        told = prompt.render(inputs, reply)
        assert not any(
            word in told
            for word in ("expected_value", "the request names its value", "S9", "offline")
        )
        case = cases.get(packet.subject)
        assert case is None or '"oracle"' not in told


def test_a_second_draw_adds_only_what_is_new(lake: Lake, items: list[Item]) -> None:
    drawn = draw_packets(items, lake, KNOWN, 0)
    assert not draw_packets(items, lake, KNOWN, 0, drawn)
    added = draw_packets(items, lake, KNOWN, 60, drawn)
    assert [one.sort for one in added] == ["keep"]


def test_a_spoilt_program_differs_from_the_kept_one(lake: Lake, items: list[Item]) -> None:
    home = next(one for one in items if one.lap == "environments")
    spoilt = [
        one
        for one in draw_packets(items, lake, KNOWN, 0)
        if one.about == "program" and one.sort == "decoy"
    ]
    assert [one.truth for one in spoilt] == ["faulty"]
    whole = Shelf(lake).pack_program(home, "keep")
    assert whole.program
    assert spoilt[0].program
    assert spoilt[0].program.source != whole.program.source
    assert spoilt[0].program.model_copy(update={"source": ""}) == whole.program.model_copy(
        update={"source": ""}
    )


class Answers:
    """A model that says what it is given, in turn."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)

    async def ask(self, *_: Any, **__: Any) -> Any:
        return self.replies.pop(0)


async def test_what_a_reader_says_is_kept_by_packet(lake: Lake, items: list[Item]) -> None:
    packets = [one for one in draw_packets(items, lake, KNOWN, 60) if one.scenario][:2]
    said: Any = Answers(
        ScenarioReading(verdict="fair", words="", why="."),
        ScenarioReading(verdict="unfair", words="d1", why="."),
    )
    found = await read_packets(packets, "one", said)
    assert [(one.packet, one.verdict) for one in found] == [
        (packets[0].id, "fair"),
        (packets[1].id, "unfair"),
    ]
    assert [sorted(held) for _, held in pair_up(packets, found)] == [["one"], ["one"]]


def make_shown(name: str, sort: Any, truth: str = "") -> Shown:
    return Shown(id=name, sort=sort, about="scenario", subject=f"scn_{name}", truth=truth)


def read(packet: str, *verdicts: Any) -> list[Reading]:
    return [
        Reading(packet=packet, reader=str(place), verdict=verdict, words="", why="")
        for place, verdict in enumerate(verdicts)
    ]


def test_an_item_is_settled_by_two_readers_or_a_third() -> None:
    kept = Evidence(
        packets=[
            make_shown("a", "drop"),
            make_shown("b", "keep"),
            make_shown("c", "keep"),
            make_shown("d", "keep"),
            make_shown("e", "decoy"),
        ],
        readings=[
            *read("a", "fair", "fair"),
            *read("b", "fair", "unfair"),
            *read("c", "unfair", "ambiguous"),
            *read("d", "fair"),
            *read("e", "fair", "fair"),
        ],
    )
    assert [(one.id, good) for one, good in judge_readings(kept)] == [("a", True), ("c", False)]
    kept.decided = [
        Decided(subject="scn_a", good=False, why="it cannot be done"),
        Decided(subject="scn_b", good=True, why=""),
    ]
    assert [(one.id, good) for one, good in judge_readings(kept)] == [
        ("a", False),
        ("b", True),
        ("c", False),
    ]


# Counts.


def test_agreement_is_measured_against_chance() -> None:
    assert measure_agreement([(True, True), (False, False)]) == 1
    assert measure_agreement([(True, True), (True, False), (False, True), (False, False)]) == 0
    assert measure_agreement([(True, True)] * 9) == 1
    assert measure_agreement([]) == 0


def test_items_of_one_environment_bound_less_than_items_of_many() -> None:
    many = [(str(place), place % 5 > 0) for place in range(100)]
    few = [(str(place % 5), place % 5 > 0) for place in range(100)]
    assert bound_below(few) < bound_below(many) < 0.8
    assert bound_below([]) == 0
    assert bound_above(0, 0) == 1
    assert bound_above(0, 300) <= 0.01 < bound_above(0, 290)


def make_item(home: str, name: str, fate: Any, recipe: str = "awm") -> Item:
    found = (Found("S9", "told", fate, ""),) if fate in ("observed", "suspected") else ()
    return Item("careful", "r", recipe, "scenarios", name, home, "", fate, "filter", found, 0, 4)


def judge(kept: Evidence) -> dict[str, str]:
    return {one.what: one.says for one in list_targets(kept)}


def test_a_claim_that_the_sample_cannot_bear_is_open() -> None:
    claim = "built scenarios of careful writers kept `clean`"
    few = [make_item("e", f"s{place}", "clean") for place in range(4)]
    assert judge(Evidence(items=few))[claim] == "open"
    enough = [make_item(f"e{place % 30}", f"s{place}", "clean") for place in range(120)]
    assert judge(Evidence(items=enough))[claim] == "met"
    poor = [
        make_item(f"e{place % 30}", f"s{place}", "clean" if place % 2 else "suspected")
        for place in range(120)
    ]
    assert judge(Evidence(items=poor))[claim] == "missed"
    assert judge(Evidence())["ρ0, wrong ends accepted"] == "open"


def test_what_was_lost_before_gates_saw_it_is_not_counted_as_built() -> None:
    lost = Item("careful", "r", "awm", "scenarios", "e:000", "e", "", "lost", "generate", (), 2, 0)
    told = next(one for one in list_targets(Evidence(items=[lost, make_item("e", "s", "clean")])))
    assert told.measured.startswith("1 of 1")


def test_an_omission_counts_as_caught_only_where_something_is_named() -> None:
    flaws = [Flaw(where="", what="", found="W3"), Flaw(where="", what="", found="")]
    told = next(one for one in list_targets(Evidence(omissions=flaws)) if "omissions" in one.what)
    assert (told.measured, told.says) == ("1 of 2 (50%)", "missed")


# Ladder, attacks, ends.


async def test_policies_of_different_strength_stand_apart(
    cases: dict[str, ScenarioCase], means: GateContext, tmp_path: Path
) -> None:
    found: list[Rollout] = []
    for policy in ("reference", "skilled@0"):
        found += [one async for one in climb(cases, policy, [0, 1, 2, 3], means.sandbox, None)]
    noted = [note(one, one.policy) for one in found]
    rates = rate(noted)
    assert {told for (_, policy), told in rates.items() if policy == "reference"} == {(4, 4)}
    assert sum(passed for (_, policy), (passed, _) in rates.items() if policy != "reference") < 8
    write_records(tmp_path / "ladder.jsonl", noted)
    assert read_evidence(tmp_path).ladder == noted


def make_attempt(scenario: str, policy: str, outcome: str) -> LadderAttempt:
    return LadderAttempt(
        scenario=scenario,
        policy=policy,
        attempt=0,
        outcome=outcome,
        termination="",
        steps=1,
        end="",
        route="",
        words="",
        reason="",
    )


def test_a_scenario_is_between_where_one_policy_passes_now_and_then() -> None:
    told = [
        make_attempt("a", "one", "pass"),
        make_attempt("a", "one", "fail"),
        make_attempt("b", "one", "pass"),
        make_attempt("b", "two", "fail"),
    ]
    assert list_between(rate(told)) == {"a"}
    assert list_between(rate([*told, make_attempt("b", "two", "error")])) == {"a"}


async def test_an_attack_on_a_weak_verifier_shows_its_wrong_end(
    cases: dict[str, ScenarioCase], means: GateContext
) -> None:
    case = next(iter(cases.values()))
    right = Try(calls=list(case.scenario.oracle), words=case.scenario.say or "Done.")
    idle = Try(calls=[], words="Done.")
    rounds: Any = [AttackReply(tries=[right, idle])] * 4
    honest = await attack(case, means, Answers(*rounds))  # pyright: ignore[reportArgumentType]
    assert (honest.tries, honest.paid, honest.wrong) == (8, 4, 0)
    nothing = Check(name="nothing is asked for", op="absent", path=["nowhere"])
    weak_verifier = Verifier(
        goals=[nothing], guards=[], frame=[[name] for name in case.scenario.initial_state]
    )
    weak = replace(case, scenario=case.scenario.model_copy(update={"verifier": weak_verifier}))
    fooled = await attack(weak, means, Answers(*rounds))  # pyright: ignore[reportArgumentType]
    assert (fooled.paid, fooled.wrong) == (8, 4)


async def test_a_blind_search_gets_ten_times_its_budget(
    cases: dict[str, ScenarioCase], means: GateContext
) -> None:
    found = [one async for one in search(list(cases.values())[:1], means)]
    assert found[0].tries == 10 * means.episodes // 2
    assert found[0].wrong == 0


async def test_two_verifiers_are_held_against_each_other(
    cases: dict[str, ScenarioCase], means: GateContext
) -> None:
    case = next(iter(cases.values()))
    ends = list(
        list_distinct(
            [("gates", ending, accepted) for ending, accepted in await list_ends(case, means)]
        )
    )[:12]
    assert len(list(list_distinct([*ends, *ends]))) == len(ends)
    for source, wanted in (("return True", True), ("return False", False), ("return 1 / 0", None)):
        other = SecondVerifier(
            scenario=case.scenario.id, source=f"def check(initial, final, rollout):\n    {source}\n"
        )
        judged = await judge_twice(case, other, ends, means.sandbox)
        assert {one.second for one in judged} == {wanted}
    assert {one.first for one in judged} == {True, False}
    assert not settle_ends(Evidence(ends=judged))
    key = f"{judged[0].scenario}/{judged[0].end}/{judged[0].words}"
    assert settle_ends(
        Evidence(ends=judged, decided=[Decided(subject=key, good=True, why="")])
    ) == [(judged[0].first, True)]


# Page.


def test_a_page_is_written_of_whatever_was_measured(items: list[Item], tmp_path: Path) -> None:
    assert "# What becomes" in "\n".join(write_page(Evidence()))
    kept = Evidence(
        items=items,
        packets=[make_shown("a", "drop")],
        omissions=[Flaw(where="awm | code", what="a limit", found="")],
    )
    page = "\n".join(write_page(kept))
    assert "| S9 | `expected_value` | 1 | 0 | 0 | 0 |" in page
    assert "awm &#124; code" in page
    write_records(tmp_path / "packets.jsonl", kept.packets)
    assert read_records(tmp_path / "packets.jsonl", Shown) == kept.packets


def test_harder_scenarios_stand_beside_the_easy_ones(tmp_path: Path) -> None:
    easy, other, lost = (
        make_item("e", "easy", "clean"),
        make_item("e", "other", "clean"),
        make_item("e", "lost", "lost"),
    )
    child = replace(
        make_item("e", "child", "clean"), parent="easy", levers=("dependency",), calls=9
    )
    unplayed = replace(make_item("e", "unplayed", "clean"), parent="other", levers=("several",))
    items = [easy, other, child, unplayed, replace(lost, parent="easy")]
    attempts = [make_attempt("easy", "careful", "pass")] * 4
    attempts += [
        make_attempt("child", "careful", outcome) for outcome in ("pass", "fail", "fail", "error")
    ]
    attempts += [make_attempt("child", "hasty", "fail"), make_attempt("other", "careful", "pass")]
    (pair,) = pair_rates(items, attempts)
    assert (pair.harder.id, pair.policy, pair.easy_rate, pair.harder_rate) == (
        "child",
        "careful",
        1.0,
        1 / 3,
    )
    write_items(tmp_path / "again/items.jsonl", items)
    write_records(tmp_path / "again/ladder.jsonl", attempts)
    page = "\n".join(write_page(read_evidence(tmp_path)))
    assert "3 scenarios were planned to be harder" in page
    assert "2 were built, 2 are clean" in page
    assert "| careful | 1 | 1.00 | 0.33 | 1 | 1 |" in page
    assert "| dependency | 4, 9 | clean | 1.00, 0.33 |" in page
    assert "Made harder" not in "\n".join(write_page(Evidence(again=Evidence(items=[easy]))))


def test_our_own_page_and_the_readme_say_what_was_kept() -> None:
    for path, text in render():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name} is old: python -m tests.authors.publishing"
        )


def test_packets_survive_their_file(lake: Lake, items: list[Item], tmp_path: Path) -> None:
    packets = draw_packets(items, lake, KNOWN, 60)
    write_records(tmp_path / "drawn.jsonl", packets)
    assert read_records(tmp_path / "drawn.jsonl", Packet) == packets
    assert asyncio.iscoroutinefunction(read_packets)
