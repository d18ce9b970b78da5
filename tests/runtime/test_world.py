"""Chance that a session is given: the stream of its seed, also where it is seeded only when
somebody draws."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from envmill.runtime.world import SeededRandom, World

DRAWS: dict[str, Callable[[Random], Any]] = {
    "random": lambda rng: rng.random(),
    "bits": lambda rng: rng.getrandbits(40),
    "bytes": lambda rng: rng.randbytes(5),
    "choice": lambda rng: rng.choice(range(1000)),
    "sample": lambda rng: rng.sample(range(1000), 5),
    "gauss": lambda rng: [rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1)],
    "position": lambda rng: rng.getstate(),
    "seeded": lambda rng: (rng.seed(9), rng.random()),
    "placed": lambda rng: (rng.setstate(Random(9).getstate()), rng.random()),
}


@pytest.mark.parametrize("before", ["random", "gauss", "seeded", "position"])
@pytest.mark.parametrize("draw", DRAWS)
def test_a_seed_put_off_gives_the_stream_of_that_seed(draw: str, before: str) -> None:
    put_off, other = SeededRandom(World(), 5), SeededRandom(World(), 5)
    for rng in (put_off, other):
        DRAWS[before](rng)
        rng.gauss(0, 1)
        rng.world.uses["randomness"] = 0
    put_off.put_off(7)
    other.seed(7)
    assert DRAWS[draw](put_off) == DRAWS[draw](other) == DRAWS[draw](Random(7))
    assert (put_off.random(), put_off.world.uses) == (other.random(), other.world.uses)
