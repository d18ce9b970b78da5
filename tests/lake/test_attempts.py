"""Attempts end in the order of their numbers: of two writers of one subject exactly one is
committed, whoever is slow, late or dead."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.compaction import compact
from envmill.lake.lake import Fingerprint, Lake, group_rows
from schemas.ledger import Attrition
from schemas.seed import Seed
from tests.lake.views.test_shell import ask_program, ask_shell

MARK = Fingerprint("environments-generate", "f" * 20)
PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)
Turn = Callable[[int], Stamp]
Save = Callable[..., bool]


@pytest.fixture
def make_turn(make_stamp: Callable[..., Stamp]) -> Callable[[int], Stamp]:
    return partial(make_stamp, bucket=0)


@pytest.fixture
def save(
    make_seed: Callable[[int], Seed], make_exit: Callable[..., Attrition]
) -> Callable[..., bool]:
    """Commit one seed per number, all of them made of one subject each."""

    def save(lake: Lake, turn: tuple[Stamp, object], numbers: Sequence[int]) -> bool:
        stamp, batch = turn
        exits = [make_exit(f"s{number % 100}", "kept", stamp.try_number, 1.0) for number in numbers]
        return lake.commit(batch, group_rows(map(make_seed, numbers)), exits, stamp)  # pyright: ignore[reportArgumentType]

    return save


async def claim(lake: Lake, make_turn: Turn, patience: float = 0.3) -> tuple[Stamp, object]:
    return await lake.attempts.take_turn(make_turn, ["seeds"], patience)


@PLACES
async def test_who_was_taken_for_dead_cannot_commit_any_more(
    place: str, make_turn: Turn, save: Save
) -> None:
    lake, other = Lake(place), Lake(place)
    slow = await claim(lake, make_turn)
    quick = await claim(other, make_turn)
    assert (slow[0].try_number, quick[0].try_number) == (1, 2)
    assert save(other, quick, [101])
    assert not save(lake, slow, [1])
    assert [seed.brief.number for seed in Lake(place).read(Seed, "r1")] == [101]
    assert lake.outcomes("r1", MARK) == {"s1": "kept"}
    assert sum(row.cost or 0 for row in lake.read(Attrition, "r1")) == 1.0


async def test_who_commits_while_another_waits_is_seen_by_it(
    lake: Lake, make_turn: Turn, save: Save
) -> None:
    first = await claim(lake, make_turn)
    waiting = asyncio.create_task(claim(lake, make_turn, patience=30))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    assert save(lake, first, [1])
    await waiting
    assert lake.outcomes("r1", MARK) == {"s1": "kept"}


@PLACES
async def test_a_commit_that_comes_first_stands_although_somebody_began_to_void_it(
    place: str, make_turn: Turn, save: Save
) -> None:
    lake = Lake(place)
    stamp, batch = await claim(lake, make_turn)
    lake.store.put_if_absent(f"attrition/run=r1/{batch.stem}.void", b"")  # pyright: ignore[reportAttributeAccessIssue]
    assert lake.read(Seed, "r1") == []
    assert save(lake, (stamp, batch), [1])
    assert not lake.attempts.void("r1", batch)  # pyright: ignore[reportArgumentType]
    assert len(lake.read(Seed, "r1")) == len(lake.read(Attrition, "r1")) == 1


@pytest.mark.long
async def test_what_a_void_attempt_wrote_never_counts_compacted_or_not(
    lake: Lake, make_turn: Turn, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, voided = await claim(lake, make_turn), []
    real = lake.put

    def put(record: type[Seed] | type[Attrition], *arguments: object) -> bool:
        if record is Attrition:
            voided.append(lake.attempts.void("r1", slow[1]))  # pyright: ignore[reportArgumentType]
        return real(record, *arguments)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(lake, "put", put)
        assert not save(lake, slow, [1])
    assert voided == [True]
    assert len(lake.store.entries("seeds/run=r1")) == 1  # its file is there
    assert lake.read(Seed, "r1") == []
    assert ask_shell(Path(lake.url))["seeds"] == []
    for number in (2, 3):
        assert save(lake, await claim(lake, make_turn), [number])
    lake.store.put_if_absent("_runs/r1.json", b"{}")
    assert [
        len(rows["seeds"]) for rows in (ask_shell(Path(lake.url)), ask_program(Path(lake.url)))
    ] == [2, 2]
    compact(lake, "r1")
    compact(lake, "r1", grace=-60)
    assert [
        len(rows["seeds"]) for rows in (ask_shell(Path(lake.url)), ask_program(Path(lake.url)))
    ] == [2, 2]
    assert [seed.brief.number for seed in Lake(lake.url).read(Seed, "r1")] in ([2, 3], [3, 2])
    assert lake.next_attempt("r1", MARK.step, 0) == 4


async def test_attempts_of_other_buckets_and_fingerprints_are_not_waited_for(
    lake: Lake, make_stamp: Callable[..., Stamp], make_turn: Turn
) -> None:
    await lake.attempts.take_turn(partial(make_stamp, bucket=1), [], 9999)
    await lake.attempts.take_turn(partial(make_stamp, bucket=0, fingerprint="e" * 20), [], 9999)
    stamp, _ = await asyncio.wait_for(claim(lake, make_turn, 9999), 60)
    assert stamp.try_number == 2
