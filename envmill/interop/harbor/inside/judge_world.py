"""What an agent did in a world, judged where it never was: 0 is a pass, 1 a fail, anything else is
no verdict.

recording of the last session that called a tool ─► its calls made again in the jail ─► what the agent told the user ─► judge

It reads what lies beside it: world/ with program, verifier, jail and judge; scenario.txt with the
scenario's name there.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
APART = Path("/var/lib/begun/apart")
ARTIFACTS = Path("/logs/artifacts")
REPORT = Path("/logs/verifier/report.json")
ENDS = {"pass": 0, "fail": 1}
UNKNOWN = 3

sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE / "world"))


def main() -> int:
    if not APART.exists():
        return report_unknown(
            "this is no container of tests/Dockerfile: tests lie where the agent worked"
        )
    if not (ARTIFACTS / "collected").is_file():
        return report_unknown(
            "the command in [[verifier.collect]] of task.toml was not run, or its files were not "
            "brought here"
        )
    verdict = judge(read_words(ARTIFACTS / "answer.txt"), ARTIFACTS / "moves.jsonl")
    if verdict["outcome"] not in ENDS:
        return report_unknown(str(verdict["reason"]))
    REPORT.write_text(json.dumps(verdict, indent=1), encoding="utf-8")
    return ENDS[verdict["outcome"]]


def judge(said: "list[str]", moves: Path) -> "dict[str, Any]":
    """Of an agent that called nothing the state is that of the start."""
    opening, recording = (
        importlib.import_module("envrun.bundle"),
        importlib.import_module("envrun.recording"),
    )
    name = (HERE / "scenario.txt").read_text(encoding="utf-8").strip()
    bundle = opening.Bundle(HERE / "world")
    try:
        if moves.is_file():
            made = recording.read_recording(moves)
            reached = made.moves[-1]["state_hash"] if made.moves else made.start
            return {**recording.score_recording(bundle, moves, name, said), "state_hash": reached}
        episode = bundle.begin(name)
        for text in said:
            episode.say(text)
        return {**episode.score(), "state_hash": episode.state_hash}
    finally:
        bundle.close()


def read_words(path: Path) -> "list[str]":
    """The last words, where there are any."""
    text = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else ""
    return [text] if text else []


def report_unknown(why: str) -> int:
    sys.stderr.write(f"No verdict: {why}\n")
    return UNKNOWN


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:  # noqa: BLE001  whatever it is, nobody knows what the agent did
        sys.exit(report_unknown(f"{type(error).__name__}: {error}"))
