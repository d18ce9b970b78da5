"""Rows whose ids are numbers: a reply that shows every column of one table tells whose they are."""

import pytest

from envmill.gates import ENVIRONMENT_GATES
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.gates.exploring.rows import list_placed
from envmill.sandbox import Sandbox
from schemas.database import Column, Table
from schemas.environment import Environment
from tests.samples.sql import load

GUESTS = Table(name="guests", key=["id"], columns=[Column(name="id"), Column(name="name")])
ROOMS = Table(name="rooms", key=["id"], columns=[Column(name="id"), Column(name="floor")])
TWINS = Table(name="visitors", key=["id"], columns=[Column(name="id"), Column(name="name")])


def test_a_number_is_an_id_where_one_table_has_these_columns() -> None:
    parts = [
        {
            "value": [
                {"id": 1, "name": "Ada", "nights": 2},
                {"id": 1, "floor": 3},
                {"id": 1},
                {"id": True, "name": "x"},
            ]
        }
    ]
    assert [(home, key) for home, key, _ in list_placed(parts, [GUESTS, ROOMS])] == [
        ("rooms", "1"),
        ("guests", "1"),
    ]


def test_of_two_tables_alike_nobody_knows_whose_it_is() -> None:
    assert list(list_placed([{"id": 1, "name": "Ada"}], [GUESTS, TWINS])) == []


def test_texts_are_ids_anywhere() -> None:
    assert [(home, key) for home, key, _ in list_placed([{"id": "g_1"}], [])] == [("", "g_1")]


LIES = {
    "W11": ("stale_answer", "set status = 'cancelled' where id = ?\", (booking_id,))\n        return "
"self._get(\"bookings\", booking_id)",
            "set status = 'cancelled' where id = ?\", (booking_id,))\n        return booking"),
    "W12": ("queries_disagree", "select id, name, email, tier, remark from guests",
            "select id, name, upper(email) as email, tier, remark from guests"),
}  # fmt: skip


@pytest.mark.parametrize("gate", LIES)
async def test_lies_about_numbered_rows_are_seen(jail: Sandbox, gate: str) -> None:
    reason, honest, lying = LIES[gate]
    folder = load("hotel")
    source = folder.environment.files["program.py"]
    assert honest in source
    files = {**folder.environment.files, "program.py": source.replace(honest, lying)}
    environment = Environment.model_validate(
        folder.environment.model_dump() | {"files": files, "id": ""}
    )
    built = EnvironmentCase(
        environment, folder.tests, tuple(one.initial_state for one in folder.scenarios)
    )
    finding = await next(one for one in ENVIRONMENT_GATES if one.name == gate).check(
        built, GateContext(jail)
    )
    assert (finding.outcome, finding.reason) == ("dropped", reason), finding.detail
