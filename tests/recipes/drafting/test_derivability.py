"""Each node of a graph is deleted in turn: what rests on it must not stand in the request, or in a
reply where an agent finds it."""

from typing import Any

import pytest

from envmill.recipes.drafting.derivability import REQUEST, Shortcut, find_shortcuts
from envmill.toolgraph.chain_player import Enacted
from schemas.base import Json
from schemas.chain import Chain, Filling
from schemas.environment import Call

ADA, BEN, ROOM, HALL = "gst_1a", "gst_2b", "room_3c", "room_4d"
KEYS = {
    ADA: "guests",
    BEN: "guests",
    ROOM: "rooms",
    HALL: "rooms",
    "bok_5e": "bookings",
    "bok_6f": "bookings",
}
SAID = {"kind": "user"}
GUESTS = [{"id": ADA, "name": "Ada Okafor"}, {"id": BEN, "name": "Ben Okafor"}]
BOOKINGS = [
    {"id": "bok_5e", "guest_id": ADA, "room_id": ROOM, "nights": 2, "price_cents": 9000},
    {"id": "bok_6f", "guest_id": BEN, "room_id": HALL, "nights": 2, "price_cents": 4000},
]


def take(node: str, path: str = "") -> Json:
    return {"kind": "node", "node": node, "path": path}


def step(id: str, tool: str, **arguments: Json) -> Json:
    return {"kind": "step", "id": id, "tool": tool, "arguments": arguments}


def choose(id: str, node: str, path: str = "[].id") -> Json:
    return {"kind": "reason", "id": id, "rule": "choose", "takes": [take(node, path)]}


def find(
    words: str,
    *played: tuple[Json, Json, Json],
    picks: dict[str, Any] | None = None,
    derived: dict[str, list[Json]] | None = None,
) -> list[Shortcut]:
    """`played`: each node with the arguments of its call and the reply; a reasoning node has what
    it gave as its reply."""
    nodes, steps, calls, replies, gave = [], [], [], [], dict[str, list[Json]]()
    for node, arguments, reply in played:
        nodes.append(node)
        if node["kind"] == "reason":
            gave[node["id"]] = [reply]
        elif node["kind"] == "step":
            steps.append(node["id"])
            calls.append(Call(name=node["tool"], arguments=arguments))
            replies.append(reply)
    filling = Filling.model_validate({"picks": picks or {}})
    enacted = Enacted(calls, steps, replies, {}, gave | (derived or {}))
    return find_shortcuts(
        Chain.model_validate({"sampler": "author", "nodes": nodes}), filling, enacted, words, KEYS
    )


ADAS_BOOKING = (
    (step("s1", "find_guests", query=SAID), {"query": "Okafor"}, GUESTS),
    (choose("r1", "s1"), None, ADA),
    (step("s2", "list_bookings", guest_id=take("r1")), {"guest_id": ADA}, BOOKINGS[:1]),
    (choose("r2", "s2"), None, "bok_5e"),
    (step("s3", "cancel_booking", booking_id=take("r2")), {"booking_id": "bok_5e"}, BOOKINGS[0]),
)
PICK = {"r1": {"path": "[].name", "equals": "Ada Okafor"}}


def test_a_graph_in_which_each_node_is_needed_has_no_shortcut() -> None:
    """One booking is listed: choosing it is part of the step before it."""
    assert find("Please cancel what Ada Okafor booked.", *ADAS_BOOKING, picks=PICK) == []


def test_another_reply_that_names_the_record_makes_the_look_up_superfluous() -> None:
    everybody = (step("s0", "list_guests"), {}, GUESTS)
    (found, *_) = find(
        "Please cancel what Ada Okafor booked.", everybody, *ADAS_BOOKING, picks=PICK
    )
    assert (found.node, found.taker, found.value, found.found) == (
        "s1",
        "r1",
        ADA,
        "the reply to s0 at `[].id`",
    )
    assert "without node s1, r1 can still be derived" in found.words


@pytest.mark.parametrize(
    ("reply", "is_found"),
    [
        pytest.param(BOOKINGS, False, id="rows that refer to it and name nobody"),
        pytest.param(
            [{**BOOKINGS[0], "guest": "Ada Okafor"}, BOOKINGS[1]],
            True,
            id="a row that refers to it and has its name",
        ),
        pytest.param(
            [{**BOOKINGS[0], "note": "Okafor party"}, BOOKINGS[1]],
            True,
            id="a row that holds what was asked",
        ),
        pytest.param(
            [{"id": ADA, "name": "A. O."}, {"id": BEN, "name": "B. O."}],
            False,
            id="records without a name that anybody said",
        ),
        pytest.param(
            [{"id": ADA, "name": "Okafor"}, {"id": BEN, "name": "Okafor"}],
            False,
            id="two records of one name",
        ),
        pytest.param([{"id": ADA, "name": "A. O."}], True, id="the only record"),
        pytest.param({"id": ADA}, True, id="the record itself"),
        pytest.param(
            {"id": "bok_5e", "guest_id": ADA, "note": "cancel"},
            False,
            id="a record that refers to it",
        ),
        pytest.param({"guests": [{"id": BEN, "name": "Ada Okafor"}]}, False, id="another record"),
    ],
)
def test_a_key_is_found_where_its_record_is_told_apart(reply: Json, is_found: bool) -> None:
    beside = (step("s0", "look_around"), {}, reply)
    found = find("Please cancel what Ada Okafor booked.", beside, *ADAS_BOOKING, picks=PICK)
    assert [one.node for one in found if one.node == "s1"] == (["s1"] if is_found else [])


