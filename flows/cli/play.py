"""`play`, `replay`: an environment at one's fingertips, and a stored rollout put to the test."""

import asyncio
import json as json_module
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.local.home import Home

Run = Annotated[
    str, typer.Option(help="Run to look in; the latest that holds the record when left out.")
]


def play(
    context: typer.Context,
    env: Annotated[
        str,
        typer.Argument(
            help="Environment or scenario: an id, the beginning of one, a .json file from "
            "`envmill show`, or a bundle folder."
        ),
    ],
    state: Annotated[
        Path | None, typer.Option(help="JSON file with the state to start from.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of ids and randomness.")] = 0,
    run: Run = "",
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line of input.")
    ] = False,
) -> None:
    """Play an environment by hand: call tools as any actor, see what changed, undo, let time pass,
    score a scenario.

    Commands are read from the terminal or from standard input; `help` lists them. Exits with 1 when
    the session could not start, or a command was not understood.
    """
    if not asyncio.run(_play(context.obj, env, state, seed, run, json)):
        raise typer.Exit(1)


def replay(
    context: typer.Context,
    rollout: Annotated[str, typer.Argument(help="Id of a rollout, or the beginning of one.")],
    run: Run = "",
) -> None:
    """Play a stored rollout again in a new session, and print `identical` or the first difference.
    Exits with 1 when they differ."""
    if difference := asyncio.run(_replay(context.obj, rollout, run)):
        print_text(f"different: {difference}")
        raise typer.Exit(1)


async def _play(home: Home, env: str, state: Path | None, seed: int, run: str, json: bool) -> bool:
    from envmill.front.holdings import read_state
    from envmill.kinds import open_sandbox
    from envmill.sandbox import Program
    from flows.cli.desk import Misunderstood, PlayDesk
    from flows.cli.holdings import open_playable

    playable, scenario = open_playable(home, env, run)
    given = read_state(state) if state else None
    async with (
        open_sandbox(home.settings) as sandbox,
        sandbox.session(Program.shown(playable.environment)) as session,
    ):
        desk = PlayDesk(playable, session, sandbox)
        opened = await desk.open(scenario, given, seed)
        _print(opened, json)
        understood = bool(opened["ok"])
        for line in _read_lines():
            try:
                _print(await desk.do(line), json)
            except Misunderstood as error:
                understood = False
                _print({"ok": False, "outcome": "misunderstood", "message": str(error)}, json)
    return understood or sys.stdin.isatty()


async def _replay(home: Home, rollout: str, run: str) -> Any:
    from envmill.agents.log import read_moves
    from envmill.agents.replay import replay_rollout
    from envmill.front.holdings import find_rollout
    from envmill.kinds import open_sandbox

    found, scenario, environment = find_rollout(home.settings, rollout, run)
    async with open_sandbox(home.settings, hash_seed=1) as sandbox:
        difference = await replay_rollout(found, scenario, environment, sandbox)
    if difference is None:
        print_text(
            f"identical: {len(list(read_moves(found.transcript)))} moves of {found.id}, final "
            f"state {found.final_state_hash or 'unknown'}"
        )
    return difference


def _read_lines() -> Iterator[str]:
    """Lines until `quit`; blank ones and those that begin with # are passed over."""
    while True:
        try:
            line = input("> ") if sys.stdin.isatty() else sys.stdin.readline()
        except EOFError:
            return
        if line == "" and not sys.stdin.isatty():
            return
        if line.strip() == "quit":
            return
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _print(result: dict[str, Any], json: bool) -> None:
    print_as_json(json_module.dumps(result, ensure_ascii=False)) if json else print_text(
        "\n".join(_render(result))
    )


def _render(result: dict[str, Any]) -> Iterator[str]:
    """A result for people: what was answered, what was told, what changed."""
    if not result["ok"]:
        yield f"{result['outcome']} {result.get('code', '')}: {result['message']}"
    for name, value in result.items():
        if name in ("ok", "outcome", "code", "message"):
            continue
        if name == "parts":
            yield from (
                part["text"] if part["type"] == "text" else _render_value(part.get("value", part))
                for part in value
            )
        elif name == "changes":
            yield from map(_render_change, value)
        elif name == "notifications":
            yield from (f"{one['at']} to {one['actor']}: {one['text']}" for one in value)
        elif isinstance(value, list):
            yield from (
                "  ".join(
                    ", ".join(cell) if isinstance(cell, list) else str(cell)
                    for cell in row.values()
                )
                for row in value
            )
        elif name == "help":
            yield from (f"{said:24} {meant}" for said, meant in value.items())
        else:
            yield f"{name}: {value if isinstance(value, str) else _render_value(value)}"
    if list(result) == ["ok", "outcome"] or result.get("changes") == []:
        yield "(nothing changed)" if "changes" in result else "ok"


def _render_change(change: dict[str, Any]) -> str:
    where = ".".join(change["path"])
    before, after = (
        json_module.dumps(change["before"], ensure_ascii=False),
        json_module.dumps(change["after"], ensure_ascii=False),
    )
    return {
        "add": f"+ {where} {after}",
        "remove": f"- {where} {before}",
        "set": f"~ {where} {before} -> {after}",
    }[change["op"]]


def _render_value(value: Any) -> str:
    return json_module.dumps(value, indent=2, ensure_ascii=False)
