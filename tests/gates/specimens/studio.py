"""The studio: its program, a state, what its tools do, and the tests and oracle that go with it."""

from typing import Any

from schemas.environment import Call, Effect

PROGRAM = '''
from envmill.runtime import Rejection, new_id, now


class Studio:
    """A pottery studio: members book seats in classes and pay from an account."""

    def __init__(self, state: dict):
        self.members = state["members"]
        self.classes = state["classes"]
        self.bookings = state["bookings"]

    def _find(self, rows: dict, key: str, noun: str) -> dict:
        if key not in rows:
            raise Rejection(f"unknown_{noun}", f"There is no {noun} {key!r}; look it up first.")
        return rows[key]

    def find_members(self, query: str) -> list:
        """Find members whose name contains a text.

        Args:
            query: Name, or a part of it.
        """
        wanted = query.strip().lower()
        found = [dict(row) for row in self.members.values() if wanted in row["name"].lower()]
        if not wanted or not found:
            raise Rejection("no_member_found", f"No member matches {query!r}.")
        return found

    def list_classes(self, day: str | None = None) -> list:
        """List the classes of the week, or of one day.

        Args:
            day: Day of the week, such as Tuesday.
        """
        return [dict(row) for row in self.classes.values() if day is None or row["day"] == day]

    def get_booking(self, booking_id: str) -> dict:
        """Look up one booking.

        Args:
            booking_id: Id of the booking.
        """
        return dict(self._find(self.bookings, booking_id, "booking"))

    def list_bookings(self, member_id: str) -> list:
        """List all bookings of a member, cancelled ones included.

        Args:
            member_id: Id of the member.
        """
        member = self._find(self.members, member_id, "member")
        return [dict(row) for row in self.bookings.values() if row["member_id"] == member["id"]]

    def top_up(self, member_id: str, amount: int) -> dict:
        """Put money on a member's account.

        Args:
            member_id: Id of the member.
            amount: Whole euros. From 1 to 100.
        """
        member = self._find(self.members, member_id, "member")
        if not 1 <= amount <= 100:
            raise Rejection("amount_out_of_range", f"amount must be from 1 to 100, not {amount}.")
        member["balance"] += amount
        return dict(member)

    def book_seats(self, member_id: str, class_id: str, seats: int) -> dict:
        """Book seats in a class and take their price from the account.

        Args:
            member_id: Id of the member.
            class_id: Id of the class.
            seats: How many seats. From 1 to 4.
        """
        member = self._find(self.members, member_id, "member")
        course = self._find(self.classes, class_id, "class")
        if not 1 <= seats <= 4:
            raise Rejection("seats_out_of_range", f"seats must be from 1 to 4, not {seats}.")
        if member["status"] != "active":
            raise Rejection("member_suspended", f"{member['name']} is suspended and cannot book.")
        if seats > course["free"]:
            raise Rejection("class_full", f"{course['name']} has {course['free']} seats left.")
        price = seats * course["price"]
        if price > member["balance"]:
            raise Rejection("balance_too_low", f"{member['name']} has {member['balance']}, and this costs {price}.")
        course["free"] -= seats
        member["balance"] -= price
        booking = {
            "id": new_id("booking"),
            "member_id": member["id"],
            "class_id": course["id"],
            "seats": seats,
            "paid": price,
            "booked_on": now().date().isoformat(),
            "status": "booked",
        }
        self.bookings[booking["id"]] = booking
        return dict(booking)

    def cancel_booking(self, booking_id: str) -> dict:
        """Cancel a booking; its seats are free again, and its price goes back to the account.

        Args:
            booking_id: Id of the booking.
        """
        booking = self._find(self.bookings, booking_id, "booking")
        if booking["status"] != "booked":
            raise Rejection("not_booked", f"This booking is {booking['status']} already.")
        booking["status"] = "cancelled"
        self.classes[booking["class_id"]]["free"] += booking["seats"]
        self.members[booking["member_id"]]["balance"] += booking["paid"]
        return dict(booking)
'''

RULES = [
    "Only active members book.",
    "A class is never overbooked.",
    "Seats are paid from the account when they are booked.",
    "A booking is cancelled once, and then paid back.",
    "top_up: amount is a whole number from 1 to 100.",
    "book_seats: seats is a whole number from 1 to 4.",
]

EFFECTS: dict[str, Effect] = {
    "find_members": "query",
    "list_classes": "query",
    "get_booking": "query",
    "list_bookings": "query",
    "top_up": "change",
    "book_seats": "change",
    "cancel_booking": "change",
}

