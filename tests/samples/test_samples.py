"""The samples are what they claim: large enough, ruled, and their scripts go as written."""

import pytest

from envmill.sandbox import Look, Sandbox
from schemas.base import digest
from tests.samples import NAMES, load_sample, play_script

SCRIPTS = [
    pytest.param(name, title, id=f"{name}: {title}")
    for name in NAMES
    for title in load_sample(name).sessions
]


@pytest.mark.parametrize("name", NAMES)
def test_size_and_references(name: str) -> None:
    sample = load_sample(name)
    assert len(sample.program.tools) >= 15
    assert len(sample.state) >= 4
    keys = {
        key: collection
        for collection, rows in sample.state.items()
        if isinstance(rows, dict)
        for key in rows
    }
    rows = [
        (collection, row)
        for collection, held in sample.state.items()
        if isinstance(held, dict)
        for row in held.values()
        if isinstance(row, dict)
    ]
    references = {
        (collection, keys[value])
        for collection, row in rows
        for value in row.values()
        if isinstance(value, str) and value in keys
    }
    assert len(references) >= 3


@pytest.mark.parametrize(("name", "title"), SCRIPTS)
async def test_script_goes_as_written(jail: Sandbox, name: str, title: str) -> None:
    sample = load_sample(name)
    async with jail.session(sample.program) as session:
        before = await session.step(sample.reset())
        assert before.outcome == "ok", before
        assert before.state_hash == digest(sample.state, 32)
        last = before.state_hash
        effects = {tool.name: tool.effect for tool in sample.program.tools}
        async for step, seen, expected in play_script(session, sample.sessions[title]):
            assert (seen.outcome if seen.outcome == "ok" else seen.code) == expected, (step, seen)
            call = step.message()
            if call["op"] == "call":
                changes = expected == "ok" and effects[call["name"]] == "change"
                assert (seen.state_hash != last) is changes, step
            last = seen.state_hash
        assert (await session.step(Look())).state_hash == last


async def test_every_tool_is_called_by_some_script() -> None:
    for name in NAMES:
        sample = load_sample(name)
        called = {
            step[0].rpartition(":")[2] for script in sample.sessions.values() for step in script
        }
        assert {tool.name for tool in sample.program.tools} <= called
