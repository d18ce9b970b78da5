"""Pieces of the studio's program that specimens replace."""

Swap = tuple[str, str]

TOP_CHECK = (
    '        if not 1 <= amount <= 100:\n            raise Rejection("amount_out_of_range", '
    'f"amount must be from 1 to 100, not {amount}.")\n'
)
TOP = '        member["balance"] += amount\n        return dict(member)'
BOOK = '        self.bookings[booking["id"]] = booking\n        return dict(booking)'
GET = 'return dict(self._find(self.bookings, booking_id, "booking"))'
BOOKINGS = (
    'return [dict(row) for row in self.bookings.values() if row["member_id"] == member["id"]]'
)
LIST = 'return [dict(row) for row in self.classes.values() if day is None or row["day"] == day]'
FOUND = 'found = [dict(row) for row in self.members.values() if wanted in row["name"].lower()]'
INIT = '        self.bookings = state["bookings"]'
CANCEL = '        booking["status"] = "cancelled"'
SEATS = '        course["free"] -= seats'
PAY = '        member["balance"] -= price'
