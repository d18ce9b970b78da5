"""The studio with replies that are wrong, or odd and right."""

from tests.gates.specimens.pieces import BOOK, BOOKINGS, LIST, TOP, Swap

DROPPED: dict[str, list[tuple[str, str, tuple[Swap, ...]]]] = {
    "W11": [
        (
            "a refusal as a result",
            "error_as_result",
            (
                (
                    'raise Rejection("amount_out_of_range", f"amount must be from 1 to 100, not '
                    '{amount}.")',
                    'return {"error": "amount out of range"}',
                ),
            ),
        ),
        (
            "success: false",
            "error_as_result",
            (
                (
                    "raise Rejection(\"class_full\", f\"{course['name']} has {course['free']} "
                    'seats left.")',
                    'return {"success": False}',
                ),
            ),
        ),
        (
            "done, it says",
            "silent_success",
            (
                (
                    "raise Rejection(\"class_full\", f\"{course['name']} has {course['free']} "
                    'seats left.")',
                    'return {"success": True}',
                ),
            ),
        ),
        (
            "a query that counts",
            "query_changes",
            (
                (
                    LIST,
                    'for row in self.classes.values():\n            row["seen"] = '
                    f'row.get("seen", 0) + 1\n        {LIST}',
                ),
            ),
        ),
        ("a row that is not kept", "not_kept", ((BOOK, "        return dict(booking)"),)),
        (
            "a refusal in words",
            "failure_in_words",
            (
                (
                    "raise Rejection(\"class_full\", f\"{course['name']} has {course['free']} "
                    'seats left.")',
                    'return "Failed: the class is full."',
                ),
            ),
        ),
        (
            "an id of nothing that is kept",
            "unknown_id",
            (
                (
                    TOP,
                    f'{TOP.removesuffix("return dict(member)")}return {{"id": new_id("receipt")}}',
                ),
            ),
        ),
        (
            "an answer from before",
            "stale_answer",
            (
                (
                    TOP,
                    '        before = dict(member)\n        member["balance"] += amount\n        '
                    "return before",
                ),
            ),
        ),
        (
            "a balance that is told and not kept",
            "told_otherwise",
            ((TOP, f"{TOP.removesuffix(')')}, balance=member['balance'] + 1)"),),
        ),
        (
            "the balance before it is paid from, of the member that the booking names",
            "told_otherwise",
            (
                (
                    BOOK,
                    f"{BOOK.removesuffix('dict(booking)')}dict(booking, "
                    "member_balance=member['balance'] + price)",
                ),
            ),
        ),
        (
            "a list with the name of another class",
            "told_otherwise",
            (
                (
                    BOOKINGS,
                    'return [dict(row, class_name="Raku") for row in self.bookings.values() if '
                    'row["member_id"] == member["id"]]',
                ),
            ),
        ),
    ],
    "W13": [
        (
            "nothing comes back",
            "empty_reply",
            ((TOP, '        member["balance"] += amount\n        return {}'),),
        ),
        ("None comes back", "empty_reply", ((TOP, '        member["balance"] += amount'),)),
        (
            "True comes back",
            "empty_reply",
            ((TOP, '        member["balance"] += amount\n        return True'),),
        ),
        (
            "a refusal without a word",
            "empty_refusal",
            (
                (
                    'raise Rejection("not_booked", f"This booking is {booking[\'status\']} '
                    'already.")',
                    'raise Rejection("error", "Error")',
                ),
            ),
        ),
        (
            "the program's insides",
            "internal_text",
            (
                (
                    'f"There is no {noun} {key!r}; look it up first."',
                    'f"KeyError: {key!r} in {rows.keys().__class__}"',
                ),
            ),
        ),
        (
            "an id of which nothing is ever told",
            "unresolved_id",
            (
                (
                    LIST,
                    'return [{"free": row["free"], "price": row["price"]} for row in '
                    'self.classes.values() if day is None or row["day"] == day]',
                ),
            ),
        ),
        (
            "the same to everybody",
            "constant_reply",
            (
                (
                    'return [dict(row) for row in self.bookings.values() if row["member_id"] == '
                    'member["id"]]',
                    "return [dict(row) for row in self.bookings.values()]",
                ),
            ),
        ),
    ],
}
"""What is wrong with replies: truth (W11) and use (W13)."""

KEPT: dict[str, list[tuple[str, tuple[Swap, ...]]]] = {
    "W11": [
        (
            "nothing done, and a false of its own says so",
            (
                (
                    'raise Rejection("not_booked", f"This booking is {booking[\'status\']} '
                    'already.")',
                    'return {"cancelled": False, "booking_id": booking_id}',
                ),
            ),
        ),
        (
            "nothing to do, and said so",
            (
                (
                    'raise Rejection("not_booked", f"This booking is {booking[\'status\']} '
                    'already.")',
                    'return {"message": "It was cancelled already."}',
                ),
            ),
        ),
        (
            "the row as it stands",
            (
                (
                    'raise Rejection("not_booked", f"This booking is {booking[\'status\']} '
                    'already.")',
                    "return dict(booking)",
                ),
            ),
        ),
        (
            "a balance from before, under its own name",
            (
                (
                    TOP,
                    '        before = member["balance"]\n        member["balance"] += amount\n   '
                    "     return dict(member, before=before)",
                ),
            ),
        ),
        (
            "done already, and ok all the same",
            (
                (
                    'raise Rejection("not_booked", f"This booking is {booking[\'status\']} '
                    'already.")',
                    'return {"success": True}',
                ),
            ),
        ),
        (
            "before and after, side by side",
            (
                (
                    TOP,
                    '        before = dict(member)\n        member["balance"] += amount\n        '
                    'return {"before": before, "after": dict(member)}',
                ),
            ),
        ),
        (
            "the balance of the member that the booking names",
            (
                (
                    BOOK,
                    f"{BOOK.removesuffix('dict(booking)')}dict(booking, "
                    "member_balance=float(member['balance']))",
                ),
            ),
        ),
        (
            "a price as it was, which the booking keeps",
            (
                (
                    '"paid": price,',
                    '"paid": price,\n            "class_price": course["price"] - 1,',
                ),
                (
                    BOOKINGS,
                    'return [dict(row, member_name=member["name"]) for row in '
                    'self.bookings.values() if row["member_id"] == member["id"]]',
                ),
            ),
        ),
        (
            "a row that failed at something",
            (('"status": "booked",', '"status": "booked",\n            "error": "",'),),
        ),
    ],
    "W13": [
        (
            "an id that is told of by its name alone",
            (
                (
                    LIST,
                    'return [{"id": row["id"], "name": row["name"]} for row in '
                    'self.classes.values() if day is None or row["day"] == day]',
                ),
            ),
        ),
        ("a few words", ((TOP, '        member["balance"] += amount\n        return "done"'),)),
        (
            "an empty list for who has none",
            (("        if not wanted or not found:", "        if not wanted:"),),
        ),
        (
            "a short refusal",
            (("f\"This booking is {booking['status']} already.\"", '"Cancelled already."'),),
        ),
        ("the same week for everybody", (('if day is None or row["day"] == day', "if True"),)),
    ],
}
"""Replies that are odd and right."""
