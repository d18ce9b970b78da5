"""`run`: ask the local server for a factory run, and follow it."""

# ruff: noqa: ARG001  options are read from the context, all at once

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from flows.local.home import Home
    from schemas.run import RunConfig

_PROVIDERS = "Who answers prompts: offline, replay, openai, responses, anthropic, batch-openai, batch-anthropic, batch-lines."


def run(
    context: typer.Context,
    environments: Annotated[int | None, typer.Option(help="Candidate environments.")] = None,
    target: Annotated[int | None, typer.Option(help="Environments to keep, in rounds of --environments candidates each.")] = None,
    max_candidates: Annotated[int | None, typer.Option(help="Most candidates of all rounds; four times the target when left out.")] = None,
    scenarios: Annotated[int | None, typer.Option(help="Scenarios per kept environment.")] = None,
    polarities: Annotated[str | None, typer.Option(help="Mix of polarities, like achieve=6,answer=1,refuse=1.")] = None,
    checks: Annotated[str | None, typer.Option(help="Where goals come from: derived from the reference path, or written.")] = None,
    reward: Annotated[str | None, typer.Option(help="Binary, or partial: the share of goals that were reached.")] = None,
    review: Annotated[bool | None, typer.Option(help="Have two models review every environment: a hundred calls each.")] = None,
    judged: Annotated[
        bool | None, typer.Option(help="Have a model rule on what verifiers passed, too: a dozen calls per scenario.")
    ] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts per scenario.")] = None,
    corpus: Annotated[str | None, typer.Option(help="JSONL or Parquet file to mine themes from, or `own`.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the corpus that holds the texts.")] = None,
    texts: Annotated[int | None, typer.Option(help="How many texts of the corpus to look at.")] = None,
    documents: Annotated[str | None, typer.Option(help="Documents of tools, like botocore:sqs,openapi:FILE,mcp:FILE.")] = None,
    score: Annotated[int | None, typer.Option(help="Least usefulness and modelability of a mined theme, 1 to 10.")] = None,
    tools: Annotated[int | None, typer.Option(help="Tools per environment, 10 to 100; the author's choice when left out.")] = None,
    collections: Annotated[int | None, typer.Option(help="Collections of records per environment, 3 to 40.")] = None,
    whole: Annotated[int | None, typer.Option(help="Tools up to which a program is written in one reply.")] = None,
    rows: Annotated[int | None, typer.Option(help="Records in the state of a scenario, 100 to 100000.")] = None,
    distractors: Annotated[int | None, typer.Option(help="Near misses beside each record a scenario is about, 1 to 5.")] = None,
    enlarge: Annotated[int | None, typer.Option(help="Over tables: rounds in which records are copied under other names, 1 to 5.")] = None,
    search: Annotated[int | None, typer.Option(help="Sequences of calls by which gate S13 tries to be paid for nothing.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    mistakes: Annotated[float | None, typer.Option(help="Mistake rate of the offline author, 0 to 1.")] = None,
    recipe: Annotated[str | None, typer.Option(help="How environments are thought up; several, like awm,scaleenv, are a run each.")] = None,
    provider: Annotated[str | None, typer.Option(help=_PROVIDERS)] = None,
    model: Annotated[str | None, typer.Option(help="Model to ask, or model@server; see `envmill models`.")] = None,
    critic: Annotated[str | None, typer.Option(help="Model that reviews, as provider:model; the author's when left out.")] = None,
    judge: Annotated[str | None, typer.Option(help="Model that judges, as provider:model; better of another family.")] = None,
    policy: Annotated[str | None, typer.Option(help="Model that acts, as provider:model.")] = None,
    user: Annotated[str | None, typer.Option(help="Model that plays the user, as provider:model.")] = None,
    probe: Annotated[str | None, typer.Option(help="Who probes scenarios: reference, careless, skilled@0.7, or model.")] = None,
    holdout: Annotated[str | None, typer.Option(help="Percent of the domains held out, like validation=10,test=10.")] = None,
    weak: Annotated[str | None, typer.Option(help="Policy by which F2 labels a scenario as too easy (default: the probe policy).")] = None,
    untrainable: Annotated[
        str | None, typer.Option(help="Scenarios that teach the policy nothing (F2, F5): label keeps them, drop drops them.")
    ] = None,
    teacher: Annotated[str | None, typer.Option(help="Whose rollouts become training data, named alike.")] = None,
    form: Annotated[str | None, typer.Option(help="How policies are asked: single, conversation, or mixed.")] = None,
    person: Annotated[str | None, typer.Option(help="Who plays the user of a conversation: auto, scripted, or model.")] = None,
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
    rehearse: Annotated[bool | None, typer.Option(help="Ask the gates inside the repair loop, and send back what they find.")] = None,
    suspicions: Annotated[str | None, typer.Option(help="Suspicions of gates: judge, keep, or auto: judge where that is a model.")] = None,
    with_tier: Annotated[str | None, typer.Option("--with", help="Export tier `suspected` too.")] = None,
    resume: Annotated[str | None, typer.Option(help="Id of a run to go on with; it keeps the settings it started with.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Start nothing; show the config and what the run would ask and cost.")] = False,
    preview: Annotated[
        int | None, typer.Option("-n", min=1, max=20, help="Make so many environments first, show them whole, and ask.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="After -n, go on without asking.")] = False,
    wait: Annotated[bool, typer.Option(help="Follow the run to its end.")] = True,
    remote: Annotated[bool, typer.Option("--remote", help="Ask the server that PREFECT_API_URL names instead of this home's own.")] = False,
) -> None:
    """Run the factory once. Exits with 0 only when the run completes. Ctrl-C ends the run; --resume goes on with it."""
    from flows.cli.order import make_config, run_factory

    given = {name: value for name, value in context.params.items() if name not in _OURS}
    if recipe and "," in recipe:
        return _run_each(context, given, wait, remote)
    config = make_config(given, resume, context.obj)
    if dry_run:
        return _show_plan(context.obj, config)
    if resume is not None and not remote and _is_finished(context.obj, resume):
        return None
    if preview is not None:
        config = _look_first(context.obj, config, preview, yes)
    try:
        completed = run_factory(context.obj, config, wait, remote).completed
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if completed else 1)


_OURS = ("resume", "wait", "remote", "dry_run", "preview", "yes")
"""Options that say how to run, not what."""


def _run_each(context: typer.Context, given: dict[str, Any], wait: bool, remote: bool) -> None:
    """One run for each recipe, one after another."""
    from flows.cli.several import run_recipes

    try:
        completed = run_recipes(context.obj, given, context.params, wait, remote)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if completed else 1)


def _show_plan(home: "Home", config: "RunConfig") -> None:
    from flows.cli.estimate import show_estimate

    for name, value in config.model_dump(mode="json", exclude_unset=True).items():
        typer.echo(f"{name} = {value}", err=True)
    show_estimate(home, config)
    if config.target is not None:
        typer.echo(f"This is one round; at most {config.max_candidates or 4 * config.target} candidates enter in all.", err=True)
    typer.echo("Nothing was started.", err=True)


def _is_finished(home: "Home", run: str) -> bool:
    """Nobody needs a flow run to learn that nothing is left to do."""
    from envmill.finished import is_finished
    from envmill.lake.lake import Lake
    from envmill.lake.stores import open_store

    finished = is_finished(Lake(open_store(home.settings.lake)), run)
    if finished:
        typer.echo(f"run {run} is finished, and nothing of it is lacking. `envmill report {run}` writes its report.")
    return finished


def _look_first(home: "Home", config: "RunConfig", count: int, yes: bool) -> "RunConfig":
    """The run then reuses what the preview was answered."""
    from flows.cli.preview import make_preview

    config = make_preview(home, config, count)
    if not (yes or (sys.stdin.isatty() and typer.confirm("\nGo on with the whole run?"))):
        typer.echo(f"Nothing more was started. To go on: the same with --yes, or with --reuse {config.reuse} instead of -n.", err=True)
        raise typer.Exit(0)
    return config
