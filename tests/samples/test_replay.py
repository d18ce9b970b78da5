"""Recorded sessions come out identical in another process with another hash seed, from a snapshot, and after a branch."""

import random

import pytest

from envmill.base.settings import Settings
from envmill.kinds.replay import record, replay
from envmill.sandbox import Changes, Invoke, Look, Program, Restore, Sandbox, Snapshot
from envmill.verifiers.diff import diff_states
from schemas.environment import Call
from tests.samples import NAMES, load_sample
from tests.samples.journeys import draw_journey
from tests.soak import count

SESSIONS = count(60, 1000)
BRANCHES = count(40, 1000)


@pytest.mark.soak(area="sandbox")
async def test_recorded_sessions_replay_identically_under_another_hash_seed(
    settings: Settings,
) -> None:
    async with Sandbox.open(settings, 0) as home, Sandbox.open(settings, 1) as away:
        outcomes: set[str] = set()
        for number in range(SESSIONS):
            sample = load_sample(NAMES[number % len(NAMES)])
            weather = {"profile": "rough", "seed": number} if number % 3 == 0 else None
            plan = [
                sample.reset(seed=number, weather=weather),
                *draw_journey(sample, number),
                Look(),
            ]
            recording = await record(sample.program, plan, home)
            outcomes |= {seen["outcome"] for seen in recording.seen}
            assert {
                seen["code"] for seen in recording.seen if seen["outcome"] == "failure"
            } == set()
            assert await replay(sample.program, recording, away) is None, (sample.name, number)
        assert outcomes == {"ok", "rejection"}


async def test_a_program_that_leaks_hash_order_is_caught_by_the_same_replay(
    settings: Settings,
) -> None:
    sample = load_sample("library")
    source = sample.program.files["program.py"]
    leaky = source.replace(
        "in sorted(found.items()) if", "in [(key, found[key]) for key in set(found)] if"
    )
    assert leaky != source
    program = Program({"program.py": leaky}, sample.program.entry, sample.program.tools)
    search = Invoke(Call(name="search_titles", arguments={"words": "a"}))
    async with Sandbox.open(settings, 0) as home, Sandbox.open(settings, 1) as away:
        recording = await record(program, [sample.reset(), search], home)
        difference = await replay(program, recording, away)
    assert difference is not None
    assert (difference.step, difference.path[:2]) == (1, ("parts", "0"))
    assert "step 1, parts.0.value.0" in str(difference)


@pytest.mark.soak(area="sandbox")
async def test_snapshot_branch_restore(settings: Settings) -> None:
    """Whatever happens after a snapshot, coming back to it gives the same bytes, here and in another process."""
    async with Sandbox.open(settings, 0) as home, Sandbox.open(settings, 1) as away:
        for number in range(BRANCHES):
            sample = load_sample(NAMES[number % len(NAMES)])
            dice = random.Random(number)
            weather = {"profile": "rough", "seed": number} if number % 2 else None
            before = [
                sample.reset(seed=number, weather=weather),
                *draw_journey(sample, number, dice.randrange(1, 12)),
            ]
            branch, after = (
                draw_journey(sample, number + 10**6, 6),
                draw_journey(sample, number + 2 * 10**6, 6),
            )
            straight = (await home.play(sample.program, [*before, Snapshot(), *after, Look()]))[
                len(before) :
            ]
            point = straight[0].parts[0]["value"]
            branched = await home.play(
                sample.program, [*before, *branch, Restore(point), *after, Look()]
            )
            moved = await away.play(sample.program, [Restore(point), *after, Look()])
            for other in (branched[-7:], moved[-7:]):
                assert other == straight[1:], (sample.name, number)


async def test_a_program_that_does_not_keep_its_state_cannot_be_restored(jail: Sandbox) -> None:
    sample = load_sample("library")
    source = sample.program.files["program.py"].replace(
        'self.fines = state["fines"]', 'self.fines = dict(state["fines"], more=1)'
    )
    program = Program({"program.py": source}, sample.program.entry, sample.program.tools)
    _, taken = await jail.play(program, [sample.reset(), Snapshot()])
    assert taken.outcome == "ok"
    point = taken.parts[0]["value"]
    point["state"]["fines"].pop("more")
    (restored,) = await jail.play(program, [Restore(point)])
    assert (restored.outcome, restored.code) == ("failure", "build")
    assert "must keep the state" in restored.message


@pytest.mark.parametrize("name", NAMES)
async def test_the_sessions_own_account_of_changes_is_the_judges(jail: Sandbox, name: str) -> None:
    sample = load_sample(name)
    *_, changes, look = await jail.play(
        sample.program, [sample.reset(), *draw_journey(sample, 3, 120), Changes(), Look()]
    )
    assert changes.parts[0]["value"]
    assert changes.parts[0]["value"] == [
        change.model_dump() for change in diff_states(sample.state, look.state)
    ]
