"""MinHash: a short sketch of a set, by which an index finds sets that share much.

texts ──SHA-1, mixed──► numbers ──permuted──► least number of each permutation ──cut into bands──► keys of an index

Sketches equal those of datasketch 2 (scheme `affine32`, seed 1). Importing that package takes two
seconds of processor time in every process of a run, because it imports all of its indexes.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import uint32
    from numpy.typing import NDArray

_SEED = 1
_LARGEST = 0xFFFFFFFF
_AT_ONCE = 4096
"""Numbers permuted at once: 2 MB of 128 permutations."""
_POINTS = 201
"""Points of a numerical integral."""


def sketch_set(texts: Iterable[str], permutations: int) -> "NDArray[uint32]":
    """The least number of each permutation."""
    import numpy as np  # a fifth of a second that only callers pay

    digests = b"".join(sha1(text.encode(), usedforsecurity=False).digest()[:4] for text in texts)
    numbers = np.frombuffer(digests, dtype="<u4").astype(np.uint32)
    # MurmurHash3's finaliser.
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        numbers = (numbers ^ (numbers >> np.uint32(shift))) * np.uint32(factor)
    numbers ^= numbers >> np.uint32(16)
    factors, offsets = _make_permutations(permutations)
    least = np.full(permutations, _LARGEST, dtype=np.uint32)
    for begin in range(0, len(numbers), _AT_ONCE):
        part = numbers[begin : begin + _AT_ONCE, None] * factors + offsets
        least = np.minimum(least, part.min(axis=0))
    return least


@cache
def choose_bands(threshold: float, permutations: int) -> tuple[int, int]:
    """Number of bands, and of values in each, with the smallest error: the chance that a pair below
    the threshold shares a band, and that a pair above it shares none."""
    import numpy as np

    below, above = np.linspace(0, threshold, _POINTS), np.linspace(threshold, 1, _POINTS)
    errors = {
        (bands, size): float(
            np.trapezoid(1 - (1 - below**size) ** bands, below)
            + np.trapezoid((1 - above**size) ** bands, above)
        )
        for bands in range(1, permutations + 1)
        for size in range(1, permutations // bands + 1)
    }
    return min(errors, key=lambda shape: errors[shape])


@cache
def _make_permutations(count: int) -> "tuple[NDArray[uint32], NDArray[uint32]]":
    """Factors and offsets of maps modulo 2^32. A factor is odd, so that no two numbers meet."""
    import numpy as np

    dice = np.random.RandomState(_SEED)
    factors = dice.randint(0, 1 << 31, count, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, dice.randint(0, 1 << 32, count, dtype=np.uint32)
