"""What a chain carries when it is carried out: a value that is empty in a new record is nothing to
go on with."""

from typing import Any

import pytest

from envmill.kinds import KINDS
from envmill.sandbox import Program, Sandbox
from envmill.toolgraph.experience import Experience
from envmill.toolgraph.offers import find_offers
from envmill.toolgraph.rehearsal import RehearsedChain, rehearse_chain
from schemas.chain import Chain, ChainStep, FromItem, FromNode, FromUser, Loop, Node, Reason
from schemas.environment import Call
from tests.specimens import make_environment
from tests.toolgraph.test_arguments import make_test

SOURCE = '''
"""Bills, and a journal of payments."""

from typing import Any

from envmill.runtime import new_id


class Office:
    def __init__(self, state: dict[str, Any]) -> None:
        self.bills, self.entries = state["bills"], state["entries"]

    def make_bill(self, title: str) -> dict[str, Any]:
        """Write a bill.

        Args:
            title: What it is for.
        """
        bill = {"id": new_id("bil"), "title": title, "paid_on": None, "note": " ", "tags": [], "cents": 0}
        self.bills[bill["id"]] = bill
        return dict(bill)

    def list_bills(self) -> list[dict[str, Any]]:
        """All bills."""
        return [dict(row) for row in self.bills.values()]

    def add_entry(
        self, title: str | None = None, paid_on: str | None = None, note: str = "", tags: list[str] | None = None, cents: int = 1
    ) -> dict[str, Any]:
        """Write into the journal.

        Args:
            title: What it is for.
            paid_on: Day of the payment.
            note: A note.
            tags: Labels.
            cents: Amount.
        """
        entry = {"id": new_id("ent"), "title": title, "paid_on": paid_on, "note": note, "tags": tags, "cents": cents}
        self.entries[entry["id"]] = entry
        return dict(entry)
'''
EFFECTS: Any = {"make_bill": "change", "list_bills": "query", "add_entry": "change"}
PROGRAM = Program(
    {"program.py": SOURCE},
    "program:Office",
    KINDS["stateful"].derive_tools(SOURCE, "Office", EFFECTS),
)
MAKE = ChainStep(id="s1", tool="make_bill", arguments={"title": FromUser()})
LIST = ChainStep(id="s1", tool="list_bills")
SAID = {"make_bill": [Call(name="make_bill", arguments={"title": "Heating"})]}


def make_bills(*paid: str | None) -> dict[str, Any]:
    ids = [f"bil_{number}" for number in range(len(paid))]
    rows = {
        id: {"id": id, "title": "Rent", "paid_on": day, "note": "", "tags": [], "cents": 5}
        for id, day in zip(ids, paid, strict=True)
    }
    return {"bills": rows, "entries": {}}


async def rehearse(
    jail: Sandbox, *nodes: Node, states: tuple[dict[str, Any], ...] = (make_bills(),)
) -> RehearsedChain | tuple[str, str]:
    return await rehearse_chain(
        Chain(sampler="author", nodes=list(nodes)), PROGRAM, Experience(states, SAID), jail, "1"
    )


def enter(argument: str, source: FromNode | FromItem) -> ChainStep:
    return ChainStep(id="s2", tool="add_entry", arguments={argument: source})


@pytest.mark.parametrize("field", ["paid_on", "note", "tags"])
async def test_what_is_empty_in_a_new_record_is_not_carried(jail: Sandbox, field: str) -> None:
    found = await rehearse(jail, MAKE, enter(field, FromNode(node="s1", path=field)))
    assert isinstance(found, tuple)
    assert (found[0], "s2" in found[1], field in found[1]) == ("empty_value", True, True)


@pytest.mark.parametrize("field", ["title", "cents"])
async def test_what_is_filled_is_carried_a_nought_as_well(jail: Sandbox, field: str) -> None:
    found = await rehearse(jail, MAKE, enter(field, FromNode(node="s1", path=field)))
    assert isinstance(found, RehearsedChain), found


async def test_a_text_that_is_composed_of_nothing_is_not_carried(jail: Sandbox) -> None:
    chain = [
        MAKE,
        Reason(
            id="r1",
            rule="compose",
            takes=[FromNode(node="s1", path="title"), FromNode(node="s1", path="paid_on")],
        ),
    ]
    found = await rehearse(jail, *chain, enter("note", FromNode(node="r1")))
    assert isinstance(found, tuple)
    assert found[0] == "empty_value"
    chain[1] = Reason(
        id="r1",
        rule="compose",
        takes=[FromNode(node="s1", path="title"), FromNode(node="s1", path="id")],
    )
    assert isinstance(
        await rehearse(jail, *chain, enter("note", FromNode(node="r1"))), RehearsedChain
    )


async def test_some_items_may_lack_it_and_all_may_not(jail: Sandbox) -> None:
    each = Loop(
        id="each1",
        over=FromNode(node="s1", path="[]"),
        body=[enter("paid_on", FromItem(loop="each1", path="[].paid_on"))],
    )
    some = await rehearse(jail, LIST, each, states=(make_bills("2026-02-01", None),))
    assert isinstance(some, RehearsedChain), some
    none = await rehearse(jail, LIST, each, states=(make_bills(None, None),))
    assert isinstance(none, tuple)
    assert none[0] == "empty_value"


async def test_another_state_is_tried_where_it_is_empty_and_an_empty_one_is_never_chosen(
    jail: Sandbox,
) -> None:
    pick = Reason(
        id="r1", rule="choose", takes=[FromNode(node="s1", path="[].paid_on"), FromUser()]
    )
    states = (make_bills(None, ""), make_bills("", "2026-02-01", None))
    found = await rehearse(jail, LIST, pick, enter("paid_on", FromNode(node="r1")), states=states)
    assert isinstance(found, RehearsedChain), found
    assert found.calls[-1].arguments == {"paid_on": "2026-02-01"}


@pytest.mark.parametrize(("day", "offered"), [("None", False), ('"2026-03-02"', True)])
async def test_such_a_chain_is_counted_and_one_that_carries_a_day_is_offered(
    jail: Sandbox, day: str, offered: bool
) -> None:
    """Bills that stand there already have a day of payment, so that the graph knows one; the new
    bill has one or not."""
    source = SOURCE.replace('"paid_on": None', f'"paid_on": {day}')
    place = make_environment(source, entry="program:Office", tools=PROGRAM.tools, tables=[])
    there = {"environment": place.id, "initial_state": make_bills("2026-02-01", "2026-02-03")}
    tests = [
        make_test("make_bill", title="Heating"),
        make_test("list_bills"),
        make_test("add_entry", paid_on="2026-02-01", note="Paid"),
    ]
    offers = await find_offers(
        place,
        [one.model_copy(update=there) for one in tests],
        {},
        ("weighted", "backward"),
        jail,
        results=True,
    )
    carrying = [
        one
        for one in offers.chains
        if any(call.arguments.get("paid_on") == "2026-03-02" for call in one.calls)
    ]
    assert (bool(carrying), offers.refused.get("empty_value", 0) > 0) == (offered, not offered)
    assert offers.chains
