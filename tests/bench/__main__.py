"""Prints `area | id | what | measured | baseline | ratio | target | ok or short`, and keeps each
row in data/bench.jsonl.

targets.toml ─┐
<area>.rows() ┴─► judge ─► line on the terminal, line in the file

It measures and does not judge a build: it exits with 0 unless a measurement itself breaks.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from envmill.base.settings import ROOT
from tests.bench.target import Measurement, Target, judge, read_targets

FOLDER = Path(__file__).parent
HISTORY = ROOT / "data/bench.jsonl"
HEADINGS = ("area", "id", "what", "measured", "baseline", "ratio", "target", "verdict")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the areas asked for, or all."""
    known = list_areas()
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure against the targets in tests/bench/targets.toml.",
    )
    parser.add_argument(
        "areas", nargs="*", metavar="AREA", help=f"one or more of: {', '.join(known)}"
    )
    asked = parser.parse_args(arguments).areas or known
    if unknown := [area for area in asked if area not in known]:
        parser.error(f"no area {', '.join(unknown)}; there are: {', '.join(known)}")
    targets = read_targets(FOLDER / "targets.toml")
    _say(HEADINGS)
    for area in asked:
        _measure(area, targets)


def list_areas() -> list[str]:
    """Every module here with a function `rows` is an area."""
    return [
        path.stem
        for path in sorted(FOLDER.glob("*.py"))
        if "\ndef rows(" in path.read_text(encoding="utf-8")
    ]


def _measure(area: str, targets: dict[str, Target]) -> None:
    for row in importlib.import_module(f"tests.bench.{area}").rows():
        found = Measurement(**row)
        target = targets.get(f"{area}.{found.id}")
        wanted, verdict = target.render() if target else "none", judge(found, target)
        ratio = "" if found.ratio is None else f"{found.ratio:.3g}"
        _say(
            (
                area,
                found.id,
                found.what,
                found.render(found.measured),
                found.render(found.baseline),
                ratio,
                wanted,
                verdict,
            )
        )
        _keep({"area": area, **row, "ratio": found.ratio, "target": wanted, "verdict": verdict})


def _say(cells: Sequence[str]) -> None:
    sys.stdout.write(" | ".join(cells) + "\n")
    sys.stdout.flush()


def _keep(row: dict[str, object]) -> None:
    """With what a number means nothing without: when, which code, which machine."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    around = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "commit": _commit(), **machine}
    HISTORY.parent.mkdir(parents=True, exist_ok=True)
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(around | row) + "\n")


def _commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
    )
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    main()
