"""Rows of the first day agree with each other and with the rules that are told of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from offline.compose import compose_domain
from offline.dice import make_dice
from offline.domain import Domain, Rule, State
from offline.knowledge import load_domain
from offline.population import begin
from schemas.seed import Brief
from tests.offline.questions import THEMES

FAMILIES = {
    "winter wheat": "cereal", "barley": "cereal", "oats": "cereal", "sugar beet": "root", "potatoes": "root",
    "field beans": "legume", "peas": "legume",
}  # fmt: skip
Row = dict[str, Any]


def _seconded(row: Row, _: State, domain: Domain) -> bool:
    return (row["seconders"] >= domain.bounds["min_seconders"]) == (row["status"] == "standing")


def _may_read(row: Row, state: State, _: Domain) -> bool:
    lead = state["roles"][row["role_id"]]["kind"] == "lead"
    return not (lead and state["actors"][row["actor_id"]]["age"] == "young") and (
        row["score"] > 0
    ) == (row["status"] == "heard")


def _declared(row: Row, state: State, _: Domain) -> bool:
    return (
        row["status"] == "cancelled" or state["traders"][row["trader_id"]]["status"] == "registered"
    )


@pytest.mark.parametrize(
    ("theme", "collection", "agrees"),
    [
        pytest.param(
            "crop_planning",
            "crops",
            lambda row, *_: row["family"] == FAMILIES[row["name"]],
            id="peas are a legume",
        ),
        pytest.param(
            "court_calendars",
            "cases",
            lambda row, *_: row["branch"] == "civil" or row["claimant"] == "the Crown",
            id="the Crown",
        ),
        pytest.param(
            "beekeeping_cooperative",
            "hives",
            lambda row, *_: row["status"] != "empty" or row["honey"] == 0,
            id="empty hives",
        ),
        pytest.param("union_elections", "candidates", _seconded, id="who was seconded stands"),
        pytest.param("theatre_casting", "auditions", _may_read, id="leads are read by adults"),
        pytest.param(
            "car_park_permits",
            "holders",
            lambda row, *_: (row["kind"] == "firm") == ("Corner" in row["name"]),
            id="shops are firms",
        ),
        pytest.param(
            "customs_declarations", "declarations", _declared, id="suspended traders have no drafts"
        ),
    ],
)
def test_first_rows_agree_with_what_is_told(
    theme: str, collection: str, agrees: Callable[[Row, State, Domain], bool]
) -> None:
    for number in range(6):
        domain = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), 3)
        state = begin(domain, f"first/{number}", make_dice("first", number)).state
        assert [row for row in state[collection].values() if not agrees(row, state, domain)] == []


def test_a_complaint_is_about_a_translator_whom_the_order_keeps() -> None:
    """A translated order may go back and be taken away from its translator; a delivered one may not."""
    world = begin(load_domain("translation_orders"), "complaint", make_dice("complaint"))
    order, allowed = next(iter(world.state["orders"].values())), list[str]()
    for status in ("received", "in translation", "translated", "delivered"):
        order["status"] = status
        arguments = {"order_id": order["id"], "fault": "poor style"}
        if world.allows(world.domain.operations["file_complaint"], arguments):
            allowed.append(status)
    assert allowed == ["delivered"]


def test_rules_say_what_their_sums_come_to() -> None:
    domain = replace(load_domain("museum_loans"), limits={"max_term": (60,)})
    rule = Rule(
        that="",
        code="",
        says="",
        rule="It lasts {max_term + 15} days, or {2 * (max_term - 1) // 4}.",
    )
    assert domain.render_rule(rule) == "It lasts 75 days, or 29."
    with pytest.raises(SettingsError, match="cannot hold 'len"):
        domain.render_rule(replace(rule, rule="{len(max_term)}"))
