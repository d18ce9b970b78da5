"""The blind sample: the counts on the page follow from what is stored, and no fewer are caught."""

import json
from dataclasses import replace

import pytest

from schemas.suspicion import SuspicionCase
from tests.real_authors.planted import TARGET, count_side, name_case, read_decisions, read_planted
from tests.real_authors.sampled import (
    Entry,
    Sampled,
    Tally,
    decide_sample,
    list_ambiguous,
    list_sample_lines,
    read_sampled,
    tally,
    tally_operators,
    weigh,
)
from tests.real_authors.shipping import Asked, choose, shorten
from tests.real_authors.test_cases import CASES

CAUGHT_TODAY = 0.88
"""Share of all planted faults, estimated from the sample, that some gate asks about and the judge
confirms. It only goes up."""
PLANTED = {
    name: count_side(listed, name, "planted", {}).texts
    for listed in [read_planted()]
    for name in listed
}
DECISIONS = decide_sample(read_decisions())


def test_each_question_has_two_answers() -> None:
    asked = {name for _, one in read_sampled() for name in (*one.noticed, *one.asked)}
    assert asked <= set(DECISIONS)


def test_no_fewer_are_caught() -> None:
    assert (
        weigh(tally_operators(read_sampled(), DECISIONS, list(PLANTED)), PLANTED)
        >= CAUGHT_TODAY
        > TARGET
    )


def test_the_reader_asks_about_no_honest_text() -> None:
    ambiguous = list_ambiguous()
    honest = [
        pair
        for pair in read_sampled()
        if pair[0].side != "planted" and not pair[0].spoilt and pair[0].source not in ambiguous
    ]
    assert sum(entry.side == "honest" for entry, _ in honest) > 50
    assert tally(honest, DECISIONS, lambda _: True) == Tally(len(honest), 0, 0, 0, 0)


def test_the_ambiguous_scenarios_are_found() -> None:
    found = {
        entry.source
        for entry, one in read_sampled()
        if entry.side == "recorded" and "confirmed" in map(DECISIONS.get, one.asked)
    }
    assert found == list_ambiguous()


def test_a_spoilt_look_alike_is_an_honest_one_with_a_reason() -> None:
    spoilt = [entry for entry, _ in read_sampled() if entry.spoilt]
    assert {(entry.side, entry.operator) for entry in spoilt} == {("honest", "a twin row")}
    page = "\n".join(list_sample_lines(read_decisions(), PLANTED, TARGET))
    assert all(
        f"{entry.source}, {entry.operator} {entry.place}: {entry.spoilt}" in page
        for entry in spoilt
    )


def test_a_text_is_counted_once_however_many_gates_ask() -> None:
    planted = Entry("planted", "an operator", "a source", 0)
    texts = [
        (planted, Sampled(["a"], ["b"])),
        (planted, Sampled([], ["c"])),
        (planted, Sampled(["c"], [])),
        (planted, Sampled([], [])),
        (replace(planted, side="honest"), Sampled([], ["a"])),
    ]
    found = tally_operators(
        texts, {"a": "confirmed", "b": "confirmed", "c": "unconfirmed"}, ["an operator"]
    )
    assert found == {"an operator": Tally(texts=4, noticed=2, asked=2, either=3, confirmed=1)}
    assert (
        weigh({**found, "other": Tally(1, 0, 0, 0, 0)}, {"an operator": 30, "other": 10})
        == 0.25 * 30 / 40
    )


def _find_case() -> SuspicionCase:
    return next(
        case
        for case in CASES
        if case.gate == "S16" and isinstance(case.item.rows, dict) and len(case.item.rows) > 1
    )


def test_what_a_reader_quotes_is_shipped_and_the_rest_is_cut() -> None:
    case = _find_case()
    assert isinstance(case.item.rows, dict)
    many = {
        f"spare_{n}": {"id": f"spare_{n}", "note": f"nothing of this is spoken of {n} " * 9}
        for n in range(40)
    }
    long = case.model_copy(
        update={"item": case.item.model_copy(update={"rows": {**case.item.rows, "spares": many}})}
    )
    short = shorten(long, ["spoken of 17"])
    assert isinstance(short.item.rows, dict)
    assert list(short.item.rows["spares"]) == ["spare_17"]
    assert "spares" not in json.dumps(shorten(long, []).item.rows)


@pytest.mark.parametrize(
    ("changed", "shipped"),
    [
        pytest.param({}, True, id="as it is"),
        pytest.param({"calibrates": False}, False, id="its truth is not known"),
        pytest.param({"answers": ("void", "yes")}, False, id="an answer is void"),
        pytest.param({"quotes": ("these words stand nowhere",)}, False, id="a quote is cut off"),
    ],
)
def test_a_case_is_shipped_whose_truth_and_answers_hold(
    changed: dict[str, object], shipped: bool
) -> None:
    case = _find_case()
    chosen = choose(
        [replace(Asked(case, True, ("no", "yes"), (case.item.request[:40],)), **changed)]
    )
    assert [case.reason for case, _ in chosen.values()] == [case.reason] * shipped
    assert set(chosen) == {name_case(case) for case, _ in chosen.values()}
