"""The studio with one thing wrong, and the studio with something odd that is right: per gate, three of each and more.

A specimen is the pieces of the program that are replaced; what is dropped is dropped for the reason that stands beside it.
"""

# ruff: noqa: E501  pieces of a program stand here as they are

from tests.gates.specimens import replies
from tests.gates.specimens.pieces import BOOK, CANCEL, FOUND, GET, INIT, LIST, PAY, SEATS, TOP, TOP_CHECK, Swap

DROPPED: dict[str, list[tuple[str, str, tuple[Swap, ...]]]] = {
    **replies.DROPPED,
    "W5": [
        ("rows in the order of a set", "hash_order", ((LIST, "return [dict(self.classes[key]) for key in set(self.classes)]"),)),
        (
            "two rows in the order of a set",
            "hash_order",
            (
                (
                    'return [dict(row) for row in self.bookings.values() if row["member_id"] == member["id"]]',
                    'return [dict(self.bookings[key]) for key in {key for key, row in self.bookings.items() if row["member_id"] == member["id"]}]',
                ),
            ),
        ),
        ("an address in a reply", "addresses", ((GET, 'return dict(self._find(self.bookings, booking_id, "booking"), tag=id(self))'),)),
        ("the day it was written", "clock_ignored", (('"booked_on": now().date().isoformat()', '"booked_on": "2024-01-15"'),)),
        (
            "the day its session began",
            "clock_stale",
            ((INIT, f"{INIT}\n        self._today = now()"), ('"booked_on": now().date()', '"booked_on": self._today.date()')),
        ),
        (
            "a rule about the minute",
            "needs_a_moment",
            (
                (
                    "        price = seats",
                    "        if now().minute:\n            raise Rejection('too_late', 'Book on the hour.')\n        price = seats",
                ),
            ),
        ),
    ],
    "W6": [
        ("a crash on an empty text", "crashes", (("wanted = query.strip().lower()", "wanted = query.split()[0].lower()"),)),
        ("an unknown id is a KeyError", "crashes", ((GET, "return dict(self.bookings[booking_id])"),)),
        (
            "a hang on what is long",
            "hangs",
            (("wanted = query.strip().lower()", "wanted = query.strip().lower()\n        while len(query) > 99:\n            pass"),),
        ),
        ("no upper limit", "limit_ignored", (("if not 1 <= amount <= 100:", "if amount < 1:"),)),
        (
            "a limit told in a longer sentence",
            "limit_doubted",
            (
                ("Whole euros. From 1 to 100.", "Whole euros, from 1 to 100 for members, 200 for firms."),
                ("if not 1 <= amount <= 100:", "if not 1 <= amount <= 200:"),
            ),
        ),
        ("the limit missed by one", "limit_missed", (("if not 1 <= amount <= 100:", "if not 1 <= amount < 100:"),)),
    ],
    "W7": [
        ("paid before it is checked", "change_before_check", ((TOP_CHECK, '        member["balance"] += amount\n' + TOP_CHECK),)),
        (
            "cancelled before it is looked at",
            "change_before_check",
            (
                (
                    '        if booking["status"] != "booked":',
                    '        booking["touched"] = True\n        if booking["status"] != "booked":',
                ),
            ),
        ),
        (
            "an attempt is counted",
            "change_before_check",
            (
                (
                    '        if seats > course["free"]:',
                    '        course["asked"] = course.get("asked", 0) + 1\n        if seats > course["free"]:',
                ),
            ),
        ),
    ],
    "W8": [
        (
            "never carried out",
            "never_succeeds",
            (
                (
                    "        if seats > course",
                    "        if seats:\n            raise Rejection('closed', 'No bookings today.')\n        if seats > course",
                ),
            ),
        ),
        (
            "changes a copy",
            "never_changes",
            (
                (
                    '        booking = self._find(self.bookings, booking_id, "booking")',
                    '        booking = dict(self._find(self.bookings, booking_id, "booking"))',
                ),
                (
                    '        self.classes[booking["class_id"]]["free"] += booking["seats"]\n        self.members[booking["member_id"]]["balance"] += booking["paid"]\n',
                    "",
                ),
            ),
        ),
        (
            "a list that is always empty",
            "never_answers",
            ((LIST, 'return [dict(row) for row in self.classes.values() if row["day"] == "never"]'),),
        ),
    ],
    "W9": [
        ("imports subprocess", "import", (("from envmill.runtime import", "import subprocess\nfrom envmill.runtime import"),)),
        (
            "reads the environment",
            "import",
            (("from envmill.runtime import", "import os\nfrom envmill.runtime import"), (GET, f'os.environ.get("HOME")\n        {GET}')),
        ),
        (
            "opens a file, and hides it",
            "reach",
            ((GET, f"try:\n            open('/etc/passwd')\n        except Exception:\n            pass\n        {GET}"),),
        ),
        (
            "reaches for a file when it runs",
            "denied",
            (
                ("from envmill.runtime import", "import pathlib\nfrom envmill.runtime import"),
                (GET, f"pathlib.Path('/etc/passwd').read_text()\n        {GET}"),
            ),
        ),
    ],
    "W12": [
        ("a query that writes", "query_changes", ((LIST, f'self.classes["C1"]["seen"] = True\n        {LIST}'),)),
        (
            "a cached list",
            "stale_read",
            (
                (INIT, f"{INIT}\n        self._cache = None"),
                (
                    LIST,
                    'self._cache = self._cache or [dict(row) for row in self.classes.values()]\n        return [row for row in self._cache if day is None or row["day"] == day]',
                ),
            ),
        ),
        (
            "the last row is passed over",
            "row_missed",
            ((LIST, LIST.replace("self.classes.values()", "list(self.classes.values())[:-1]")),),
        ),
        ("one of many", "row_missed", ((LIST, LIST + "[:1]"),)),
        (
            "one of many that are searched for",
            "row_left_out",
            ((FOUND, f"{FOUND}\n        found = sorted(found, key=lambda row: row['name'])[:1]"),),
        ),
        (
            "a misspelt attribute of a new row",
            "misspelt_attribute",
            ((BOOK, f'        booking["new_status"] = booking.pop("status")\n{BOOK}'),),
        ),
        (
            "the list tells another price",
            "queries_disagree",
            (
                (
                    'return [dict(row) for row in self.bookings.values() if row["member_id"] == member["id"]]',
                    'return [dict(row, paid=0) for row in self.bookings.values() if row["member_id"] == member["id"]]',
                ),
            ),
        ),
        (
            "a filter that adds",
            "filter_widens",
            ((LIST, 'return [dict(row) for row in self.classes.values() if (day is None and row["free"]) or row["day"] == day]'),),
        ),
        ("a filter for all other days", "filter_inverted", ((LIST, LIST.replace('row["day"] == day', 'row["day"] != day')),)),
        ("a filter that is not looked at", "filter_ignored", ((LIST, "return [dict(row) for row in self.classes.values()]"),)),
        (
            "a day that is looked for among the names",
            "filter_finds_nothing",
            ((LIST, LIST.replace('row["day"] == day', 'row["name"] == day')),),
        ),
        (
            "a filter that lets one day through",
            "filter_differs",
            ((LIST, LIST.replace('row["day"] == day', 'row["day"] in (day, "Friday")')),),
        ),
        (
            "a filter that leaves a row out",
            "filter_differs",
            ((LIST, LIST.replace('row["day"] == day', '(row["day"] == day and row["free"] != 1)')),),
        ),
        (
            "whole words only",
            "whole_words_only",
            (
                (
                    FOUND,
                    FOUND.replace("wanted in", "wanted =="),
                ),
            ),
        ),
        (
            "only the case it was written in",
            "case_sensitive",
            (("wanted = query.strip().lower()", "wanted = query.strip()"), (FOUND, FOUND.replace('row["name"].lower()', 'row["name"]'))),
        ),
        (
            "a limit kept beside the state",
            "hidden_link",
            (
                (INIT, f"{INIT}\n        self._given = 0"),
                (TOP, '        self._given += 1\n        member["balance"] += amount * self._given\n        return dict(member)'),
            ),
        ),
        ("ids that are counted", "row_overwritten", (('"id": new_id("booking")', '"id": f"B{len(self.bookings) + 1}"'),)),
        ("a misspelt attribute", "misspelt_attribute", ((CANCEL, '        booking["new_status"] = "cancelled"'),)),
        ("a word nobody knows", "unknown_value", ((CANCEL, '        booking["status"] = "Cancelled"'),)),
        ("seats taken two times", "booked_twice", ((SEATS, f"{SEATS}\n{SEATS}"),)),
        ("a price in the place of the balance", "total_overwritten", ((PAY, '        member["balance"] = price'),)),
    ],
}
"""Gate → what is wrong, the reason it must be dropped for, and the pieces replaced."""