def test_the_same_call_made_twice_is_needed_once() -> None:
    again = (step("s1b", "find_guests", query=SAID), {"query": "Okafor"}, GUESTS)
    assert [
        one.node for one in find("Cancel what Ada Okafor booked.", again, *ADAS_BOOKING, picks=PICK)
    ] == ["s1"]


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        ("Give Ben the room of Ada's booking.", False),
        ("Give Ben room M-104, which is Ada's.", True),
    ],
)
def test_what_the_request_says_nobody_has_to_look_up(words: str, is_found: bool) -> None:
    found = find(
        words,
        (
            step("s1", "get_booking", number=SAID),
            {"number": "B-7"},
            {"id": "bok_5e", "room": "M-104"},
        ),
        (step("s2", "book_room", room=take("s1", "room")), {"room": "M-104"}, {"id": "bok_6f"}),
    )
    assert [(one.node, one.found) for one in found] == ([("s1", REQUEST)] if is_found else [])


@pytest.mark.parametrize(
    ("reply", "words", "is_found"),
    [
        pytest.param(BOOKINGS, "Charge what the bookings cost.", False, id="nobody states it"),
        pytest.param(
            {"bookings": BOOKINGS, "sum_cents": 13000},
            "Charge what the bookings cost.",
            True,
            id="the reply states it",
        ),
        pytest.param(BOOKINGS, "Charge 13000 cents.", True, id="the request states it"),
        pytest.param(
            [*BOOKINGS, {"id": "bok_7a", "nights": 13000, "price_cents": 0}],
            "Charge the bookings.",
            False,
            id="a row by chance",
        ),
    ],
)
def test_a_number_that_somebody_states_need_not_be_worked_out(
    reply: Json, words: str, is_found: bool
) -> None:
    path = "bookings[].price_cents" if isinstance(reply, dict) else "[].price_cents"
    found = find(
        words,
        (step("s1", "list_bookings"), {}, reply),
        ({"kind": "reason", "id": "r1", "rule": "total", "takes": [take("s1", path)]}, None, 13000),
        (
            step("s2", "charge", amount_cents=take("r1")),
            {"amount_cents": 13000},
            {"charged": 13000},
        ),
    )
    assert bool(found) is is_found


def test_a_number_that_is_the_same_by_chance_gives_nothing_away() -> None:
    """Two nights are no two guests."""
    found = find(
        "Book as many beds as there are guests.",
        (
            step("s0", "get_booking", number=SAID),
            {"number": "B-7"},
            [{"id": "bok_5e", "nights": 2}, {"id": "bok_6f", "nights": 2}],
        ),
        (step("s1", "list_guests"), {}, GUESTS),
        ({"kind": "reason", "id": "r1", "rule": "count", "takes": [take("s1", "[].id")]}, None, 2),
        (step("s2", "book_beds", beds=take("r1")), {"beds": 2}, {"beds": 2}),
    )
    assert found == []


@pytest.mark.parametrize(
    ("beside", "is_found"),
    [({"name": "Ada Okafor", "floor": 3}, True), ({"name": "Ben Okafor", "floor": 3}, False)],
)
def test_a_value_is_found_under_its_name_beside_what_was_asked(
    beside: Json, is_found: bool
) -> None:
    found = find(
        "Put the cot on Ada Okafor's floor.",
        (step("s0", "list_floors"), {}, [beside, {"name": "Cy", "floor": 4}]),
        (step("s1", "get_floor", name=SAID), {"name": "Ada Okafor"}, {"floor": 3}),
        (step("s2", "place_cot", floor=take("s1", "floor")), {"floor": 3}, {"placed": True}),
    )
    assert [one.node for one in found] == (["s1"] if is_found else [])


def test_items_of_a_loop_rest_on_the_list_that_it_goes_over() -> None:
    loop = {
        "kind": "each", "id": "e1", "over": take("s1", "[]"),
        "body": [step("s2", "cancel_booking", booking_id={"kind": "item", "loop": "e1", "path": "[].id"})],
    }  # fmt: skip
    looked = (step("s1", "list_bookings"), {}, BOOKINGS)
    first, chain = (
        Chain.model_validate({"sampler": "author", "nodes": one})
        for one in ([step("s0", "list_all")], [looked[0], loop])
    )
    cancelled = [
        Call(name="cancel_booking", arguments={"booking_id": one["id"]}) for one in BOOKINGS
    ]
    calls = [Call(name="list_bookings", arguments={}), *cancelled]
    enacted = Enacted(calls, ["s1", "s2", "s2"], [BOOKINGS, *BOOKINGS], {})
    assert find_shortcuts(chain, Filling(), enacted, "Cancel all of it.", KEYS) == []
    again = chain.model_copy(update={"nodes": [*first.nodes, *chain.nodes]})
    rows = [
        {"id": one["id"], "number": number}
        for one, number in zip(BOOKINGS, ("B-7", "B-8"), strict=True)
    ]
    told = Enacted(
        [Call(name="list_all", arguments={}), *calls],
        ["s0", *enacted.steps],
        [rows, *enacted.replies],
        {},
    )
    found = find_shortcuts(again, Filling(), told, "Cancel B-7 and B-8.", KEYS)
    assert [(one.node, one.taker) for one in found] == [("s1", "s2")]
    assert find_shortcuts(again, Filling(), told, "Cancel B-7 and the other one.", KEYS) == [], (
        "one of the items is not told"
    )


@pytest.mark.parametrize("value", [None, True, "", []])
def test_what_tells_nothing_apart_is_no_shortcut(value: Json) -> None:
    found = find(
        "Set it as it was, true or not.",
        (step("s0", "get_flag"), {}, {"flag": value}),
        (step("s1", "get_flags", name=SAID), {"name": "x"}, {"flag": value}),
        (step("s2", "set_flag", flag=take("s1", "flag")), {"flag": value}, {}),
    )
    assert found == []
