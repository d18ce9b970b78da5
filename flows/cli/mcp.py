"""`mcp`: an environment served to MCP clients, and what they did scored."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envmill.base.errors import SandboxError, SettingsError
from flows.cli.printing import print_as_json, print_text
from flows.cli.telling import make_plain
from flows.local.home import Home

if TYPE_CHECKING:
    from envmill.front.holdings import Playable
    from envmill.sandbox import Reset
    from schemas.rollout import Verdict
    from schemas.scenario import Scenario


def mcp(
    context: typer.Context,
    env: Annotated[
        str,
        typer.Argument(
            help="Environment or scenario: an id or the beginning of one, a bundle folder, or a "
            ".json file from `envmill show`."
        ),
    ],
    scenario: Annotated[
        str,
        typer.Option(
            help="Scenario in which sessions begin: an id, or its number in a bundle folder."
        ),
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(help="JSON file with the state to begin with, instead of a scenario."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of ids and randomness; the scenario's when left out.")
    ] = None,
    clock: Annotated[
        str, typer.Option(help="Virtual time at the start, ISO 8601; the scenario's when left out.")
    ] = "",
    actor: Annotated[str, typer.Option(help="Actor whose tools are offered.")] = "agent",
    side: Annotated[
        str,
        typer.Option(
            help="user: serve the user's side of each session, too, for clients that play the user."
        ),
    ] = "agent",
    user_token: Annotated[
        Path | None,
        typer.Option(
            help="File with a token that the user's clients must show; made if there is none."
        ),
    ] = None,
    http: Annotated[
        str,
        typer.Option(help="HOST:PORT to serve many clients at; a port alone is this machine's."),
    ] = "",
    record: Annotated[
        Path | None,
        typer.Option(
            help="File for what the client does; over HTTP a folder, a file for each session."
        ),
    ] = None,
    token: Annotated[
        Path | None,
        typer.Option(help="File with a token that HTTP clients must show; made if there is none."),
    ] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions open at once, over HTTP.")] = 64,
    idle: Annotated[
        float,
        typer.Option(
            min=1, help="Seconds without a message after which a session ends, over HTTP."
        ),
    ] = 1800,
    score: Annotated[
        Path | None,
        typer.Option(
            help="Serve nothing. Print the verdict on what --record wrote. Exits with 1 unless it is pass."
        ),
    ] = None,
    say: Annotated[
        list[str] | None,
        typer.Option(
            help="What the client told its user, which the server never hears; for --score."
        ),
    ] = None,
    run: Annotated[
        str, typer.Option(help="Run to look in; the latest that holds the record when left out.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="The verdict as one JSON object.")] = False,
) -> None:
    """Serve an environment's tools to an MCP client: over standard input and output, or over HTTP
    with a session for each client.

    The client cannot see a verdict. --record stores what it did, and --score judges that afterwards.
    """
    found = _find(context.obj, env, scenario, run)
    if score is None:
        from envmill.runtime.mcp import ServerLimits

        _serve(
            context.obj,
            found,
            _make_reset(*found, state, seed, clock),
            actor,
            http,
            record,
            ServerLimits(sessions, idle),
            token,
            _open_user(found[1], side, user_token),
        )
    elif not _describe(asyncio.run(_score(context.obj, *found, score, say or [])), json):
        raise typer.Exit(1)


def _find(home: Home, env: str, scenario: str, run: str) -> "tuple[Playable, Scenario | None]":
    from envmill.front.holdings import find_playable
    from flows.cli.holdings import read_playable

    playable, meant = (
        (read_playable(Path(env)), "")
        if Path(env).is_dir()
        else find_playable(home.settings, env, run)
    )
    return playable, _choose(playable, scenario or meant) if scenario or meant else None


def _choose(playable: "Playable", name: str) -> "Scenario":
    """By its number, or the beginning of its id."""
    found = [one for one in playable.scenarios if f"{one.number:03d}" == name] or [
        one for one in playable.scenarios if one.id.startswith(name)
    ]
    if len(found) != 1:
        known = ", ".join(f"{one.number:03d} ({one.id})" for one in playable.scenarios) or "none"
        raise SettingsError(
            f"{len(found)} scenarios of {playable.environment.name} are {name!r}. There are: "
            f"{known}."
        )
    return found[0]


def _make_reset(
    playable: "Playable",
    scenario: "Scenario | None",
    state: Path | None,
    seed: int | None,
    clock: str,
) -> "Reset":
    from envmill.front.holdings import read_state
    from envmill.kinds.start import CLOCK
    from envmill.sandbox import Reset

    states = (
        [read_state(state)] if state else [scenario.initial_state] if scenario else playable.states
    )
    if not states:
        raise SettingsError(
            f"{playable.environment.name} has no initial state of its own. Choose one by --scenario ID or "
            "--state FILE."
        )
    clock, seed = (
        clock or (scenario.clock if scenario else CLOCK),
        seed if seed is not None else scenario.seed if scenario else 0,
    )
    try:
        return Reset(states[0], clock, seed)
    except ValueError:
        raise SettingsError(f"{clock!r} is not a time. Write ISO 8601, like {CLOCK}.") from None


def _open_user(
    scenario: "Scenario | None", side: str, token: Path | None
) -> tuple[str, Path] | None:
    """What the user's clients are told, and the file with their token."""
    from envmill.runtime.briefing import brief_user

    if side == "agent":
        return None
    if side != "user":
        raise SettingsError(f"There is no side {side!r}: write --side agent or --side user.")
    if token is None:
        raise SettingsError(
            "The two sides need different tokens. Name a file for the user's: --user-token FILE."
        )
    return brief_user(scenario.user.model_dump()) if scenario else "", token


