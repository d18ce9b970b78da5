"""`rescore`: stored rollouts judged again by their scenarios' verifiers."""

import asyncio
import json as json_module
from collections import Counter
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.local.home import Home


def rescore(
    context: typer.Context,
    id: Annotated[
        str,
        typer.Argument(
            help="Id of a rollout, or of a run for all its rollouts; the beginning of an id is enough."
        ),
    ],
    run: Annotated[
        str,
        typer.Option(
            help="Run a rollout is looked for in; the latest that holds it when left out."
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON object per rollout.")] = False,
) -> None:
    """Judge stored rollouts again, by the verifiers of their scenarios, from what was stored; each
    verdict becomes a row of `verdicts`.

    Exits with 1 when an outcome or a reward is another than it was, or when one that had a verdict
    can no longer be judged.
    """
    if asyncio.run(_rescore(context.obj, id, run, json)):
        raise typer.Exit(1)


async def _rescore(home: Home, name: str, run: str, json: bool) -> bool:
    from envmill.agents.rescore import rescore
    from envmill.kinds import open_sandbox
    from flows.cli.holdings import find_rollouts, keep_verdicts

    meant, found = find_rollouts(home, name, run)
    async with open_sandbox(home.settings) as sandbox:
        judged = [await rescore(*one, sandbox) for one in found]
    keep_verdicts(home, meant, judged)
    for one in judged:
        if json:
            print_as_json(json_module.dumps(_describe(one), ensure_ascii=False))
        elif one.changed:
            print_text(_render(one))
    changed = [one for one in judged if one.changed]
    if not json:
        counts = Counter(one.verdict.outcome for one in judged)
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        print_text(
            f"{len(judged)} rollouts of {meant} judged again: {told or 'nothing'}; {len(changed)} "
            "otherwise than before"
        )
    return bool(changed)


def _describe(one: Any) -> dict[str, Any]:
    then = {
        "outcome": one.rollout.outcome,
        "reward": one.rollout.reward,
        "reason": one.rollout.reason,
    }
    return {
        "rollout": one.rollout.id,
        "changed": one.changed,
        "basis": one.basis,
        "before": then,
        "now": one.verdict.model_dump(mode="json"),
    }


def _render(one: Any) -> str:
    before, now = (
        (each.outcome, "" if each.reward is None else f" {each.reward:g}")
        for each in (one.rollout, one.verdict)
    )
    return f"{one.rollout.id}: {before[0]}{before[1]} -> {now[0]}{now[1]}  {one.verdict.reason}"
