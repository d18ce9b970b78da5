"""`show`: one record, where it came from, and what became of it."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

EXITS = "select lap, stage, outcome, reason, detail, attempts from exits where run = ? and subject = ?"
GATES = """select stage, gate, try_number as attempt, outcome, reason, detail from attrition
           where run = ? and subject = ? and gate <> 'exit' order by lap, try_number, gate"""
PLAYED = """select policy, rollout_group as "group", count(*) as attempts, count(*) filter (outcome = 'pass') as passed,
                   count(*) filter (outcome = 'error') as errors
            from rollouts where run = ? and ? in (scenario, environment) group by all order by all"""
CALLS = """select step, prompt, model, count(*) as calls, sum(tokens_in + tokens_out)::bigint as tokens
           from model_calls where run = ? and subject = ? group by all order by all"""
BOUNDS = """select outcome, reason, false_accept, false_accept_n, false_reject, false_reject_n from bounds where run = ? and scenario = ?"""
LEDGER = (
    ("Outcome of each step", EXITS), ("Gates", GATES), ("Error bounds", BOUNDS), ("Played", PLAYED), ("Asked of models", CALLS),
)  # fmt: skip

_STAMP = ("step", "fingerprint", "bucket", "try_number", "code_version", "written_at", "schema_version")


def show(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Id of any record, or the beginning of one.")],
    run: Annotated[str, typer.Option(help="Run to look in; the latest that holds the record when left out.")] = "",
    json: Annotated[bool, typer.Option("--json", help="The record alone, as JSON.")] = False,
) -> None:
    """One record of any table: what it says, where it came from up to its seed, and what became of it."""
    from envmill.lake.lake import Lake
    from envmill.lake.lineage import find, read
    from envmill.lake.sql import open_lake

    lake = Lake(context.obj.settings.lake)
    with open_lake(lake) as connection:
        found = find(connection, id, run)
        values = read(connection, found)
        if json:
            return typer.echo(_dump(values))
        typer.echo("\n".join(_tell(values, found)))
        return _tell_fate(connection, found)


def _tell(values: dict[str, Any], found: Any) -> Iterator[str]:
    """Short values on a line, long ones below their name."""
    others = f" (also in {', '.join(found.runs[:-1][-5:])})" if len(found.runs) > 1 else ""
    yield f"{found.table} {found.id}"
    yield f"run {found.run}{others}"
    yield ""
    for name, value in values.items():
        if name not in (*_STAMP, "id", "run"):
            yield from _tell_value(name, value)
    step, version = values["step"] or "-", values["code_version"] or "-"
    yield f"written: {step}, attempt {values['try_number']}, EnvMill {version}, {values['written_at']}"


def _tell_value(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and any(isinstance(one, str) and "\n" in one for one in value.values()):
        for key, one in value.items():
            yield from _tell_value(f"{name}.{key}", one)
        return
    text = value if isinstance(value, str) else _dump(value) if isinstance(value, dict | list) and value else str(value)
    if isinstance(value, dict | list) and len(text) < 100:
        text = json.dumps(value, ensure_ascii=False)
    yield f"{name}: {text}" if "\n" not in text else f"{name}:\n" + "\n".join(f"    {line}" for line in text.splitlines())


def _tell_fate(connection: Any, found: Any) -> None:
    from envmill.lake.lineage import follow, trace
    from flows.cli.table import show as show_table

    _title("Where it came from", [f"{one.table} {one.id}" for one in trace(connection, found)])
    for title, question in LEDGER:
        answer = connection.execute(question, [found.run, found.id])
        columns, rows = [column[0] for column in answer.description], answer.fetchall()
        if rows:
            typer.echo(f"\n# {title}")
            show_table(columns, rows)
    children = follow(connection, found)
    _title(
        "What came of it", [f"{one.table} ({one.count}): {' '.join(one.ids)}{' …' if one.count > len(one.ids) else ''}" for one in children]
    )


def _title(title: str, lines: list[str]) -> None:
    if lines:
        typer.echo("\n".join([f"\n# {title}", *lines]))


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
