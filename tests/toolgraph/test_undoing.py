"""Chains that only undo are not offered; honest ones that look like them are."""

from typing import Any

import pytest

from envmill.kinds import KINDS
from envmill.kinds.start import CLOCK
from envmill.sandbox import Program, Sandbox
from envmill.toolgraph.experience import Experience
from envmill.toolgraph.rehearsal import RehearsedChain, rehearse_chain
from envmill.toolgraph.undoing import PlayedCalls, judge_remainder
from schemas.chain import Chain, ChainStep, FromNode, FromUser
from schemas.environment import Call

SOURCE = '''
"""Visits to rooms."""

from typing import Any

from envmill.runtime import Rejection, new_id, now


class Rooms:
    def __init__(self, state: dict[str, Any]) -> None:
        self.rooms, self.visits, self.next_number = state["rooms"], state["visits"], state["next_number"]

    def book_visit(self, room_id: str) -> dict[str, Any]:
        """Book a visit to a free room.

        Args:
            room_id: The room.
        """
        if not self.rooms[room_id]["free"]:
            raise Rejection("taken", "The room is taken.")
        self.rooms[room_id].update(free=False, seen=str(now()))
        visit = {"id": new_id("vis"), "room_id": room_id, "number": self.next_number, "status": "booked", "note": ""}
        self.next_number += 1
        self.visits[visit["id"]] = visit
        return dict(visit)

    def delete_visit(self, visit_id: str) -> bool:
        """Delete a visit.

        Args:
            visit_id: The visit.
        """
        visit = self.visits.pop(visit_id)
        self.rooms[visit["room_id"]]["free"] = True
        return True

    def cancel_visit(self, visit_id: str) -> dict[str, Any]:
        """Cancel a visit.

        Args:
            visit_id: The visit.
        """
        visit = self.visits[visit_id]
        visit["status"] = "cancelled"
        self.rooms[visit["room_id"]]["free"] = True
        return dict(visit)

    def note_visit(self, visit_id: str, note: str) -> dict[str, Any]:
        """Write a note to a visit.

        Args:
            visit_id: The visit.
            note: The note.
        """
        self.visits[visit_id]["note"] = note
        return dict(self.visits[visit_id])

    def move_visit(self, visit_id: str, room_id: str) -> dict[str, Any]:
        """Move a visit to another room.

        Args:
            visit_id: The visit.
            room_id: The room.
        """
        self.rooms[self.visits[visit_id]["room_id"]]["free"] = True
        self.rooms[room_id]["free"] = False
        self.visits[visit_id]["room_id"] = room_id
        return dict(self.visits[visit_id])

    def get_visit(self, visit_id: str) -> dict[str, Any]:
        """A visit.

        Args:
            visit_id: The visit.
        """
        return dict(self.visits[visit_id])

    def count_rooms(self) -> int:
        """How many rooms there are."""
        return len(self.rooms)

    def lock_room(self, room_id: str) -> bool:
        """Lock a room.

        Args:
            room_id: The room.
        """
        if self.rooms[room_id]["locked"]:
            raise Rejection("locked", "It is locked.")
        self.rooms[room_id]["locked"] = True
        return True

    def unlock_room(self, room_id: str) -> bool:
        """Unlock a room.

        Args:
            room_id: The room.
        """
        if not self.rooms[room_id]["locked"]:
            raise Rejection("unlocked", "It is not locked.")
        self.rooms[room_id]["locked"] = False
        return True
'''
QUERIES = ("get_visit", "count_rooms")
CHANGES = (
    "book_visit",
    "delete_visit",
    "cancel_visit",
    "note_visit",
    "move_visit",
    "lock_room",
    "unlock_room",
)
EFFECTS: Any = dict.fromkeys(QUERIES, "query") | dict.fromkeys(CHANGES, "change")
PROGRAM = Program(
    {"program.py": SOURCE},
    "program:Rooms",
    KINDS["stateful"].derive_tools(SOURCE, "Rooms", EFFECTS),
)
STATE: dict[str, Any] = {
    "rooms": {
        "roo_a": {
            "id": "roo_a",
            "free": True,
            "seen": "2026-01-05T08:00:00+00:00",
            "locked": False,
        },
        "roo_b": {
            "id": "roo_b",
            "free": True,
            "seen": "2026-01-06T08:00:00+00:00",
            "locked": False,
        },
    },
    "visits": {},
    "next_number": 12,
}


