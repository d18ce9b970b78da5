"""Frames between the processes of the sandbox: a 4-byte little-endian length, then JSON."""

import importlib
import json
import math
import os
import re
import socket
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

LIMIT = 64 * 1024 * 1024
"""Bytes of a frame. Less than half of it bounds a state."""
NARROW = 2 * 1024 * 1024
"""Bytes of a frame in which no state was asked for: twice a reply."""
CHUNK = 16 * 1024
"""16 KB: a larger read buffer costs 10 µs per message."""
_LENGTH = struct.Struct("<I")
_monotonic = time.monotonic  # kept from before the clock becomes virtual


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _read_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _read_integer(text: str) -> int:
    number = int(text) if len(text) < 21 else _refuse(f"{text[:20]}…")
    return number if -(2**63) <= number < 2**63 else _refuse(text)


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_read_number)
_NARROW_DECODER = json.JSONDecoder(
    parse_constant=_refuse, parse_float=_read_number, parse_int=_read_integer
)
_LONG = re.compile(rb"[0-9]{19}")
"""Perhaps an integer of more than 64 bits, which other readers round. Each integer is looked at
then, which takes three times as long."""


def read_strictly(payload: bytes) -> Any:
    """What may be read may also be written: no NaN, no endless number, no half of a character.
    ValueError or RecursionError else."""
    value = (_NARROW_DECODER if _LONG.search(payload) else _DECODER).decode(payload.decode())
    if b"\\u" in payload:
        # Only an escape can hold half a character, and what is written here has none.
        json.dumps(value, ensure_ascii=False).encode()
    return value


class _Codec:
    """How JSON is written and read: the standard library, until somebody hands over something
    faster."""

    loads = staticmethod(read_strictly)

    @staticmethod
    def dumps(message: Message) -> bytes:
        return json.dumps(
            message, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()


_codec: Any = _Codec
embed: Any = None
"""Makes a value of a message out of rendered JSON, where the codec can copy such."""
render_strictly: Any = None
"""Makes bytes of such a part, or TypeError."""


def adopt_codec(name: str) -> None:
    """Use a module that has `loads`, and `dumps` to bytes. This folder depends on none, so its user
    names it."""
    global _codec, embed, render_strictly
    _codec = importlib.import_module(name)
    strict = getattr(_codec, "OPT_STRICT_INTEGER", 0)
    embed = getattr(_codec, "Fragment", None) if strict else None
    render_strictly = partial(_codec.dumps, option=strict)


class Closed(Exception):
    """The other end is gone."""


class Overdue(Exception):
    """The other end did not answer in time."""


class BadFrame(Exception):
    """Bytes that are no frame, or more of them than were asked for."""


def render(message: Message) -> bytes:
    """A payload. What is sent was made plain before: orjson would write NaN as null without a
    word."""
    payload = _codec.dumps(message)
    if len(payload) > LIMIT:
        raise BadFrame(f"a message of {len(payload)} bytes is over the limit of {LIMIT}")
    return payload


def encode(message: Message) -> bytes:
    """One frame."""
    payload = render(message)
    return len(payload).to_bytes(4, "little") + payload


def decode(payload: bytes) -> Message:
    """The message in a payload; only objects are messages."""
    try:
        message = _codec.loads(payload)
    except (ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    if type(message) is not dict:
        raise BadFrame("a frame holds something else than an object")
    return message  # pyright: ignore[reportUnknownVariableType]


def frame_length(header: bytes, limit: int = LIMIT) -> int:
    """Length of the payload a header announces."""
    length: int = _LENGTH.unpack(header)[0]
    if length > limit:
        raise BadFrame(f"a frame of {length} bytes is over the limit of {limit}")
    return length


class Channel:
    """One end of a stream: a socket, or two pipes. Reads take what is there, so `surplus` shows
    bytes nobody asked for."""

    def __init__(
        self, fd: int, on_tick: Callable[[], None] | None = None, into: int | None = None
    ) -> None:
        self.fd = fd
        self._into = fd if into is None else into
        self.surplus = b""
        self._on_tick = on_tick
        """Called whenever the socket's own time-out ends a read with nothing."""
        self.examine: Callable[[bytes], None] | None = None
        """Called with a payload before it is decoded; BadFrame refuses it."""
        self.unexamined = 0
        """Bytes of a payload for which that is not worth a call."""

    def send(self, message: Message) -> None:
        self.write(encode(message))

    def write(self, frame: bytes) -> None:
        try:
            written = os.write(self._into, frame)
            if written == len(frame):
                return
            rest = memoryview(frame)[written:]
            while rest:
                rest = rest[os.write(self._into, rest) :]
        except BlockingIOError:
            raise Overdue("the other end does not read") from None
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, deadline: float | None = None, limit: int = LIMIT) -> Message:
        """The next message, before a deadline on the monotonic clock (the socket's own time-out is
        the tick)."""
        data = self.surplus or self._read(deadline)
        if len(data) == 4 + int.from_bytes(data[:4], "little"):
            # One read, one frame: so it is nearly always.
            self.surplus = b""
            payload = data[4:]
            if self.examine and len(payload) > self.unexamined:
                self.examine(payload)
            return decode(payload)
        while len(data) < 4:
            data += self._read(deadline)
        end = 4 + frame_length(data[:4], limit)
        have = len(data)
        if have < end:
            parts = [data]
            while have < end:
                parts.append(
                    self._read(deadline, min(end - have, 1 << 20) if end > CHUNK else CHUNK)
                )
                have += len(parts[-1])
            data = b"".join(parts)
        self.surplus = data[end:]
        payload = data[4:end]
        if self.examine and len(payload) > self.unexamined:
            self.examine(payload)
        return decode(payload)

    def _read(self, deadline: float | None, size: int = CHUNK) -> bytes:
        while True:
            try:
                data = os.read(self.fd, size)
            except BlockingIOError:
                data = None
                if self._on_tick:
                    self._on_tick()
            except OSError as error:
                raise Closed(str(error)) from None
            # Looked at after every read, or a byte now and then would hold the reader forever.
            if deadline is not None and _monotonic() > deadline:
                raise Overdue("no answer before the deadline")
            if data:
                return data
            if data == b"":
                raise Closed("end of stream")


def send_with_fds(control: socket.socket, frame: bytes, fds: Sequence[int]) -> None:
    """Send one frame and hand over descriptors with it."""
    try:
        socket.send_fds(control, [frame], fds)
    except OSError as error:
        raise Closed(str(error)) from None


def receive_with_fds(control: socket.socket) -> tuple[Message, list[int]]:
    """One message and the descriptors that ride on its first byte."""
    header, fds, _, _ = socket.recv_fds(control, 4, 2)
    return receive_rest(control, header), fds


def receive_rest(control: socket.socket, begun: bytes) -> Message:
    """A message of which the beginning was read, four bytes of it at least."""
    if len(begun) < 4:
        raise Closed("end of stream")
    left = frame_length(begun[:4]) + 4 - len(begun)
    parts = [begun[4:]]
    while left:
        parts.append(control.recv(min(left, 1 << 20)))
        if not parts[-1]:
            raise Closed("end of stream")
        left -= len(parts[-1])
    return decode(b"".join(parts))


FORK = encode({"op": "fork"})
"""What a template is asked for a session with; no shorter frame may be sent to one."""
