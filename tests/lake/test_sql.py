"""Questions that do more than ask: refused or cut off, for the reason they say, and the lake stays
as it was."""

import time
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import EnvMillError, LakeError, Refused, SettingsError
from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.sql import QueryLimits, ask, fetch
from tests.lake.views.example import FIRST, fill


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sql") / "lake"
    fill(Lake(place))
    (place.parent / "secret.csv").write_text("a\n1\n")
    (place / "link").symlink_to(place.parent)
    return place


@pytest.fixture
def lake(place: Path) -> Lake:
    return Lake(place)


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


READ_ONLY = "one SELECT or EXPLAIN"
ATTACKS = [
    ("copy runs to '{out}/x.csv'", Refused, READ_ONLY),
    ("copy runs to '{lake}/x.parquet'", Refused, READ_ONLY),
    ("explain analyze copy (select 1) to '{lake}/x.parquet'", Refused, READ_ONLY),
    ("EXPLAIN\nANALYZE copy (select 1) to '{lake}/x.parquet'", Refused, READ_ONLY),
    (
        "explain (analyze) copy (select 1) to '{lake}/x.parquet'",
        EnvMillError,
        "EXPLAIN SELECT|syntax error",
    ),
    (
        "/* c */ explain analyze copy (select 1) to '{lake}/x.parquet'",
        Refused,
        "without options or comments",
    ),
    ("with x as (copy (select 1) to '{lake}/x.parquet') select 1", Refused, "COPY is not allowed"),
    (
        "select (with x as (copy (select 1) to '{lake}/x.parquet') select 1)",
        Refused,
        "COPY is not allowed",
    ),
    (
        "explain analyze with x as (copy (select 1) to '{lake}/x.parquet') select 1",
        Refused,
        "COPY is not allowed",
    ),
    (
        "select * from query('with x as (copy (select 1) to ''{lake}/x.parquet'') select 1')",
        Refused,
        r"query\(\) is not allowed",
    ),
    ("with x as (insert into runs values (1)) select 1", Refused, "INSERT is not allowed"),
    ("with x as (delete from runs returning *) from x", Refused, "DELETE is not allowed"),
    ("with x as (update runs set run = '' returning *) from x", Refused, "UPDATE is not allowed"),
    ("drop view runs", Refused, READ_ONLY),
    ("create table t as select 1", Refused, READ_ONLY),
    ("create or replace view runs as select 1", Refused, READ_ONLY),
    ("attach '{out}/x.db'", Refused, READ_ONLY),
    ("attach ':memory:' as other", Refused, READ_ONLY),
    ("install httpfs", Refused, READ_ONLY),
    ("load '{out}/x.duckdb_extension'", Refused, READ_ONLY),
    ("pragma database_list", Refused, READ_ONLY),
    ("set threads = 1", Refused, READ_ONLY),
    ("reset enable_external_access", Refused, READ_ONLY),
    ("call pragma_version()", Refused, READ_ONLY),
    ("prepare p as select 1", Refused, READ_ONLY),
    ("select 1; select 2", Refused, READ_ONLY),
    ("", Refused, READ_ONLY),
    ("select * from read_csv('{out}/secret.csv')", Refused, r"read_csv\(\) is not allowed"),
    ("select * from READ_TEXT('/etc/passwd')", Refused, r"read_text\(\) is not allowed"),
    (
        "select (select content from read_text('/proc/self/environ'))",
        Refused,
        r"read_text\(\) is not allowed",
    ),
    ("with x as (from read_blob('/etc/passwd')) from x", Refused, r"read_blob\(\) is not allowed"),
    (
        "select * from runs where run in (select file from glob('/etc/*'))",
        Refused,
        r"glob\(\) is not allowed",
    ),
    ("select * from sniff_csv('{out}/secret.csv')", Refused, r"sniff_csv\(\) is not allowed"),
    ("select * from parquet_metadata('{lake}/x')", Refused, r"parquet_metadata\(\) is not allowed"),
    (
        "select * from json_execute_serialized_sql('x')",
        Refused,
        r"json_execute_serialized_sql\(\) is not allowed",
    ),
    ("from '{out}/secret.csv'", EnvMillError, "does not exist|Permission"),
    ("from '{lake}/link/secret.csv'", EnvMillError, "does not exist|Permission"),
    ("from '{lake}/../secret.csv'", EnvMillError, "does not exist|Permission"),
    ("select getenv('HOME')", SettingsError, "getenv does not exist"),
    ("select * from duckdb_secrets()", Refused, "reads the lake and nothing else"),
]


