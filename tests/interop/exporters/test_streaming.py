"""Exports that are written while they are read: the same bytes, whatever holds the rows and however many there are."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]
import pytest

from envmill.interop.exporters import EXPORTERS
from envmill.interop.exporters import contents as writing
from envmill.interop.exporters.base import OutputFolder, hold_folders, write_output
from envmill.interop.exporters.columns import GROUP, ExportColumn, write_parquet
from envmill.interop.exporters.contents import Contents, hash_content
from envmill.interop.exporters.rows import MadeRows
from envmill.pipeline.locking import lock_folder
from tests.interop.exporters.specimens import make_export_set

COLUMNS: tuple[ExportColumn[int], ...] = (
    ExportColumn("number", "int64", "", lambda number: number),
    ExportColumn("told", "json", "", lambda number: {"seen": [number] * (number % 5)}),
)


@pytest.mark.parametrize("count", [0, 1, GROUP, GROUP + 1, 3 * GROUP])
def test_a_table_holds_its_rows_and_a_small_one_is_as_it_was(count: int) -> None:
    found = pq.read_table(io.BytesIO(content := write_parquet(COLUMNS, iter(range(count)))))
    assert found["number"].to_pylist() == [*range(count)]
    assert pq.ParquetFile(io.BytesIO(content)).num_row_groups == max(1, -(-count // GROUP))
    if count <= GROUP:
        whole = {"number": [*range(count)], "told": [_render(number) for number in range(count)]}
        schema = pa.schema([("number", pa.int64()), ("told", pa.string())])
        pq.write_table(pa.table(whole, schema=schema), sink := io.BytesIO(), compression="zstd")
        assert content == sink.getvalue()


def _render(number: int) -> str:
    return f'{{"seen":[{",".join([str(number)] * (number % 5))}]}}'


def test_what_is_too_large_for_memory_is_written_and_hashed_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"small": [b"one line\n"], "large": [bytes([number]) * 999 for number in range(50)]}

    def make() -> OutputFolder:
        contents = Contents()
        for name, some in parts.items():
            contents.put(name, some)
        return OutputFolder("x", "x", contents.files, 1, (), (), contents.staged)

    held = make()
    monkeypatch.setattr(writing, "_HELD", 2000)
    monkeypatch.setattr(writing, "_CHUNK", 700)
    staged = make()
    assert (set(held.staged), set(staged.staged)) == (set(), {"large"})
    assert held.content_hash == staged.content_hash
    bundles = [
        write_output(one, tmp_path / name, "r") for name, one in (("a", held), ("b", staged))
    ]
    assert bundles[0] == bundles[1]
    for name, some in parts.items():
        assert (tmp_path / "b" / "x" / name).read_bytes() == b"".join(some)
    before = (tmp_path / "b" / "x" / "large").stat().st_ino
    write_output(staged, tmp_path / "b", "r")
    assert (tmp_path / "b" / "x" / "large").stat().st_ino == before, (
        "the same content is left alone"
    )
    (tmp_path / "b" / "x" / "large").write_bytes(b"x" * 50 * 999)
    write_output(staged, tmp_path / "b", "r")
    assert (tmp_path / "b" / "x" / "large").read_bytes() == b"".join(parts["large"])


def test_a_file_that_was_staged_can_be_read_twice() -> None:
    contents: Any = Contents()
    contents.put("x", [b"y" * (writing._HELD + 1)])
    assert hash_content(contents.staged["x"]) == hash_content(b"y" * (writing._HELD + 1))
    assert hash_content(contents.staged["x"]) == hash_content(b"y" * (writing._HELD + 1))


def test_rows_that_are_made_anew() -> None:
    rows = MadeRows(5, lambda: iter(range(5)))
    assert ([*rows], [*rows], len(rows), rows[1], rows[-1]) == (
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 4],
        5,
        1,
        4,
    )
    assert rows[1:3] == [1, 2]


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_folders_that_are_too_large_for_memory_are_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their lock names every file, too."""
    export_set = make_export_set()
    plain = [*EXPORTERS[name](export_set)]
    monkeypatch.setattr(writing, "_HELD", 100)
    staged = hold_folders(EXPORTERS[name](export_set))
    assert [one.content_hash for one in staged] == [one.content_hash for one in plain]
    assert [lock_folder(one) for one in staged] == [lock_folder(one) for one in plain]
    assert all(one.staged for one in staged)
    assert sum(len(content) for one in staged for content in one.files.values()) <= 100
