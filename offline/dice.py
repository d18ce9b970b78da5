"""Seeded randomness: one independent stream per purpose, the same in every process."""

import random

from schemas.base import Json, digest


def make_dice(*key: Json) -> random.Random:
    """A generator that depends on the key alone."""
    return random.Random(int(digest(list(key), 16), 16))
