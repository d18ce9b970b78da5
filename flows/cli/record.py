"""`show`: one record, where it came from, and what became of it."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.cli.telling import TOLD, make_plain

EXITS = """select lap, stage, subject, outcome, reason, detail, attempts, round(seconds, 1) as seconds, tokens, cost
           from exits where run = ? and subject in (select unnest(?))"""
LAPS = (("seeds", "blueprints", "environments"), ("drafts", "scenarios"))
"""Tables of candidates, in the order in which one is made from the other."""
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
    ("Gates", GATES),
    ("Error bounds", BOUNDS),
    ("Played", PLAYED),
    ("Asked of models", CALLS),
)

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
        return _describe_fate(connection, found, values)


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


def _describe_fate(connection: Any, found: Any, values: dict[str, Any]) -> None:
    from envmill.lake.lineage import follow, trace

    subject = values["subject"] if found.table == "attrition" else found.id
    origin = list(trace(connection, found))
    _title("Where it came from", [f"{one.table} {one.id}" for one in origin])
    _describe_steps(connection, found, [*_name_candidates(connection, found, origin, values)])
    for title, question in LEDGER:
        _describe_rows(title, connection.execute(question, [found.run, subject]))
    _describe_evidence(connection, found.run, subject)
    children = follow(connection, found)
    _title(
        "What came of it",
        [
            f"{one.table} ({one.count}): "
            f"{' '.join(one.ids)}{' …' if one.count > len(one.ids) else ''}"
            for one in children
        ],
    )


def _name_candidates(
    connection: Any, found: Any, origin: Sequence[Any], values: dict[str, Any]
) -> Iterator[str]:
    """What it is called at all steps of its lap: a step gives what it makes a new id."""
    from envmill.lake.lineage import follow
    from envmill.stages.places import name_place

    if found.table in LAPS[1]:
        yield name_place(values["environment"], values["number"])
    lap = next((one for one in LAPS if found.table in one), ())
    yield from (one.id for one in reversed(origin) if one.table in lap)
    yield values["subject"] if found.table == "attrition" else found.id
    while made := [one for one in follow(connection, found) if one.table in lap]:
        yield from made[0].ids
        found = replace(found, table=made[0].table, id=made[0].ids[0])


def _describe_steps(connection: Any, found: Any, subjects: list[str]) -> None:
    """What each step made of it and took, and what they took together."""
    from envmill.lake.views.base import STAGES

    order = f"order by list_position(?, subject), list_position({STAGES}, stage)"
    answer = connection.execute(f"{EXITS} {order}", [found.run, subjects, subjects])
    columns, rows = [column[0] for column in answer.description], answer.fetchall()
    if len(rows) > 1:
        seconds, tokens, costs = zip(*(row[-3:] for row in rows), strict=True)
        cost = None if None in costs else sum(costs)
        together = (round(sum(seconds), 1), sum(tokens), cost)
        rows.append(("all", *("" for _ in columns[4:]), *together))
    _show_table("Outcome of each step", columns, rows)


def _describe_rows(title: str, answer: Any) -> None:
    _show_table(title, [column[0] for column in answer.description], answer.fetchall())


def _show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from flows.cli.table import show as show_table

    if rows:
        print_text(f"\n# {title}")
        plain = [[make_plain(one) if isinstance(one, str) else one for one in row] for row in rows]
        show_table(columns, plain)


def _describe_evidence(connection: Any, run: str, subject: str) -> None:
    """What gates saw of it, one dossier a line."""
    rows = connection.execute(DOSSIERS, [run, subject]).fetchall()
    _title("Evidence", [make_plain(f"{gate}: {finding}") for gate, finding in rows])


def _title(title: str, lines: list[str]) -> None:
    if lines:
        print_text("\n".join([f"\n# {title}", *lines]))


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
