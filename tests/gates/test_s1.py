"""S1: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s1
from envmill.gates.base import Finding
from schemas.environment import Call
from tests.gates.cases import BOOK, FIND, LIST, TOP_UP, Case, answer, check, judge_cases
from tests.gates.specimens import pose, vary

NOBODY = Call(name="find_members", arguments={"query": "zoe"})

CASES = {
    "a write is refused": Case(pose(oracle=[FIND, LIST, TOP_UP, BOOK, BOOK]), "oracle_rejected"),
    "a tool that is not there": Case(
        pose(oracle=[FIND, TOP_UP, Call(name="pay"), BOOK]), "oracle_rejected"
    ),
    "a read finds nothing": Case(pose(oracle=[NOBODY, FIND, LIST, TOP_UP, BOOK]), "read_rejected"),
    "another end than asked for": Case(
        pose(
            oracle=[
                FIND,
                LIST,
                TOP_UP.model_copy(update={"arguments": {"member_id": "M1", "amount": 26}}),
                BOOK,
            ]
        ),
        "oracle_fails",
    ),
    "nothing is told": Case(answer(say=""), "oracle_fails"),
    "the program crashes": Case(
        pose(built=vary(('member["balance"] += amount', 'member["balance"] += amount / 0'))),
        "oracle_fails_to_run",
    ),
    "the state is not taken": Case(pose(initial_state={"members": {}}), "does_not_construct"),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "reads in another order": Case(pose(oracle=[LIST, FIND, TOP_UP, BOOK])),
    "a read too many": Case(pose(oracle=[FIND, LIST, Call(name="list_classes"), TOP_UP, BOOK])),
    "a read that is meant to find nothing": Case(
        pose(oracle=[NOBODY, FIND, LIST, TOP_UP, BOOK], features={"refused_reads": [0]})
    ),
    "an answer": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s1.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s1(name: str) -> None:
    check(find_all()[name], CASES[name])
