"""A database made for one question answers it as the whole one does, holds no more than that takes,
and hides nothing that is asked for."""

import duckdb
import pytest

from envmill.lake.compaction import compact
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.lake.views import VIEWS, open_views
from envmill.lake.views.needed import find_needed
from schemas.tables import TABLES
from tests.lake.views.example import FIRST, fill

EACH = [*TABLES, *VIEWS]


def ask(lake: Lake, asked: str, opened_for: str) -> list[tuple[object, ...]]:
    with open_views(lake, question=opened_for) as connection:
        return connection.execute(asked).fetchall()


@pytest.fixture(params=["fresh", "half settled", "settled"])
def aged(lake: Lake, request: pytest.FixtureRequest) -> Lake:
    """Without rollups, with those of one run, with those of the only run."""
    fill(lake)
    if request.param != "fresh":
        compact(lake, FIRST)
    if request.param == "settled":
        for name in lake.store.entries("_runs"):
            if name.stem != FIRST:
                lake.store.delete(name.name)
    return lake


@pytest.mark.long
def test_every_worked_question_is_answered_alike(aged: Lake) -> None:
    with open_views(aged) as whole:
        for view in VIEWS.values():
            question = f"select * from ({view.questions[0][1]}) order by all"
            assert ask(aged, question, question) == whole.execute(question).fetchall()


@pytest.mark.long
@pytest.mark.parametrize("written", ['"{}"', "main.{}", "(with x as (from {}) from x)"])
def test_every_name_is_found(example: Lake, written: str) -> None:
    with open_views(example) as whole:
        for name in EACH:
            question = f"FROM {written.format(name)} ORDER BY ALL"
            assert ask(example, question, question) == whole.execute(question).fetchall()


@pytest.mark.parametrize(
    ("question", "made"),
    [
        ("select 1 from seeds", {"seeds"}),
        ("FROM Exits", {"exits", "attrition"}),
        ('select 1 from "SEEDS", runs', {"seeds", "runs", "run_events"}),
        ("from funnel join quarantine using (run)", {"funnel", "exits", "attrition", "quarantine"}),
        ("from no_such_table", set(EACH)),
        ("select view_name from duckdb_views() where view_name = 'seeds'", set(EACH)),
        ("from (SHOW TABLES) where name = 'seeds'", set(EACH)),
        ("from information_schema.tables where table_name <> 'seeds'", set(EACH)),
    ],
)
def test_no_more_than_it_takes_is_made(example: Lake, question: str, made: set[str]) -> None:
    assert find_needed(question, VIEWS).below == made
    found = ask(
        example,
        "select view_name from duckdb_views() where schema_name = 'main' and not internal",
        question,
    )
    assert {name for (name,) in found} == made


def test_a_rollup_needs_no_table(lake: Lake) -> None:
    fill(lake)
    compact(lake, FIRST)
    with open_views(lake, [FIRST], question="from funnel") as connection:
        assert connection.execute("select count(*) from funnel").fetchall() != [(0,)]
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from attrition")


def test_a_question_about_the_database_finds_everything(example: Lake) -> None:
    found = fetch(
        example, "select view_name from duckdb_views() where schema_name = 'main' and not internal"
    )
    assert {name for (name,) in found} == set(EACH)
