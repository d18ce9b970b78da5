"""Recordings of clients that played over MCP, read back: the calls that were made, and the state
each of them led to."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bundle import Bundle
from .court import Verdict, make_error
from .files import FolderError, parse_json
from .jail import Message

LAYOUT = 1
FAILED = "the environment failed, not the policy"


@dataclass(frozen=True)
class Recording:
    """What one client did."""

    program: str
    """Hash of the program it was done in."""
    scenario: str
    """Empty for the environment's own start, which nothing judges."""
    seed: int
    clock: str
    start: str
    """Hash of the state at the start."""
    moves: list[Message]
    """Calls with what came of each, in order."""
    outage: str
    """Why it broke off; empty when it did not."""

    @property
    def fault(self) -> str:
        """Why nothing can be concluded from it about a policy; empty when something can."""
        return self.outage or (
            FAILED if any(move["outcome"] == "failure" for move in self.moves) else ""
        )


def is_recording(path: Path) -> bool:
    """Whether a file of moves begins as a recording does."""
    try:
        with path.open(encoding="utf-8") as opened:
            return '"recording"' in opened.readline(1000)
    except (OSError, ValueError):
        return False


def read_recording(path: Path) -> Recording:
    """Read a recording; FolderError where the file is none. A last line that a kill cut off was
    never answered, and is left out."""
    try:
        *lines, _ = path.read_text(encoding="utf-8").split("\n")
        head, *rest = [
            parse_json(line, str(path), f"line {place + 1}", _make_error)
            for place, line in enumerate(lines)
        ]
        if head["recording"] != LAYOUT:
            raise FolderError(
                f"{path} is a recording of layout {head['recording']}, and {LAYOUT} is read here. "
                "Record it again."
            )
        outage = next((str(one["outage"]) for one in rest if "outage" in one), "")
        moves: list[Message] = [_check_move(one) for one in rest if "outage" not in one]
        _check_fields(head, program=str, scenario=str, seed=int, clock=str, state_hash=str)
        return Recording(
            head["program"],
            head["scenario"],
            head["seed"],
            head["clock"],
            head["state_hash"],
            moves,
            outage,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FolderError(
            f"{path} is no recording ({type(error).__name__}: {error}). `mcp --record FILE` "
            "writes one."
        ) from None


def score_recording(bundle: Bundle, path: Path, name: str, said: Sequence[str] = ()) -> Verdict:
    """The verdict on what was recorded, done again in a session of its own; `said` is what the
    client told its user."""
    recording = read_recording(path)
    if recording.program != bundle.program["hash"]:
        raise FolderError(f"{path} was recorded in another environment. Score it there.")
    if recording.scenario not in (name, bundle.find_id(name)):
        raise FolderError(
            f"{path} was recorded in {recording.scenario or 'no scenario'}, not in {name}. Name "
            "the one it was recorded in."
        )
    if recording.fault:
        return make_error(recording.fault)
    # Nobody recorded what the user answered: what depends on it is not known here.
    seed, clock = recording.seed, recording.clock
    episode = bundle.begin(name, seed, "conversation", "yours", clock)
    try:
        reached = [episode.state_hash]
        for move in recording.moves:
            episode.call(move["name"], move["arguments"], move["actor"])
            reached.append(episode.state_hash)
        if difference := find_difference(recording, reached):
            return make_error(difference)
        for text in said:
            episode.say(text)
        return episode.score()
    finally:
        episode.close()


def find_difference(recording: Recording, reached: Sequence[str]) -> str:
    """The first place where it came out otherwise than it was recorded; empty when nowhere."""
    recorded = [recording.start, *(move["state_hash"] for move in recording.moves)]
    for place, (then, now) in enumerate(zip(recorded, reached, strict=True)):
        if then != now:
            return (
                f"after call {place} the state is {now}, and {then} was recorded: this is not "
                "what was played"
            )
    return ""


def _check_move(move: Any) -> Message:
    """All that is asked of it later."""
    return _check_fields(move, name=str, arguments=dict, actor=str, outcome=str, state_hash=str)


def _check_fields(written: Any, **kinds: type) -> Message:
    for name, kind in kinds.items():
        if not isinstance(written[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    return written


def _make_error(_: str, what: str, __: str, place: str = "") -> ValueError:
    return ValueError(f"{place}: {what}")
