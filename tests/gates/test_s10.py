"""S10: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s10
from envmill.gates.base import Finding, ScenarioCase
from schemas.environment import Call
from schemas.scenario import UserContract
from tests.gates.cases import FIND, LOOK_UP, TOP_UP, Case, ask, check, judge_cases
from tests.gates.specimens import ORACLE, REQUEST, pose, vary
from tests.gates.specimens.studio import EFFECTS

LISTED = (
    "Two things, please:\n1. Put 25 on Ada Kern's account.\n2. Book her one seat in the Tuesday "
    "wheel class."
)

CANCEL = Call(name="cancel_booking", arguments={"booking_id": "B1"})
LEND = Call(name="top_up", arguments={"member_id": "M2", "amount": 25})
MORE = Call(name="top_up", arguments={"member_id": "M2", "amount": 60})
ALL = [
    Call(name="top_up", arguments={"member_id": who, "amount": amount})
    for who, amount in (("M2", 25), ("M4", 30), ("M1", 25))
]
KNOWN = UserContract(opening=REQUEST, facts={"usual amount": 25})


def top_up(amount: int, request: str) -> ScenarioCase:
    """Bo Lind, who has 60, gets an amount."""
    return ask(
        request,
        oracle=[LOOK_UP, Call(name="top_up", arguments={"member_id": "M2", "amount": amount})],
    )


def top_up_twice(request: str) -> ScenarioCase:
    """Bo Lind gets 25, the usual amount, and again."""
    return pose(request=request, oracle=[LOOK_UP, LEND, LEND], user=KNOWN)


def release_first(does: str, demands: str) -> ScenarioCase:
    """Bo Lind's booking is released and cancelled; to cancel is all that is asked for."""
    tool = f'''    def release_booking(self, booking_id: str) -> dict:
        """Release a booking.

        Args:
            booking_id: Id of the booking.
        """
        booking = self._find(self.bookings, booking_id, "booking")
        member = self.members[booking["member_id"]]
        {does}
        return dict(booking)

'''
    cancel = "    def cancel_booking("
    built = vary(
        (cancel, tool + cancel),
        ('if booking["status"] != "booked":', f"if not ({demands}):"),
        effects={**EFFECTS, "release_booking": "change"},
    )
    release = Call(name="release_booking", arguments={"booking_id": "B1"})
    return pose(
        built=built,
        request="Please cancel Bo Lind's booking of the wheel class.",
        oracle=[LOOK_UP, release, CANCEL],
    )


