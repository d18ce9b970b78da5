"""The index on disk finds what datasketch's own index in memory finds."""

import random

import pytest

from envmill.language.similarity import Near, Runs

SEEDS = range(3)


def draw_runs(dice: random.Random) -> list[Runs]:
    """Sets of which many share half of what they hold."""
    roots = [frozenset(str(dice.random()) for _ in range(30)) for _ in range(20)]
    return [
        frozenset(
            {
                *dice.sample(sorted(dice.choice(roots)), dice.randrange(5, 30)),
                *(str(dice.random()) for _ in range(8)),
            }
        )
        for _ in range(300)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_finds_what_an_index_in_memory_finds(seed: int) -> None:
    # Imported here because the import takes a second, and every process that collects tests would pay for it.
    from datasketch import MinHash, MinHashLSH  # pyright: ignore[reportMissingTypeStubs]

    sets, near, plain = (
        draw_runs(random.Random(seed)),
        Near(0.35),
        MinHashLSH(threshold=0.35, num_perm=128),
    )
    found = 0
    for number, runs in enumerate(sets):
        hashed = MinHash(num_perm=128, seed=1)
        hashed.update_batch([run.encode() for run in runs])  # pyright: ignore[reportUnknownMemberType]
        wanted = sorted(map(str, plain.query(hashed)))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        assert near.find(runs) == wanted
        found += len(wanted)
        plain.insert(f"name {number}", hashed)
        near.add(f"name {number}", runs)
    assert found > 300


def test_a_name_that_is_there_stays_and_nothing_has_no_likeness() -> None:
    near = Near(0.5)
    near.add("one", frozenset({"a b c", "b c d"}))
    near.add("one", frozenset({"x y z"}))
    near.add("empty", frozenset())
    assert near.find(frozenset({"a b c", "b c d"})) == ["one"]
    assert near.find(frozenset({"x y z"})) == []
    assert near.find(frozenset()) == []
