"""Operators on words: what is not named again, and what tells a record from its like."""

import pytest

from offline.dice import make_dice
from offline.domain import Domain, State
from offline.population import populate
from offline.rewording import OPERATORS, RewordingCase, answer_reword
from offline.wording import WantedChange
from schemas.environment import Call
from schemas.seed import Brief
from schemas.typed_prompts import Operator, RewordInput, RewordReply
from tests.offline.questions import compose

HIVES = compose("beekeeping_cooperative", 0)
STATE = populate(HIVES, "again").state
ONE, OTHER = list(STATE["hives"])[:2]
A, B = (f"hive {STATE['hives'][each]['tag']}" for each in (ONE, OTHER))


def reword(
    operator: Operator,
    request: str,
    wishes: list[WantedChange],
    domain: Domain = HIVES,
    state: State = STATE,
    opening: str = "",
) -> str:
    calls = [Call(name=wish.operation.name, arguments=wish.arguments) for wish in wishes]
    brief = Brief(theme=domain.theme, text=domain.text, number=0)
    asked = RewordInput(
        brief=brief, name="", rules=[], tools=[], number=0, polarity="achieve", operator=operator, method="", request=request,
        opening=opening, facts={}, hidden=[], goals=[], initial_state=state, oracle=calls,
    )  # fmt: skip
    told = OPERATORS[operator](RewordingCase(asked, domain, wishes, make_dice("reword")))
    return told.opening if opening else told.request


def wish_for(*hives: str) -> list[WantedChange]:
    return [
        WantedChange(HIVES.operations["harvest_hive"], {"hive_id": each, "kilos": 3})
        for each in hives
    ]


@pytest.mark.parametrize(
    ("request_", "hives", "told"),
    [
        pytest.param(
            f"Weigh {A}; move {B}; feed {B}.",
            [ONE, OTHER, OTHER],
            f"Weigh {A}; move {B}; feed that hive.",
            id="the last one named",
        ),
        pytest.param(
            f"Weigh {A}; move {B}; feed {A}.",
            [ONE, OTHER, ONE],
            f"Weigh {A}; move {B}; feed {A}.",
            id="another one in between",
        ),
        pytest.param(
            f"Weigh {A}. {A.capitalize()} is fed.",
            [ONE, ONE],
            f"Weigh {A}. {A.capitalize()} is fed.",
            id="spelled otherwise",
        ),
    ],
)
def test_only_what_was_named_last_of_its_kind_is_pointed_at(
    request_: str, hives: list[str], told: str
) -> None:
    assert reword("implicit_reference", request_, wish_for(*hives)) == told


def test_a_vague_word_in_the_opening_is_another_one() -> None:
    opening = f"Weigh {A}; move a hive; feed {A}."
    assert (
        reword("implicit_reference", f"Weigh {A}; feed {A}.", wish_for(ONE, ONE), opening=opening)
        == opening
    )


def test_a_record_among_others_of_its_owner_is_told_by_its_standing() -> None:
    """A gala has one seat that is ordered, and more that are not."""
    domain = compose("event_ticketing", 0)
    state = populate(domain, "gala").state
    (first, second, *_) = state["seats"]
    state["seats"] = {
        first: state["seats"][first] | {"status": "ordered"},
        second: state["seats"][second]
        | {"event_id": state["seats"][first]["event_id"], "status": "free"},
    }
    title, place = (
        state["events"][state["seats"][first]["event_id"]]["title"],
        state["seats"][first]["place"],
    )
    told = reword(
        "ambiguity",
        f"Pay seat {place} for {title}.",
        [WantedChange(domain.operations["pay_seat"], {"seat_id": first})],
        domain,
        state,
    )
    assert told == f"Pay the seat of {title} that is ordered."


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_wish_about_a_row_that_the_path_made_stays_in_its_words(operator: Operator) -> None:
    """A chain that was carried out stands as calls, and a row that it made as the id that it got
    then."""
    request = "Set up a hive and harvest it."
    asked = RewordInput(
        brief=Brief(theme=HIVES.theme, text=HIVES.text, number=0), name="", rules=[], tools=[], number=0, polarity="achieve",
        operator=operator, method="", request=request, opening="", facts={}, hidden=[], goals=[], initial_state=STATE,
        oracle=[Call(name=wish.operation.name, arguments=wish.arguments) for wish in wish_for("hive_made_then")],
    )  # fmt: skip
    told = answer_reword(asked.model_dump(mode="json"), HIVES, 0, 0)
    assert isinstance(told, RewordReply)
    assert told.request == request


def test_a_name_inside_the_name_of_another_thing_is_named_as_well() -> None:
    """`Ada Kern's trip` speaks of Ada Kern: `that driver` behind it is her."""
    domain = compose("fleet_maintenance", 6)
    state = populate(domain, "drivers").state
    one, other = list(state["drivers"])[:2]
    name, another = (state["drivers"][key]["name"] for key in (one, other))
    wishes = [
        WantedChange(domain.operations[each], {"driver_id": one})
        for each in ("grant_permit", "call_in_sick")
    ]
    apart = f"Enter the permit of {name}. Report {another}'s trip, and put {name} down as off sick."
    assert reword("implicit_reference", apart, wishes, domain, state) == apart
    near = f"Enter the permit of {name}. Report the trip, and put {name} down as off sick."
    assert reword("implicit_reference", near, wishes, domain, state) == near.replace(
        f"put {name}", "put that driver"
    )


def test_only_a_step_on_the_way_is_left_unsaid() -> None:
    """To start a job is part of finishing it; that a member was trained is said by nobody who asks
    for a tool."""
    fleet = compose("fleet_maintenance", 6)
    state = populate(fleet, "jobs").state
    key = next(key for key, row in state["jobs"].items() if row["status"] == "ordered")
    state["vehicles"][state["jobs"][key]["vehicle_id"]]["status"] = "parked"
    state["jobs"] = {key: state["jobs"][key]}
    steps = [
        WantedChange(fleet.operations[each], {"job_id": key})
        for each in ("start_job", "finish_job")
    ]
    told = reword("compression", LONG, steps, fleet, state)
    assert told.startswith("Finish ")
    assert "start" not in told
    lending = compose("tool_lending", 8)
    state = populate(lending, "trained").state
    member, tool = (next(iter(state[each])) for each in ("members", "tools"))
    state["members"][member] |= {"status": "active", "trained": "no", "balance": 0}
    state["tools"][tool] |= {"status": "available", "powered": "yes"}
    state |= {name: {} for name in ("loans", "holds") if name in state}
    trained = WantedChange(lending.operations["record_training"], {"member_id": member})
    lent = WantedChange(
        lending.operations["lend_tool"], {"member_id": member, "tool_id": tool, "days": 3}
    )
    told = reword("compression", LONG, [trained, lent], lending, state)
    assert "training" in told
    assert "3 days" in told


LONG = f"{'It is a long story, and I shall tell it from the beginning. ' * 5}Please see to it."
