"""What a path takes to find: a child of each lever takes more than its parent, and a copy or a row
of repeats takes no more."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from envmill.toolgraph.hardness import (
    LEVERS,
    PathHardness,
    PlayedScenario,
    list_levers,
    measure_path,
)

Call = tuple[str, dict[str, Any], Any]
"""Tool, arguments, reply."""

MEMBERS: dict[str, Any] = {
    "m1": {
        "id": "m1",
        "name": "Lena Vogt",
        "street": "Mill Lane",
        "status": "active",
        "joined": "2020-01-03",
    },
    "m2": {
        "id": "m2",
        "name": "Lena Vogt",
        "street": "Ash Road",
        "status": "active",
        "joined": "2020-01-03",
    },
    "m3": {
        "id": "m3",
        "name": "Otto Berg",
        "street": "Elm Street",
        "status": "suspended",
        "joined": "2021-05-09",
    },
    "m4": {
        "id": "m4",
        "name": "Ines Roth",
        "street": "Oak Way",
        "status": "active",
        "joined": "2019-11-20",
    },
}
TOOLS: dict[str, Any] = {
    "t1": {"id": "t1", "name": "hammer drill", "state": "out"},
    "t2": {"id": "t2", "name": "long ladder", "state": "out"},
    "t3": {"id": "t3", "name": "chain saw", "state": "out"},
    "t4": {"id": "t4", "name": "belt sander", "state": "free"},
}
LOANS: dict[str, Any] = {
    "l1": {
        "id": "l1",
        "member_id": "m1",
        "tool_id": "t1",
        "out_on": "2026-02-01",
        "due": "2026-02-20",
    },
    "l2": {
        "id": "l2",
        "member_id": "m3",
        "tool_id": "t2",
        "out_on": "2026-01-11",
        "due": "2026-02-11",
    },
    "l3": {
        "id": "l3",
        "member_id": "m3",
        "tool_id": "t3",
        "out_on": "2026-02-21",
        "due": "2026-03-21",
    },
    "l4": {
        "id": "l4",
        "member_id": "m3",
        "tool_id": "t4",
        "out_on": "2026-01-12",
        "due": "2026-02-09",
    },
    "l5": {
        "id": "l5",
        "member_id": "m4",
        "tool_id": "t1",
        "out_on": "2026-02-03",
        "due": "2026-02-24",
    },
}
STATE: dict[str, Any] = {"members": MEMBERS, "tools": TOOLS, "loans": LOANS, "waits": {}}
CHANGERS = frozenset({"return_tool", "lend_tool", "note_wait"})


def play(
    words: str,
    *calls: Call,
    state: Mapping[str, Any] = STATE,
    told: Sequence[Any] = (),
    shunned: Sequence[Any] = (),
) -> PathHardness:
    made = [(name, arguments) for name, arguments, _ in calls]
    replies = [reply for _, _, reply in calls]
    return measure_path(PlayedScenario(state, state, words, made, replies, CHANGERS, shunned, told))


def find(name: str, *keys: str) -> Call:
    return "find_members", {"name": name}, [MEMBERS[key] for key in keys]


def loans(member: str, *keys: str) -> Call:
    return "list_loans", {"member_id": member}, [LOANS[key] for key in keys]


def bring(loan: str) -> Call:
    return "return_tool", {"loan_id": loan}, LOANS[loan] | {"back_on": "2026-03-02"}


PARENT = play(
    "This is Ines Roth. I brought the hammer drill back.",
    find("Ines Roth", "m4"),
    loans("m4", "l5"),
    bring("l5"),
)

WAITS = {"id": "w1", "tool_id": "t4", "member_id": "m4", "since": "2026-02-02"}
CHILDREN = {
    "dependency": play(
        "The belt sander is free again: lend it to the person who waits for it.",
        ("list_tools", {"name": "belt sander"}, [TOOLS["t4"]]),
        ("list_waits", {"tool_id": "t4"}, [WAITS]),
        ("get_member", {"member_id": "m4"}, MEMBERS["m4"]),
        ("lend_tool", {"tool_id": "t4", "member_id": "m4"}, {"id": "l9"}),
        state=STATE | {"waits": {"w1": WAITS}},
    ),
    "rule": play(
        "Otto Berg brings back the thing that he has had longest.",
        find("Otto Berg", "m3"),
        loans("m3", "l2", "l3", "l4"),
        bring("l2"),
    ),
    "near_misses": play(
        "This is Lena Vogt of Mill Lane. I brought the hammer drill back.",
        find("Lena Vogt", "m1", "m2"),
        loans("m1", "l1"),
        bring("l1"),
    ),
    "exception": play(
        "Please lend the belt sander to Otto Berg.",
        find("Otto Berg", "m3"),
        ("list_tools", {"name": "belt sander"}, [TOOLS["t4"]]),
        ("note_wait", {"member_id": "m3", "tool_id": "t4", "why": "suspended"}, {"id": "w7"}),
    ),
    "several": play(
        "Take back whatever Otto Berg has had for too long.",
        find("Otto Berg", "m3"),
        loans("m3", "l2", "l3", "l4"),
        bring("l2"),
        bring("l4"),
    ),
    "description": play(
        "The one who joined in May is here with what was lent out last.",
        ("list_members", {}, [*MEMBERS.values()]),
        loans("m3", "l2", "l3", "l4"),
        bring("l3"),
    ),
}


@pytest.mark.parametrize("lever", LEVERS)
def test_an_honest_child_of_each_lever_takes_more(lever: str) -> None:
    assert lever in list_levers(CHILDREN[lever], PARENT), CHILDREN[lever].describe()


@pytest.mark.parametrize("lever", LEVERS)
def test_no_child_takes_more_than_itself(lever: str) -> None:
    assert list_levers(CHILDREN[lever], CHILDREN[lever]) == []


def list_without_near(harder: PathHardness, easy: PathHardness) -> list[str]:
    """A larger state has more rows that are alike: this lever counts only where a line names it."""
    return [one for one in list_levers(harder, easy) if one != "near_misses"]


def _repeat(count: int, rows: int) -> PathHardness:
    """A person each, named with the tool of the one loan that is meant, out of as many as
    `rows`."""
    names = [
        f"Person {word}"
        for word in (
            "Abel",
            "Bibi",
            "Cato",
            "Dora",
            "Emil",
            "Fritz",
            "Gesa",
            "Hugo",
            "Ilse",
            "Jost",
        )
    ][:count]
    members = {
        f"p{n}": {"id": f"p{n}", "name": name, "street": f"Lane {n}", "status": "active"}
        for n, name in enumerate(names)
    }
    tools = {
        f"k{n}{k}": {"id": f"k{n}{k}", "name": f"{kind} of model {n}", "state": "out"}
        for n in range(count)
        for k, kind in enumerate("XYZ")
    }
    held = {
        f"o{n}{k}": {
            "id": f"o{n}{k}",
            "member_id": f"p{n}",
            "tool_id": f"k{n}{k}",
            "due": f"2026-02-1{k}",
        }
        for n in range(count)
        for k in range(rows)
    }
    state = {"members": members, "tools": tools, "loans": held}
    words = " ".join(f"{name} brings back the X of model {n}." for n, name in enumerate(names))
    calls = list[Call]()
    for n, name in enumerate(names):
        calls.append(("find_members", {"name": name}, [members[f"p{n}"]]))
        calls.append(
            ("list_loans", {"member_id": f"p{n}"}, [held[f"o{n}{k}"] for k in range(rows)])
        )
        calls.append(("return_tool", {"loan_id": f"o{n}0"}, held[f"o{n}0"]))
    return play(words, *calls, state=state)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 10])
def test_the_same_again_for_others_takes_no_more(count: int, rows: int) -> None:
    """Where the words name each record, and where each record has to be picked as the parent's
    has."""
    assert list_without_near(_repeat(count, rows), _repeat(1, rows)) == []
    assert list_without_near(_repeat(count, 1), PARENT) == []


def test_the_same_choice_for_ten_people_is_no_more_than_for_one() -> None:
    one = CHILDREN["rule"]
    again = play(
        "Otto Berg and Lena Vogt bring back what each has had longest.",
        find("Otto Berg", "m3"),
        loans("m3", "l2", "l3", "l4"),
        bring("l2"),
        find("Lena Vogt", "m1"),
        loans("m1", "l3", "l1"),
        bring("l1"),
    )
    assert list_without_near(again, one) == []


def test_a_look_up_that_shows_nothing_of_use_is_none() -> None:
    """Padding the parent's path with what nobody needs."""
    padded = play(
        "This is Ines Roth. I brought the hammer drill back.",
        ("list_holidays", {}, [{"day": "2026-03-01", "name": "carnival"}]),
        find("Ines Roth", "m4"),
        loans("m4", "l5"),
        ("count_tools", {}, {"count": 4}),
        bring("l5"),
    )
    assert list_levers(padded, PARENT) == []


