"""An end state of tables is judged by each column's policy: what should defeat the verifier, and
what should not trouble it."""

import copy
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.sql import derive_tables
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from envmill.verifiers.pattern import fits
from envmill.verifiers.typed import derive_end, derive_typed
from schemas.rollout import Verdict
from schemas.scenario import Verifier

SCHEMA = """
create table people (id integer primary key, name text not null, note text, seen_at text);
create table invoices (id integer primary key, person_id integer references people (id), total real, memo text, made_at text);
create table lines (invoice_id integer references invoices (id), line integer, what text, primary key (invoice_id, line));
create table prices (sku text primary key, amount numeric, tag);
create table visits (id integer primary key, person_id integer references people (id), invoice_id integer references invoices (id));
"""
POLICIES: Any = {
    "people.seen_at": "exempt",
    "invoices.made_at": "exempt",
    "invoices.memo": "semantic",
    "invoices.total": 0.1,
}
TABLES = derive_tables({"schema.sql": SCHEMA}, POLICIES)
State = dict[str, dict[str, dict[str, Any]]]

START: State = {
    "people": {
        "1": {"id": 1, "name": "Ada", "note": None, "seen_at": "a"},
        "2": {"id": 2, "name": "Bo", "note": "late", "seen_at": "a"},
    },
    "invoices": {"4": {"id": 4, "person_id": 2, "total": 9.5, "memo": "Old one", "made_at": "a"}},
    "lines": {"[4,1]": {"invoice_id": 4, "line": 1, "what": "tea"}},
    "prices": {
        "TEA": {"sku": "TEA", "amount": 2, "tag": 1},
        "PIE": {"sku": "PIE", "amount": 4.5, "tag": "x"},
    },
    "visits": {
        "1": {"id": 1, "person_id": 1, "invoice_id": None},
        "2": {"id": 2, "person_id": 2, "invoice_id": None},
    },
}


def change(state: State, **tables: dict[str, Any]) -> State:
    """Rows by key: None takes one away, a whole row with all its columns adds it, some columns
    change it."""
    end = copy.deepcopy(state)
    for table, rows in tables.items():
        for key, row in rows.items():
            if row is None:
                del end[table][key]
            else:
                end[table][key] = end[table].get(key, {}) | row
    return end


def invoice(
    key: int, person: Any = 1, total: Any = 30.0, memo: Any = "Two pies", made_at: Any = "b"
) -> dict[str, Any]:
    return {"id": key, "person_id": person, "total": total, "memo": memo, "made_at": made_at}


def line(key: Any, number: int = 1, what: str = "pie") -> dict[str, Any]:
    return {"invoice_id": key, "line": number, "what": what}


def expect(*ends: State) -> Verifier:
    """The verifier of an oracle that ended in the first, and under another seed and clock in the
    last."""
    return derive_typed(TABLES, START, diff_states(START, ends[0]), diff_states(START, ends[-1]))


def ask(verifier: Verifier, end: State) -> Verdict:
    return judge(verifier, Ending(START, end))


BILLED = change(
    START,
    invoices={"5": invoice(5)},
    lines={"[5,1]": line(5), "[5,2]": line(5, 2, "cream")},
    people={"1": {"note": "pays late", "seen_at": "b"}},
    prices={"PIE": {"amount": 5}},
    visits={"1": {"invoice_id": 5}, "2": None},
)
BILL = expect(BILLED)


def test_the_oracle_passes_and_doing_nothing_earns_nothing() -> None:
    assert ask(BILL, BILLED).outcome == "pass"
    assert ask(BILL, START).reward == 0.0


RENUMBERED = change(
    START,
    invoices={"9": invoice(9, made_at="zzz", memo=" TWO   pies ", total=30.1)},
    lines={"[9,2]": line(9, 2, "cream"), "[9,1]": line(9)},
    people={"1": {"note": "pays late", "seen_at": None}},
    prices={"PIE": {"amount": 5.0}},
    visits={"1": {"invoice_id": 9}, "2": None},
)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(RENUMBERED, id="other keys, another order, within every policy"),
        pytest.param(
            change(BILLED, people={"1": {"seen_at": "a"}}),
            id="an exempt column of a row that was to be changed, untouched",
        ),
        pytest.param(change(BILLED, invoices={"5": {"made_at": None}}), id="exempt takes NULL"),
        pytest.param(
            change(BILLED, invoices={"5": {"total": 29.9}}),
            id="just within the tolerance, as decimals",
        ),
        pytest.param(change(BILLED, prices={"PIE": {"amount": 5.0}}), id="5.0 is 5"),
        pytest.param(
            change(change(BILLED, prices={"TEA": None}), prices={"TEA": START["prices"]["TEA"]}),
            id="deleted and put back",
        ),
    ],
)
def test_right_ends_pass(end: State) -> None:
    verdict = ask(BILL, end)
    assert verdict.outcome == "pass", verdict.evidence


