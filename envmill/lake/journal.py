"""The journal: model calls on local disk before anyone uses their replies, so that a kill repeats
only calls in flight.

append ─► waiting list ─► one write + fsync for all that wait ─► every append returns
seal   ─► journals of ended processes become `model_calls` files of the lake; replies stay in their rows, which zstd packs
"""

import asyncio
import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import orjson

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp
from envmill.lake.coordination.locking import try_lock
from envmill.lake.lake import Lake
from envmill.lake.stores.local import make_folder, sync_folder
from schemas.ledger import ModelCall
from schemas.shapes import Row, upgrade, version_of

_MOST_CALLS, _MOST_CHARACTERS = 2048, 16 * 2**20
"""Of one file that is sealed."""


class Journal:
    """One process's journal of one run; the file stays locked while the process lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open()
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None
        self._lines = 0
        self._committing = asyncio.Lock()
        self._closed = False

    def next_ordinal(self) -> str:
        """A place in this journal; no two rows of a run share one."""
        self._lines += 1
        return f"{self.name}:{self._lines}"

    async def append(self, call: ModelCall) -> None:
        """Return once the call is on disk. Calls that arrive meanwhile share the next fsync."""
        if self._closed:
            raise LakeError(
                f"The journal {self.path} is closed: the run has ended in this process."
            )
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((call.model_dump_json().encode() + b"\n", done))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush())
        await done

    async def _flush(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            async with self._committing:
                failure = await asyncio.to_thread(self._commit, b"".join(line for line, _ in batch))
            for _, done in batch:
                if not done.done():
                    done.set_exception(failure) if failure else done.set_result(None)

    def _open(self) -> None:
        name = uuid.uuid4().hex
        path = self._folder / f"{name}.jsonl"
        try:
            make_folder(self._folder)
            self._file = _create_locked(path)
        except OSError as error:
            raise LakeError(
                f"No journal can be opened in {self._folder} ({error}). Make it writable, or set ENVMILL_HOME elsewhere."
            ) from error
        self.name, self.path, self._good = name, path, 0

    async def rotate(self) -> bool:
        """Go on in a new file, so that the old one can be sealed. False when there is nothing in it."""
        async with self._committing:
            if self._closed or not self._good:
                return False
            old = self._file
            await asyncio.to_thread(self._open)
            os.close(old)
            return True

    def _commit(self, lines: bytes) -> LakeError | None:
        """All lines or none: half a line in the middle would make the whole journal unreadable."""
        try:
            os.ftruncate(self._file, self._good)  # the lines of a commit that failed, if any
            view = memoryview(lines)
            while view:
                view = view[os.write(self._file, view) :]
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._good)
            return LakeError(
                f"The journal {self.path} cannot be written ({error}). Free space there, then run "
                "again."
            )
        self._good += len(lines)
        return None

    async def close(self) -> None:
        """Let the last commit finish and give up the lock. Later appends are refused: the number of
        the closed file is soon another's."""
        self._closed = True
        if self._flusher is not None:
            await self._flusher
        os.close(self._file)


def _create_locked(path: Path) -> int:
    """Locked before it bears a name that sealing looks for: an unlocked journal would be taken for
    a dead one's and removed."""
    young = path.with_suffix(".young")
    handle = os.open(
        young, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644
    )
    fcntl.flock(handle, fcntl.LOCK_EX)
    young.rename(path)
    sync_folder(path.parent)
    return handle


Read: TypeAlias = dict[str, tuple[int, int]]
"""Journal → bytes and lines that were read of it."""


def read_calls(folder: Path, read: Read | None = None) -> Iterator[ModelCall]:
    """Calls of every journal in the folder, live ones too, behind what was read before; a line torn
    by a kill was never returned to anyone."""
    read = {} if read is None else read
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError):
            for call, place in _read_lines(path, *read.get(path.stem, (0, 0))):
                read[path.stem] = place
                yield call


def seal(folder: Path, lake: Lake, stamp: Stamp) -> int:
    """Turn journals that nobody holds any more into lake files; sealing twice gives the same
    file."""
    sealed = 0
    for path in sorted(folder.glob("*.jsonl")):
        with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
            if not try_lock(file.fileno()):
                continue
            for number, calls in enumerate(_divide(_read_journal(path))):
                name = f"seal-{path.stem}" + (f"-{number}" if number else "")
                lake.put(ModelCall, calls, name, stamp)
                sealed += len(calls)
            path.unlink()
    return sealed


def _divide(calls: Iterator[ModelCall]) -> Iterator[list[ModelCall]]:
    """Calls of one file each, the same ones every time: a journal of a large run does not fit in memory."""
    part, size = list[ModelCall](), 0
    for call in calls:
        part.append(call)
        size += len(call.reply) + len(call.reasoning)
        if len(part) >= _MOST_CALLS or size >= _MOST_CHARACTERS:
            yield part
            part, size = [], 0
    if part:
        yield part


def _read_journal(path: Path) -> Iterator[ModelCall]:
    return (call for call, _ in _read_lines(path, 0, 0))


def _read_lines(path: Path, end: int, number: int) -> Iterator[tuple[ModelCall, tuple[int, int]]]:
    """The calls behind so many bytes and lines, and how many bytes and lines there are with each."""
    with path.open("rb") as file:
        file.seek(end)
        for line in file:
            if not line.endswith(b"\n"):
                return  # torn
            end, number = end + len(line), number + 1
            try:
                call = ModelCall.model_validate(_renew(orjson.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise LakeError(
                    f"{path}, line {number} is damaged ({error}). Delete that line: only its call "
                    "is then asked again."
                ) from error
            yield call, (end, number)


def _renew(row: Row) -> Row:
    """A line that an older EnvMill left behind, as this one writes it."""
    version, present = int(row["schema_version"]), version_of(ModelCall)
    return row if version == present else upgrade(ModelCall.table, version, row, present)