def test_a_question_is_harder_where_its_answer_is_worked_out() -> None:
    rows = ("list_loans", {"member_id": "m3"}, [LOANS["l2"], LOANS["l3"], LOANS["l4"]])
    simple = play(
        "Since when has Otto Berg had the long ladder?",
        find("Otto Berg", "m3"),
        rows,
        told=["2026-01-11"],
    )
    counted = play(
        "How many days was Otto Berg late in all?", find("Otto Berg", "m3"), rows, told=[40]
    )
    assert {"rule", "several"} <= {*list_levers(counted, simple)}
    assert list_levers(simple, counted) != list_levers(counted, simple)


def test_a_refusal_is_harder_where_what_forbids_it_is_further_off() -> None:
    near = play(
        "Lend me the belt sander, I am Otto Berg.",
        find("Otto Berg", "m3"),
        shunned=[("lend_tool", {"member_id": "m3"})],
    )
    far = play(
        "Lend me the belt sander, I am Otto Berg.",
        find("Otto Berg", "m3"),
        ("get_household", {"member_id": "m3"}, {"id": "h1", "head": "m4"}),
        loans("m4", "l1"),
        shunned=[("lend_tool", {"member_id": "m3"})],
    )
    assert "dependency" in list_levers(far, near)
    assert list_levers(near, far) == []