@pytest.mark.parametrize(
    ("attack", "kind", "reason"), ATTACKS, ids=[attack for attack, _, _ in ATTACKS]
)
def test_an_attack_is_refused_and_changes_nothing(
    lake: Lake, place: Path, attack: str, kind: type[EnvMillError], reason: str
) -> None:
    before = files_in(place.parent)
    question = attack.format(out=place.parent, lake=place)
    with pytest.raises(kind, match=reason):
        fetch(lake, question)
    assert files_in(place.parent) == before
    assert fetch(lake, "select count(*) from runs") == [(2,)]


@pytest.mark.parametrize(
    "question",
    [
        "select run from runs",
        "with r as (select run from runs) select * from r",
        "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) select * "
        "from n",
        "from runs select run union select stage from funnel",
        "explain select * from runs",
        "explain analyze select * from runs",
        "describe funnel",
        "summarize funnel",
        "show tables",
        "select unnest([1, 2])",
        "select * from range(3)",
        "select run, stage, sum(kept) over (partition by run) from funnel",
        "select 'copy', 'insert; delete' -- drop table runs",
        "values (1)",
    ],
)
def test_what_only_reads_is_answered(lake: Lake, question: str) -> None:
    assert fetch(lake, question)


@pytest.mark.parametrize(
    "question",
    [
        "select count(*) from range(10000000) a, range(10000000) b",
        "with recursive n as (select 1 as i union all select i from n) select count(*) from n",
        "select * from range(1000000000000) where range < 0",
    ],
)
def test_what_runs_forever_is_stopped(lake: Lake, question: str) -> None:
    limits, began = QueryLimits(seconds=0.5), time.monotonic()
    with (
        pytest.raises(Refused, match=r"longer than 0.5 s"),
        ask(lake, question, limits=limits) as answer,
    ):
        list(answer.rows())
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "question",
    [
        "select list(range) from range(1000000000)",
        "select * from range(100000000) order by hash(range)",
        "select count(distinct range) from range(1000000000)",
    ],
)
def test_what_needs_more_memory_than_it_may_is_stopped(lake: Lake, question: str) -> None:
    with (
        pytest.raises(Refused, match="more than 100MB of memory"),
        ask(lake, question, limits=QueryLimits(memory="100MB")) as answer,
    ):
        list(answer.rows())


def test_rows_are_made_while_they_are_read(lake: Lake) -> None:
    """A trillion rows wait for nobody."""
    with ask(lake, "select * from range(1000000000000)") as answer:
        assert next(answer.rows()) == (0,)


@pytest.mark.parametrize(
    ("question", "pointer"),
    [
        ("selec run from runs", "^LINE 1: selec run.*\n +\\^"),
        ("select nope from runs", "^LINE 1: select nope.*\n {15}\\^"),
        ("select run from nowhere", "^LINE 1: select run from nowhere\n {24}\\^"),
        ("select cast(run as int) from runs", "^LINE 1: .*\n {15}\\^"),
    ],
)
def test_a_mistake_is_pointed_at(lake: Lake, question: str, pointer: str) -> None:
    with pytest.raises(SettingsError, match=f"(?m){pointer}"):
        fetch(lake, question)


def test_an_unknown_table_lists_the_known_ones(lake: Lake) -> None:
    with pytest.raises(
        SettingsError, match=r"(?s)Tables: run_events seeds .*Views: runs exits funnel yield"
    ):
        fetch(lake, "select * from nowhere")


def test_values_are_passed_beside_the_question(lake: Lake) -> None:
    assert fetch(lake, "select ?, $2".replace("?", "$1"), ["x'; drop", 2]) == [("x'; drop", 2)]
    assert fetch(lake, "select $a", {"a": 1}) == [(1,)]


def test_a_file_that_was_merged_between_listing_and_reading_is_found_in_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from envmill.lake import sql

    lake, opened = Lake(tmp_path / "lake"), list[Any]()
    fill(lake)
    expected = fetch(lake, "from funnel")

    def open_late(*given: Any) -> Any:
        opened.append(open_views(*given))
        compact(Lake(lake.url), FIRST, grace=-60.0)
        return opened[-1]

    open_views = sql.open_views
    monkeypatch.setattr(sql, "open_views", open_late)
    assert fetch(lake, "from funnel") == expected
    assert len(opened) == 2


def test_a_file_that_vanishes_under_a_reader_is_an_error_of_the_lake(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    fill(lake)
    compact(lake, FIRST)
    (tmp_path / "lake" / lake.files("attrition", FIRST)[0]).unlink()
    with pytest.raises(LakeError, match=r"merged-\d+.*counts and is gone"):
        fetch(lake, f"select count(*), max(detail) from attrition where run = '{FIRST}'")
