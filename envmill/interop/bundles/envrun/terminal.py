"""The command line of an exported environment: list, show, open, call, score, check, mcp."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .bundle import FORMS, Bundle, open_bundle
from .court import JudgeError
from .digests import UNCOMPARED
from .episode import check_move, make_move
from .files import MAX_FILE, FolderError, escape, fault, parse_json
from .jail import JailError, Message
from .recording import is_recording, score_recording
from .serving import add_options, serve


def main(words: Sequence[str]) -> int:
    """0 done, 1 a check did not hold, 2 wrong usage, 3 the jail or the judge failed or refused."""
    asked = _make_parser().parse_args(words)
    try:
        with open_bundle(*asked.folder, trusted=asked.trusted) as bundle:
            if not bundle.compared:
                sys.stderr.write(escape(f"{bundle.folder}: {UNCOMPARED}") + "\n")
            return COMMANDS[asked.command](bundle, asked)
    except FolderError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (JailError, JudgeError) as error:
        sys.stderr.write(f"{error}\n")
        return 3


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="envrun", description="An environment with its scenarios, played in a jail and judged."
    )
    parser.add_argument(
        "--trusted",
        action="store_true",
        help="run the program even where this machine cannot confine it",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        nargs=1,
        default=[],
        help="an exported folder as data; the one this lies in when left out",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="scenarios, one a line")
    commands.add_parser("tools", help="the interface, as JSON")
    for name, told in (
        ("show", "what a policy is shown of a scenario, as JSON"),
        ("open", "play it: moves as JSON lines in, replies out"),
    ):
        command = commands.add_parser(name, help=told)
        command.add_argument("scenario")
        command.add_argument(
            "--form",
            choices=FORMS,
            default="single",
            help="ask for everything at once, or converse with a scripted user",
        )
    call = commands.add_parser("call", help="one call on a scenario's initial state")
    for name in ("scenario", "tool"):
        call.add_argument(name)
    call.add_argument("arguments", nargs="?", default="{}", help="as JSON; none when left out")
    score = commands.add_parser(
        "score",
        help="the verdict on a file of moves, one JSON object a line, or on what `mcp --record` "
        "wrote",
    )
    score.add_argument("scenario")
    score.add_argument("moves", type=Path)
    score.add_argument(
        "--say",
        action="append",
        default=[],
        metavar="TEXT",
        help="what the user was told in the end",
    )
    add_options(
        commands.add_parser(
            "mcp", help="serve it to an MCP client: over standard input and output, or HTTP"
        )
    )
    commands.add_parser(
        "check", help="every scenario: its reference path passes, and doing nothing earns nothing"
    )
    return parser


def _list(bundle: Bundle, _: argparse.Namespace) -> int:
    for name in bundle.list_scenarios():
        told = bundle.read_scenario(name)
        words = (name, told["split"], told["polarity"], told["request"])
        sys.stdout.write("\t".join(escape(" ".join(text.split())) for text in words) + "\n")
    return 0


def _tools(bundle: Bundle, _: argparse.Namespace) -> int:
    return _write(bundle.tools())


def _show(bundle: Bundle, asked: argparse.Namespace) -> int:
    episode = bundle.begin(asked.scenario, form=asked.form)
    return _write(
        {"scenario": asked.scenario, "messages": episode.messages, "tools": bundle.tools()}
    )


def _open(bundle: Bundle, asked: argparse.Namespace) -> int:
    """A session that lives as long as its input: `{"score": true}` asks for the verdict at any
    time."""
    episode = bundle.begin(asked.scenario, form=asked.form)
    _write({"messages": episode.messages})
    for line in sys.stdin:
        if line.strip():
            move = _parse(line, "input")
            _write(episode.score() if "score" in move else {"reply": make_move(episode, move)})
    return 0


def _call(bundle: Bundle, asked: argparse.Namespace) -> int:
    return _write(
        bundle.begin(asked.scenario).call(asked.tool, _parse(asked.arguments, "arguments"))
    )


def _score(bundle: Bundle, asked: argparse.Namespace) -> int:
    if is_recording(asked.moves):
        return _write(score_recording(bundle, asked.moves, asked.scenario, asked.say))
    moves = [*_read_moves(asked.moves), *({"say": text} for text in asked.say)]
    return _write(bundle.play(asked.scenario, moves))


def _read_moves(path: Path) -> list[Message]:
    """A file of moves, one JSON object a line."""
    mend = "Name a file of moves, one JSON object a line."
    try:
        with path.open("rb") as opened:
            content = opened.read(MAX_FILE + 1)
        lines = content.decode("utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise fault(str(path), f"it cannot be read ({error})", mend) from None
    if len(content) > MAX_FILE:
        raise fault(str(path), f"it has more than {MAX_FILE} bytes", mend)
    moves: list[Message] = []
    for place, line in enumerate(lines):
        if line.strip():
            moves.append(_parse(line, str(path), f"line {place + 1}"))
            check_move(moves[-1], str(path), f"line {place + 1}")
    return moves


def _check(bundle: Bundle, _: argparse.Namespace) -> int:
    bad = 0
    for name in bundle.list_scenarios():
        told = bundle.read_scenario(name)
        path = [*told["oracle"], *([{"say": told["say"]}] if told["say"] else [])]
        oracle = bundle.play(name, path) if path else None
        nothing = bundle.play(name, [])
        sound = (oracle is None or oracle["outcome"] == "pass") and nothing["reward"] == 0.0
        bad += not sound
        _write(
            {
                "scenario": name,
                "sound": sound,
                "oracle": oracle and oracle["reward"],
                "do_nothing": nothing["reward"],
            }
        )
    return 1 if bad else 0


COMMANDS: dict[str, Callable[[Bundle, argparse.Namespace], int]] = {
    "list": _list,
    "tools": _tools,
    "show": _show,
    "open": _open,
    "call": _call,
    "score": _score,
    "check": _check,
    "mcp": serve,
}


def _parse(text: str, file: str, place: str = "") -> Message:
    found = parse_json(text, file, place)
    if not isinstance(found, dict):
        raise fault(
            file, f"{text.strip()[:80]!r} is no JSON object", "Write one object a line.", place
        )
    return found  # pyright: ignore[reportUnknownVariableType]


def _write(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False)
    if (
        not text.isprintable()
    ):  # JSON leaves control characters beyond ASCII as they are, and a terminal must not obey them
        text = "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    return 0
