"""`rollout`: a scripted policy plays a stored scenario before one's eyes; nothing is kept."""

import asyncio
import json as json_module
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.local.home import Home


def rollout(
    context: typer.Context,
    scenario: Annotated[
        str,
        typer.Argument(
            help="Scenario: an id, the beginning of one, or its folder in a bundle folder."
        ),
    ],
    policy: Annotated[
        str,
        typer.Option(
            help="Scripted policy: reference, careless, or skilled@0.7 with a degree from 0 to 1."
        ),
    ] = "reference",
    form: Annotated[
        str,
        typer.Option(
            help="single: all in one request; conversation: bit by bit, with the scripted user."
        ),
    ] = "single",
    manner: Annotated[
        str,
        typer.Option(
            help="How the user talks: plain, terse, forgetful, fumbling, chatty, anxious; as the "
            "contract says when left out."
        ),
    ] = "",
    attempt: Annotated[
        int, typer.Option(min=0, help="Number of the attempt; another one is another try.")
    ] = 0,
    run: Annotated[
        str, typer.Option(help="Run to look in; the latest that holds the scenario when left out.")
    ] = "",
    json: Annotated[
        bool, typer.Option("--json", help="The whole rollout as one JSON object.")
    ] = False,
) -> None:
    """Let a scripted policy play a stored scenario, show what is said and done, and the verdict.
    Exits with 1 unless it passes."""
    played = asyncio.run(_play(context.obj, scenario, policy, form, manner, attempt, run))
    print_as_json(played.model_dump_json()) if json else print_text("\n".join(_render(played)))
    if played.outcome != "pass":
        raise typer.Exit(1)


async def _play(
    home: Home, name: str, policy: str, form: str, manner: str, attempt: int, run: str
) -> Any:
    from envmill.agents import find_policy
    from envmill.agents.rollout import play_scenario
    from envmill.agents.users.manners import MANNERS
    from envmill.base.errors import SettingsError
    from envmill.kinds import open_sandbox
    from flows.cli.holdings import open_playable

    if form not in ("single", "conversation"):
        raise SettingsError(
            f"There is no form {form!r}: write --form single or --form conversation."
        )
    if manner and (manner not in MANNERS or form == "single"):
        raise SettingsError(
            f"A manner is for --form conversation, and one of {', '.join(MANNERS)}."
        )
    if policy == "model":
        raise SettingsError(
            "A model plays only in a run, which has a budget and a journal: envmill run --probe "
            "model --policy provider:model"
        )
    actor = find_policy(policy)
    playable, meant = open_playable(home, name, run)
    found = next((one for one in playable.scenarios if one.id == meant), None)
    if found is None:
        raise SettingsError(
            f"{name} is not a scenario. `envmill show {name}` lists those of an environment."
        )
    async with open_sandbox(home.settings, drivers=1) as sandbox:
        return await play_scenario(
            actor, found, playable.environment, sandbox, "shown", attempt, form=form, manner=manner
        )


def _render(played: Any) -> Iterator[str]:
    """Who said and called what, then the verdict."""
    for entry in played.transcript:
        if entry["role"] == "wait":
            yield (
                f"      (waits {entry['seconds']:g} s) "
                f"{_render_value(entry['notifications']) if entry['notifications'] else ''}"
            ).rstrip()
        elif entry["role"] == "tool":
            content = entry["content"]
            yield (
                f"      = {_render_value(content['parts'] if content['ok'] else content['error'])}"
            )
        elif entry["content"]:
            yield (
                f"{entry['role'] if entry['role'] != 'assistant' else 'agent'}: {entry['content']}"
            )
        for call in entry.get("tool_calls", ()):
            who = f" {call['actor']}" if "actor" in call else ""
            yield (
                f"   {who} > "
                f"{call['name']}({', '.join(f'{key}={_render_value(value)}' for key, value in call['arguments'].items())})"
            )
    reward = "" if played.reward is None else f", reward {played.reward:g}"
    yield (
        f"{played.outcome}{reward} ({played.termination} after {played.steps} "
        f"calls){f': {played.reason}' if played.reason else ''}"
    )


def _render_value(value: Any) -> str:
    return json_module.dumps(value, ensure_ascii=False)
