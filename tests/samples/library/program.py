"""A lending library: copies of titles, loans that fall overdue by themselves, waiting lists, fines by the day."""

import datetime as dt
from enum import StrEnum

from envmill.runtime import Rejection, actors, new_id, notify, now

PICKUP_DAYS = 3
FINE_CENTS = 20
RENEWALS = 2


class Tier(StrEnum):
    """What a member may borrow."""

    CHILD = "child"
    ADULT = "adult"
    STAFF = "staff"


LIMITS = {Tier.CHILD: (3, 14), Tier.ADULT: (5, 21), Tier.STAFF: (10, 42)}
"""Loans at once, and days of a loan."""


class Library:
    """Titles, copies, members, loans and waiting lists."""

    def __init__(self, state: dict):
        self.titles = state["titles"]
        self.copies = state["copies"]
        self.members = state["members"]
        self.loans = state["loans"]
        self.queues = state["queues"]
        self.fines = state["fines"]
        self._by_title = {title: sorted(key for key, row in self.copies.items() if row["title"] == title) for title in self.titles}

    @actors("agent", "user")
    def search_titles(self, words: str, shelf: str | None = None) -> list:
        """Search titles by words of title or author.

        Args:
            words: All of them must occur.
            shelf: Only this shelf.
        """
        wanted = words.lower().split()
        if not wanted:
            raise Rejection("no_words", "Give at least one word.")
        found = {key: f"{row['name']} {row['author']}".lower() for key, row in self.titles.items() if shelf in (None, row["shelf"])}
        return [
            {"id": key, "name": self.titles[key]["name"]} for key, text in sorted(found.items()) if all(word in text for word in wanted)
        ]

    @actors("agent", "user")
    def show_title(self, title_id: str) -> dict:
        """Show a title, how many copies are in, and how many wait for it.

        Args:
            title_id: Number of the title.
        """
        row = self._get("titles", title_id)
        free = sum(self.copies[key]["status"] == "in" for key in self._by_title[title_id])
        return dict(row, id=title_id, copies=len(self._by_title[title_id]), free=free, waiting=len(self.queues.get(title_id, [])))

    def list_copies(self, title_id: str) -> list:
        """List the copies of a title.

        Args:
            title_id: Number of the title.
        """
        self._get("titles", title_id)
        return [dict(self.copies[key], id=key) for key in self._by_title[title_id]]

    def add_copy(self, title_id: str) -> dict:
        """Add a copy of a title. Whoever waits first may fetch it.

        Args:
            title_id: Number of the title.
        """
        self._get("titles", title_id)
        key = new_id("cpy")
        self.copies[key] = {"title": title_id, "status": "in", "kept_for": None, "kept_until": None}
        self._by_title[title_id] = sorted([*self._by_title[title_id], key])
        self._offer(key)
        return {"id": key, "status": self.copies[key]["status"]}

    def retire_copy(self, copy_id: str) -> dict:
        """Take a copy that is in out of the collection.

        Args:
            copy_id: Number of the copy.
        """
        copy = self._get("copies", copy_id)
        if copy["status"] != "in":
            raise Rejection("not_in", f"This copy is {copy['status']}.")
        del self.copies[copy_id]
        self._by_title[copy["title"]].remove(copy_id)
        return {"title": copy["title"], "left": len(self._by_title[copy["title"]])}

    @actors("agent", "user")
    def show_member(self, member_id: str) -> dict:
        """Show a member with loans and fines.

        Args:
            member_id: Number on the card.
        """
        row = self._get("members", member_id)
        loans = {key: loan["due"] for key, loan in self.loans.items() if loan["member"] == member_id and loan["returned"] is None}
        return dict(row, id=member_id, loans=loans, owes_cents=self._owed(member_id))

    def enrol(self, name: str, tier: str) -> dict:
        """Enrol a member.

        Args:
            name: Full name.
            tier: child, adult or staff.
        """
        if tier not in [one.value for one in Tier]:
            raise Rejection("bad_tier", "A tier is child, adult or staff.")
        key = new_id("mem")
        self.members[key] = {"name": name, "tier": tier, "suspended": False}
        return {"id": key}

    def suspend(self, member_id: str, suspended: bool = True) -> dict:
        """Suspend a member, or end the suspension.

        Args:
            member_id: Number on the card.
            suspended: False ends it.
        """
        member = self._get("members", member_id)
        if member["suspended"] == suspended:
            raise Rejection("no_change", "That is so already.")
        member["suspended"] = suspended
        return {"id": member_id, "suspended": suspended}

    def lend(self, copy_id: str, member_id: str) -> dict:
        """Lend a copy that is in, or kept for this very member.

        Args:
            copy_id: Number of the copy.
            member_id: Number on the card.
        """
        copy, member = self._get("copies", copy_id), self._member(member_id)
        if copy["status"] == "kept" and copy["kept_for"] != member_id:
            raise Rejection("kept", "This copy is kept for somebody else.")
        if copy["status"] == "out":
            raise Rejection("out", "This copy is lent already.")
        most, days = LIMITS[Tier(member["tier"])]
        if sum(loan["member"] == member_id and loan["returned"] is None for loan in self.loans.values()) >= most:
            raise Rejection("too_many", f"A {member['tier']} has at most {most} loans.")
        if self.titles[copy["title"]]["adults_only"] and member["tier"] == Tier.CHILD:
            raise Rejection("adults_only", "This title is for adults.")
        key = new_id("loan")
        due = (now() + dt.timedelta(days=days)).date().isoformat()
        self.loans[key] = {"copy": copy_id, "member": member_id, "due": due, "renewed": 0, "returned": None, "reminded": False}
        copy.update(status="out", kept_for=None, kept_until=None)
        return {"id": key, "due": due}

    @actors("agent", "user")
    def renew(self, loan_id: str) -> dict:
        """Renew a loan, unless others wait or it is overdue.

        Args:
            loan_id: The loan.
        """
        loan = self._loan(loan_id)
        title = self.copies[loan["copy"]]["title"]
        if self.queues.get(title):
            raise Rejection("awaited", "Others wait for this title.")
        if loan["renewed"] >= RENEWALS or self._days_late(loan) > 0:
            raise Rejection("not_renewable", f"A loan is renewed at most {RENEWALS} times, and never when overdue.")
        days = LIMITS[Tier(self.members[loan["member"]]["tier"])][1]
        loan["renewed"] += 1
        loan["due"] = (dt.date.fromisoformat(loan["due"]) + dt.timedelta(days=days)).isoformat()
        loan["reminded"] = False
        return {"id": loan_id, "due": loan["due"]}

    def take_back(self, loan_id: str) -> dict:
        """Take a lent copy back. Each day late costs a fine; the first who waits is told.

        Args:
            loan_id: The loan.
        """
        loan = self._loan(loan_id)
        loan["returned"] = now().isoformat()
        late = self._days_late(loan)
        if late > 0:
            self.fines[new_id("fine")] = {"member": loan["member"], "loan": loan_id, "cents": late * FINE_CENTS, "paid": 0}
        self.copies[loan["copy"]]["status"] = "in"
        self._offer(loan["copy"])
        return {"id": loan_id, "days_late": max(0, late), "copy": self.copies[loan["copy"]]["status"]}

    @actors("agent", "user")
    def join_queue(self, title_id: str, member_id: str) -> dict:
        """Wait for a title of which no copy is in.

        Args:
            title_id: Number of the title.
            member_id: Number on the card.
        """
        self._get("titles", title_id)
        self._member(member_id)
        queue = self.queues.setdefault(title_id, [])
        if member_id in queue or any(self.copies[key]["kept_for"] == member_id for key in self._by_title[title_id]):
            raise Rejection("waiting", "This member waits for the title already.")
        if any(self.copies[key]["status"] == "in" for key in self._by_title[title_id]):
            if not queue:
                del self.queues[title_id]
            raise Rejection("free_copy", "A copy is in: lend it.")
        queue.append(member_id)
        return {"place": len(queue)}

    @actors("agent", "user")
    def leave_queue(self, title_id: str, member_id: str) -> dict:
        """Stop waiting for a title.

        Args:
            title_id: Number of the title.
            member_id: Number on the card.
        """
        queue = self.queues.get(title_id, [])
        if member_id not in queue:
            raise Rejection("not_waiting", "This member does not wait for that title.")
        queue.remove(member_id)
        if not queue:
            del self.queues[title_id]
        return {"left": len(queue)}

    def list_overdue(self, more_than_days: int = 0) -> list:
        """List loans that are overdue, the latest first.

        Args:
            more_than_days: Only those late by more days.
        """
        late = [(self._days_late(row), key) for key, row in self.loans.items() if row["returned"] is None]
        return [
            {"id": key, "days": days, "member": self.loans[key]["member"]}
            for days, key in sorted(late, key=_latest)
            if days > more_than_days
        ]

    @actors("agent", "user")
    def pay_fine(self, fine_id: str, cents: int) -> dict:
        """Pay a fine, in whole or in part.

        Args:
            fine_id: The fine.
            cents: Amount, above 0 and no more than is owed.
        """
        fine = self._get("fines", fine_id)
        owed = fine["cents"] - fine["paid"]
        if not 0 < cents <= owed:
            raise Rejection("bad_amount", f"{owed} cents are owed.")
        fine["paid"] += cents
        return {"id": fine_id, "owed": owed - cents}

    def list_fines(self, member_id: str | None = None) -> list:
        """List fines that are not paid.

        Args:
            member_id: Only this member's.
        """
        rows = [(key, row) for key, row in sorted(self.fines.items()) if member_id in (None, row["member"]) and row["paid"] < row["cents"]]
        return [dict(row, id=key) for key, row in rows]

    def _next_due(self) -> str | None:
        kept = [row["kept_until"] for row in self.copies.values() if row["status"] == "kept"]
        reminders = [f"{row['due']}T08:00:00+00:00" for row in self.loans.values() if row["returned"] is None and not row["reminded"]]
        return min([*kept, *reminders], key=dt.datetime.fromisoformat, default=None)

    def _fall_due(self) -> None:
        for key, row in sorted(self.loans.items()):
            if row["returned"] is None and not row["reminded"] and dt.datetime.fromisoformat(f"{row['due']}T08:00:00+00:00") <= now():
                row["reminded"] = True
                notify("user", f"Loan {key} of {self.members[row['member']]['name']} is due on {row['due']}.")
        for key, row in sorted(self.copies.items()):
            if row["status"] == "kept" and dt.datetime.fromisoformat(row["kept_until"]) <= now():
                row.update(status="in", kept_for=None, kept_until=None)
                self._offer(key)

    def _offer(self, copy_id: str) -> None:
        copy = self.copies[copy_id]
        queue = self.queues.get(copy["title"], [])
        if not queue:
            return
        member = queue.pop(0)
        if not queue:
            del self.queues[copy["title"]]
        until = (now() + dt.timedelta(days=PICKUP_DAYS)).isoformat()
        copy.update(status="kept", kept_for=member, kept_until=until)
        notify("user", f"{self.titles[copy['title']]['name']} is kept for {self.members[member]['name']} until {until[:10]}.")

    def _get(self, collection: str, key: str) -> dict:
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", f"{collection} has no {key!r}; look the number up first.")
        return rows[key]

    def _member(self, member_id: str) -> dict:
        member = self._get("members", member_id)
        if member["suspended"] or self._owed(member_id) > 500:
            raise Rejection("suspended", "This member is suspended or owes more than 5.00.")
        return member

    def _loan(self, loan_id: str) -> dict:
        loan = self._get("loans", loan_id)
        if loan["returned"] is not None:
            raise Rejection("returned", "This loan has ended.")
        return loan

    def _days_late(self, loan: dict) -> int:
        return (now().date() - dt.date.fromisoformat(loan["due"])).days

    def _owed(self, member_id: str) -> int:
        return sum(row["cents"] - row["paid"] for row in self.fines.values() if row["member"] == member_id)


def _latest(pair: tuple) -> tuple:
    return -pair[0], pair[1]
