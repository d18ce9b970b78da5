"""Frames: what is no frame is refused, what is late is noticed, what is surplus shows."""

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from envmill.runtime.jail.process import connect
from envmill.runtime.jail.wire import LIMIT, BadFrame, Channel, Closed, Overdue, decode, encode


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    mine, theirs = connect()
    with mine, theirs:
        yield Channel(mine.fileno()), theirs


@pytest.mark.parametrize("size", [0, 10, 16 * 1024 - 4, 16 * 1024, 3_000_000])
def test_a_message_arrives_whole(ends: tuple[Channel, socket.socket], size: int) -> None:
    channel, other = ends
    message = {"text": "ü" * size}
    sender = threading.Thread(target=lambda: other.sendall(encode(message)))
    sender.start()
    assert channel.receive(time.monotonic() + 5) == message
    assert channel.surplus == b""
    sender.join()


def test_two_frames_are_two_messages(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.sendall(encode({"n": 1}) + encode({"n": 2}))
    assert channel.receive() == {"n": 1}
    assert channel.surplus
    assert channel.receive() == {"n": 2}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(struct.pack("<I", LIMIT + 1), BadFrame, id="too-long"),
        pytest.param(struct.pack("<I", 2) + b"[]", BadFrame, id="no-object"),
        pytest.param(struct.pack("<I", 2) + b"{x", BadFrame, id="no-json"),
        pytest.param(b"\x01", Overdue, id="never-finished"),
        pytest.param(b"", Overdue, id="silent"),
    ],
)
def test_what_is_no_frame(
    ends: tuple[Channel, socket.socket], data: bytes, error: type[Exception]
) -> None:
    channel, other = ends
    other.sendall(data)
    with pytest.raises(error):
        channel.receive(time.monotonic() + 0.05)


def test_a_byte_now_and_then_does_not_extend_the_deadline(
    ends: tuple[Channel, socket.socket],
) -> None:
    channel, other = ends

    def drip() -> None:
        other.sendall(struct.pack("<I", 1000))
        for _ in range(10):
            time.sleep(0.05)
            other.sendall(b"x")

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises(Overdue):
        channel.receive(time.monotonic() + 0.2)
    dripping.join()


def test_a_closed_end(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.close()
    with pytest.raises(Closed):
        channel.receive()
    with pytest.raises(Closed):
        channel.send({})


def test_codec_of_the_standard_library() -> None:
    assert decode(encode({"ü": [1, None]})[4:]) == {"ü": [1, None]}
    with pytest.raises((ValueError, BadFrame)):
        encode({"text": "x" * (LIMIT + 1)})


@pytest.mark.parametrize(
    "text",
    [
        "[NaN]",
        '{"a":-Infinity}',
        '{"a":1e999}',
        '{"a":"\\ud800"}',
        '{"\\uDFFF":1}',
        '{"a":' + "[" * 200_000,
        "[1]",
        "{",
    ],
)
def test_what_could_not_be_written_is_not_read(text: str) -> None:
    with pytest.raises(BadFrame):
        decode(text.encode())


def test_escapes_of_whole_characters_are_read() -> None:
    assert decode(b'{"a":"\\ud83d\\ude00 \\u00e4", "b": 1.5e3}') == {"a": "😀 ä", "b": 1500.0}