def draw(*tools: str) -> Chain:
    """Steps s1, s2, …, of which all that take a visit take the one that s1 makes."""
    effects = {tool.name: tool.parameters["properties"] for tool in PROGRAM.tools}
    return Chain(
        sampler="author",
        nodes=[
            ChainStep(
                id=f"s{place}",
                tool=tool,
                arguments={
                    name: FromNode(node="s1", path="id") if name == "visit_id" else FromUser()
                    for name in effects[tool]
                },
            )
            for place, tool in enumerate(tools, 1)
        ],
    )


async def rehearse(
    jail: Sandbox, *tools: str, program: Program = PROGRAM
) -> RehearsedChain | tuple[str, str]:
    rooms = {
        "book_visit": "roo_a",
        "move_visit": "roo_b",
        "lock_room": "roo_a",
        "unlock_room": "roo_a",
    }
    said = {
        tool: [Call(name=tool, arguments={"room_id": room, "visit_id": "", "note": "Blue"})]
        for tool, room in rooms.items()
    }
    said["note_visit"] = [Call(name="note_visit", arguments={"visit_id": "", "note": "Blue"})]
    return await rehearse_chain(draw(*tools), program, Experience((STATE,), said), jail, "1")


@pytest.mark.parametrize(
    "tools",
    [
        pytest.param(("book_visit", "delete_visit"), id="made and deleted"),
        pytest.param(
            ("book_visit", "delete_visit", "lock_room"),
            id="made and deleted beside an honest change",
        ),
        pytest.param(("lock_room", "unlock_room"), id="there and back"),
        pytest.param(
            ("count_rooms", "lock_room", "unlock_room"), id="a look-up that tells nothing of it"
        ),
    ],
)
async def test_a_chain_that_only_undoes_is_no_offer(jail: Sandbox, tools: tuple[str, ...]) -> None:
    """Whatever is left is a number that was handed out and a time that moved."""
    found = await rehearse(jail, *tools)
    assert isinstance(found, tuple)
    assert found[0] == "undone"


@pytest.mark.parametrize(
    ("tools", "undoing"),
    [
        pytest.param(("book_visit",), "", id="made"),
        pytest.param(("book_visit", "note_visit"), "", id="made and noted"),
        pytest.param(("book_visit", "move_visit"), "", id="there and then elsewhere"),
        pytest.param(
            ("book_visit", "get_visit", "delete_visit"), "", id="what it tells can be asked for"
        ),
        pytest.param(("book_visit", "cancel_visit"), "s2", id="a record of it is left"),
    ],
)
async def test_an_honest_chain_is_an_offer(
    jail: Sandbox, tools: tuple[str, ...], undoing: str
) -> None:
    """A record that is left may be wanted, as of a trip that is over: such a chain is offered after
    all others."""
    found = await rehearse(jail, *tools)
    assert isinstance(found, RehearsedChain), found
    assert found.undoing == undoing


BEFORE: dict[str, Any] = {"stock": {"i": {"left": 0, "at": "2026-01-01"}}, "deliveries": {}}
AFTER: dict[str, Any] = {"stock": {"i": {"left": 10, "at": "2026-01-01"}}, "deliveries": {}}


@pytest.mark.parametrize(
    ("after", "left"),
    [
        pytest.param(BEFORE, "none", id="nothing is left"),
        pytest.param(AFTER, "all", id="ten more are left, though a record held a ten"),
        pytest.param(
            {"stock": {"i": {"left": 0, "at": CLOCK}}, "deliveries": {}}, "none", id="a time moved"
        ),
        pytest.param(
            {"stock": {"i": {"left": 0, "at": ""}}, "deliveries": {}},
            "all",
            id="a time was taken away",
        ),
    ],
)
def test_what_two_changes_leave_is_told_by_their_ends(after: dict[str, Any], left: str) -> None:
    made = AFTER | {"deliveries": {"d": {"id": "d", "count": 10}}}
    assert (
        judge_remainder(
            PlayedCalls([BEFORE, made, after], [1, 2]), PlayedCalls([BEFORE], []), 0, ()
        )
        == left
    )


def test_a_column_that_need_not_be_equal_leaves_nothing() -> None:
    moved = {"stock": {"i": {"left": 0, "at": "b"}}, "deliveries": {}}
    played = PlayedCalls([BEFORE, AFTER, moved], [1, 2])
    assert judge_remainder(played, PlayedCalls([BEFORE], []), 0, {("stock", "at")}) == "none"
    assert judge_remainder(played, PlayedCalls([BEFORE], []), 0, ()) == "all"