@pytest.mark.parametrize(
    ("end", "component"),
    [
        pytest.param(change(BILLED, invoices={"6": invoice(6)}), "frame", id="the new row twice"),
        pytest.param(change(BILLED, lines={"[5,3]": line(5, 3)}), "frame", id="a new row too many"),
        pytest.param(
            change(BILLED, invoices={"4": invoice(4), "5": START["invoices"]["4"] | {"id": 5}}),
            "frame",
            id="the new row under an old row's key",
        ),
        pytest.param(change(BILLED, people={"1": {"note": None}, "2": {"note": "pays late"}}), "frame", id="values of two rows swapped"),
        pytest.param(change(BILLED, people={"1": {"note": None}}), "goals", id="NULL where a text is wanted"),
        pytest.param(change(BILLED, people={"1": {"note": ""}}), "goals", id="nothing written is not the text"),
        pytest.param(change(BILLED, people={"1": {"note": "Pays late"}}), "goals", id="hard: another letter case"),
        pytest.param(change(BILLED, people={"1": {"note": "pays late "}}), "goals", id="hard: a trailing blank"),
        pytest.param(change(BILLED, prices={"PIE": {"amount": "5"}}), "goals", id="'5' is not 5"),
        pytest.param(change(BILLED, prices={"PIE": {"amount": True}}), "goals", id="true is not 5"),
        pytest.param(change(BILLED, prices={"TEA": {"tag": "1"}}), "frame", id="'1' for 1 in a row nobody named"),
        pytest.param(change(BILLED, invoices={"5": {"total": 30.11}}), "goals", id="just beyond the tolerance"),
        pytest.param(change(BILLED, invoices={"5": {"total": "30.0"}}), "goals", id="a text is near no number"),
        pytest.param(change(BILLED, invoices={"5": {"total": None}}), "goals", id="NULL is near no number"),
        pytest.param(change(BILLED, invoices={"5": {"memo": "Two pies, and more"}}), "goals", id="semantic: more words"),
        pytest.param(change(BILLED, invoices={"5": {"memo": None}}), "goals", id="semantic: NULL"),
        pytest.param(change(BILLED, invoices={"5": {"person_id": 2}}), "goals", id="the new row refers to somebody else"),
        pytest.param(change(BILLED, visits={"1": {"invoice_id": 4}}), "goals", id="a reference to an old row instead of the new one"),
        pytest.param(change(BILLED, visits={"1": {"invoice_id": "5"}}, lines={"[5,1]": None}), "goals", id="a child row missing"),
        pytest.param(
            change(BILLED, lines={"[5,1]": None, "[5,2]": None, "[4,2]": line(4, 2), "[4,3]": line(4, 3, "cream")}),
            "frame",
            id="child rows under another parent",
        ),
        pytest.param(change(BILLED, lines={"[4,1]": {"what": "coffee"}}), "frame", id="damage in another table"),
        pytest.param(change(BILLED, people={"2": {"seen_at": "smuggled"}}), "frame", id="an exempt column of a row nobody was to touch"),
        pytest.param(change(BILLED, invoices={"4": {"made_at": "smuggled"}}), "frame", id="an exempt column beside a new row"),
        pytest.param(change(BILLED, invoices={"5": {"memo": "x", "made_at": "Two pies"}}), "goals", id="the wish in an exempt column"),
        pytest.param(
            change(BILLED, people={"2": None, "3": START["people"]["2"] | {"id": 3}}),
            "frame",
            id="deleted and put in again under another key",
        ),
        pytest.param(change(BILLED, visits={"2": START["visits"]["2"]}), "goals", id="what was to go is still there"),
        pytest.param({name: rows for name, rows in BILLED.items() if name != "visits"}, "frame", id="a whole table gone"),
    ],
)  # fmt: skip
def test_wrong_ends_fail(end: State, component: str) -> None:
    verdict = ask(BILL, end)
    assert (verdict.outcome, verdict.reward) == ("fail", 0.0)
    assert component in {one["component"] for one in verdict.evidence}, verdict.evidence


