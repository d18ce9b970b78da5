"""Frames between the processes of the jail: bytes come in pieces, and a message, BadFrame or the
end comes out, with either codec."""

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from envmill.runtime.jail import wire
from envmill.runtime.jail.allowance import ALLOWANCE
from envmill.runtime.jail.wire import BadFrame, Channel, Closed, Overdue, adopt_codec, encode
from tests.fuzz.hunting import BrokenPromise, Target
from tests.fuzz.mutating import Mutator
from tests.fuzz.targets.claims import FULL

MESSAGES: tuple[Any, ...] = (
    {"seq": 7, "done": True, "observations": [FULL]},
    {
        "id": 1,
        "op": "step",
        "session": 3,
        "steps": [{"op": "call", "name": "a", "arguments": {"x": [1, 2.5, None, True, "ü"]}}],
    },
    {"layers": {"seccomp": True}},
)


class WireTarget(Target):
    """A pipe, and the reader at its end."""

    def make(self, mutator: Mutator) -> bytes:
        frames = []
        for _ in range(mutator.rng.randint(1, 3)):
            payload = mutator.render(mutator.change(mutator.rng.choice(MESSAGES)))
            length = (
                len(payload)
                if mutator.rng.random() < 0.9
                else mutator.rng.choice([0, 1, len(payload) - 1, 2**31, 2**32 - 1, 2**26 + 1])
            )
            frames.append(max(0, length).to_bytes(4, "little") + payload)
        whole = b"".join(frames)
        return mutator.damage(whole) if mutator.rng.random() < 0.2 else whole

    def play(self, content: bytes) -> str:
        told = self._read(content)
        with adopted("orjson"):
            return f"{told}, {self._read(content)}"

    def _read(self, content: bytes) -> str:
        taker, giver = os.pipe()
        os.set_blocking(giver, False)
        os.set_blocking(taker, False)
        try:
            os.write(giver, content[: 60 * 1024])
            os.close(giver)
            channel = Channel(taker)
            ALLOWANCE.renew()
            channel.examine = ALLOWANCE.spend
            count = 0
            try:
                while True:
                    message = channel.receive(time.monotonic() + 1, limit=1 << 20)
                    count += 1
                    _demand_plain(message)
                    if _write_and_read(message) not in (None, message):
                        raise BrokenPromise(
                            "a message that is another when it is written and read again"
                        )
            except (BadFrame, Closed, Overdue):
                return "read" if count else "refused"
        finally:
            os.close(taker)


@contextmanager
def adopted(codec: str) -> Iterator[None]:
    """For a while messages are written and read with another module."""
    usual = wire._codec, wire.embed, wire.render_strictly  # pyright: ignore[reportPrivateUsage]
    adopt_codec(codec)
    try:
        yield
    finally:
        wire._codec, wire.embed, wire.render_strictly = usual  # pyright: ignore[reportPrivateUsage]


def _write_and_read(message: Any) -> Any:
    """None where it is too deep or too large to be written: the driver answers for such itself."""
    try:
        return wire.decode(encode(message)[4:])
    except (TypeError, ValueError, RecursionError):
        return None


def _demand_plain(message: Any) -> None:
    """No NaN, no half of a character."""
    left = [message]
    while left:
        value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise BrokenPromise("a number without an end was read")
        if isinstance(value, str):
            value.encode()
        left += (
            value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        )
        left += value if isinstance(value, dict) else ()


def open_target() -> Target:
    return WireTarget()
