"""SQL over the lake: right numbers, and a connection that can do nothing else."""

from collections.abc import Callable

import duckdb
import pytest

from envmill.lake.arrow import Stamp, arrow_schema
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import VIEWS, open_views
from schemas.ledger import Attrition
from schemas.tables import TABLES


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_answers_on_an_empty_lake(lake: Lake, view: str) -> None:
    assert open_views(lake).execute(f"select * from {view}").fetchall() == []


def test_the_funnel_counts_final_outcomes_and_all_costs(
    lake: Lake, make_exit: Callable[..., Attrition], make_stamp: Callable[..., Stamp]
) -> None:
    note(lake, "r1", "started", {})
    lake.publish([], [make_exit("a", "error", 1, 1.0), make_exit("b", "kept", 1, 2.0)], make_stamp(1))
    lake.publish([], [make_exit("a", "dropped", 2, 4.0)], make_stamp(2))
    found = open_views(lake).execute("select entered, kept, dropped, error, tokens, cost from funnel").fetchall()
    assert found == [(2, 1, 1, 0, 30, 7.0)]


@pytest.mark.parametrize(
    "statement",
    [
        "copy runs to '/tmp/stolen.csv'",
        "select * from read_text('/etc/passwd')",
        "attach '/tmp/x.db'",
        "install httpfs",
        "set enable_external_access = true",
        "set allowed_directories = ['/']",
        "select getenv('HOME')",
    ],
)
def test_nothing_outside_the_lake_can_be_reached(lake: Lake, statement: str) -> None:
    connection = open_views(lake)
    with pytest.raises(duckdb.Error):
        connection.execute(statement).fetchall()


@pytest.mark.parametrize("table", TABLES)
def test_no_column_needs_quotes(lake: Lake, table: str) -> None:
    columns = ", ".join(arrow_schema(TABLES[table]).names)
    open_views(lake).execute(f"select {columns} from {table}")
