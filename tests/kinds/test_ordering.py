"""References that a program counts depend on the order of changes; who gets the last place does,
too, and is no reference."""

from typing import Any

import pytest

from envmill.gates import s6
from envmill.gates.base import GateContext, ScenarioCase
from envmill.kinds import KINDS
from envmill.kinds.endings import derive_verifier, play_twice
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call, Environment
from schemas.rollout import Verdict
from schemas.scenario import Draft, Fact, UserContract, Verifier
from tests.specimens import ORIGIN, make_environment, make_scenario

PROGRAM = '''
from envmill.runtime import Rejection, new_id


class Club:
    """Members, what they are charged, and places in a class."""

    def __init__(self, state: dict):
        self.members, self.charges, self.places = state["members"], state["charges"], state["places"]

    def charge(self, member_id: str, kind: str, cents: int) -> dict:
        """Charge a member.

        Args:
            member_id: Member.
            kind: What for.
            cents: How much.
        """
        key, reference = new_id("charge"), f"C-{len(self.charges) + 20:04d}"
        self.charges[key] = {"id": key, "reference": reference, "member_id": member_id, "kind": kind, "cents": cents}
        return self.charges[key]

    def settle(self, member_id: str) -> dict:
        """Have a member pay what is open.

        Args:
            member_id: Member.
        """
        for row in self.charges.values():
            if row["member_id"] == member_id and row["kind"] != "paid":
                row["kind"] = "paid"
                return row
        raise Rejection("nothing_open", "Nothing is open.")

    def book(self, member_id: str) -> dict:
        """Book the last place of the class, or wait for it.

        Args:
            member_id: Member.
        """
        key, taken = new_id("place"), any(one["status"] == "booked1" for one in self.places.values())
        self.places[key] = {"id": key, "member_id": member_id, "status": "waits for 1" if taken else "booked1"}
        return self.places[key]
'''
EFFECTS: Any = {"charge": "change", "settle": "change", "book": "change"}
STATE: dict[str, Any] = {
    "members": {"M1": {"id": "M1", "name": "Rolf"}, "M2": {"id": "M2", "name": "Ines"}},
    "charges": {
        "K1": {"id": "K1", "reference": "C-0007", "member_id": "M2", "kind": "fee", "cents": 100}
    },
    "places": {},
}


def charge(member: str, kind: str, cents: int) -> Call:
    return Call(name="charge", arguments={"member_id": member, "kind": kind, "cents": cents})


MISSED, LOCKER = charge("M1", "missed", 800), charge("M2", "locker", 600)
ROLF, INES = (Call(name="book", arguments={"member_id": one}) for one in ("M1", "M2"))


def make_club() -> Environment:
    return make_environment(
        PROGRAM,
        entry="program:Club",
        tools=KINDS["stateful"].derive_tools(PROGRAM, "Club", EFFECTS),
        rules=[],
    )


def make_draft(oracle: list[Call], **changes: Any) -> Draft:
    request = changes.pop("request", "Charge Rolf for the class he missed, and Ines for a locker.")
    fields: dict[str, Any] = {
        "environment": make_club().id, "number": 0, "initial_state": STATE, "request": request,
        "user": UserContract(opening=request), "oracle": oracle, "polarity": "achieve",
        "clock": "2026-03-02T09:00:00+00:00", "seed": 1, "changes": [], "gold_hash": "h", "origin": ORIGIN,
    }  # fmt: skip
    return Draft.model_validate(fields | changes)


async def derive(draft: Draft, sandbox: Sandbox) -> Verifier:
    ends = await play_twice(draft, make_club(), sandbox)
    assert not isinstance(ends, str), ends
    return (await derive_verifier(draft, make_club(), *ends, sandbox)).verifier


async def rule(draft: Draft, calls: list[Call], sandbox: Sandbox) -> Verdict:
    steps = [start(draft), *map(Invoke, calls), Look()]
    final = (await sandbox.play(Program.of(make_club()), steps))[-1].state
    return judge(await derive(draft, sandbox), Ending(draft.initial_state, final))


@pytest.mark.parametrize(
    ("calls", "outcome"),
    [
        pytest.param([MISSED, LOCKER], "pass", id="as the path does"),
        pytest.param([LOCKER, MISSED], "pass", id="in the other order"),
        pytest.param([MISSED], "fail", id="one of them"),
        pytest.param([MISSED, MISSED], "fail", id="one of them twice"),
        pytest.param([MISSED, charge("M2", "locker", 700)], "fail", id="another amount"),
        pytest.param([charge("M2", "missed", 800), LOCKER], "fail", id="another member"),
        pytest.param([MISSED, LOCKER, charge("M1", "fee", 1)], "fail", id="one more"),
    ],
)
async def test_who_makes_the_changes_in_another_order_is_right(
    calls: list[Call], outcome: str, sandbox: Sandbox
) -> None:
    draft = make_draft([MISSED, LOCKER])
    assert (await derive(draft, sandbox)).free == ["charges.reference"]
    assert (await rule(draft, calls, sandbox)).outcome == outcome


async def test_changes_that_are_no_neighbours_are_exchanged(sandbox: Sandbox) -> None:
    """Rolf cannot pay before he is charged, and Ines's locker can come before both."""
    settle = Call(name="settle", arguments={"member_id": "M1"})
    draft = make_draft([MISSED, settle, LOCKER])
    assert (await derive(draft, sandbox)).free == ["charges.reference"]
    assert (await rule(draft, [LOCKER, MISSED, settle], sandbox)).outcome == "pass"
    assert (await rule(draft, [LOCKER, MISSED], sandbox)).outcome == "fail"


@pytest.mark.parametrize(
    "draft",
    [
        pytest.param(make_draft([ROLF, INES]), id="who gets the last place"),
        pytest.param(make_draft([MISSED]), id="a single change"),
        pytest.param(
            make_draft([MISSED, LOCKER], request="Charge Rolf as C-0021, and Ines."), id="requested"
        ),
        pytest.param(
            make_draft(
                [MISSED, LOCKER],
                say="It is C-0021.",
                tell=[Fact(name="reference", kind="text", value="C-0021")],
            ),
            id="told",
        ),
        pytest.param(make_draft([MISSED, LOCKER], say="It is C-0022."), id="said"),
        pytest.param(
            make_draft(
                [charge("M1", "A1", 800), charge("M2", "B2", 600)], say="C-0021 and C-0022."
            ),
            id="given by the calls",
        ),
    ],
)
async def test_other_texts_are_compared(draft: Draft, sandbox: Sandbox) -> None:
    assert (await derive(draft, sandbox)).free == []


async def test_the_gate_that_varies_the_path_finds_the_other_order_paid(sandbox: Sandbox) -> None:
    """Without the mend that order ended elsewhere for it, so that it noticed nothing."""
    draft = make_draft([MISSED, LOCKER])
    scenario = make_scenario(
        make_club(),
        initial_state=STATE,
        request=draft.request,
        oracle=draft.oracle,
        verifier=await derive(draft, sandbox),
    )
    found = await s6.check(ScenarioCase(scenario, make_club()), GateContext(sandbox))
    assert found.outcome == "kept"
    assert "order" in found.evidence["passed"]
