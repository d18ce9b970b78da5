"""What model-written tools use of the standard library works in the jail under every layer: the
right value, nothing denied."""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator

import pytest

from envmill.base.settings import Settings
from envmill.sandbox import Invoke, Observation, Reset, Sandbox
from schemas.environment import Call
from tests.hostile.honest.denial import find_denials
from tests.hostile.honest.programs import PROGRAMS, ROWS, Honest

STEPS = [Reset({"rows": ROWS}, "2026-03-01T09:00:00Z", 7), Invoke(Call(name="use"))]


@pytest.fixture
async def diagnosed(settings: Settings) -> AsyncGenerator[Sandbox]:
    """A jail that names what it denies."""
    async with Sandbox.open(dataclasses.replace(settings, diagnose_denials=True)) as opened:
        yield opened


async def find_false_denials(
    sandbox: Sandbox, programs: dict[str, Honest]
) -> dict[str, list[Observation]]:
    """Programs that did not answer as they must, or were denied something."""
    found: dict[str, list[Observation]] = {}
    played = await asyncio.gather(
        *(sandbox.play(honest.program(), [*STEPS, STEPS[0]]) for honest in programs.values())
    )
    for (name, honest), seen in zip(programs.items(), played, strict=True):
        right = (
            [part.get("value", part.get("text")) for part in seen[1].parts] == [honest.returns]
            if seen[1].outcome == "ok"
            else False
        )
        if not right or find_denials(seen) or any(one.outcome != "ok" for one in seen):
            found[name] = seen
    return found


async def test_honest_programs_answer_right_and_are_denied_nothing(sandbox: Sandbox) -> None:
    assert len(PROGRAMS) >= 60
    assert await find_false_denials(sandbox, PROGRAMS) == {}


@pytest.mark.long
async def test_the_kernel_was_not_asked_for_anything_it_had_to_deny(diagnosed: Sandbox) -> None:
    # Looking for a file that is not there is what this one does; it lives with the answer.
    looking = {"a missing file"}
    found = await find_false_denials(diagnosed, PROGRAMS)
    assert set(found) - looking == set(), found


async def test_a_denial_would_be_seen(diagnosed: Sandbox, sandbox: Sandbox) -> None:
    quiet = {
        "reader": Honest("try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\nreturn True")
    }
    assert set(await find_false_denials(diagnosed, quiet)) == {"reader"}
    loud = {
        "reader": Honest("return open('/etc/passwd').read()"),
        "importer": Honest("import telnetlib_none"),
        "wrong": Honest("return 1", 2),
    }
    assert set(await find_false_denials(sandbox, loud)) == set(loud)
