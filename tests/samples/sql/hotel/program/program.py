"""The front desk of a hotel: guests, bookings, bills and the work that departures leave."""

from datetime import date
from typing import Literal

from envmill.runtime import Rejection, now

LONGEST_STAY = 28
CENT = 0.005


class Hotel:
    """Everything stands in the tables; nothing is kept here."""

    def __init__(self, db):
        self._db = db

    def list_room_types(self) -> list:
        """List the kinds of room with their nightly rate and how many people they take."""
        return self._db.query("select code, name, nightly_rate, capacity from room_types order by code")

    def list_rooms(self, status: Literal["clean", "dirty", "out_of_order"] | None = None) -> list:
        """List the rooms of the house.

        Args:
            status: Only rooms in this state.
        """
        return self._db.query(
            "select number, type_code, floor, status from rooms where ? is null or status = ? order by number", (status, status)
        )

    def find_free_rooms(self, arrives: str, departs: str) -> list:
        """List the rooms that nobody has for a stay, those out of order left out.

        Args:
            arrives: Day of arrival, like 2026-03-05.
            departs: Day of departure, like 2026-03-07.
        """
        self._check_stay(arrives, departs)
        return self._db.query(
            "select r.number, r.type_code, t.nightly_rate, t.capacity from rooms r join room_types t on t.code = r.type_code"
            " where r.status <> 'out_of_order' and not exists (select 1 from bookings b where b.room_number = r.number"
            " and b.status in ('booked', 'in_house') and b.arrives < ? and b.departs > ?) order by r.number",
            (departs, arrives),
        )

    def find_guests(self, name: str) -> list:
        """Find guests by a part of their name.

        Args:
            name: Part of the name, in any letter case.
        """
        wanted = self._need_text("name", name).lower()
        return [
            row for row in self._db.query("select id, name, email, tier, remark from guests order by id") if wanted in row["name"].lower()
        ]

    def get_guest(self, guest_id: int) -> dict:
        """Look up one guest.

        Args:
            guest_id: Number of the guest.
        """
        return self._get("guests", guest_id)

    def list_bookings(self, guest_id: int | None = None) -> list:
        """List bookings, of one guest or of all.

        Args:
            guest_id: Only those of this guest.
        """
        if guest_id is not None:
            self._get("guests", guest_id)
        return self._db.query(
            "select id, guest_id, room_number, arrives, departs, status, wishes from bookings where ? is null or guest_id = ? order by id",
            (guest_id, guest_id),
        )

    def get_booking(self, booking_id: int) -> dict:
        """Look up one booking.

        Args:
            booking_id: Number of the booking.
        """
        return self._get("bookings", booking_id)

    def get_bill(self, booking_id: int) -> dict:
        """Tell what a booking costs: nights, charges, payments, and what is still open.

        Args:
            booking_id: Number of the booking.
        """
        booking = self._get("bookings", booking_id)
        charges = self._db.query("select id, label, amount from charges where booking_id = ? order by id", (booking_id,))
        payments = self._db.query("select id, amount, method from payments where booking_id = ? order by id", (booking_id,))
        return {
            "booking_id": booking_id,
            "nights": self._nights(booking),
            "charges": charges,
            "payments": payments,
            "open": self._open(booking),
        }

    def list_chores(self, room_number: str | None = None) -> list:
        """List the housekeeping that is still to be done.

        Args:
            room_number: Only that of this room.
        """
        if room_number is not None:
            self._get_room(room_number)
        return self._db.query(
            "select id, room_number, kind, due from chores where done = 0 and (? is null or room_number = ?) order by id",
            (room_number, room_number),
        )

    def register_guest(self, name: str, email: str) -> dict:
        """Add a new guest.

        Args:
            name: Full name.
            email: Address to write to; no two guests have the same.
        """
        name, email = self._need_text("name", name), self._need_text("email", email)
        if "@" not in email:
            raise Rejection("invalid_email", "An address has an @ in it.")
        if self._db.query("select 1 from guests where email = ?", (email,)):
            raise Rejection("known_email", "Somebody with this address is a guest already.")
        return self._db.query("insert into guests (name, email) values (?, ?) returning id, name, email, tier, remark", (name, email))[0]

    def book_room(self, guest_id: int, room_number: str, arrives: str, departs: str, wishes: str = "") -> dict:
        """Book a free room for a guest.

        Args:
            guest_id: Number of the guest.
            room_number: Number on the door.
            arrives: Day of arrival, like 2026-03-05; today at the earliest.
            departs: Day of departure, like 2026-03-07; a stay has at most 28 nights.
            wishes: What the guest would like, in words.
        """
        self._get("guests", guest_id)
        self._check_stay(arrives, departs)
        self._need_free(room_number, arrives, departs, None)
        return self._db.query(
            "insert into bookings (guest_id, room_number, arrives, departs, wishes) values (?, ?, ?, ?, ?)"
            " returning id, guest_id, room_number, arrives, departs, status, wishes, booked_at",
            (guest_id, room_number, arrives, departs, self._plain("wishes", wishes)),
        )[0]

    def move_booking(self, booking_id: int, room_number: str) -> dict:
        """Give a booking that has not begun another room.

        Args:
            booking_id: Number of the booking.
            room_number: Number of the other room.
        """
        booking = self._need_booked(booking_id)
        if booking["room_number"] == room_number:
            raise Rejection("same_room", "The booking has this room already.")
        self._need_free(room_number, booking["arrives"], booking["departs"], booking_id)
        self._db.execute("update bookings set room_number = ? where id = ?", (room_number, booking_id))
        return self._get("bookings", booking_id)

    def change_dates(self, booking_id: int, arrives: str, departs: str) -> dict:
        """Move a booking that has not begun to other days, in the same room.

        Args:
            booking_id: Number of the booking.
            arrives: New day of arrival, like 2026-03-05.
            departs: New day of departure, like 2026-03-07.
        """
        booking = self._need_booked(booking_id)
        self._check_stay(arrives, departs)
        if (booking["arrives"], booking["departs"]) == (arrives, departs):
            raise Rejection("same_days", "The booking has these days already.")
        self._need_free(booking["room_number"], arrives, departs, booking_id)
        self._db.execute("update bookings set arrives = ?, departs = ? where id = ?", (arrives, departs, booking_id))
        return self._get("bookings", booking_id)

    def cancel_booking(self, booking_id: int) -> dict:
        """Cancel a booking that has not begun; on the day of arrival only gold guests may.

        Args:
            booking_id: Number of the booking.
        """
        booking = self._need_booked(booking_id)
        if booking["arrives"] <= self._today() and self._get("guests", booking["guest_id"])["tier"] != "gold":
            raise Rejection("too_late", "On the day of arrival only gold guests may cancel.")
        self._db.execute("update bookings set status = 'cancelled' where id = ?", (booking_id,))
        return self._get("bookings", booking_id)

    def check_in(self, booking_id: int) -> dict:
        """Let a guest into the room, from the day of arrival on and when it is clean.

        Args:
            booking_id: Number of the booking.
        """
        booking = self._need_booked(booking_id)
        if booking["arrives"] > self._today():
            raise Rejection("too_early", f"The booking begins on {booking['arrives']}.")
        room = self._get_room(booking["room_number"])
        if room["status"] != "clean":
            raise Rejection("not_clean", f"Room {room['number']} is {room['status']}.")
        self._db.execute("update bookings set status = 'in_house' where id = ?", (booking_id,))
        return self._get("bookings", booking_id)

    def check_out(self, booking_id: int) -> dict:
        """Let a guest go whose bill is paid; the room is then to be cleaned.

        Args:
            booking_id: Number of the booking.
        """
        booking = self._get("bookings", booking_id)
        if booking["status"] != "in_house":
            raise Rejection("not_in_house", f"The booking is {booking['status']}.")
        if self._open(booking) > CENT:
            raise Rejection("not_paid", f"{self._open(booking):.2f} is still open.")
        self._db.execute("update bookings set status = 'departed' where id = ?", (booking_id,))
        return self._get("bookings", booking_id)

    def add_charge(self, booking_id: int, label: str, amount: float) -> dict:
        """Put something on the bill of a guest who is in the house.

        Args:
            booking_id: Number of the booking.
            label: What it is for.
            amount: What it costs, from 0.01 to 5000.
        """
        label = self._need_text("label", label)
        if self._get("bookings", booking_id)["status"] != "in_house":
            raise Rejection("not_in_house", "Only guests who are in the house are charged.")
        if not 0.01 <= amount <= 5000:
            raise Rejection("invalid_amount", "A charge is from 0.01 to 5000.")
        return self._db.query(
            "insert into charges (booking_id, label, amount) values (?, ?, ?) returning id, booking_id, label, amount, charged_at",
            (booking_id, label, round(amount, 2)),
        )[0]

    def record_payment(self, booking_id: int, amount: float, method: Literal["card", "cash", "transfer"]) -> dict:
        """Take a payment, of no more than what is still open.

        Args:
            booking_id: Number of the booking.
            amount: How much is paid, 0.01 or more.
            method: How it is paid.
        """
        booking = self._get("bookings", booking_id)
        if booking["status"] == "cancelled":
            raise Rejection("cancelled", "Nothing is paid for a booking that was cancelled.")
        if amount < 0.01 or amount > self._open(booking) + CENT:
            raise Rejection("invalid_amount", f"From 0.01 to {self._open(booking):.2f} can be paid.")
        return self._db.query(
            "insert into payments (booking_id, amount, method) values (?, ?, ?) returning id, booking_id, amount, method, paid_at",
            (booking_id, round(amount, 2), method),
        )[0]

    def finish_chore(self, chore_id: int) -> dict:
        """Mark housekeeping as done; when it was the room's last and the room was dirty, the room is clean.

        Args:
            chore_id: Number of the chore.
        """
        chore = self._get("chores", chore_id)
        if chore["done"]:
            raise Rejection("done", "This is done already.")
        self._db.execute("update chores set done = 1 where id = ?", (chore_id,))
        self._db.execute(
            "update rooms set status = 'clean' where number = ? and status = 'dirty'"
            " and not exists (select 1 from chores where room_number = rooms.number and done = 0)",
            (chore["room_number"],),
        )
        return self._get("chores", chore_id)

    def _get(self, table, key):
        found = self._db.query(f"select * from {table} where id = ?", (key,)) if abs(key) < 2**63 else []
        if not found:
            raise Rejection("unknown", f"There is no number {key} among the {table}.")
        return found[0]

    def _get_room(self, number):
        found = self._db.query("select * from rooms where number = ?", (number,))
        if not found:
            raise Rejection("unknown_room", f"There is no room {number!r}.")
        return found[0]

    def _need_booked(self, booking_id):
        booking = self._get("bookings", booking_id)
        if booking["status"] != "booked":
            raise Rejection("begun", f"The booking is {booking['status']}.")
        return booking

    def _need_free(self, number, arrives, departs, besides):
        if self._get_room(number)["status"] == "out_of_order":
            raise Rejection("out_of_order", f"Room {number} is out of order.")
        taken = self._db.query(
            "select id from bookings where room_number = ?"
            " and status in ('booked', 'in_house') and arrives < ? and departs > ? and id is not ?",
            (number, departs, arrives, besides),
        )
        if taken:
            raise Rejection("taken", f"Booking {taken[0]['id']} has room {number} then.")

    def _check_stay(self, arrives, departs):
        days = []
        for name, day in (("arrives", arrives), ("departs", departs)):
            try:
                days.append(date.fromisoformat(day))
            except ValueError:
                raise Rejection("invalid_date", f"{name} is no day like 2026-03-05.") from None
            if len(day) != 10:
                raise Rejection("invalid_date", f"{name} is no day like 2026-03-05.")
        if arrives < self._today():
            raise Rejection("past", "A stay cannot begin before today.")
        if not 1 <= (days[1] - days[0]).days <= LONGEST_STAY:
            raise Rejection("invalid_stay", f"A stay has 1 to {LONGEST_STAY} nights.")

    def _nights(self, booking):
        return (date.fromisoformat(booking["departs"]) - date.fromisoformat(booking["arrives"])).days

    def _open(self, booking):
        rate = self._db.query(
            "select nightly_rate from room_types join rooms on type_code = code where number = ?", (booking["room_number"],)
        )[0]["nightly_rate"]
        charged = self._db.query("select total(amount) as sum from charges where booking_id = ?", (booking["id"],))[0]["sum"]
        paid = self._db.query("select total(amount) as sum from payments where booking_id = ?", (booking["id"],))[0]["sum"]
        return round(self._nights(booking) * rate + charged - paid, 2)

    def _today(self):
        return now().date().isoformat()

    def _need_text(self, name, text):
        if not self._plain(name, text).strip():
            raise Rejection("empty", f"{name} is empty.")
        return text.strip()

    def _plain(self, name, text):
        if len(text) > 500 or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise Rejection("invalid_text", f"{name} is no text of at most 500 characters.")
        return text
