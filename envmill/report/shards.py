"""Scripts that carry data: a page opened from the disk may load scripts, and nothing else.

value ─► JSON ─► gzip ─► base64 ─► receive("name", "…")
(id, field, row) ─► part of the id's hash ─► one script per part, each record put together in it
"""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from schemas.base import Json

_HELD = (
    32 * 2**20
)  # characters held back before they are written to the parts; what the page of a run takes in memory beside one file
_LEVEL = 6  # of gzip: one more costs twice the time for 2 % less


class Fragment(NamedTuple):
    """One row's part of a record on the page."""

    id: str
    """Record it belongs to."""
    field: str
    """Where it stands in the record."""
    row: str
    """Id of the row: of a row written twice the latest attempt counts."""
    attempt: int
    """Attempt that wrote the row."""
    value: Json


def write_plain(path: Path, name: str, value: Json) -> None:
    """A script that is read before anything else, and so is not packed."""
    path.write_text(f"{name} = {_render(value)};\n", encoding="utf-8")


def write_packed(path: Path, value: Json) -> None:
    """A script that hands over its value once it is asked for; small, and free of whatever a text
    could do to a script."""
    packed = base64.b64encode(
        gzip.compress(
            json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), _LEVEL, mtime=0
        )
    )
    path.write_text(f'receive("{path.stem}","{packed.decode("ascii")}");\n', encoding="ascii")


def _render(value: Json) -> str:
    """JSON that is a script too, whatever encoding and page it is put into."""
    return json.dumps(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class RecordShards:
    """Records gathered row by row, in whatever order the rows come: memory holds one part at a
    time."""

    def __init__(self, folder: Path, count: int) -> None:
        self.count = count
        self._folder = folder
        self._held: list[list[str]] = [[] for _ in range(count)]
        self._size = 0

    def add(self, fragment: Fragment) -> None:
        line = json.dumps(fragment, ensure_ascii=True)
        self._held[zlib.crc32(fragment.id.encode("utf-8", "surrogatepass")) % self.count].append(
            line
        )
        self._size += len(line)
        if self._size >= _HELD:
            self._flush()

    def write(self) -> int:
        """One script per part; how many records there are."""
        self._flush()
        return sum(self._write_part(number) for number in range(self.count))

    def _flush(self) -> None:
        for number, lines in enumerate(self._held):
            if lines:
                with self._path(number).open("a", encoding="ascii") as file:
                    file.writelines(f"{line}\n" for line in lines)
                lines.clear()
        self._size = 0

    def _path(self, number: int) -> Path:
        return self._folder / f"part-{number}.jsonl"

    def _write_part(self, number: int) -> int:
        path = self._path(number)
        records = _gather(path) if path.exists() else {}
        write_packed(self._folder / f"records-{number}.js", records)
        path.unlink(missing_ok=True)
        return len(records)


def _gather(path: Path) -> dict[str, dict[str, list[Json]]]:
    """Record → field → rows, in the order of their ids, whatever file each came from."""
    newest: dict[str, dict[str, dict[str, tuple[int, Json]]]] = {}
    for fragment in _read(path):
        rows = newest.setdefault(fragment.id, {}).setdefault(fragment.field, {})
        if fragment.row not in rows or rows[fragment.row][0] < fragment.attempt:
            rows[fragment.row] = (fragment.attempt, fragment.value)
    return {
        key: {
            field: [rows[row][1] for row in sorted(rows)] for field, rows in sorted(fields.items())
        }
        for key, fields in sorted(newest.items())
    }


def _read(path: Path) -> Iterator[Fragment]:
    with path.open(encoding="ascii") as file:
        for line in file:
            values: list[Any] = json.loads(line)
            yield Fragment(*values)