def _serve(
    home: Home,
    found: "tuple[Playable, Scenario | None]",
    reset: "Reset",
    actor: str,
    http: str,
    record: Path | None,
    bounds: Any,
    token: Path | None,
    user: tuple[str, Path] | None,
) -> None:
    from envmill.agents.briefing import brief_agent
    from envmill.runtime.jail.client import Jail, JailError
    from envmill.runtime.mcp import CannotStart, Offer, serve
    from envmill.sandbox import Program
    from envmill.sandbox.vendor import RUNTIME

    environment, scenario = found[0].environment, found[1]
    start = {"initial_state": reset.state, "clock": reset.clock, "seed": reset.seed}
    judged = scenario is not None and reset.state == scenario.initial_state
    name = scenario.id if scenario and judged else ""
    offer = Offer(
        environment.name,
        Program.shown(environment).message,
        start,
        name,
        brief_agent(environment, reset.clock),
        actor,
    )
    try:
        serve(
            offer,
            lambda: Jail(RUNTIME, trusted=home.settings.trust_generated_code),
            http,
            record,
            bounds,
            token,
            user,
        )
    except CannotStart as error:
        raise SettingsError(str(error)) from None
    except JailError as error:
        raise SandboxError(str(error)) from None


async def _score(
    home: Home, playable: "Playable", scenario: "Scenario | None", path: Path, said: list[str]
) -> "Verdict":
    from envmill.agents.recorded import judge_recorded
    from envmill.kinds import open_sandbox
    from envmill.sandbox import Program, Reset
    from envmill.verifiers.judge import make_error
    from flows.cli.holdings import read_recorded
    from schemas.environment import Call

    recording = read_recorded(path)
    if recording.program != Program.shown(playable.environment).message["hash"]:
        raise SettingsError(
            f"{path} was recorded in another environment than {playable.environment.name}. Name "
            "that one."
        )
    if not recording.scenario:
        raise SettingsError(
            f"{path} was recorded without a scenario, so no verifier can judge it. Record with --scenario ID."
        )
    judged = _choose(playable, recording.scenario)
    if scenario and scenario.id != judged.id:
        raise SettingsError(
            f"{path} was recorded in scenario {judged.id}, not in {scenario.id}. Leave --scenario "
            "out."
        )
    if recording.fault:
        return make_error(recording.fault)
    calls = [
        Call(name=move["name"], arguments=move["arguments"], actor=move["actor"])
        for move in recording.moves
    ]
    hashes = [recording.start, *(move["state_hash"] for move in recording.moves)]
    reset = Reset(judged.initial_state, recording.clock, recording.seed)
    async with open_sandbox(home.settings, drivers=1) as sandbox:
        return await judge_recorded(
            judged, playable.environment, sandbox, reset, calls, hashes, said
        )


def _describe(verdict: "Verdict", json: bool) -> bool:
    reward = "" if verdict.reward is None else f", reward {verdict.reward:g}"
    reason = f": {make_plain(verdict.reason)}" if verdict.reason else ""
    print_as_json(verdict.model_dump_json()) if json else print_text(
        f"{verdict.outcome}{reward}{reason}"
    )
    return verdict.outcome == "pass"
