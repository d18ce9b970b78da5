"""States that a template keeps for the sessions forked from it: each session has them as if they
had been sent to it alone."""

from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.runtime.jail.state_cache import PLACES
from envmill.sandbox import Changes, Look, Reset, Sandbox, Snapshot, Step
from tests.sandbox.programs import CLOCK, invoke, make_counter, make_program

SMALL = Reset({"items": {"a": {"tags": [1, [2.5, None]], "name": "ä"}}}, CLOCK, 7)
OTHER = Reset({"items": {"b": {}}}, CLOCK, 7)
LARGE = Reset(
    {"items": {f"row{number}": {"text": "x" * 60, "number": number} for number in range(4000)}},
    CLOCK,
    7,
)

MODULE = """
import sys

class Module:
    def __init__(self, state):
        self.items = state["items"]

    def look(self):
        spec = __spec__
        here = sys.modules[__name__]
        return [__name__, __package__, spec.name, spec.parent, spec.origin, here.Module is Module, hasattr(here, "__file__"), repr(here)]
"""


def play_twice(reset: Reset) -> list[Step]:
    """The second episode starts from what the first has not touched."""
    return [reset, invoke("add", name="new"), Changes(), Look(), Snapshot(), reset, Look()]


@pytest.fixture
async def alone(settings: Settings) -> Any:
    async with Sandbox.open(settings, drivers=1) as opened:
        yield opened


@pytest.mark.parametrize(
    "reset", [pytest.param(SMALL, id="small"), pytest.param(LARGE, id="large")]
)
async def test_a_kept_state_is_as_one_that_was_sent(alone: Sandbox, reset: Reset) -> None:
    program = make_counter()
    seen = [await alone.play(program, play_twice(reset)) for _ in range(5)]
    assert [step.outcome for step in seen[0]] == ["ok"] * 7
    assert seen[0][0].state_hash != seen[0][1].state_hash
    assert all(one == seen[0] for one in seen)


async def test_states_take_turns(alone: Sandbox) -> None:
    program, resets = (
        make_counter(),
        (SMALL, OTHER, LARGE, Reset(LARGE.state | {"more": 1}, CLOCK, 7)),
    )
    first = [await alone.play(program, [reset, Look()]) for reset in resets]
    for _ in range(3):
        assert [await alone.play(program, [reset, Look()]) for reset in resets] == first


async def test_more_states_than_are_kept_are_found_all_the_same(alone: Sandbox) -> None:
    """One that was kept long ago is begun again just before another takes a place: both sides let
    the same one go."""
    program, resets = (
        make_counter(),
        [Reset({"items": {f"item{number}": {}}}, CLOCK, 7) for number in range(PLACES + 1)],
    )
    *old, new = resets
    for reset in (*old, *old, old[0], new, new, *resets):
        assert [one.outcome for one in await alone.play(program, [reset, Look()])] == ["ok", "ok"]


async def test_a_state_that_cannot_be_kept_fails_its_sessions_alone(alone: Sandbox) -> None:
    deep: Any = {}
    for _ in range(70):
        deep = {"in": deep}
    program, unfit = make_counter(), Reset({"items": deep}, CLOCK, 7)
    for _ in range(4):
        (seen,) = await alone.play(program, [unfit])
        assert (seen.outcome, "nested" in seen.message) == ("failure", True)
    assert [one.outcome for one in await alone.play(program, [SMALL, invoke("add", name="a")])] == [
        "ok",
        "ok",
    ]


async def test_a_program_finds_itself_imported_as_any_module(alone: Sandbox) -> None:
    program = make_program(MODULE, "Module", "look")
    _, seen = await alone.play(program, [SMALL, invoke("look")])
    assert seen.parts == [
        {
            "type": "json",
            "value": [
                "program",
                "",
                "program",
                "",
                None,
                True,
                False,
                f"<module 'program' ({_loader(seen.parts)})>",
            ],
        }
    ]


def _loader(parts: list[Any]) -> str:
    return parts[0]["value"][-1].partition("(")[2][:-2]
