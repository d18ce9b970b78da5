"""The position of a random stream as JSON, so that a snapshot brings it back."""

import base64
import struct
from random import Random
from typing import Any

_WORDS = struct.Struct("<625I")


def save_stream(stream: Random) -> list[Any]:
    """Position of a stream: 2.5 KB of words in base64, and the half of a Gaussian pair not yet
    given out."""
    version, words, spare = stream.getstate()
    return [version, base64.b64encode(_WORDS.pack(*words)).decode(), spare]


def load_stream(stream: Random, saved: list[Any]) -> None:
    """Put a stream back, in place: programs may hold it."""
    version, words, spare = saved
    stream.setstate((version, _WORDS.unpack(base64.b64decode(words)), spare))
