"""The usual way, as a baseline: a FastAPI server with an SQLite file per environment, driven over a
raw keep-alive socket.

The handler is a plain function, as those are that wait for a database: a coroutine would hold up
every other request.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from envmill.base.settings import ROOT
from tests.bench.plane.sample import make_rows

APP = """
import shutil, sqlite3, sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

db = sqlite3.connect(sys.argv[2], check_same_thread=False)
app = FastAPI()
shutil.copy(sys.argv[2], sys.argv[2] + ".start")

class Find(BaseModel):
    key: str

@app.post("/find")
def find(body: Find):
    row = db.execute("select name, price, at from rows where key = ?", (body.key,)).fetchone()
    return {"name": row[0], "price": row[1], "at": row[2]}

@app.post("/order")
def order(body: Find):
    db.execute("update rows set at = 'now' where key = ?", (body.key,))
    db.commit()
    return find(body)

@app.post("/reset")
def reset(body: Find):
    global db
    db.close()
    shutil.copy(sys.argv[2] + ".start", sys.argv[2])
    db = sqlite3.connect(sys.argv[2], check_same_thread=False)
    return find(body)

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False, timeout_keep_alive=600)
"""


_BODY = b'{"key":"r3"}'
FIND, ORDER, RESET = (
    b"POST /%s HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    b"%s" % (path, len(_BODY), _BODY)
    for path in (b"find", b"order", b"reset")
)


class Server:
    """One environment's server, started and ready."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "state.db"
        _fill(file)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", APP, str(port), str(file)], cwd=ROOT, stderr=subprocess.DEVNULL
        )
        self._socket = self._connect(port)
        self.call()
        self.start_seconds = time.perf_counter() - start

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, request: bytes = FIND) -> None:
        """One request, one reply, on the open connection."""
        self._socket.sendall(request)
        reply = self._socket.recv(65536)
        assert reply.startswith(b"HTTP/1.1 200"), reply
        while b"\r\n\r\n" not in reply or not reply.rstrip().endswith(b"}"):
            reply += self._socket.recv(65536)

    def close(self) -> None:
        self._socket.close()
        with self._process:
            self._process.kill()
        self._folder.cleanup()

    def _connect(self, port: int) -> socket.socket:
        while True:
            try:
                found = socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                if self._process.poll() is not None:
                    raise RuntimeError("the server did not start") from None
                time.sleep(0.002)
                continue
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found.settimeout(60)
            return found


def _fill(file: Path) -> None:
    import sqlite3

    db = sqlite3.connect(file)
    db.execute(
        "create table rows (key text primary key, name text, price real, tags text, at text)"
    )
    rows = make_rows(8)["rows"].items()
    db.executemany(
        "insert into rows values (?, ?, ?, ?, ?)",
        [(k, r["name"], r["price"], json.dumps(r["tags"]), r["at"]) for k, r in rows],
    )
    db.commit()
    db.close()


def read_pss(pid: int) -> float:
    """Megabytes of a process, what it shares counted by its part; 0 where the kernel does not
    tell."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return (
        next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024
    )


def pin() -> None:
    """To one core, with everything that is started from here."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
