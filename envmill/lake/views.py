"""SQL over the lake: every table and a few questions people ask daily, as views with stable names."""

from pathlib import Path

import duckdb

from envmill.lake.arrow import make_empty
from envmill.lake.lake import Lake
from schemas.tables import TABLES

VIEWS: dict[str, str] = {
    "runs": """
        select run, min(happened_at) as started, arg_max(event, happened_at) as state, max(happened_at) as last_event,
               count(*) filter (event = 'started') as starts,
               any_value(detail) filter (event = 'started') as config
        from run_events group by run order by started""",
    "exits": """
        select * from attrition where gate = 'exit'
        qualify try_number = max(try_number) over (partition by run, lap, stage, subject)""",
    "funnel": """
        with spent as (
            select run, lap, stage, sum(seconds) as seconds, sum(tokens) as tokens, sum(cost) as cost
            from attrition where gate = 'exit' group by all)
        select run, lap, stage, count(*) as entered,
               count(*) filter (outcome = 'kept') as kept,
               count(*) filter (outcome = 'dropped') as dropped,
               count(*) filter (outcome = 'error') as error,
               sum(children) as made,
               any_value(spent.seconds) as seconds, any_value(spent.tokens) as tokens, any_value(spent.cost) as cost
        from exits join spent using (run, lap, stage)
        group by run, lap, stage
        order by run, lap, list_position(['generate', 'build', 'verify', 'filter', 'collect', 'export'], stage)""",
    "failures": """
        select run, lap, stage, outcome, reason, count(*) as subjects, any_value(detail) as example,
               sum(seconds) as seconds, sum(cost) as cost
        from exits where outcome <> 'kept' group by all order by run, lap, stage, subjects desc""",
    "pass_rate": """
        select rollouts.run, environments.brief ->> 'theme' as theme, rollouts.policy, rollout_group, count(*) as attempts,
               count(*) filter (outcome = 'pass') as passed, count(*) filter (outcome = 'error') as errors,
               passed / nullif(attempts - errors, 0) as pass_rate
        from rollouts join environments on environments.id = rollouts.environment and environments.run = rollouts.run
        group by all order by all""",
}


def open_views(lake: Lake) -> duckdb.DuckDBPyConnection:
    """An in-memory database that can read the lake and nothing else, and cannot be told otherwise."""
    connection = duckdb.connect()
    files: dict[str, list[Path]] = {table: [] for table in TABLES}
    for run in lake.runs():
        for table, found in files.items():
            found.extend(lake.files(table, run))
    for table, found in files.items():
        _create_table_view(connection, table, found)
    for name, question in VIEWS.items():
        connection.execute(f'create view "{name}" as {question}')
    connection.execute(f"set allowed_directories = [{_quote(str(lake.root))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _create_table_view(connection: duckdb.DuckDBPyConnection, table: str, files: list[Path]) -> None:
    if files:
        listed = ", ".join(_quote(str(file)) for file in files)
        source = f"read_parquet([{listed}], hive_partitioning = false)"
    else:
        connection.register(f"_empty_{table}", make_empty(TABLES[table]))
        source = f"_empty_{table}"
    newest = "qualify row_number() over (partition by run, id order by try_number desc) = 1"
    connection.execute(f'create view "{table}" as select * from {source} {newest}')


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
