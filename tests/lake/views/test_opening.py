"""A database over the lake: every table and view, files of any age, rollups of settled runs, and an
error that names a bad file."""

# pyright: reportMissingTypeStubs=false, reportArgumentType=false

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from envmill.base.errors import LakeError
from envmill.lake.arrow import Stamp, arrow_schema, make_schema
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from envmill.lake.views import VIEWS, open_views
from schemas.ledger import Attrition
from schemas.seed import Seed
from schemas.shapes import PAST, UPGRADES, ColumnShape, shape_of
from schemas.tables import TABLES
from tests.lake.views.example import FIRST, SECOND, fill

NAMES = [*TABLES, *VIEWS]


def ask(lake: Lake, question: str) -> list[Any]:
    with open_views(lake, question=question) as connection:
        return connection.execute(question).fetchall()


def read_all(lake: Lake) -> dict[str, list[Any]]:
    """Rows and column types of everything."""
    with open_views(lake) as connection:
        found = {
            name: connection.execute(f'from "{name}" order by all').fetchall() for name in NAMES
        }
        return found | {
            f"{name} types": connection.execute(f'describe "{name}"').fetchall() for name in NAMES
        }


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_answers_on_an_empty_lake(lake: Lake, view: str) -> None:
    assert ask(lake, f"select * from {view}") == []


@pytest.mark.parametrize("table", TABLES)
def test_no_column_needs_quotes(lake: Lake, table: str) -> None:
    with open_views(lake, question=table) as connection:
        columns = ", ".join(arrow_schema(TABLES[table]).names)
        connection.execute(f"select {columns} from {table}")
        kinds = [row[1] for row in connection.execute(f"describe {table}").fetchall()]
        empty = (
            connection.register("empty", arrow_schema(TABLES[table]).empty_table())
            .execute("describe empty")
            .fetchall()
        )
    assert kinds == [row[1] for row in empty]


def test_the_connection_reaches_the_lake_only(example: Lake, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    with open_views(example) as connection:
        assert connection.execute("select count(*) from runs").fetchall() == [(2,)]
        for statement in (
            f"from read_text('{tmp_path}/secret')",
            f"from read_text('{example.url}/../secret')",
            "install httpfs",
        ):
            with pytest.raises(duckdb.PermissionException):
                connection.execute(statement).fetchall()
        for statement in ("set enable_external_access = true", "set allowed_directories = ['/']"):
            with pytest.raises(duckdb.Error, match="locked"):
                connection.execute(statement)
        frame = pa.table({"mine": [1]})  # what our own code holds is no table of the lake
        with pytest.raises(duckdb.CatalogException, match="frame"):
            connection.execute("select * from frame")
        assert len(frame) == 1


def test_some_runs_can_be_opened_alone(example: Lake) -> None:
    with open_views(example, [SECOND]) as connection:
        assert connection.execute(
            "select distinct run from attrition union select run from funnel"
        ).fetchall() == [(SECOND,)]


def test_of_a_row_written_twice_the_latest_attempt_counts(
    lake: Lake,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> None:
    note(lake, "r1", "started", {})
    for attempt, licence in enumerate(("first", "second", "third"), start=1):
        seed = make_seed(1).model_copy(update={"licence": licence})
        lake.publish([seed], [make_exit("s", "kept", attempt)], make_stamp(attempt))
    assert ask(lake, "select licence from seeds") == [("third",)]


@pytest.fixture
def settled(lake: Lake) -> Lake:
    """The first run has rollups, the second is fresh."""
    fill(lake)
    compact(lake, FIRST)
    return lake


@pytest.mark.long
def test_rollups_say_what_the_tables_say(settled: Lake, example: Lake) -> None:
    assert read_all(settled) == read_all(example)
    assert (
        "/_rollup/run="
        in ask(settled, f"explain analyze select * from funnel where run = '{FIRST}'")[0][1]
    )
    compact(settled, SECOND)
    assert read_all(settled) == read_all(example)


def test_a_settled_lake_has_no_live_part_to_compute(lake: Lake, example: Lake) -> None:
    fill(lake)
    note(lake, SECOND, "finished", [])
    for run in (FIRST, SECOND):
        compact(lake, run)
    assert "attrition/" not in ask(lake, "explain analyze select * from failures")[0][1]
    assert ask(lake, "from failures") == ask(example, "from failures")


def test_a_new_event_reopens_a_settled_run(settled: Lake) -> None:
    note(settled, FIRST, "started", {"recipe": "envscaler"})
    assert ask(settled, f"select state, starts from runs where run = '{FIRST}'") == [("started", 2)]


@pytest.fixture
def seed_file(
    lake: Lake,
    make_seed: Callable[[int], Seed],
    make_exit: Callable[..., Attrition],
    make_stamp: Callable[..., Stamp],
) -> Path:
    """One of two files of seeds; `lake` lists it first."""
    note(lake, "r1", "started", {})
    for bucket in (0, 1):
        lake.publish(
            [make_seed(bucket)], [make_exit(f"s{bucket}", "kept", 1)], make_stamp(bucket=bucket)
        )
    return Path(lake.files("seeds", "r1")[0])


def _drop_column(file: Path) -> None:
    pq.write_table(pq.read_table(file).drop_columns(["licence"]), file)


def _drift(file: Path) -> None:
    table = pq.read_table(file)
    pq.write_table(
        table.set_column(
            table.column_names.index("bucket"), "bucket", pa.array(["none"] * len(table))
        ),
        file,
    )


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


@pytest.mark.parametrize("which", [0, 1], ids=["first", "later"])
@pytest.mark.parametrize("harm", [_drop_column, _drift, _truncate, Path.unlink])
def test_a_bad_file_is_named(
    lake: Lake, seed_file: Path, harm: Callable[[Path], None], which: int
) -> None:
    from envmill.lake.sql import fetch

    file = Path(lake.files("seeds", "r1")[which])
    if harm is Path.unlink:
        compact(lake, "r1")  # a file that a merge record names counts, there or not
        (file,) = map(Path, lake.files("seeds", "r1"))
    harm(file)
    with pytest.raises(LakeError, match=file.stem) as failure:
        fetch(lake, "select sum(bucket), max(licence) from seeds")
    assert (
        "move it away" in failure.value.message.lower()
        or "restore it from a copy" in failure.value.message.lower()
    )


def test_a_file_of_an_older_version_is_upgraded(
    lake: Lake, seed_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask(lake, "select * exclude (schema_version) from seeds order by id")
    shape = tuple(
        ColumnShape("words", "json", True) if one.name == "licence" else one
        for one in shape_of(Seed)
    )
    (row,) = pq.read_table(seed_file).to_pylist()
    old = {name: value for name, value in row.items() if name != "licence"} | {
        "words": '["CC0","1.0"]',
        "schema_version": 0,
    }
    seed_file.write_bytes(
        encode(pa.Table.from_pylist([old], schema=make_schema("seeds", 0, shape)))
    )
    monkeypatch.setitem(PAST, ("seeds", 0), shape)
    monkeypatch.setitem(
        UPGRADES, ("seeds", 0), lambda row: row | {"licence": "-".join(row.pop("words"))}
    )
    assert ask(lake, "select * exclude (schema_version) from seeds order by id") == before


@pytest.mark.long
@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_a_lake_on_s3_answers_the_same(place: str, example: Lake) -> None:
    remote = Lake(place)
    fill(remote)
    assert read_all(remote) == read_all(example)
    with open_views(remote) as connection, pytest.raises(duckdb.PermissionException):
        connection.execute("from read_text('/etc/passwd')")