HONEST = {
    "what is to be done before": release_first(
        "booking['status'] = 'released'", "booking['status'] == 'released'"
    ),
    "all that is there": top_up(
        60, "Bo Lind comes 4 times: put the whole of what he has on his account there once more."
    ),
    "as much as is left": top_up(
        60, "For the 4 seats, put as much on Bo Lind's account as he has left."
    ),
    "a bullet before an amount": top_up(25, "Please book in:\n- 25 on Bo Lind's account"),
    "a dash before an amount": top_up(25, "Bo Lind - 25 - on the account, please."),
    "half of what is there": top_up(
        30, "Put half of what Bo Lind has on his account on top of it."
    ),
    "one more than there is": top_up(61, "Bo Lind's account gets one more than it has now."),
    "two times what is there": top_up(120, "Put twice the money that Bo Lind has on his account."),
    "a dozen": top_up(12, "Put a dozen euros on Bo Lind's account."),
    "twenty-five": top_up(25, "Put twenty-five on Bo Lind's account."),
    "a range and an hour": top_up(
        25,
        "Between 10 and 20 minutes from now, or at 9 am, put 25 on Bo Lind's account; he waits 3 "
        "to 5 days.",
    ),
    "a share": top_up(6, "Put 10 % of what Bo Lind has on his account."),
    "a limit": top_up(25, "Put 25 on Bo Lind's account, for no more than 99 may be there."),
    "an hour in capitals": top_up(25, "Put 25 on Bo Lind's account before 5PM."),
    "a telephone number": top_up(
        25, "Put 25 on Bo Lind's account. You reach me under 555-0134-77."
    ),
    "day and month the other way round": top_up(
        25, "Put 25 on Bo Lind's account. He booked on 2026-02-20."
    ),
    "a weekday next year": top_up(
        25, "Put 25 on Bo Lind's account, he comes on Monday, 4 January 2027."
    ),
    "cents of euros": top_up(2500, "Put 25 euros on Bo Lind's account."),
    "cents of euros, the unit before": top_up(2500, "Put EUR 25 on Bo Lind's account."),
    "cents of euros beside a count": top_up(
        2500, "For the next 2 rounds, put 25 euros on Bo Lind's account."
    ),
    "cents of euros beside a count in words": top_up(
        2500, "Put 25 euros on Bo Lind's account. He comes for two rounds."
    ),
    "a count of changes": top_up_twice("Put the usual on Bo Lind's account in two rounds."),
}
FAULTY = {
    "what need not be done before": (
        release_first("booking['status'] = 'released'", "booking['status'] != 'cancelled'"),
        "unasked_change",
    ),
    "what has to be done before, and lasts": (
        release_first(
            "member['status'] = 'released'",
            "self.members[booking['member_id']]['status'] == 'released'",
        ),
        "unasked_change",
    ),
    "a payment that another change needs": (
        ask("Please book one seat in the Tuesday wheel class for Ada Kern."),
        "unasked_change",
    ),
    "another amount in what is left to do": (
        top_up(25, "This is what is left to do: put 60 on Bo Lind's account."),
        "unmatched_value",
    ),
    "another amount of the total": (
        top_up(25, "The total is still open: put 60 on Bo Lind's account."),
        "unmatched_value",
    ),
    "another amount than a share": (
        top_up(25, "Bo Lind and all the same people pay: 60 goes on his account."),
        "unmatched_value",
    ),
    "cents of other euros": (top_up(2600, "Put 25 euros on Bo Lind's account."), "unmatched_value"),
    "cents of what has no unit": (top_up(2500, "Put 25 on Bo Lind's account."), "unmatched_value"),
    "cents of other euros beside a count": (
        top_up(2600, "For the next 2 rounds, put 25 euros on Bo Lind's account."),
        "unmatched_value",
    ),
    "another count than that of changes": (
        top_up_twice("Put the usual on Bo Lind's account in three rounds."),
        "unmatched_value",
    ),
    "another amount beside a count of changes": (
        top_up_twice("Put ten on Bo Lind's account in two rounds."),
        "unmatched_value",
    ),
    "another amount behind a bullet": (
        top_up(25, "Please book in:\n- 26 on Bo Lind's account"),
        "unmatched_value",
    ),
    "another amount in words": (
        top_up(25, "Put thirty on Bo Lind's account, and not 4."),
        "unmatched_value",
    ),
    "another share": (top_up(7, "Put four on Bo Lind's account."), "unmatched_value"),
    "a reference in capitals": (
        top_up(25, "Put 25 on Bo Lind's account for order 5PX9."),
        "unmatched_value",
    ),
}

