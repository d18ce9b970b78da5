"""The native interface, over a class written here: outcomes are told apart and nothing raises for a
caller's mistake."""

from typing import Any

import pytest

from envmill.runtime import Rejection, new_id, now, rng
from envmill.runtime.program import ProgramFault
from envmill.runtime.session import Reply, Session, ToolEntry

CLOCK = "2026-03-01T09:00:00Z"


class Shop:
    """A small world; its faults are on purpose."""

    def __init__(self, state: dict[str, Any]) -> None:
        if "orders" not in state:
            raise KeyError("orders")
        self.orders = state["orders"]
        self.odd: Any = None
        self.next: Any
        self._cache = {1, 2}

    def place(self, item: str) -> dict[str, Any]:
        if item == "nothing":
            raise Rejection("empty", "Order something.")
        order = {"item": item, "at": now().isoformat(), "luck": rng().random()}
        self.orders[new_id("order")] = order
        return order

    def greet(self, item: str) -> str:
        return f"We sell {item}."

    def keep(self, item: str) -> None:
        self.orders[item] = self.next
        del self.next

    def crash(self, item: str) -> int:
        return len(item) // 0

    def leave(self, item: str) -> None:
        raise SystemExit(item)

    def spoil(self, item: str) -> Any:
        return {item: {1, 2}}


PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string"}},
    "required": ["item"],
    "additionalProperties": False,
}
TOOLS: list[ToolEntry] = [
    {"name": name, "description": "", "parameters": PARAMETERS, "effect": "change"}
    for name in ("place", "greet", "keep", "crash", "spoil")
]  # fmt: skip


def value_of(reply: Reply) -> Any:
    return reply.get("parts", [{}])[0].get("value")


def code_of(reply: Reply) -> str:
    return reply.get("error", {"code": ""})["code"]


@pytest.fixture
def session() -> Session:
    session = Session(lambda: Shop, TOOLS)
    session.reset({"orders": {}}, CLOCK, 7)
    return session


def test_a_json_reply_and_a_text_reply(session: Session) -> None:
    placed = session.call("place", {"item": "tea"})
    assert placed["outcome"] == "ok"
    assert value_of(placed)["at"] == "2026-03-01T09:00:00+00:00"
    assert session.call("greet", {"item": "tea"}).get("parts") == [
        {"type": "text", "text": "We sell tea."}
    ]


def test_a_reply_does_not_change_with_the_state(session: Session) -> None:
    placed = session.call("place", {"item": "tea"})
    session.state()
    next(iter(session._instance.orders.values()))["item"] = "coffee"
    assert value_of(placed)["item"] == "tea"


@pytest.mark.parametrize(
    ("name", "arguments", "outcome", "code"),
    [
        pytest.param("place", {"item": "nothing"}, "rejection", "empty", id="rule"),
        pytest.param("place", {}, "rejection", "invalid_arguments", id="missing-argument"),
        pytest.param("place", {"item": 3}, "rejection", "invalid_arguments", id="wrong-type"),
        pytest.param("steal", {}, "rejection", "unknown_tool", id="unknown"),
        pytest.param("_check_state", {}, "rejection", "unknown_tool", id="private"),
        pytest.param("crash", {"item": "x"}, "failure", "crash", id="crash"),
        pytest.param("spoil", {"item": "x"}, "failure", "bad_reply", id="no-json"),
    ],
)
def test_outcomes_are_told_apart(
    session: Session, name: str, arguments: dict[str, Any], outcome: str, code: str
) -> None:
    before = session.state_hash()
    reply = session.call(name, arguments)
    assert (reply["ok"], reply["outcome"], code_of(reply)) == (False, outcome, code)
    assert session.state_hash() == before


def test_same_clock_and_seed_same_hash_another_seed_another(session: Session) -> None:
    def play(clock: str, seed: int) -> str:
        session.reset({"orders": {}}, clock, seed)
        session.call("place", {"item": "tea"})
        return session.state_hash()

    assert play(CLOCK, 7) == play(CLOCK, 7)
    assert len({play(CLOCK, 7), play(CLOCK, 8), play("2026-03-01T09:00:01Z", 7)}) == 3


def test_uses_of_clock_ids_and_chance_are_counted(session: Session) -> None:
    assert session.uses() == {"clock": 0, "ids": 0, "randomness": 0}
    session.call("place", {"item": "tea"})
    assert session.uses() == {"clock": 1, "ids": 1, "randomness": 1}


def test_advance_moves_the_clock(session: Session) -> None:
    session.advance(90.5)
    assert (
        value_of(session.call("place", {"item": "tea"}))["at"] == "2026-03-01T09:01:30.500000+00:00"
    )


def test_the_hash_follows_every_change_a_tool_makes(session: Session) -> None:
    seen = {session.state_hash()}
    for value in (1, True, 1.0, "1", None, [1], {"1": 1}):
        session._instance.next = value
        assert session.call("keep", {"item": "x"})["ok"]
        seen.add(session.state_hash())
    assert len(seen) == 8


def test_private_attributes_are_no_state_and_public_ones_are(session: Session) -> None:
    assert session.state() == {"orders": {}, "odd": None}


def test_snapshot_and_restore(session: Session) -> None:
    before = session.snapshot()
    session.call("place", {"item": "tea"})
    session.advance(5)
    session.restore(before)
    assert session.state() == before["state"]
    assert session.snapshot() == before


def test_the_callers_state_is_never_touched(session: Session) -> None:
    mine: dict[str, Any] = {"orders": {}}
    session.reset(mine, CLOCK, 1)
    session.call("place", {"item": "tea"})
    assert mine == {"orders": {}}


def test_construction_that_fails_is_a_program_fault(session: Session) -> None:
    with pytest.raises(ProgramFault, match="KeyError: 'orders'"):
        session.reset({}, CLOCK, 1)


def test_a_state_that_is_not_json_after_construction_is_a_program_fault() -> None:
    class Loose(Shop):
        def __init__(self, state: dict[str, Any]) -> None:
            super().__init__(state)
            self.seen = {1}

    with pytest.raises(ProgramFault, match="at seen: a value of type set"):
        Session(lambda: Loose, TOOLS).reset({"orders": {}}, CLOCK, 1)


def test_inspection_misses_a_method() -> None:
    Session(lambda: Shop, TOOLS).inspect()
    with pytest.raises(ProgramFault, match="no method for the tool 'sell'"):
        Session(lambda: Shop, [*TOOLS, {**TOOLS[0], "name": "sell"}]).inspect()
