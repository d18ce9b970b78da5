"""The journal: model calls on local disk before anyone uses their replies, so that a kill repeats only calls in flight.

append ─► waiting list ─► one write + fsync for all that wait ─► every append returns
seal   ─► journals of ended processes become `model_calls` files of the lake
"""

import asyncio
import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import orjson

from envmill.errors import LakeError
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.lake.lease import try_lock
from schemas.ledger import ModelCall


class Journal:
    """One process's journal of one run; the file stays locked while the process lives."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = uuid.uuid4().hex
        self.path = folder / f"{self.name}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._lines = 0
        self._closed = False

    def next_ordinal(self) -> str:
        """A place in this journal; no two rows of a run share one."""
        self._lines += 1
        return f"{self.name}:{self._lines}"

    async def append(self, call: ModelCall) -> None:
        """Return once the call is on disk. Calls that arrive meanwhile share the next fsync."""
        if self._closed:
            raise LakeError(f"The journal {self.path} is closed: the run has ended in this process.")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((orjson.dumps(call.model_dump(mode="json")) + b"\n", done))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush())
        await done

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            failure = await asyncio.to_thread(self._commit, b"".join(line for line, _ in batch))
            for _, done in batch:
                if not done.done():
                    done.set_exception(failure) if failure else done.set_result(None)

    def _commit(self, lines: bytes) -> LakeError | None:
        good = os.fstat(self._file).st_size
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, good)  # half a line in the middle would make the whole journal unreadable
            return LakeError(f"The journal {self.path} cannot be written ({error}). Free space there, then run again.")
        return None

    async def close(self) -> None:
        """Let the last commit finish and give up the lock. Later appends are refused: the number of the closed file is soon another's."""
        self._closed = True
        if self._flusher is not None:
            await self._flusher
        os.close(self._file)


def read_calls(folder: Path) -> Iterator[ModelCall]:
    """Calls of every journal in the folder, live ones too; a line torn by a kill was never returned to anyone."""
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):
            yield from _read_journal(path)


def seal(folder: Path, lake: Lake, stamp: Stamp) -> int:
    """Turn journals that nobody holds any more into lake files; sealing twice gives the same file."""
    sealed = 0
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            if not try_lock(file.fileno()):
                continue
            if calls := list(_read_journal(path)):
                lake.put(ModelCall, calls, f"seal-{path.stem}", stamp)
            path.unlink()
            sealed += len(calls)
    return sealed


def _read_journal(path: Path) -> Iterator[ModelCall]:
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last newline is torn or empty
        try:
            yield ModelCall.model_validate(orjson.loads(line))
        except ValueError as error:
            raise LakeError(f"{path}, line {number} is damaged ({error}). Move the file away: its calls are then asked again.") from error
