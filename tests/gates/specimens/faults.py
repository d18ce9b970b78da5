"""The studio with one thing wrong, and the studio with something odd that is right: per gate, three
of each and more.

A specimen is the pieces of the program that are replaced; what is dropped is dropped for the reason
that stands beside it.
"""

from tests.gates.specimens import relating, replies
from tests.gates.specimens.pieces import GET, INIT, LIST, TOP_CHECK, Swap

FOUND_MEMBER = (
    '        member = self._find(self.members, member_id, "member")\n        if not 1 <= amount'
)
FIRST_MEMBER = (
    "        member = self._find(self.members, member_id if {} else next(iter(self.members)), "
    '"member")\n        if not 1 <= amount'
)

DROPPED: dict[str, list[tuple[str, str, tuple[Swap, ...]]]] = {
    **replies.DROPPED,
    **relating.DROPPED,
    "W5": [
        (
            "rows in the order of a set",
            "hash_order",
            ((LIST, "return [dict(self.classes[key]) for key in set(self.classes)]"),),
        ),
        (
            "two rows in the order of a set",
            "hash_order",
            (
                (
                    'return [dict(row) for row in self.bookings.values() if row["member_id"] == '
                    'member["id"]]',
                    "return [dict(self.bookings[key]) for key in {key for key, row in "
                    'self.bookings.items() if row["member_id"] == member["id"]}]',
                ),
            ),
        ),
        (
            "an address in a reply",
            "addresses",
            ((GET, 'return dict(self._find(self.bookings, booking_id, "booking"), tag=id(self))'),),
        ),
        (
            "the day it was written",
            "clock_ignored",
            (('"booked_on": now().date().isoformat()', '"booked_on": "2024-01-15"'),),
        ),
        (
            "the day its session began",
            "clock_stale",
            (
                (INIT, f"{INIT}\n        self._today = now()"),
                ('"booked_on": now().date()', '"booked_on": self._today.date()'),
            ),
        ),
        (
            "a rule about the minute",
            "needs_a_moment",
            (
                (
                    "        price = seats",
                    "        if now().minute:\n            raise Rejection('too_late', 'Book on "
                    "the hour.')\n        price = seats",
                ),
            ),
        ),
    ],
    "W6": [
        (
            "a crash on an empty text",
            "crashes",
            (("wanted = query.strip().lower()", "wanted = query.split()[0].lower()"),),
        ),
        (
            "an unknown id is a KeyError",
            "crashes",
            ((GET, "return dict(self.bookings[booking_id])"),),
        ),
        (
            "a hang on what is long",
            "hangs",
            (
                (
                    "wanted = query.strip().lower()",
                    "wanted = query.strip().lower()\n        while len(query) > 99:\n            "
                    "pass",
                ),
            ),
        ),
        ("no upper limit", "limit_ignored", (("if not 1 <= amount <= 100:", "if amount < 1:"),)),
        (
            "a limit told in a longer sentence",
            "limit_doubted",
            (
                (
                    "Whole euros. From 1 to 100.",
                    "Whole euros, from 1 to 100 for members, 200 for firms.",
                ),
                ("if not 1 <= amount <= 100:", "if not 1 <= amount <= 200:"),
            ),
        ),
        (
            "an unknown member is the first one",
            "stranger_taken",
            ((FOUND_MEMBER, FIRST_MEMBER.format("member_id in self.members")),),
        ),
        (
            "the limit missed by one",
            "limit_missed",
            (("if not 1 <= amount <= 100:", "if not 1 <= amount < 100:"),),
        ),
    ],
    "W7": [
        (
            "paid before it is checked",
            "change_before_check",
            ((TOP_CHECK, '        member["balance"] += amount\n' + TOP_CHECK),),
        ),
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
                    '        course["asked"] = course.get("asked", 0) + 1\n        if seats > '
                    'course["free"]:',
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
                    "        if seats:\n            raise Rejection('closed', 'No bookings "
                    "today.')\n        if seats > course",
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
                    '        self.classes[booking["class_id"]]["free"] += booking["seats"]\n     '
                    '   self.members[booking["member_id"]]["balance"] += booking["paid"]\n',
                    "",
                ),
            ),
        ),
        (
            "a list that is always empty",
            "never_answers",
            (
                (
                    LIST,
                    'return [dict(row) for row in self.classes.values() if row["day"] == "never"]',
                ),
            ),
        ),
    ],
    "W9": [
        (
            "imports subprocess",
            "import",
            (("from envmill.runtime import", "import subprocess\nfrom envmill.runtime import"),),
        ),
        (
            "reads the environment",
            "import",
            (
                ("from envmill.runtime import", "import os\nfrom envmill.runtime import"),
                (GET, f'os.environ.get("HOME")\n        {GET}'),
            ),
        ),
        (
            "opens a file, and hides it",
            "reach",
            (
                (
                    GET,
                    "try:\n            open('/etc/passwd')\n        except Exception:\n         "
                    f"   pass\n        {GET}",
                ),
            ),
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
}
"""Gate → what is wrong, the reason it must be dropped for, and the pieces replaced."""

KEPT: dict[str, list[tuple[str, tuple[Swap, ...]]]] = {
    **replies.KEPT,
    **relating.KEPT,
    "W5": [
        (
            "a set that is only looked into",
            (
                (
                    LIST,
                    "return [dict(row) for row in self.classes.values() if day is None or "
                    'row["day"] in set([day])]',
                ),
            ),
        ),
        (
            "a set that is sorted",
            ((LIST, "return [dict(self.classes[key]) for key in sorted(set(self.classes))]"),),
        ),
        (
            "a date computed from what is stored",
            (
                (
                    '"booked_on": now().date().isoformat()',
                    '"booked_on": next(iter(self.bookings.values()))["booked_on"]',
                ),
            ),
        ),
        ("the clock read early, and read again", ((INIT, f"{INIT}\n        self._began = now()"),)),
        (
            "no date at all",
            (('"booked_on": now().date().isoformat()', '"booked_on": "9999-12-31"'),),
        ),
        (
            "randomness of the session",
            (
                ("import Rejection, new_id, now", "import Rejection, new_id, now, rng"),
                (
                    '"status": "booked",',
                    '"status": "booked",\n            "code": rng().randrange(1000),',
                ),
            ),
        ),
    ],
    "W6": [
        (
            "a text that is cut",
            (("wanted = query.strip().lower()", "wanted = query.strip().lower()[:200]"),),
        ),
        (
            "a free text that takes anything",
            (('f"There is no {noun} {key!r}; look it up first."', 'f"No {noun} of that name."'),),
        ),
        (
            "limits told otherwise and kept",
            (("Whole euros. From 1 to 100.", "Whole euros, at most 100."),),
        ),
    ],
    "W7": [
        (
            "counted on the instance, not in the state",
            (
                (
                    '        if seats > course["free"]:',
                    '        self._asked = 1\n        if seats > course["free"]:',
                ),
            ),
        ),
        (
            "changed and changed back",
            (
                (
                    '        if seats > course["free"]:',
                    '        course["free"] += 1\n        course["free"] -= 1\n        if seats '
                    '> course["free"]:',
                ),
            ),
        ),
        (
            "another order of the checks",
            (
                (
                    '        if booking["status"] != "booked":',
                    '        if booking["status"] not in ("booked",):',
                ),
            ),
        ),
    ],
    "W8": [
        ("a list that is empty for some", (("if day is None or", "if"),)),
        (
            "a rare success",
            (
                ("if not 1 <= seats <= 4:", "if not 1 <= seats <= 2:"),
                ("How many seats. From 1 to 4.", "How many seats."),
            ),
        ),
        (
            "a change to one field",
            (('        self.members[booking["member_id"]]["balance"] += booking["paid"]\n', ""),),
        ),
    ],
    "W9": [
        (
            "modules of numbers and texts",
            (
                (
                    "from envmill.runtime import",
                    "import math, re, random, uuid, time, datetime, json, copy\nfrom "
                    "envmill.runtime import",
                ),
            ),
        ),
        (
            "os.path alone",
            (
                ("from envmill.runtime import", "import os\nfrom envmill.runtime import"),
                (GET, f'os.path.join("a", "b")\n        {GET}'),
            ),
        ),
        (
            "a method named open",
            (
                (GET, f"self._open()\n        {GET}"),
                (
                    "    def find_members",
                    "    def _open(self):\n        return 1\n\n    def find_members",
                ),
            ),
        ),
    ],
}
"""Gate → what is odd and right, and the pieces replaced."""
