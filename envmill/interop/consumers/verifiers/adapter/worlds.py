"""The set of scenarios of a process, opened once; and a session that is brought to where recorded
moves lead."""

# pyright: basic, reportMissingImports=false

from functools import cache

from .sessions import ScenarioSession, ScenarioSet, open_set


@cache
def find_set(folder: str) -> ScenarioSet:
    """The set in a folder; the one that lies in this package when none is named."""
    return open_set(folder) if folder else open_set()


def catch_up(session: ScenarioSession, moves: list[dict]) -> None:
    """Make the moves that were made elsewhere since."""
    for move in moves[len(session.moves) :]:
        session.say(move["say"]) if "say" in move else session.call(move["name"], move["arguments"])