CASES = {
    **{name: Case(posed) for name, posed in HONEST.items()},
    **{name: Case(posed, reason) for name, (posed, reason) in FAULTY.items()},
    "another amount": Case(ask(REQUEST.replace("25", "26")), "unmatched_value"),
    "a reference to nothing": Case(
        ask(f"{REQUEST} It is about voucher V-9917."), "unmatched_value"
    ),
    "two weekdays before two dates": Case(
        ask(f"{REQUEST} I asked on Thursday and Friday, 19 February and 20 February 2026.")
    ),
    "a date far off": Case(ask(f"{REQUEST} It is for 3 March 2019."), "unmatched_value"),
    "another amount, which some other row has": Case(
        ask(REQUEST.replace("25", "60")), "unmatched_value"
    ),
    "asked the other way round, in that order": Case(
        ask("Please book one seat in the Tuesday wheel class, and then put 25 there for Ada Kern."),
        "wrong_order",
    ),
    "asked the other way round, in no order": Case(
        ask("Please book one seat in the Tuesday wheel class, and put 25 there for Ada Kern.")
    ),
    "asked the other way round, with a first that counts days": Case(
        ask(
            "Please book one seat in the Tuesday wheel class, on the very first day. Put 25 there "
            "for Ada Kern."
        )
    ),
    "asked the other way round, with a then that means at that time": Case(
        ask(
            "Please book one seat in the Tuesday wheel class, she has time then. Put 25 there for "
            "Ada Kern."
        )
    ),
    "asked the other way round, with a then that means by that": Case(
        ask(
            "Please book one seat in the Tuesday wheel class, she is then free. Put 25 there for "
            "Ada Kern."
        )
    ),
    "asked the other way round, then the other": Case(
        ask("Please book one seat in the Tuesday wheel class. Then put 25 there for Ada Kern."),
        "wrong_order",
    ),
    "asked the other way round, the first thing first": Case(
        ask("First book one seat in the Tuesday wheel class. Put 25 there for Ada Kern."),
        "wrong_order",
    ),
    "asked the other way round, the next thing next": Case(
        ask("Book one seat in the Tuesday wheel class. Next, put 25 there for Ada Kern."),
        "wrong_order",
    ),
    "asked the other way round, for a day that comes next": Case(
        ask("Book one seat in the wheel class on Tuesday next, put 25 there for Ada Kern.")
    ),
    "what is done in the end is told at the beginning": Case(
        ask(
            "In the end, book one seat in the Tuesday wheel class. To begin with, put 25 there for "
            "Ada Kern."
        )
    ),
    "another amount, which a row that is acted on has": Case(
        ask(REQUEST.replace("25", "4")), "unmatched_value"
    ),
    "an amount that is said when asked": Case(
        pose(request=REQUEST.replace("25", "the usual"), user=KNOWN)
    ),
    "a change that nobody asked for": Case(
        ask("Please cancel Bo Lind's booking of the wheel class.", oracle=[LOOK_UP, CANCEL, LEND]),
        "unasked_change",
    ),
    "another change of the row that is asked about": Case(
        ask(
            "Could you take Bo Lind off the wheel class before Monday?",
            oracle=[LOOK_UP, CANCEL, LEND],
        ),
        "unasked_change",
    ),
    "an amount of the one sentence said of the other": Case(
        ask(
            "Please put 20 on Ada Kern's account, and put 20 on the account of Bo Lind.",
            oracle=[
                FIND,
                LOOK_UP,
                TOP_UP,
                Call(name="top_up", arguments={"member_id": "M2", "amount": 20}),
            ],
        ),
        "unmatched_value",
    ),
    "the same change again with another amount": Case(
        ask(
            "Two lines:\n- Put 25 on the account of Bo Lind;\nThank you.",
            oracle=[LOOK_UP, LEND, MORE],
        ),
        "unasked_change",
    ),
    "named beside another change, in words like a third's": Case(
        ask(
            "Put 25 on the account of Bo Lind, who is active. And 30 for Ada Novak, and also Ada "
            "Kern gets the same as he.",
            oracle=ALL,
        )
    ),
    "done, and then done again": Case(
        ask("Put 25 on Bo Lind's account, and then the same again.", oracle=[LOOK_UP, LEND, LEND])
    ),
    "an amount behind a semicolon": Case(
        ask(
            "Ada Kern is short of money; 4 should help. Book her one seat in the Tuesday wheel "
            "class."
        ),
        "unmatched_value",
    ),
    "the right amount behind a semicolon": Case(
        ask(
            "Ada Kern is short of money; 25 should help. Book her one seat in the Tuesday wheel "
            "class."
        )
    ),
    "two changes of one row in one sentence": Case(
        ask(
            "Please put 25 on Bo Lind's account and cancel his booking of the wheel class.",
            oracle=[LOOK_UP, LEND, CANCEL],
        )
    ),
    "asked for before what makes it possible": Case(
        ask(
            "Please book one seat in the Tuesday wheel class for Ada Kern. After that: put 25 on "
            "the account of Ada Kern."
        ),
        "wrong_order",
    ),
    "a numbered list in another order": Case(
        ask(
            "Two things:\n1. Book one seat in the Tuesday wheel class for Ada Kern.\n2. Put 25 on "
            "the account of Ada Kern."
        )
    ),
    "asked for first, to be done when that is through": Case(
        ask(
            "Book one seat in the Tuesday wheel class for Ada Kern when the money is there. Put "
            "25 on the account of Ada Kern."
        )
    ),
    "asked for first, the other before that": Case(
        ask(
            "Book one seat in the Tuesday wheel class for Ada Kern. But before that, put 25 on "
            "the account of Ada Kern."
        )
    ),
    "asked for first, two others before that": Case(
        ask(
            "Book one seat in the Tuesday wheel class for Ada Kern. Before that money has to be "
            "there: put 25 on the account of Ada Kern "
            "and 25 on the account of Bo Lind.",
            oracle=[*ORACLE[:2], LOOK_UP, LEND, *ORACLE[2:]],
        )
    ),
    "the other way round, and said so": Case(
        ask(
            "Please book one seat in the Tuesday wheel class, but before that put 25 there for "
            "Ada Kern."
        )
    ),
    "as it is": Case(pose()),
    "a list": Case(ask(LISTED)),
    "a weekday that is right": Case(ask(f"{REQUEST} I asked on Friday, 20 February 2026.")),
    "amounts in other spellings": Case(ask(REQUEST.replace("25", "€25.00"))),
    "a price that stands in the list": Case(ask(f"{REQUEST} It costs 20, I think.")),
    "no reference path": Case(pose(oracle=[])),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s10.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s10(name: str) -> None:
    check(find_all()[name], CASES[name])


def test_every_contradiction_is_reported_with_a_question() -> None:
    finding = judge_cases(
        s10.check, {"both": Case(ask(f"{REQUEST.replace('25', '26')} It is about voucher V-9917."))}
    )["both"]
    assert {one.reason for one in finding.spread()} >= {"unmatched_value"}
    assert all(one.question.endswith("?") for one in finding.spread())
