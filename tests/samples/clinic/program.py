"""A clinic's appointment book: slots, bookings that must be confirmed, referrals, reminders, fees for not showing up."""

from datetime import datetime, timedelta
from typing import Literal

from envmill.runtime import Rejection, actors, new_id, notify, now

HOLD = timedelta(hours=2)
"""How long an unconfirmed booking keeps its slot."""
NOTICE = timedelta(hours=24)
"""A later cancellation costs a fee."""
FEE = 40


class Clinic:
    """Appointments of patients with practitioners."""

    def __init__(self, state: dict):
        self.patients = state["patients"]
        self.practitioners = state["practitioners"]
        self.slots = state["slots"]
        self.bookings = state["bookings"]
        self.referrals = state["referrals"]
        self.fees = state["fees"]

    @actors("agent", "user")
    def list_practitioners(self, speciality: str | None = None) -> list:
        """List the practitioners of the clinic.

        Args:
            speciality: Only those of this speciality.
        """
        return [dict(row, id=key) for key, row in sorted(self.practitioners.items()) if speciality in (None, row["speciality"])]

    @actors("agent", "user")
    def find_slots(self, practitioner_id: str, on: str | None = None) -> list:
        """Find the free slots of a practitioner that are still to come.

        Args:
            practitioner_id: Whose slots.
            on: Only this day, as YYYY-MM-DD.
        """
        self._get("practitioners", practitioner_id)
        if on is not None:
            self._read_day(on)
        free = [(key, row) for key, row in sorted(self.slots.items()) if row["practitioner"] == practitioner_id and row["booking"] is None]
        return [
            {"id": key, "start": row["start"]} for key, row in free if self._at(row["start"]) > now() and row["start"].startswith(on or "")
        ]

    def get_patient(self, patient_id: str) -> dict:
        """Look up a patient, with what they owe.

        Args:
            patient_id: Number of the patient.
        """
        return dict(self._get("patients", patient_id), owes=self._owed(patient_id))

    def search_patients(self, name: str) -> list:
        """Search patients by a part of their name.

        Args:
            name: Part of the name, in any case.
        """
        if len(name.strip()) < 2:
            raise Rejection("too_short", "Give at least two letters of the name.")
        return [{"id": key, "name": row["name"]} for key, row in sorted(self.patients.items()) if name.lower() in row["name"].lower()]

    def register_patient(self, name: str, born: str, phone: str) -> dict:
        """Register a new patient.

        Args:
            name: Full name.
            born: Date of birth, as YYYY-MM-DD.
            phone: Telephone number.
        """
        if self._read_day(born) > now():
            raise Rejection("not_born", "The date of birth lies in the future.")
        if any((row["name"].lower(), row["born"]) == (name.lower(), born) for row in self.patients.values()):
            raise Rejection("known_patient", "A patient of this name and date of birth is registered already.")
        key = new_id("pat")
        self.patients[key] = {"name": name, "born": born, "phone": phone, "blocked": False}
        return {"id": key}

    def change_phone(self, patient_id: str, phone: str) -> dict:
        """Change the telephone number of a patient.

        Args:
            patient_id: Number of the patient.
            phone: The new number: digits, spaces, an optional plus.
        """
        patient = self._get("patients", patient_id)
        if len(phone.strip("+").replace(" ", "")) < 6 or not phone.strip("+").replace(" ", "").isdigit():
            raise Rejection("bad_phone", "A telephone number has at least six digits.")
        patient["phone"] = phone
        return {"id": patient_id, "phone": phone}

    @actors("agent", "user")
    def book(self, patient_id: str, slot_id: str, reason: str, referral_id: str | None = None) -> dict:
        """Book a free slot. Until it is confirmed the booking holds the slot for two hours.

        Args:
            patient_id: Number of the patient.
            slot_id: The slot.
            reason: Why the patient comes.
            referral_id: Needed for specialists.
        """
        patient, slot = self._get("patients", patient_id), self._get("slots", slot_id)
        practitioner = self.practitioners[slot["practitioner"]]
        if patient["blocked"]:
            raise Rejection("blocked", "This patient is blocked until all fees are paid.")
        if slot["booking"] is not None or self._at(slot["start"]) <= now():
            raise Rejection("not_free", "This slot is taken or past.")
        if any(
            row["patient"] == patient_id and self.slots[row["slot"]]["start"] == slot["start"] for row in self._open_bookings().values()
        ):
            raise Rejection("overlap", "The patient has another appointment at that time.")
        if practitioner["speciality"] != "general":
            self._use_referral(referral_id, patient_id, practitioner["speciality"])
        key = new_id("bkg")
        until = (now() + HOLD).isoformat()
        self.bookings[key] = {
            "patient": patient_id,
            "slot": slot_id,
            "reason": reason,
            "status": "held",
            "until": until,
            "referral": referral_id,
        }
        slot["booking"] = key
        return {"id": key, "confirm_until": until}

    @actors("agent", "user")
    def confirm_booking(self, booking_id: str) -> dict:
        """Confirm a held booking.

        Args:
            booking_id: The booking.
        """
        booking = self._get("bookings", booking_id)
        if booking["status"] != "held":
            raise Rejection("not_held", f"This booking is {booking['status']}.")
        booking["status"] = "confirmed"
        booking["until"] = None
        start = self._at(self.slots[booking["slot"]]["start"])
        notify("user", f"Your appointment {booking_id} is tomorrow at {start:%H:%M}.", start - timedelta(days=1))
        return {"id": booking_id, "status": "confirmed"}

    @actors("agent", "user")
    def cancel_booking(self, booking_id: str) -> dict:
        """Cancel a booking. Less than a day before the appointment it costs a fee.

        Args:
            booking_id: The booking.
        """
        booking = self._open(booking_id)
        late = booking["status"] == "confirmed" and self._at(self.slots[booking["slot"]]["start"]) - now() < NOTICE
        self._free(booking, "cancelled")
        fee = self._charge(booking["patient"], booking_id, "late cancellation") if late else None
        return {"id": booking_id, "status": "cancelled", "fee": fee}

    def move_booking(self, booking_id: str, slot_id: str) -> dict:
        """Move a booking to another free slot of the same practitioner.

        Args:
            booking_id: The booking.
            slot_id: The new slot.
        """
        booking, slot = self._open(booking_id), self._get("slots", slot_id)
        if slot["practitioner"] != self.slots[booking["slot"]]["practitioner"]:
            raise Rejection("other_practitioner", "Cancel and book again to change the practitioner.")
        if slot["booking"] is not None or self._at(slot["start"]) <= now():
            raise Rejection("not_free", "This slot is taken or past.")
        self.slots[booking["slot"]]["booking"] = None
        booking["slot"], slot["booking"] = slot_id, booking_id
        return {"id": booking_id, "start": slot["start"]}

    def list_bookings(
        self, patient_id: str, status: Literal["held", "confirmed", "cancelled", "lapsed", "attended", "missed"] | None = None
    ) -> list:
        """List the bookings of a patient.

        Args:
            patient_id: Number of the patient.
            status: Only those in this status.
        """
        self._get("patients", patient_id)
        mine = [
            (key, row) for key, row in sorted(self.bookings.items()) if row["patient"] == patient_id and status in (None, row["status"])
        ]
        return [dict(row, id=key, start=self.slots[row["slot"]]["start"]) for key, row in mine]

    def record_attendance(self, booking_id: str, attended: bool) -> dict:
        """Record after its start whether the patient came. Who did not come is charged.

        Args:
            booking_id: The booking.
            attended: Whether the patient came.
        """
        booking = self._get("bookings", booking_id)
        if booking["status"] != "confirmed" or self._at(self.slots[booking["slot"]]["start"]) > now():
            raise Rejection("not_due", "Only a confirmed appointment that has begun can be recorded.")
        booking["status"] = "attended" if attended else "missed"
        fee = None if attended else self._charge(booking["patient"], booking_id, "missed")
        return {"id": booking_id, "status": booking["status"], "fee": fee}

    def add_referral(self, patient_id: str, speciality: str, visits: int = 1) -> dict:
        """Enter a referral to a specialist.

        Args:
            patient_id: Number of the patient.
            speciality: What for.
            visits: How many visits it is good for, 1 to 6.
        """
        self._get("patients", patient_id)
        if speciality == "general" or all(row["speciality"] != speciality for row in self.practitioners.values()):
            raise Rejection("no_specialist", "No specialist of this clinic has that speciality.")
        if not 1 <= visits <= 6:
            raise Rejection("bad_visits", "A referral is good for 1 to 6 visits.")
        key = new_id("ref")
        self.referrals[key] = {"patient": patient_id, "speciality": speciality, "left": visits, "entered": now().isoformat()}
        return {"id": key}

    def list_referrals(self, patient_id: str) -> list:
        """List the referrals of a patient that are still good.

        Args:
            patient_id: Number of the patient.
        """
        self._get("patients", patient_id)
        return [dict(row, id=key) for key, row in sorted(self.referrals.items()) if row["patient"] == patient_id and row["left"]]

    def list_fees(self, unpaid_only: bool = True) -> list:
        """List fees of all patients.

        Args:
            unpaid_only: Leave out what is paid or waived.
        """
        return [dict(row, id=key) for key, row in sorted(self.fees.items()) if row["status"] == "unpaid" or not unpaid_only]

    def pay_fee(self, fee_id: str, amount: int) -> dict:
        """Take a payment for a fee, in full.

        Args:
            fee_id: The fee.
            amount: Amount paid.
        """
        fee = self._unpaid(fee_id)
        if amount != fee["amount"]:
            raise Rejection("wrong_amount", f"The fee is {fee['amount']}; it is paid in full or not at all.")
        fee["status"] = "paid"
        return self._unblock(fee["patient"])

    @actors("supervisor")
    def waive_fee(self, fee_id: str, because: str) -> dict:
        """Waive a fee.

        Args:
            fee_id: The fee.
            because: The reason, for the books.
        """
        fee = self._unpaid(fee_id)
        fee["status"] = f"waived: {because}"
        return self._unblock(fee["patient"])

    def _next_due(self) -> datetime | None:
        return min((self._at(row["until"]) for row in self.bookings.values() if row["status"] == "held"), default=None)

    def _fall_due(self) -> None:
        for key, row in sorted(self.bookings.items()):
            if row["status"] == "held" and self._at(row["until"]) <= now():
                self._free(row, "lapsed")
                notify("user", f"Booking {key} has lapsed: it was not confirmed in time.")

    def _get(self, collection: str, key: str) -> dict:
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", f"{collection} has no {key!r}; look the number up first.")
        return rows[key]

    def _open_bookings(self) -> dict:
        return {key: row for key, row in self.bookings.items() if row["status"] in ("held", "confirmed")}

    def _open(self, booking_id: str) -> dict:
        booking = self._get("bookings", booking_id)
        if booking["status"] not in ("held", "confirmed"):
            raise Rejection("not_open", f"This booking is {booking['status']}.")
        return booking

    def _free(self, booking: dict, status: str) -> None:
        self.slots[booking["slot"]]["booking"] = None
        booking["status"], booking["until"] = status, None
        if booking["referral"] is not None:
            self.referrals[booking["referral"]]["left"] += 1

    def _use_referral(self, referral_id: str | None, patient_id: str, speciality: str) -> None:
        if referral_id is None:
            raise Rejection("referral_needed", f"{speciality} takes a referral.")
        referral = self._get("referrals", referral_id)
        if referral["patient"] != patient_id or referral["speciality"] != speciality or not referral["left"]:
            raise Rejection("referral_invalid", "This referral is another patient's, for something else, or used up.")
        referral["left"] -= 1

    def _charge(self, patient_id: str, booking_id: str, why: str) -> str:
        key = new_id("fee")
        self.fees[key] = {"patient": patient_id, "booking": booking_id, "amount": FEE, "why": why, "status": "unpaid"}
        if self._owed(patient_id) >= 2 * FEE:
            self.patients[patient_id]["blocked"] = True
        return key

    def _unpaid(self, fee_id: str) -> dict:
        fee = self._get("fees", fee_id)
        if fee["status"] != "unpaid":
            raise Rejection("settled", "This fee is settled already.")
        return fee

    def _unblock(self, patient_id: str) -> dict:
        owed = self._owed(patient_id)
        if not owed:
            self.patients[patient_id]["blocked"] = False
        return {"patient": patient_id, "owes": owed}

    def _owed(self, patient_id: str) -> int:
        return sum(row["amount"] for row in self.fees.values() if row["patient"] == patient_id and row["status"] == "unpaid")

    def _at(self, text: str) -> datetime:
        return datetime.fromisoformat(text)

    def _read_day(self, text: str) -> datetime:
        try:
            return datetime.fromisoformat(f"{text}T00:00:00+00:00")
        except ValueError:
            raise Rejection("bad_date", f"{text!r} is no date; write YYYY-MM-DD.") from None
