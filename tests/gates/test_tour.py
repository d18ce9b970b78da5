"""The exploration: it needs few sessions, and still tries every tool in each way and reads around
every write."""

from collections import Counter
from typing import Any

import pytest

from envmill.gates.base import EnvironmentCase, GateContext
from envmill.gates.exploring.exploration import explore
from envmill.sandbox import Reset, Sandbox
from tests.gates.specimens import ground

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Counted:
    """A sandbox that counts its messages, sessions and steps."""

    searches = True

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self.seen = sandbox, Counter[str]()

    async def play(self, program: Any, steps: Any, **more: Any) -> Any:
        self.seen += Counter(
            messages=1, sessions=sum(isinstance(step, Reset) for step in steps), steps=len(steps)
        )
        return await self._sandbox.play(program, steps, **more)


async def test_an_exploration_seldom_resets(sandbox: Sandbox) -> None:
    """Resets take most of the time. So tests that change nothing, odd calls and sampled calls share
    sessions."""
    counted: Any = Counted(sandbox)
    exploration = await explore(ground(), GateContext(counted, seed=40))
    assert len(exploration.calls) > 5 * counted.seen["sessions"], counted.seen
    assert counted.seen["messages"] <= 16, counted.seen


async def test_every_tool_is_tried_each_way_and_every_write_read_around(sandbox: Sandbox) -> None:
    exploration = await explore(ground(), GateContext(sandbox, seed=41))
    for tool in exploration.tools.values():
        calls = exploration.of(tool.name)
        assert {"test", "drawn", "odd"} <= {observed.why for observed in calls}, tool.name
        assert {"ok", "rejection"} <= {observed.seen.outcome for observed in calls}, tool.name
    written = {
        observed.call.name
        for pair in exploration.read_pairs
        if pair.way == "written"
        for observed in pair.moves
    }
    assert written == {tool.name for tool in exploration.tools.values() if tool.effect == "change"}
    assert {pair.call.name for pair in exploration.read_pairs} == {
        tool.name for tool in exploration.tools.values() if tool.effect == "query"
    }
    assert {pair.way for pair in exploration.read_pairs} == {"written", "turned"}
    assert exploration.write_pairs


async def test_a_route_holds_only_what_leads_somewhere(sandbox: Sandbox) -> None:
    """A call that is repeated after its start and route has the same state before it."""
    exploration = await explore(ground(), GateContext(sandbox, seed=42))
    assert all(
        call.name in exploration.tools and exploration.tools[call.name].effect == "change"
        for observed in exploration.calls
        for call in observed.route
    )
    behind = [
        observed
        for observed in exploration.calls
        if observed.why in ("odd", "drawn") and observed.route
    ]
    again = {
        observed.call.model_dump_json() for observed in exploration.calls if not observed.route
    }
    assert behind
    assert any(observed.call.model_dump_json() in again for observed in behind)


async def test_a_tool_that_seldom_succeeds_is_searched_for(sandbox: Sandbox) -> None:
    """All its tests are refusals, so the exploration finds a successful call in the rows."""
    built = ground()
    refused = EnvironmentCase(
        built.environment,
        tuple(
            test
            for test in built.tests
            if test.call.name != "cancel_booking" or test.expect == "rejection"
        ),
    )
    exploration = await explore(refused, GateContext(sandbox, seed=43))
    assert any(observed.seen.outcome == "ok" for observed in exploration.of("cancel_booking"))
