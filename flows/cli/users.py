"""`users`: how simulated users talk, beside τ²-bench's texts."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from schemas.rollout import Rollout
    from schemas.scenario import Scenario


def users(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="Run whose conversations are measured, or a bundle folder, which is played by its "
            "reference path with each manner."
        ),
    ],
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a domain of τ²-bench, with its tasks.json; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.")] = None,
) -> None:
    """Show how simulated users talk: what their texts hold, and what they say, by manner."""
    from envmill.report.talk import (
        measure_scenarios,
        measure_talk,
        measure_tasks,
        render_talk,
        render_texts,
    )

    tasks = [measure_tasks(folder / "tasks.json") for folder in against or ()]
    name, scenarios, rollouts = _read(context.obj, source)
    texts = render_texts([measure_scenarios(name, scenarios), *tasks])
    talk = render_talk(measure_talk(rollouts, {one.id: one for one in scenarios}))
    page = f"# How users talk: {name}\n\n## Texts\n\n{texts}\n\n## Conversations\n\n{talk}\n"
    out.write_text(page, encoding="utf-8") if out else print_text(page)


def _read(home: Home, source: str) -> "tuple[str, list[Scenario], list[Rollout]]":
    from envmill.base.errors import SettingsError
    from envmill.lake.lake import Lake
    from flows.cli.question import find_run
    from schemas.rollout import Rollout
    from schemas.scenario import Scenario

    if Path(source).is_dir():
        return asyncio.run(_play(home, source))
    run = find_run(home, source)
    lake = Lake(home.settings.lake)
    rollouts = [one for one in lake.read(Rollout, run) if one.form == "conversation"]
    asked = {one.scenario for one in rollouts}
    scenarios = [one for one in lake.read(Scenario, run) if one.id in asked]
    if not scenarios:
        raise SettingsError(f"Run {run} holds no conversation. Make one with --form conversation.")
    return run, scenarios, rollouts


async def _play(home: Home, source: str) -> "tuple[str, list[Scenario], list[Rollout]]":
    from envmill.agents import find_policy
    from envmill.agents.limits import RolloutLimits
    from envmill.agents.rollout import play_scenario
    from envmill.agents.users.manners import MANNERS
    from envmill.base.errors import SettingsError
    from envmill.kinds import open_sandbox
    from flows.cli.holdings import open_playable

    playable, _ = open_playable(home, source, "")
    if not playable.scenarios:
        raise SettingsError(f"{source} has no scenarios.")
    policy, limits = find_policy("reference"), RolloutLimits(steps=200, turns=100)
    async with open_sandbox(home.settings, drivers=1) as sandbox:
        rollouts = [
            await play_scenario(
                policy,
                scenario,
                playable.environment,
                sandbox,
                "shown",
                0,
                form="conversation",
                manner=manner,
                limits=limits,
            )
            for scenario in playable.scenarios
            for manner in MANNERS
        ]
    return playable.environment.name, list(playable.scenarios), rollouts
