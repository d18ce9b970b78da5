"""`show`: one record, where it came from, and what became of it."""

import json
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.cli.telling import TOLD, make_plain

EXITS = (
    "select lap, stage, outcome, reason, detail, attempts from exits where run = ? and subject = ?"
)
GATES = """select stage, gate, try_number as attempt, outcome, reason, detail from attrition
           where run = ? and subject = ? and gate <> 'exit' order by lap, try_number, gate"""
PLAYED = """select policy, rollout_group as "group", count(*) as attempts, count(*) filter (outcome = 'pass') as passed,
                   count(*) filter (outcome = 'error') as errors
            from rollouts where run = ? and ? in (scenario, environment) group by all order by all"""
CALLS = """select step, prompt, model, count(*) as calls, sum(tokens_in + tokens_out)::bigint as tokens
           from model_calls where run = ? and subject = ? group by all order by all"""
BOUNDS = """select outcome, reason, false_accept, false_accept_n, false_reject, false_reject_n from bounds where run = ? and scenario = ?"""
DOSSIERS = """select gate, finding from gate_evidence where run = ? and subject = ? and finding is not null order by gate, id"""
LEDGER = (
    ("Outcome of each step", EXITS), ("Gates", GATES), ("Error bounds", BOUNDS), ("Played", PLAYED), ("Asked of models", CALLS),
)  # fmt: skip

_STAMP = (
    "step",
    "fingerprint",
    "bucket",
    "try_number",
    "code_version",
    "written_at",
    "schema_version",
)
_LONG = ("files", "initial_state", "transcript", "messages")
"""Columns that fill screens: they come after all others."""


def show(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="Id of any record, or the beginning of one.")],
    run: Annotated[
        str, typer.Option(help="Run to look in; the latest that holds the record when left out.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print the record alone, as JSON.")] = False,
) -> None:
    """Show one record of any table: its content, its origin up to the seed, and what became of it."""
    from envmill.lake.lake import Lake
    from envmill.lake.lineage import WHOLE, find, read
    from envmill.lake.sql import open_lake

    lake = Lake(context.obj.settings.lake)
    with open_lake(lake, question=f"{WHOLE} {EXITS} {BOUNDS}") as connection:
        found = find(connection, id, run)
        values = read(connection, found)
        if json:
            return print_as_json(_dump(values))
        print_text("\n".join(_describe(values, found)))
        return _describe_fate(connection, found)


def _describe(values: dict[str, Any], found: Any) -> Iterator[str]:
    """Short values on a line, long ones below their name."""
    others = f" (also in {', '.join(found.runs[:-1][-5:])})" if len(found.runs) > 1 else ""
    yield f"{found.table} {found.id}"
    yield f"run {found.run}{others}"
    yield ""
    for name, value in sorted(values.items(), key=lambda item: item[0] in _LONG):
        if name not in (*_STAMP, "id", "run"):
            told = TOLD.get((found.table, name)) if value else None
            yield from _indent(name, told(value, values)) if told else _describe_value(name, value)
    step, version = values["step"] or "-", values["code_version"] or "-"
    yield (
        f"written: {step}, attempt {values['try_number']}, EnvMill {version}, "
        f"{values['written_at']}"
    )


def _indent(name: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"{name}:"
    yield from (f"    {line}" for text in lines for line in text.splitlines() or [""])


def _describe_value(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and any(
        isinstance(one, str) and "\n" in one for one in value.values()
    ):
        for key, one in value.items():
            yield from _describe_value(f"{name}.{key}", one)
        return
    text = (
        value
        if isinstance(value, str)
        else _dump(value)
        if isinstance(value, dict | list) and value
        else str(value)
    )
    if isinstance(value, dict | list) and len(text) < 100:
        text = json.dumps(value, ensure_ascii=False)
    yield (
        f"{name}: {text}"
        if "\n" not in text
        else f"{name}:\n" + "\n".join(f"    {line}" for line in text.splitlines())
    )


def _describe_fate(connection: Any, found: Any) -> None:
    from envmill.lake.lineage import follow, trace
    from flows.cli.table import show as show_table

    _title("Where it came from", [f"{one.table} {one.id}" for one in trace(connection, found)])
    for title, question in LEDGER:
        answer = connection.execute(question, [found.run, found.id])
        columns, rows = [column[0] for column in answer.description], answer.fetchall()
        if rows:
            print_text(f"\n# {title}")
            show_table(
                columns,
                [[make_plain(one) if isinstance(one, str) else one for one in row] for row in rows],
            )
    _describe_evidence(connection, found)
    children = follow(connection, found)
    _title(
        "What came of it",
        [
            f"{one.table} ({one.count}): "
            f"{' '.join(one.ids)}{' …' if one.count > len(one.ids) else ''}"
            for one in children
        ],
    )


def _describe_evidence(connection: Any, found: Any) -> None:
    """What gates saw of it, one dossier a line."""
    rows = connection.execute(DOSSIERS, [found.run, found.id]).fetchall()
    _title("Evidence", [make_plain(f"{gate}: {finding}") for gate, finding in rows])


def _title(title: str, lines: list[str]) -> None:
    if lines:
        print_text("\n".join([f"\n# {title}", *lines]))


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
