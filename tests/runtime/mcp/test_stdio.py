"""The server over lines: whatever the lines hold and however they are cut, it answers what can be
answered, and ends with them."""

import json
import os
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from envmill.runtime.mcp.host import JailHost
from envmill.runtime.mcp.messages import LIMIT
from envmill.runtime.mcp.stdio import serve_lines
from tests.runtime.mcp.clients import REVISION, WHO, make_request
from tests.soak import count

BEGIN = json.dumps(
    make_request("begin", "initialize", {"protocolVersion": REVISION, **WHO})
).encode()
CALLS = [
    json.dumps(
        make_request(1, "tools/call", {"name": "find", "arguments": {"name": "T1"}})
    ).encode(),
    json.dumps(make_request("é", "tools/call", {"name": "names"}), ensure_ascii=False).encode(),
    json.dumps(make_request(-3, "tools/list", {"cursor": None})).encode(),
    b'{"jsonrpc": "2.0", "method": "notifications/x"}',
]


def converse(host: JailHost, chunks: Iterator[bytes]) -> list[Any]:
    """All that is answered to bytes that come in these pieces."""
    opened = host.open(whole=True)
    (source, theirs), (mine, sink) = os.pipe(), os.pipe()

    def serve() -> None:
        serve_lines(opened, source, sink)
        os.close(sink)

    def send() -> None:
        with os.fdopen(theirs, "wb", buffering=0) as line:
            for chunk in chunks:
                line.write(chunk)

    threads = [threading.Thread(target=serve), threading.Thread(target=send)]
    for thread in threads:
        thread.start()
    with os.fdopen(mine, "rb") as line:
        replies = [json.loads(one) for one in line]
    for thread in threads:
        thread.join()
    os.close(source)
    opened.close()
    return replies


def damage(line: bytes, dice: random.Random) -> bytes:
    """One byte lost, doubled, changed or many put in; never the end of a line."""
    place, what = dice.randrange(len(line)), dice.randrange(5)
    put = bytes(
        dice.choice([value for value in range(256) if value != 10])
        for _ in range(dice.choice((1, 1, 30)))
    )
    head, tail = line[:place], line[place:]
    return (head + tail[1:], head + put + tail, head + put + tail[1:], head, head + line)[what]


def cut(sent: bytes, dice: random.Random) -> Iterator[bytes]:
    """In pieces that mind no line."""
    while sent:
        size = dice.choice((1, 7, 100, 70_000))
        yield sent[:size]
        sent = sent[size:]


@pytest.mark.soak(area="mcp")
def test_damaged_lines_end_nothing(host: JailHost) -> None:
    dice = random.Random(5)
    lines = [damage(dice.choice(CALLS), dice) for _ in range(count(300, 20_000))]
    last = json.dumps(make_request("last", "tools/call", {"name": "names"})).encode()
    replies = converse(host, cut(b"\n".join([BEGIN, *lines, last]) + b"\n", dice))
    assert (replies[0]["id"], replies[-1]["id"]) == ("begin", "last")
    assert "T1" in replies[-1]["result"]["content"][0]["text"]
    assert all(("error" in one) != ("result" in one) for one in replies)
    assert len(replies) <= len(lines) + 2


def test_what_is_too_long_is_passed_over_and_said(host: JailHost) -> None:
    ping = json.dumps(make_request("p", "ping")).encode()
    long = [b"x" * (LIMIT + 1), b"x" * (3 * LIMIT), b" " * 10, b"\r", ping + b"\r"]
    replies = converse(host, iter([b"\n".join([*long, b""])]))
    assert [one.get("id") for one in replies] == [None, None, "p"]
    assert "was passed over" in replies[0]["error"]["message"]


def test_half_a_line_at_the_end_is_not_done(host: JailHost) -> None:
    assert [one["id"] for one in converse(host, iter([BEGIN + b"\n", CALLS[0]]))] == ["begin"]