ALIKE = change(
    START,
    invoices={"5": invoice(5), "6": invoice(6)},
    visits={"1": {"invoice_id": 5}, "2": {"invoice_id": 6}},
)


def test_rows_that_are_alike_are_told_apart_by_who_refers_to_them() -> None:
    verifier = expect(ALIKE)
    crossed = change(ALIKE, visits={"1": {"invoice_id": 6}, "2": {"invoice_id": 5}})
    shared = change(ALIKE, visits={"2": {"invoice_id": 5}})
    assert ask(verifier, crossed).outcome == "pass"
    assert ask(verifier, shared).outcome == "fail"
    assert (
        ask(
            verifier,
            change(
                START,
                invoices={"5": invoice(5)},
                visits={"1": {"invoice_id": 5}, "2": {"invoice_id": 5}},
            ),
        ).outcome
        == "fail"
    )
    assert (
        ask(
            verifier, change(ALIKE, invoices={"6": None}, visits={"2": {"invoice_id": None}})
        ).reward
        == 0.0
    )


def test_partial_pays_what_was_reached_unless_anything_else_was_touched() -> None:
    partial = BILL.model_copy(update={"partial": True})
    half = change(BILLED, people={"1": {"note": None}}, visits={"2": START["visits"]["2"]})
    assert 0.0 < (ask(partial, half).reward or 0.0) < 1.0
    assert ask(partial, change(half, prices={"TEA": {"amount": 3}})).reward == 0.0
    assert ask(partial, START).reward == 0.0


def test_what_chance_decides_in_a_hard_column_is_any_value_of_its_type() -> None:
    verifier = expect(
        change(START, invoices={"5": invoice(5, memo="ref 11")}),
        change(START, invoices={"5": invoice(5, memo="ref 87")}),
    )
    assert ask(verifier, change(START, invoices={"8": invoice(8, memo="ref 3")})).outcome == "pass"
    assert ask(verifier, change(START, invoices={"8": invoice(8, memo=None)})).outcome == "fail"


def test_keys_drawn_by_chance_are_laid_beside_each_other() -> None:
    tables = derive_tables(
        {
            "schema.sql": "create table a (id text primary key, of text); create table b (k text primary "
            "key, a text references a (id));"
        },
        {"a.id": "exempt"},
    )
    start: Any = {"a": {}, "b": {"k": {"k": "k", "a": None}}}
    ours: Any = {"a": {"a_1f": {"id": "a_1f", "of": "x"}}, "b": {"k": {"k": "k", "a": "a_1f"}}}
    theirs: Any = {"a": {"a_77": {"id": "a_77", "of": "x"}}, "b": {"k": {"k": "k", "a": "a_77"}}}
    other: Any = {"a": {"a_00": {"id": "a_00", "of": "x"}}, "b": {"k": {"k": "k", "a": "a_00"}}}
    verifier = derive_end(tables, start, diff_states(start, ours), diff_states(start, theirs))
    assert judge(verifier, Ending(start, other)).outcome == "pass"
    other["b"]["k"]["a"] = "a_1f"
    assert judge(verifier, Ending(start, other)).outcome == "fail"


@pytest.mark.parametrize(
    "hole",
    [
        {"$near": 5},
        {"$near": [5]},
        {"$near": ["5", 1]},
        {"$near": [5, None]},
        {"$text": 5},
        {"$any": "float"},
    ],
)
def test_a_hole_that_is_written_wrongly_is_filled_by_nothing(hole: Any) -> None:
    for value in (5, 5.0, "5", None):
        assert not fits(value, hole, {})


def test_where_state_is_json_nothing_is_typed() -> None:
    start, end = {"a": {"1": {"x": 1}}}, {"a": {"1": {"x": 2}}}
    assert derive_end((), start, diff_states(start, end), diff_states(start, end)).frame == [
        ["a", "1", "x"]
    ]


@pytest.mark.parametrize(
    ("start", "said"),
    [
        pytest.param(
            {name: rows for name, rows in START.items() if name != "lines"},
            "must name every table",
            id="a table left out",
        ),
        pytest.param(START | {"more": {}}, "must name every table", id="a table too many"),
        pytest.param(
            START | {"people": {"1": {"id": 1, "name": "Ada"}}},
            "all its columns",
            id="columns left out",
        ),
    ],
)
def test_a_start_that_is_no_state_of_the_schema_is_refused(start: State, said: str) -> None:
    with pytest.raises(BuildError, match=said):
        derive_typed(TABLES, start, diff_states(start, BILLED), diff_states(start, BILLED))
