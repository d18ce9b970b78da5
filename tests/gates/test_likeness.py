"""Two ends of tables are the same up to policies and keys given on the way; a second opinion, which
shares nothing with the verifier."""

import copy
from typing import Any

import pytest

from envmill.gates.exploring.equivalence import is_exempt, is_same_end
from envmill.gates.s5 import tamper
from envmill.kinds.sql import derive_tables

SCHEMA = """
create table jobs (id integer primary key, title text, cost real, seen text);
create table steps (id integer primary key, job integer references jobs (id), what text);
"""
POLICIES: Any = {"jobs.title": "semantic", "jobs.cost": 0.5, "jobs.seen": "exempt"}
TABLES = derive_tables({"schema.sql": SCHEMA}, POLICIES)
START: Any = {"jobs": {"1": {"id": 1, "title": "Roof", "cost": 9.0, "seen": "a"}}, "steps": {}}


def make_end(key: int, first: int, title: str = "Wall", cost: float = 20.0, seen: str = "b") -> Any:
    end = copy.deepcopy(START)
    end["jobs"][str(key)] = {"id": key, "title": title, "cost": cost, "seen": seen}
    for number, what in enumerate(("brick", "paint")):
        end["steps"][str(first + number)] = {"id": first + number, "job": key, "what": what}
    return end


RIGHT = make_end(2, 1)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(make_end(7, 4, " WALL ", 20.2, "zzz"), True, id="other keys, within policies"),
        pytest.param(make_end(2, 1, "Walls"), False, id="another text"),
        pytest.param(make_end(2, 1, cost=22.0), False, id="another cost"),
        pytest.param(
            RIGHT | {"steps": {"1": RIGHT["steps"]["1"], "2": RIGHT["steps"]["2"] | {"job": 1}}},
            False,
            id="a step of another job",
        ),
        pytest.param(
            RIGHT | {"jobs": {**RIGHT["jobs"], "1": START["jobs"]["1"] | {"seen": "b"}}},
            False,
            id="exempt, in a row not touched",
        ),
        pytest.param(START, False, id="nothing done"),
    ],
)
def test_same_end(other: Any, same: bool) -> None:
    assert is_same_end(START, other, RIGHT, TABLES) is same
    assert is_same_end(START, RIGHT, other, TABLES) is same


def test_exempt_is_a_column_of_a_row() -> None:
    assert is_exempt(TABLES, ["jobs", "1", "seen"])
    assert not is_exempt(TABLES, ["jobs", "1", "title"])
    assert not is_exempt(TABLES, ["jobs", "1"])
    assert not is_exempt((), ["jobs", "1", "seen"])


def test_nobody_tampers_with_what_is_exempt_in_a_row_that_was_touched() -> None:
    end = START | {"jobs": {"1": START["jobs"]["1"] | {"title": "Wall", "cost": 1.0}}}
    assert [each.what for each in tamper(START, end)] == ["jobs.1.seen is another value"]
    assert [each.what for each in tamper(START, end, TABLES)] == []
    assert (
        next(each.what for each in tamper(START, START, TABLES)) == "jobs.1.seen is another value"
    )
