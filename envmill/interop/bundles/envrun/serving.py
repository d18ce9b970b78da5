"""The command `mcp`: the folder's environment, served to MCP clients by the runtime that lies
beside this file."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .briefing import brief_user
from .bundle import RUNTIME, Bundle
from .files import FolderError
from .jail import JailError, Message

CLOCK = "2026-03-02T09:00:00+00:00"
"""Where no scenario says what time it is."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those of the command."""
    parser.add_argument(
        "--scenario",
        default="",
        help="where sessions begin; the environment's own start when left out",
    )
    parser.add_argument(
        "--seed", type=int, help="seed of ids and randomness; the scenario's when left out"
    )
    parser.add_argument(
        "--clock", help="virtual time at the start, ISO 8601; the scenario's when left out"
    )
    parser.add_argument("--actor", default="agent", help="whose tools are offered")
    parser.add_argument(
        "--http",
        default="",
        metavar="HOST:PORT",
        help="serve many clients there; a port alone is this machine's",
    )
    parser.add_argument(
        "--record",
        type=Path,
        help="file for what the client does, to be scored; over HTTP a folder, a file per session",
    )
    parser.add_argument(
        "--token",
        type=Path,
        metavar="FILE",
        help="file with a token that HTTP clients must show; made if there is none",
    )
    parser.add_argument(
        "--side",
        default="agent",
        choices=("agent", "user"),
        help="user: serve the user's side of each session, too, at /mcp/user; needs --http",
    )
    parser.add_argument(
        "--user-token",
        type=Path,
        metavar="FILE",
        help="file with a token that the user's clients must show; made if there is none",
    )
    parser.add_argument("--sessions", type=int, default=64, help="sessions open at once over HTTP")
    parser.add_argument(
        "--idle",
        type=float,
        default=1800.0,
        help="seconds without a message after which a session ends",
    )


def serve(bundle: Bundle, asked: argparse.Namespace) -> int:
    """Until the client leaves."""
    mcp, client = _adopt()
    start = _find_start(bundle, asked)
    about = bundle.about
    offer = mcp.Offer(
        about["name"],
        bundle.program,
        start,
        asked.scenario,
        bundle.brief(start["clock"]),
        asked.actor,
    )
    bounds = mcp.ServerLimits(asked.sessions, asked.idle)
    try:
        mcp.serve(
            offer,
            lambda: client.Jail(RUNTIME, trusted=bundle.trusted),
            asked.http,
            asked.record,
            bounds,
            asked.token,
            _open_user(bundle, asked),
        )
    except mcp.CannotStart as error:
        raise FolderError(str(error)) from None
    except client.JailError as error:
        raise JailError(str(error)) from None
    return 0


def _open_user(bundle: Bundle, asked: argparse.Namespace) -> tuple[str, Path] | None:
    """What the user's clients are told, and the file with their token."""
    if asked.side != "user":
        return None
    if asked.user_token is None:
        raise FolderError(
            "Two sides need two credentials. Name a file for the user's: --user-token."
        )
    told = brief_user(bundle.read_scenario(asked.scenario)["user"]) if asked.scenario else ""
    return told, asked.user_token


def _find_start(bundle: Bundle, asked: argparse.Namespace) -> Message:
    state = None if asked.scenario else bundle.read_start()
    if not asked.scenario and state is None:
        raise FolderError(
            "It has no start of its own. Choose a scenario by --scenario: "
            f"{', '.join(bundle.list_scenarios())}."
        )
    told = (
        bundle.read_scenario(asked.scenario)
        if asked.scenario
        else {"initial_state": state, "clock": CLOCK, "seed": 0}
    )
    clock, seed = (
        told["clock"] if asked.clock is None else asked.clock,
        told["seed"] if asked.seed is None else asked.seed,
    )
    return {"initial_state": told["initial_state"], "clock": clock, "seed": seed}


def _adopt() -> tuple[Any, Any]:
    """The server and the jail's client of the runtime here, whatever else goes by its name."""
    house = ModuleType("envmill")
    house.__path__ = [str(RUNTIME.parent)]
    sys.modules["envmill"] = house
    return import_module("envmill.runtime.mcp"), import_module("envmill.runtime.jail.client")
