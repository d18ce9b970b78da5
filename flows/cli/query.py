"""`sql`, `funnel`, `failures`, `cost`: questions to the lake."""

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[str | None, typer.Argument(help="Run id, or the beginning of one; the latest when left out.")]

FAILURES = "select lap, stage, outcome, reason, gate, subjects, example_subject, example from failures where run = ?"

COSTS = (
    (
        "model calls by step, prompt and model",
        """select step, prompt, model,
                  count(*) as calls, count(*) filter (reused) as reused, count(*) filter (outcome <> 'reply') as failed,
                  sum(tokens_in)::bigint as tokens_in, sum(tokens_out)::bigint as tokens_out, round(sum(latency), 2) as seconds,
                  case when count(cost) = count(*) then sum(cost) end as cost, count(*) - count(cost) as unpriced
           from model_calls where run = ? group by step, prompt, model order by step, prompt, model""",
    ),
    (
        "per item kept, everything dropped on the way included",
        """select item, recipe, theme, kept, tokens, cost, unpriced, round(seconds_per_kept, 2) as seconds_per_kept,
                  round(tokens_per_kept) as tokens_per_kept, cost_per_kept
           from cost_per_kept where run = ?""",
    ),
)


def sql(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="One SELECT or EXPLAIN statement; `-` reads it from standard input.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON array of objects.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="CSV with a header.")] = False,
    parquet: Annotated[Path | None, typer.Option("--parquet", metavar="FILE", help="Write a Parquet file instead.")] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="Most rows; 0 for all. 10000 unless --json, --csv or --parquet.")] = None,
    timeout: Annotated[float, typer.Option(min=0.001, max=86400, help="Most seconds.")] = 30.0,
    memory: Annotated[str, typer.Option(help="Most memory, like 4GB.")] = "1GB",
) -> None:
    """Ask the lake in SQL. Tables and views stand there by their names: `envmill tables`, `envmill views`.

    A table on a terminal, tab-separated lines otherwise. Only the lake can be read, and nothing written.
    """
    from envmill.lake.sql import Limits
    from flows.cli.answering import Shape, answer

    shape = Shape.pick(json=json, csv=csv, parquet=parquet, limit=limit)
    answer(context.obj, question, Limits(timeout, memory), shape)


def funnel(context: typer.Context, run: Run = None) -> None:
    """What entered each step of a run, and what became of it."""
    from flows.cli.question import FUNNEL, ask, find_run
    from flows.cli.table import show

    show(*ask(context.obj, FUNNEL, [find_run(context.obj, run)]))


def failures(context: typer.Context, run: Run = None) -> None:
    """Why candidates of a run did not go on, with one example each."""
    from flows.cli.question import ask, find_run
    from flows.cli.table import show

    show(*ask(context.obj, FAILURES, [find_run(context.obj, run)]))


def cost(context: typer.Context, run: Run = None) -> None:
    """What a run spent: by step, prompt and model, and per kept item. A sum is empty when one of its prices is unknown."""
    from flows.cli.question import ask_run
    from flows.cli.table import show

    for title, table in ask_run(context.obj, run, COSTS):
        typer.echo(f"# {title}")
        show(*table)