KEPT: dict[str, list[tuple[str, tuple[Swap, ...]]]] = {
    **replies.KEPT,
    "W5": [
        (
            "a set that is only looked into",
            ((LIST, 'return [dict(row) for row in self.classes.values() if day is None or row["day"] in set([day])]'),),
        ),
        ("a set that is sorted", ((LIST, "return [dict(self.classes[key]) for key in sorted(set(self.classes))]"),)),
        (
            "a date computed from what is stored",
            (('"booked_on": now().date().isoformat()', '"booked_on": next(iter(self.bookings.values()))["booked_on"]'),),
        ),
        ("the clock read early, and read again", ((INIT, f"{INIT}\n        self._began = now()"),)),
        ("no date at all", (('"booked_on": now().date().isoformat()', '"booked_on": "9999-12-31"'),)),
        (
            "randomness of the session",
            (
                ("import Rejection, new_id, now", "import Rejection, new_id, now, rng"),
                ('"status": "booked",', '"status": "booked",\n            "code": rng().randrange(1000),'),
            ),
        ),
    ],
    "W6": [
        ("a text that is cut", (("wanted = query.strip().lower()", "wanted = query.strip().lower()[:200]"),)),
        ("a free text that takes anything", (('f"There is no {noun} {key!r}; look it up first."', 'f"No {noun} of that name."'),)),
        ("limits told otherwise and kept", (("Whole euros. From 1 to 100.", "Whole euros, at most 100."),)),
    ],
    "W7": [
        (
            "counted on the instance, not in the state",
            (('        if seats > course["free"]:', '        self._asked = 1\n        if seats > course["free"]:'),),
        ),
        (
            "changed and changed back",
            (
                (
                    '        if seats > course["free"]:',
                    '        course["free"] += 1\n        course["free"] -= 1\n        if seats > course["free"]:',
                ),
            ),
        ),
        (
            "another order of the checks",
            (('        if booking["status"] != "booked":', '        if booking["status"] not in ("booked",):'),),
        ),
    ],
    "W8": [
        ("a list that is empty for some", (("if day is None or", "if"),)),
        ("a rare success", (("if not 1 <= seats <= 4:", "if not 1 <= seats <= 2:"), ("How many seats. From 1 to 4.", "How many seats."))),
        ("a change to one field", (('        self.members[booking["member_id"]]["balance"] += booking["paid"]\n', ""),)),
    ],
    "W9": [
        (
            "modules of numbers and texts",
            (("from envmill.runtime import", "import math, re, random, uuid, time, datetime, json, copy\nfrom envmill.runtime import"),),
        ),
        (
            "os.path alone",
            (("from envmill.runtime import", "import os\nfrom envmill.runtime import"), (GET, f'os.path.join("a", "b")\n        {GET}')),
        ),
        (
            "a method named open",
            (
                (GET, f"self._open()\n        {GET}"),
                ("    def find_members", "    def _open(self):\n        return 1\n\n    def find_members"),
            ),
        ),
    ],
    "W12": [
        (
            "a name that has to be exact, and says so",
            ((FOUND, FOUND.replace("wanted in", "wanted ==")), ("query: Name, or a part of it.", "query: The exact name of the member.")),
        ),
        (
            "a name by parts and a status by its word",
            (
                ("def find_members(self, query: str)", 'def find_members(self, query: str = "", status: str = "")'),
                ("query: Name, or a part of it.", "query: Name, or a part of it.\n            status: active or suspended."),
                (FOUND, f'{FOUND}\n        found = [row for row in found if status in ("", row["status"])]'),
                ("        if not wanted or not found:", "        if not found:"),
            ),
        ),
        ("a list that is sorted", ((LIST, f"return sorted({LIST.removeprefix('return ')}, key=lambda row: row['name'])"),)),
        ("the first that is found, as it says", (("Find members", "Find the first members"), (FOUND, f"{FOUND}[:1]"))),
        (
            "the first that is free, as it says",
            (("List the classes of the week, or of one day.", "List the first class of the week, or of one day."), (LIST, LIST + "[:1]")),
        ),
        ("a filter with a default", (("day: str | None = None", 'day: str = "Tuesday"'),)),
        ("a filter in either case", ((LIST, LIST.replace('row["day"] == day', 'row["day"].lower() == day.lower()')),)),
        (
            "a filter by a part of the day",
            (
                (LIST, LIST.replace('row["day"] == day', 'day.lower() in row["day"].lower()')),
                ("day: Day of the week, such as Tuesday.", "day: A part of the day's name."),
            ),
        ),
        (
            "a day and those after it, as it says",
            (
                (LIST, LIST.replace('row["day"] == day', '"TuFrSu".index(row["day"][:2]) >= "TuFrSu".index(day[:2])')),
                ("day: Day of the week, such as Tuesday.", "day: Tuesday, Friday or Sunday; later days are listed, too."),
            ),
        ),
        (
            "all days but one, as it says",
            (
                (LIST, LIST.replace('row["day"] == day', 'row["day"] != day')),
                ("day: Day of the week, such as Tuesday.", "day: A day without interest."),
            ),
        ),
        (
            "the first two of a day, as it says",
            (
                ("List the classes of the week, or of one day.", "List the first two classes of the week, or of one day."),
                (LIST, LIST + "[:2]"),
            ),
        ),
        (
            "a cache that is renewed",
            (
                (INIT, f"{INIT}\n        self._cache = None"),
                (LIST, f"self._cache = {LIST.removeprefix('return ')}\n        return self._cache"),
            ),
        ),
        (
            "a second seat for the companion",
            ((SEATS, '        course["free"] -= 2 * seats'), ("if seats > course", "if 2 * seats > course")),
        ),
        ("a total that is told", ((PAY, f'{PAY}\n        member["spent"] = price'),)),
        ("an attribute that is new", ((CANCEL, f'{CANCEL}\n        booking["cancelled_on"] = "today"'),)),
        (
            "ids that are counted from the highest",
            (('"id": new_id("booking")', '"id": f"B{max(int(key[1:]) for key in self.bookings) + 1}"'),),
        ),
    ],
}
"""Gate → what is odd and right, and the pieces replaced."""
