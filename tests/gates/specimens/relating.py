"""The studio with calls that do not agree with each other (W12), or that are odd and right."""

from tests.gates.specimens.pieces import (
    BOOK,
    CANCEL,
    FOUND,
    INIT,
    LIST,
    PAY,
    SEATS,
    TOP,
    TOP_CHECK,
    Swap,
)

DROPPED: dict[str, list[tuple[str, str, tuple[Swap, ...]]]] = {
    "W12": [
        (
            "a query that writes",
            "query_changes",
            ((LIST, f'self.classes["C1"]["seen"] = True\n        {LIST}'),),
        ),
        (
            "a cached list",
            "stale_read",
            (
                (INIT, f"{INIT}\n        self._cache = None"),
                (
                    LIST,
                    "self._cache = self._cache or [dict(row) for row in self.classes.values()]\n "
                    '       return [row for row in self._cache if day is None or row["day"] == '
                    "day]",
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
                    'return [dict(row) for row in self.bookings.values() if row["member_id"] == '
                    'member["id"]]',
                    "return [dict(row, paid=0) for row in self.bookings.values() if "
                    'row["member_id"] == member["id"]]',
                ),
            ),
        ),
        (
            "a filter that adds",
            "filter_widens",
            (
                (
                    LIST,
                    "return [dict(row) for row in self.classes.values() if (day is None and "
                    'row["free"]) or row["day"] == day]',
                ),
            ),
        ),
        (
            "a filter for all other days",
            "filter_inverted",
            ((LIST, LIST.replace('row["day"] == day', 'row["day"] != day')),),
        ),
        (
            "a filter that is not looked at",
            "filter_ignored",
            ((LIST, "return [dict(row) for row in self.classes.values()]"),),
        ),
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
            (
                (
                    LIST,
                    LIST.replace('row["day"] == day', '(row["day"] == day and row["free"] != 1)'),
                ),
            ),
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
            (
                ("wanted = query.strip().lower()", "wanted = query.strip()"),
                (FOUND, FOUND.replace('row["name"].lower()', 'row["name"]')),
            ),
        ),
        (
            "a limit kept beside the state",
            "hidden_link",
            (
                (INIT, f"{INIT}\n        self._given = 0"),
                (
                    TOP,
                    '        self._given += 1\n        member["balance"] += amount * '
                    "self._given\n        return dict(member)",
                ),
            ),
        ),
        (
            "ids that are counted",
            "row_overwritten",
            (('"id": new_id("booking")', '"id": f"B{len(self.bookings) + 1}"'),),
        ),
        (
            "a misspelt attribute",
            "misspelt_attribute",
            ((CANCEL, '        booking["new_status"] = "cancelled"'),),
        ),
        (
            "a word nobody knows",
            "unknown_value",
            ((CANCEL, '        booking["status"] = "Cancelled"'),),
        ),
        (
            "all other bookings are cancelled",
            "others_changed_instead",
            (
                (
                    CANCEL,
                    '        for row in self.bookings.values():\n            if row["id"] != '
                    'booking_id:\n                row["status"] = "cancelled"',
                ),
            ),
        ),
        (
            "the others are set to the amount",
            "value_set_elsewhere",
            (
                ("member_id: str, amount: int) -> dict:", "member_id: str, balance: int) -> dict:"),
                ("            amount: Whole", "            balance: Whole"),
                (TOP_CHECK, ""),
                (
                    TOP,
                    '        for row in self.members.values():\n            if row["id"] != '
                    'member_id:\n                row["balance"] = balance\n'
                    "        return dict(member)",
                ),
            ),
        ),
        (
            "a balance below zero",
            "below_zero",
            (("        if price > member", "        if price > 99 + member"),),
        ),
        ("seats taken two times", "booked_twice", ((SEATS, f"{SEATS}\n{SEATS}"),)),
        (
            "a price in the place of the balance",
            "total_overwritten",
            ((PAY, '        member["balance"] = price'),),
        ),
    ],
}
"""What is wrong, the reason it must be dropped for, and the pieces replaced."""

KEPT: dict[str, list[tuple[str, tuple[Swap, ...]]]] = {
    "W12": [
        (
            "an id that is made of what the call is about",
            (('"id": new_id("booking")', '"id": f"booking_{member[\'name\']}_{class_id}"'),),
        ),
        (
            "a list that tells what is booked on the day it is asked for",
            (
                (
                    LIST,
                    'return [dict(row, times=[] if day is None else [{"day": day}]) for row in '
                    'self.classes.values() if day is None or row["day"] == day]',
                ),
            ),
        ),
        (
            "a name that has to be exact, and says so",
            (
                (FOUND, FOUND.replace("wanted in", "wanted ==")),
                ("query: Name, or a part of it.", "query: The exact name of the member."),
            ),
        ),
        (
            "a name by parts and a status by its word",
            (
                (
                    "def find_members(self, query: str)",
                    'def find_members(self, query: str = "", status: str = "")',
                ),
                (
                    "query: Name, or a part of it.",
                    "query: Name, or a part of it.\n            status: active or suspended.",
                ),
                (
                    FOUND,
                    f'{FOUND}\n        found = [row for row in found if status in ("", '
                    'row["status"])]',
                ),
                ("        if not wanted or not found:", "        if not found:"),
            ),
        ),
        (
            "a list that is sorted",
            (
                (
                    LIST,
                    f"return sorted({LIST.removeprefix('return ')}, key=lambda row: row['name'])",
                ),
            ),
        ),
        (
            "the first that is found, as it says",
            (("Find members", "Find the first members"), (FOUND, f"{FOUND}[:1]")),
        ),
        (
            "the first that is free, as it says",
            (
                (
                    "List the classes of the week, or of one day.",
                    "List the first class of the week, or of one day.",
                ),
                (LIST, LIST + "[:1]"),
            ),
        ),
        ("a filter with a default", (("day: str | None = None", 'day: str = "Tuesday"'),)),
        (
            "a filter in either case",
            ((LIST, LIST.replace('row["day"] == day', 'row["day"].lower() == day.lower()')),),
        ),
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
                (
                    LIST,
                    LIST.replace(
                        'row["day"] == day',
                        '"TuFrSu".index(row["day"][:2]) >= "TuFrSu".index(day[:2])',
                    ),
                ),
                (
                    "day: Day of the week, such as Tuesday.",
                    "day: Tuesday, Friday or Sunday; later days are listed, too.",
                ),
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
                (
                    "List the classes of the week, or of one day.",
                    "List the first two classes of the week, or of one day.",
                ),
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
            (
                (SEATS, '        course["free"] -= 2 * seats'),
                ("if seats > course", "if 2 * seats > course"),
            ),
        ),
        (
            "the others go with the one that is named",
            (
                (
                    CANCEL,
                    '        for row in self.bookings.values():\n            row["booked_on"] = '
                    'row["booked_on"] if row["id"] == booking_id else "2026-03-01"\n' + CANCEL,
                ),
            ),
        ),
        ("a total that is told", ((PAY, f'{PAY}\n        member["spent"] = price'),)),
        (
            "an attribute that is new",
            ((CANCEL, f'{CANCEL}\n        booking["cancelled_on"] = "today"'),),
        ),
        (
            "ids that are counted from the highest",
            (
                (
                    '"id": new_id("booking")',
                    '"id": f"B{max(int(key[1:]) for key in self.bookings) + 1}"',
                ),
            ),
        ),
    ],
}
"""What is odd and right."""
