"""Frames between the processes of the sandbox: a 4-byte little-endian length, then JSON."""

import importlib
import json
import os
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

LIMIT = 16 * 1024 * 1024
"""Bytes of a frame. Half of it bounds a state."""
CHUNK = 16 * 1024
"""16 KB: a larger read buffer costs 10 µs per message."""
_LENGTH = struct.Struct("<I")
_monotonic = time.monotonic  # kept from before the clock becomes virtual


class _Codec:
    """How JSON is written and read: the standard library, until somebody hands over something faster."""

    loads: Callable[[bytes], Any] = staticmethod(json.loads)

    @staticmethod
    def dumps(message: Message) -> bytes:
        return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


_codec: Any = _Codec


def adopt_codec(name: str) -> None:
    """Use a module that has `loads`, and `dumps` to bytes. This folder depends on none, so its user names it."""
    global _codec
    _codec = importlib.import_module(name)


class Closed(Exception):
    """The other end is gone."""


class Overdue(Exception):
    """The other end did not answer in time."""


class BadFrame(Exception):
    """Bytes that are no frame, or more of them than were asked for."""


def encode(message: Message) -> bytes:
    """One frame. What is sent was made plain before: orjson would write NaN as null without a word."""
    payload = _codec.dumps(message)
    if len(payload) > LIMIT:
        raise BadFrame(f"a message of {len(payload)} bytes is over the limit of {LIMIT}")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes) -> Message:
    """The message in a payload; only objects are messages."""
    try:
        message = _codec.loads(payload)
    except ValueError as error:
        raise BadFrame(str(error)) from None
    if not isinstance(message, dict):
        raise BadFrame("a frame holds something else than an object")
    return message  # pyright: ignore[reportUnknownVariableType]


def frame_length(header: bytes) -> int:
    """Length of the payload a header announces."""
    length: int = _LENGTH.unpack(header)[0]
    if length > LIMIT:
        raise BadFrame(f"a frame of {length} bytes is over the limit of {LIMIT}")
    return length


class Channel:
    """One end of a stream socket. Reads take what is there, so `surplus` shows bytes nobody asked for."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.surplus = b""

    def send(self, message: Message) -> None:
        self.write(encode(message))

    def write(self, frame: bytes) -> None:
        try:
            written = os.write(self.fd, frame)
            rest = memoryview(frame)[written:]
            while rest:
                rest = rest[os.write(self.fd, rest) :]
        except BlockingIOError:
            raise Overdue("the other end does not read") from None
        except OSError as error:
            raise Closed(str(error)) from None

    def receive(self, deadline: float | None = None) -> Message:
        """The next message, before a deadline on the monotonic clock (the socket's own time-out is the tick)."""
        data = self.surplus or self._read(deadline)
        while len(data) < 4:
            data += self._read(deadline)
        end = 4 + frame_length(data[:4])
        if len(data) < end:
            parts, have = [data], len(data)
            while have < end:
                parts.append(self._read(deadline, min(end - have, 1 << 20) if end > CHUNK else CHUNK))
                have += len(parts[-1])
            data = b"".join(parts)
        self.surplus = data[end:]
        return decode(data[4:end])

    def _read(self, deadline: float | None, size: int = CHUNK) -> bytes:
        while True:
            try:
                data = os.read(self.fd, size)
            except BlockingIOError:
                data = None
            except OSError as error:
                raise Closed(str(error)) from None
            # Looked at after every read, or a byte now and then would hold the reader forever.
            if deadline is not None and _monotonic() > deadline:
                raise Overdue("no answer before the deadline")
            if data:
                return data
            if data == b"":
                raise Closed("end of stream")


def send_with_fd(control: socket.socket, message: Message, fd: int) -> None:
    """Send one message and hand over a descriptor with it."""
    try:
        socket.send_fds(control, [encode(message)], [fd])
    except OSError as error:
        raise Closed(str(error)) from None


def receive_with_fd(control: socket.socket) -> tuple[Message, int]:
    """One message and the descriptor that rides on its first byte; -1 when none came."""
    header, fds, _, _ = socket.recv_fds(control, 4, 1)
    if len(header) < 4:
        raise Closed("end of stream")
    left = frame_length(header)
    parts: list[bytes] = []
    while left:
        parts.append(control.recv(min(left, 1 << 20)))
        if not parts[-1]:
            raise Closed("end of stream")
        left -= len(parts[-1])
    return decode(b"".join(parts)), fds[0] if fds else -1
