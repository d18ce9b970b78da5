"""`run`: ask the local server for a factory run, and follow it."""

# ruff: noqa: ARG001  options are read from the context, all at once

from typing import Annotated

import typer

_PROVIDERS = "Who answers prompts: offline, replay, openai, responses, anthropic, batch-openai, batch-anthropic, batch-lines."


def run(
    context: typer.Context,
    environments: Annotated[int | None, typer.Option(help="Candidate environments.")] = None,
    scenarios: Annotated[int | None, typer.Option(help="Scenarios per kept environment.")] = None,
    polarities: Annotated[str | None, typer.Option(help="Mix of polarities, like achieve=6,answer=1,refuse=1.")] = None,
    checks: Annotated[str | None, typer.Option(help="Where goals come from: derived from the reference path, or written.")] = None,
    reward: Annotated[str | None, typer.Option(help="Binary, or partial: the share of goals that were reached.")] = None,
    review: Annotated[bool | None, typer.Option(help="Have two models review every environment: a hundred calls each.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts per scenario.")] = None,
    corpus: Annotated[str | None, typer.Option(help="JSONL or Parquet file to mine themes from, or `own`.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the corpus that holds the texts.")] = None,
    texts: Annotated[int | None, typer.Option(help="How many texts of the corpus to look at.")] = None,
    score: Annotated[int | None, typer.Option(help="Least usefulness and modelability of a mined theme, 1 to 10.")] = None,
    tools: Annotated[int | None, typer.Option(help="Tools per environment, 10 to 100; the author's choice when left out.")] = None,
    collections: Annotated[int | None, typer.Option(help="Collections of records per environment, 3 to 40.")] = None,
    whole: Annotated[int | None, typer.Option(help="Tools up to which a program is written in one reply.")] = None,
    rows: Annotated[int | None, typer.Option(help="Records in the state of a scenario, 100 to 100000.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    mistakes: Annotated[float | None, typer.Option(help="Mistake rate of the offline author, 0 to 1.")] = None,
    recipe: Annotated[str | None, typer.Option(help="How environments are thought up.")] = None,
    provider: Annotated[str | None, typer.Option(help=_PROVIDERS)] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask, or model@server; see `envmill models`.")] = None,
    critic: Annotated[str | None, typer.Option(help="Model that reviews, as provider:model; the author's when left out.")] = None,
    judge: Annotated[str | None, typer.Option(help="Model that judges, as provider:model; better of another family.")] = None,
    policy: Annotated[str | None, typer.Option(help="Model that acts, as provider:model.")] = None,
    user: Annotated[str | None, typer.Option(help="Model that plays the user, as provider:model.")] = None,
    probe: Annotated[str | None, typer.Option(help="Who probes scenarios: reference, careless, skilled@0.7, or model.")] = None,
    holdout: Annotated[str | None, typer.Option(help="Percent of the domains held out, like validation=10,test=10.")] = None,
    teacher: Annotated[str | None, typer.Option(help="Whose rollouts become training data, named alike.")] = None,
    form: Annotated[str | None, typer.Option(help="How policies are asked: single, conversation, or mixed.")] = None,
    person: Annotated[str | None, typer.Option(help="Who plays the user of a conversation: scripted, or model.")] = None,
    steps: Annotated[int | None, typer.Option(help="Most tool calls of a rollout.")] = None,
    turns: Annotated[int | None, typer.Option(help="Most messages to the user of a conversation.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Most output tokens of a model's rollout.")] = None,
    budget: Annotated[float | None, typer.Option(help="Most money for model calls; with --resume a new bound.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Most tokens for model calls; with --resume a new bound.")] = None,
    reuse: Annotated[str | None, typer.Option(help="Run whose replies answer the same questions again, at no cost.")] = None,
    recording: Annotated[str | None, typer.Option(help="With --provider replay: run or file to play back.")] = None,
    playback: Annotated[str | None, typer.Option(help="How it is played back: strict, or by-order for edited prompts.")] = None,
    record: Annotated[str | None, typer.Option(help="File to write the run's model calls to, without keys.")] = None,
    embedder: Annotated[str | None, typer.Option(help="What makes texts comparable: lexical, minilm, or openai:model.")] = None,
    exporters: Annotated[str | None, typer.Option(help="What leaves, like sft,bundle; every exporter of the README when left out.")] = None,
    provisional: Annotated[bool | None, typer.Option(help="Export items too that a required gate could not measure.")] = None,
    resume: Annotated[str | None, typer.Option(help="Id of a run to go on with; it keeps the settings it started with.")] = None,
    wait: Annotated[bool, typer.Option(help="Follow the run to its end.")] = True,
    remote: Annotated[bool, typer.Option("--remote", help="Ask the server that PREFECT_API_URL names instead of this home's own.")] = False,
) -> None:
    """Run the factory once. Exits with 0 only when the run completes."""
    from flows.cli.order import make_config, run_factory

    given = {name: value for name, value in context.params.items() if name not in ("resume", "wait", "remote")}
    config = make_config(given, resume, context.obj)
    try:
        completed = run_factory(context.obj, config, wait, remote)
    except KeyboardInterrupt:
        typer.echo("\nNo longer following. The run goes on; its page tells how far it is.", err=True)
        raise typer.Exit(130) from None
    raise typer.Exit(0 if completed else 1)
