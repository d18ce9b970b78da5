"""`sql`, `funnel`, `failures`, `cost`: questions to the lake."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.printing import print_text

Run = Annotated[
    str | None, typer.Argument(help="Run id, or the beginning of one; the latest when left out.")
]

FAILURES = (
    "select lap, stage, outcome, reason, gate, subjects, round(seconds, 1) as seconds, cost, "
    "example_subject, example from failures where run = ?"
)

_SPENT = """sum(calls)::bigint as calls, sum(reused)::bigint as reused, sum(unusable)::bigint as unusable,
             sum(unanswered)::bigint as unanswered, sum(tokens_in)::bigint as tokens_in, sum(tokens_cached)::bigint as tokens_cached,
             sum(tokens_out)::bigint as tokens_out, sum(tokens_reasoning)::bigint as tokens_reasoning, round(sum(latency), 2) as seconds,
             case when sum(unpriced) = 0 then sum(cost) end as cost, sum(unpriced)::bigint as unpriced,
             sum(possibly_paid)::bigint as possibly_paid, sum(possibly_paid_tokens)::bigint as possibly_paid_tokens,
             case when count(possibly_paid_cost) = count(*) then sum(possibly_paid_cost) end as possibly_paid_cost"""


def _group_spending(*columns: str) -> str:
    """Money of a group is null as soon as one of its prices is unknown."""
    named = ", ".join(columns)
    return f"select {named}, {_SPENT} from spending where run = ? group by {named} order by {named}"


_EACH = """
    with own as (select * from exits where run = ?),
    kept as (select run, lap, recipe, theme, subject, parent from own where stage = 'filter' and outcome = 'kept'),
    steps as (
        select kept.subject, own.seconds, own.tokens, own.cost, own.unpriced, 1 as shared_by
        from kept join own using (lap, subject) where own.stage in ('verify', 'filter')
        union all
        select kept.subject, own.seconds, own.tokens, own.cost, own.unpriced, own.children
        from kept join own on own.lap = kept.lap and own.stage = 'build' and own.subject = kept.parent
        union all
        select kept.subject, first.seconds, first.tokens, first.cost, first.unpriced, first.children
        from kept join own as made on made.lap = kept.lap and made.stage = 'build' and made.subject = kept.parent
             left join drafts on drafts.run = kept.run and drafts.id = kept.parent
             join own as first on first.lap = kept.lap and first.stage = 'generate'
                  and first.subject = coalesce(drafts.environment || ':' || format('{:03d}', drafts.number), made.parent))
    select case lap when 'environments' then 'environment' else 'scenario' end as item, subject as id, recipe, theme,
           round(sum(tokens / greatest(shared_by, 1)))::bigint as tokens,
           case when count(cost) = count(*) then sum(cost / greatest(shared_by, 1)) end as cost, sum(unpriced)::bigint as unpriced,
           round(sum(seconds / greatest(shared_by, 1)), 2) as seconds
    from kept join steps using (subject) group by all order by item, tokens desc, id"""
"""What a kept thing itself took, from the step that thought it up to its filter; what several were
made of counts in equal parts."""

_REPAIRS = """select step, sum(calls)::bigint as calls, sum(repairs)::bigint as repairs, sum(repair_tokens)::bigint as repair_tokens,
                  round(sum(repair_tokens) / nullif(sum(tokens_in + tokens_out), 0), 3) as share_of_tokens,
                  case when count(repair_cost) = count(*) then sum(repair_cost) end as repair_cost
           from spending where run = ? group by step order by step"""
"""Calls that asked again after a reply that was no use or that a gate complained about."""

COSTS = (
    ("model calls by recipe and step", _group_spending("recipe", "step")),
    ("by role and model", _group_spending("role", "provider", "model", "family")),
    ("by prompt", _group_spending("prompt")),
    ("repairs by step", _REPAIRS),
    (
        "per item kept, everything dropped on the way included",
        """select item, recipe, theme, kept, tokens, cost, unpriced, round(seconds_per_kept, 2) as seconds_per_kept,
                  round(tokens_per_kept) as tokens_per_kept, cost_per_kept
           from cost_per_kept where run = ?""",
    ),
    ("each kept environment and scenario, its own steps alone", _EACH),
)


def sql(
    context: typer.Context,
    question: Annotated[
        str,
        typer.Argument(help="One SELECT or EXPLAIN statement; `-` reads it from standard input."),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array of objects.")] = False,
    csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            help="Print CSV with a header. A text that a spreadsheet would read as a formula gets "
            "a leading apostrophe.",
        ),
    ] = False,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write a Parquet file instead.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, help="Most rows; 0 for all. 10000 unless --json, --csv or --parquet."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.001, max=86400, help="Most seconds.")] = 30.0,
    memory: Annotated[str, typer.Option(help="Most memory, like 4GB.")] = "1GB",
) -> None:
    """Query the lake in SQL. `envmill tables` and `envmill views` list the names of tables and
    views.

    The answer is a table on a terminal, and tab-separated lines otherwise. A query reads the lake
    and nothing else.
    """
    from envmill.lake.sql import QueryLimits
    from flows.cli.answering import AnswerFormat, answer

    shape = AnswerFormat.pick(json=json, csv=csv, parquet=parquet, limit=limit)
    answer(context.obj, question, QueryLimits(timeout, memory), shape)


def funnel(context: typer.Context, run: Run = None) -> None:
    """Show what entered each step of a run, and what became of it."""
    from flows.cli.question import FUNNEL, ask, find_run
    from flows.cli.table import show

    show(*ask(context.obj, FUNNEL, [find_run(context.obj, run)]))


def failures(context: typer.Context, run: Run = None) -> None:
    """Show why candidates of a run were dropped or ended in error, what the step spent on them, and
    one example each."""
    from flows.cli.question import ask, find_run
    from flows.cli.table import show

    show(*ask(context.obj, FAILURES, [find_run(context.obj, run)]))


def cost(context: typer.Context, run: Run = None) -> None:
    """Show what a run spent: by recipe and step, role and model, prompt, in repairs, per kept item,
    and for each kept environment and scenario.

    A sum is empty when one of its prices is unknown.
    """
    from flows.cli.question import ask_run
    from flows.cli.table import show

    for title, table in ask_run(context.obj, run, COSTS):
        print_text(f"# {title}")
        show(*table)