_MEMBERS = (
    ("M1", "Ada Kern", "active", 5),
    ("M2", "Bo Lind", "active", 60),
    ("M3", "Cleo Marsh", "suspended", 40),
    ("M4", "Ada Novak", "active", 0),
)
_CLASSES = (
    ("C1", "Wheel", "Tuesday", 4, 20),
    ("C2", "Glazing", "Tuesday", 1, 12),
    ("C3", "Hand building", "Friday", 6, 15),
    ("C4", "Raku", "Sunday", 0, 30),
)
_BOOKINGS = (
    ("B1", "M2", "C1", 2, 40, "booked"),
    ("B2", "M2", "C2", 1, 12, "cancelled"),
    ("B3", "M3", "C3", 1, 15, "booked"),
)

STATE: dict[str, Any] = {
    "members": {
        key: {"id": key, "name": name, "status": status, "balance": balance}
        for key, name, status, balance in _MEMBERS
    },
    "classes": {
        key: {"id": key, "name": name, "day": day, "free": free, "price": price}
        for key, name, day, free, price in _CLASSES
    },
    "bookings": {
        key: {
            "id": key,
            "member_id": who,
            "class_id": what,
            "seats": seats,
            "paid": paid,
            "booked_on": "2026-02-20",
            "status": status,
        }
        for key, who, what, seats, paid, status in _BOOKINGS
    },
}

PLANNED: list[tuple[str, dict[str, Any], str, list[tuple[str, dict[str, Any]]]]] = [
    ("find_members", {"query": "ada"}, "success", []),
    ("find_members", {"query": "Lind"}, "success", []),
    ("find_members", {"query": "zoe"}, "rejection", []),
    ("list_classes", {}, "success", []),
    ("list_classes", {"day": "Tuesday"}, "success", []),
    ("list_classes", {"day": 2}, "rejection", []),
    ("get_booking", {"booking_id": "B1"}, "success", []),
    ("get_booking", {"booking_id": "B2"}, "success", []),
    ("get_booking", {"booking_id": "B9"}, "rejection", []),
    ("list_bookings", {"member_id": "M2"}, "success", []),
    ("list_bookings", {"member_id": "M1"}, "success", []),
    ("list_bookings", {"member_id": "M9"}, "rejection", []),
    ("top_up", {"member_id": "M1", "amount": 20}, "success", []),
    ("top_up", {"member_id": "M1", "amount": 101}, "rejection", []),
    ("top_up", {"member_id": "M9", "amount": 20}, "rejection", []),
    ("book_seats", {"member_id": "M2", "class_id": "C1", "seats": 2}, "success", []),
    (
        "book_seats",
        {"member_id": "M1", "class_id": "C1", "seats": 1},
        "success",
        [("top_up", {"member_id": "M1", "amount": 20})],
    ),
    ("book_seats", {"member_id": "M1", "class_id": "C1", "seats": 1}, "rejection", []),
    ("book_seats", {"member_id": "M3", "class_id": "C1", "seats": 1}, "rejection", []),
    ("book_seats", {"member_id": "M2", "class_id": "C4", "seats": 1}, "rejection", []),
    ("book_seats", {"member_id": "M2", "class_id": "C1", "seats": 5}, "rejection", []),
    ("cancel_booking", {"booking_id": "B1"}, "success", []),
    ("cancel_booking", {"booking_id": "B2"}, "rejection", []),
    (
        "cancel_booking",
        {"booking_id": "B1"},
        "rejection",
        [("cancel_booking", {"booking_id": "B1"})],
    ),
]
"""Tool, arguments, what it should end in, and the calls made first."""

ORACLE = [
    Call(name="find_members", arguments={"query": "Ada Kern"}),
    Call(name="list_classes", arguments={"day": "Tuesday"}),
    Call(name="top_up", arguments={"member_id": "M1", "amount": 25}),
    Call(name="book_seats", arguments={"member_id": "M1", "class_id": "C1", "seats": 1}),
]


def end(booking_id: str, today: str) -> dict[str, Any]:
    """Where the oracle leads, when chance gives this id and the clock this day."""
    booking = {
        "id": booking_id,
        "member_id": "M1",
        "class_id": "C1",
        "seats": 1,
        "paid": 20,
        "booked_on": today,
        "status": "booked",
    }
    return {
        "members": STATE["members"] | {"M1": STATE["members"]["M1"] | {"balance": 10}},
        "classes": STATE["classes"] | {"C1": STATE["classes"]["C1"] | {"free": 3}},
        "bookings": STATE["bookings"] | {booking_id: booking},
    }
