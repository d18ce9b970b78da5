"""Couplings: which methods run, in which order, and what one that breaks does to a call."""

from typing import Any

import pytest

from envmill.runtime import Rejection
from envmill.runtime.coupling import couple, coupling, list_couplings
from envmill.runtime.session import Session


class World:
    """A switch and a lamp that follows it."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.switch = state["switch"]
        self.lamp = state["lamp"]
        self.seen = state["seen"]

    def press(self) -> bool:
        self.switch["on"] = not self.switch["on"]
        return self.lamp["lit"]

    def jam(self) -> None:
        raise Rejection("jammed", "The switch is stuck.")

    @coupling
    def _lamp_follows(self) -> None:
        self.lamp["lit"] = self.switch["on"]

    @coupling
    def _eye_follows(self) -> None:
        self.seen["light"] = self.lamp["lit"]
        if self.switch.get("broken"):
            raise Rejection("dark", "There is no light.")


TOOLS: Any = [
    {
        "name": name,
        "description": name,
        "parameters": {"type": "object", "properties": {}},
        "effect": "change",
    }
    for name in ("press", "jam")
]
START: dict[str, Any] = {"switch": {"on": False}, "lamp": {"lit": False}, "seen": {"light": False}}


def open_session(**changes: Any) -> Session:
    session = Session(lambda: World, TOOLS)
    session.reset(START | changes, "2026-03-02T09:00:00+00:00", 0)
    return session


def test_they_run_in_order_after_a_call() -> None:
    assert list_couplings(World) == ("_lamp_follows", "_eye_follows")
    session = open_session()
    reply: Any = session.call("press", {})
    # The reply is the tool's own; the state is what the couplings made of it.
    assert reply["parts"] == [{"type": "json", "value": False}]
    assert session.state() == {
        "switch": {"on": True},
        "lamp": {"lit": True},
        "seen": {"light": True},
    }
    session.advance(5)
    assert session.state()["seen"] == {"light": True}


def test_nothing_runs_before_a_call_or_after_a_refusal() -> None:
    """A start that is not settled stays as the scenario gave it until something is done."""
    session = open_session(switch={"on": True})
    assert session.state()["lamp"] == {"lit": False}
    assert session.call("jam", {})["outcome"] == "rejection"
    assert session.state()["lamp"] == {"lit": False}


def test_a_coupling_that_refuses_is_the_programs_fault() -> None:
    reply: Any = open_session(switch={"on": False, "broken": True}).call("press", {})
    assert (reply["outcome"], reply["error"]["code"]) == ("failure", "crash")
    assert "_eye_follows" in reply["error"]["message"]


def test_a_program_without_couplings_has_none() -> None:
    class Plain:
        _lamp_follows = 3

    assert list_couplings(Plain) == ()
    couple(Plain())


def test_a_subclass_keeps_and_replaces_them() -> None:
    class Brighter(World):
        @coupling
        def _lamp_follows(self) -> None:
            self.lamp["lit"] = True

    assert list_couplings(Brighter) == ("_lamp_follows", "_eye_follows")
    made = Brighter({"switch": {"on": False}, "lamp": {"lit": False}, "seen": {}})
    couple(made)
    assert made.seen == {"light": True}
    with pytest.raises(RuntimeError, match="_eye_follows"):
        couple(World({"switch": {"on": False, "broken": True}, "lamp": {}, "seen": {}}))
