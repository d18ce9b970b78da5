"""How often mapper and judge are right is counted on the shipped scenarios whose fairness is
known."""

from collections import Counter
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.gates.reading.calibrations import FAIRNESS, SHIPPED, read_cases
from envmill.gates.reading.fairness import (
    FairnessCount,
    count_outcomes,
    read_fairness_cases,
    try_fairness,
)
from envmill.gates.reading.mapping import (
    MOST,
    REST,
    ask_hint,
    ask_unasked,
    ask_unchecked,
    find_unfair,
    show_map,
)
from flows.opening import open_judge
from offline.opinions import map_request
from schemas.fairness import FairnessCase, FairnessFinding, FairnessOutcome
from tests.real_authors.corpus import ROOT
from tests.soak import count

CASES = read_fairness_cases(FAIRNESS)
HONEST = [case for case in CASES if not case.planted]


def test_there_are_enough_cases_of_several_domains() -> None:
    planted = Counter(case.planted for case in CASES if case.planted)
    assert planted["unasked"] >= 20
    assert planted["unchecked"] >= 20
    assert planted["two_readings"] + planted["shows_way"] >= 20
    assert min(planted["two_readings"], planted["shows_way"]) >= 7
    assert len(HONEST) >= 60
    assert len({case.source for case in CASES}) >= 20


def test_half_of_the_honest_ones_ask_for_the_same_in_other_words() -> None:
    by_source: dict[str, list[FairnessCase]] = {}
    for case in HONEST:
        by_source.setdefault(case.source, []).append(case)
    for one, other in by_source.values():
        assert one.demands == other.demands
        assert one.item.request != other.item.request


def test_a_planted_fault_is_the_only_difference_to_an_honest_case() -> None:
    requests = {case.item.request for case in HONEST}
    for case in CASES:
        if case.planted == "unasked":
            assert case.item.request in requests
            assert [one.text for one in case.demands if one != REST][-1] == case.truth
        elif case.planted in ("unchecked", "shows_way"):
            assert case.item.request.endswith(case.truth)
            assert case.item.request.removesuffix(case.truth).rstrip() in requests


@pytest.mark.parametrize("case", CASES[:: count(20, 1)], ids=lambda case: case.source)
def test_the_embedded_mapper_answers_every_case(case: FairnessCase) -> None:
    reply = map_request(show_map(case.item, case.date, case.demands))
    assert {one.id for one in reply.sources} <= {one.id for one in case.demands}
    assert all(one.words or one.question for one in find_unfair(reply, case.item, case.demands))


def make_outcome(planted: Any, *decided: tuple[Any, Any]) -> FairnessOutcome:
    findings = [
        FairnessFinding(reason=reason, question="?", decision=decision)
        for reason, decision in decided
    ]
    return FairnessOutcome(
        source="s", planted=planted, truth="", request="", reply=None, findings=findings
    )


def test_what_counts_is_what_the_judge_confirms() -> None:
    told = {
        one.what: one
        for one in count_outcomes(
            [
                make_outcome("unasked", ("unasked", "confirmed")),
                make_outcome("unasked", ("unchecked", "confirmed"), ("unasked", "unconfirmed")),
                make_outcome("unasked", ("unasked", "undecided")),
                make_outcome("unasked"),
                make_outcome("", ("unasked", "unconfirmed")),
                make_outcome("", ("shows_way", "confirmed")),
            ]
        )
    }
    assert (
        told["unasked"]
        == told["all planted"]._replace(what="unasked")
        == FairnessCount("unasked", 4, 3, 2, 1, 4)
    )
    assert told["honest"] == FairnessCount("honest", 2, 2, 1, 0, 2)


@pytest.mark.soak(area="trust")
@pytest.mark.asyncio
async def test_the_embedded_mapper_and_judge_are_counted(tmp_path: Any) -> None:
    """Plumbing: both compare words only. Every case is read, and faults are suspected more often
    than honest work."""
    async with open_judge("offline", Settings.read({"ENVMILL_HOME": str(tmp_path)})) as models:
        told = {one.what: one for one in count_outcomes(await try_fairness(CASES, models))}
    print(*told.values(), sep="\n")  # noqa: T201  make soak shows it
    planted, honest = told["all planted"], told["honest"]
    assert planted.unread == honest.unread == 0
    assert planted.named > 0
    assert planted.confirmed * honest.cases > honest.confirmed * planted.cases


def test_what_is_no_case_is_refused(tmp_path: Any) -> None:
    (tmp_path / "cases.jsonl").write_text("{}")
    with pytest.raises(SettingsError):
        read_fairness_cases(tmp_path / "cases.jsonl")


def test_the_shipped_questions_are_worded_as_the_gate_words_them() -> None:
    """A calibration holds for the question that is asked."""
    words = {
        "unasked": ask_unasked(""),
        "unchecked": ask_unchecked("w", []).partition("'w'")[2],
        "shows_way": ask_hint("w").partition("'w'")[2],
    }
    for case in read_cases(SHIPPED):
        assert words.get(case.reason, "") in case.question


def test_readers_find_what_is_unfair_and_leave_what_is_fair() -> None:
    """Maps and both readings of each question by other readers, recorded once. What a map shows is
    found anew."""
    found = {"planted": 0, "honest": 0}
    for case, read in zip(CASES, read_outcomes(), strict=True):
        assert (case.source, case.planted, case.item.request) == (
            read.source,
            read.planted,
            read.request,
        )
        decided = {one.question: one.decision for one in read.findings}
        shown = find_unfair(read.reply, case.item, case.demands)[:MOST] if read.reply else []
        found["planted" if case.planted else "honest"] += any(
            decided.get(one.question) == "confirmed" for one in shown
        )
    assert found["planted"] >= 0.8 * sum(bool(case.planted) for case in CASES)
    assert found["honest"] <= 0.05 * sum(not case.planted for case in CASES)


def read_outcomes() -> list[FairnessOutcome]:
    lines = (ROOT / "fairness_read.jsonl").read_text(encoding="utf-8").splitlines()
    return [FairnessOutcome.model_validate_json(line) for line in lines]
