"""The jail's client against a driver that answers badly: JailError and nothing else."""

from pathlib import Path

import pytest

from envmill.runtime.jail.client import Jail, JailError, Session

DRIVER = """
import json, socket, sys
end = socket.socket(fileno=int(sys.argv[1]))
def send(payload):
    end.sendall(len(payload).to_bytes(4, "little") + payload)
def receive():
    size = int.from_bytes(end.recv(4, socket.MSG_WAITALL), "little")
    return json.loads(end.recv(size, socket.MSG_WAITALL))
send(json.dumps({"layers": {}}).encode())
number = receive()["id"]
"""
PROGRAM = {"hash": "h", "files": {}, "entry": "x:Y", "tools": []}
STATE = (
    'text = "[" * 200_000\n'
    'seen = {"outcome": "ok", "state_hash": "", "parts": [], "state": text}\n'
    'send(json.dumps({"id": number, "observations": [seen]}).encode())\n'
    "receive()\n"
)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param('send(b"[" * 200_000)\nreceive()\n', "RecursionError", id="deep-reply"),
        pytest.param("end.sendall(b'\\xff\\0\\0\\0{')\n", "EOFError", id="ends-within-a-reply"),
        pytest.param('send(b"{")\nreceive()\n', "JSONDecodeError", id="no-json"),
        pytest.param(STATE, "The state cannot be read", id="deep-state"),
    ],
)
def test_a_bad_answer_is_a_jail_error(tmp_path: Path, answer: str, words: str) -> None:
    (tmp_path / "__main__.py").write_text(DRIVER + answer)
    with Jail(tmp_path) as jail, pytest.raises(JailError, match=words):
        Session(jail, PROGRAM, 1).state()
