"""Files of other versions, other shapes and damaged ones: upgraded, or an error that names the file
and the way out."""

# pyright: reportMissingTypeStubs=false

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp, arrow_schema, make_schema, to_arrow
from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from schemas.ledger import Attrition
from schemas.seed import Seed
from schemas.shapes import PAST, UPGRADES, ColumnShape, shape_of

NOW = Seed.model_fields["schema_version"].default
"""Version of seeds that is written today."""

OLD_SHAPE = tuple(
    ColumnShape("words", "json", True) if one.name == "licence" else one for one in shape_of(Seed)
)
"""Version 0 of seeds: a list of words where the licence now is one string."""


@pytest.fixture
def file(
    lake: Lake,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Path:
    lake.publish([make_seed(1)], [make_exit("a", "kept", 1)], make_stamp())
    (found,) = lake.files("seeds", "r1")
    return Path(found)


@pytest.fixture
def old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same row as version 0 wrote it."""
    (row,) = pq.read_table(file).to_pylist()
    old = {name: value for name, value in row.items() if name != "licence"} | {
        "words": '["CC0","1.0"]',
        "schema_version": 0,
    }
    file.write_bytes(encode(pa.Table.from_pylist([old], schema=make_schema("seeds", 0, OLD_SHAPE))))
    monkeypatch.setitem(PAST, ("seeds", 0), OLD_SHAPE)  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(UPGRADES, ("seeds", 0), _join_words)  # pyright: ignore[reportArgumentType]
    return file


def _join_words(row: dict[str, Any]) -> dict[str, Any]:
    words = row.pop("words")
    return row | {"licence": "-".join(words)}


def test_an_old_file_is_upgraded(
    lake: Lake, old_file: Path, make_seed: Callable[[int], Seed]
) -> None:
    assert lake.read(Seed, "r1") == [make_seed(1)]


def test_merging_writes_an_old_row_as_the_present_version_does(
    lake: Lake,
    old_file: Path,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("envmill.lake.compaction._roll_up", lambda *_: 0)
    lake.publish([make_seed(2)], [make_exit("b", "kept", 1)], make_stamp(bucket=1))
    compact(lake, "r1")
    (merged,) = lake.files("seeds", "r1")
    assert pq.read_schema(merged).equals(arrow_schema(Seed))
    assert {seed.id for seed in lake.read(Seed, "r1")} == {make_seed(1).id, make_seed(2).id}


def test_an_old_file_of_another_shape_than_its_version_is_named(lake: Lake, old_file: Path) -> None:
    table = pq.read_table(old_file)
    pq.write_table(table.drop_columns(["words"]), old_file)
    with pytest.raises(
        LakeError, match=f"{old_file.name} has another shape than version 0 of seeds: words string"
    ):
        lake.read(Seed, "r1")


def test_a_newer_file_is_named(lake: Lake, file: Path) -> None:
    table = pq.read_table(file)
    file.write_bytes(
        encode(table.replace_schema_metadata({"table": "seeds", "schema_version": "9"}))
    )
    with pytest.raises(
        LakeError,
        match=f"{file.name} holds version 9 of seeds; this EnvMill knows {NOW}. Read it with a "
        "newer EnvMill",
    ):
        lake.read(Seed, "r1")


def test_a_drifted_type_is_named(lake: Lake, file: Path) -> None:
    table = pq.read_table(file)
    drifted = table.set_column(table.schema.get_field_index("bucket"), "bucket", pa.array(["0"]))
    pq.write_table(drifted.replace_schema_metadata(table.schema.metadata), file)
    with pytest.raises(
        LakeError,
        match=f"{file.name} has another shape than version {NOW} of seeds: bucket int64 not null, "
        "bucket string",
    ):
        lake.read(Seed, "r1")


def test_a_file_that_nothing_of_ours_wrote_is_named(lake: Lake, file: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), file)
    with pytest.raises(LakeError, match=f"{file.name} has another shape"):
        lake.read(Seed, "r1")


@pytest.mark.parametrize("keep", [0, 3, 100, -8, -1])
def test_a_truncated_file_is_named_with_the_way_out(lake: Lake, file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    commit = Path(lake.files("attrition", "r1")[0])
    with pytest.raises(
        LakeError,
        match=rf"{file.name} cannot be read.*delete attrition/run=r1/{commit.name} .its batch is",
    ):
        lake.read(Seed, "r1")
    commit.unlink()
    assert lake.read(Seed, "r1") == []


def test_no_flipped_bit_passes_for_data(
    lake: Lake, file: Path, make_seed: Callable[[int], Seed]
) -> None:
    whole = file.read_bytes()
    for place in range(4, len(whole) - 8, 41):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            assert lake.read(Seed, "r1") == [make_seed(1)]
        except (LakeError, ValueError):
            continue


def test_a_drift_is_refused_at_writing(
    make_seed: Callable[[int], Seed], make_stamp: Callable[..., Stamp]
) -> None:
    wrong = make_seed(1).model_copy(update={"licence": 7})
    with pytest.raises(pa.ArrowException):
        to_arrow(Seed, [wrong], make_stamp())
