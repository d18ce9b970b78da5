"""Runs a few tests that failed beside others again, alone.

    python -m tests.again CODE CACHE

Four tests at a time on two cores: what a test does in a second may then take five. A fault fails
alone too; whatever passes alone is named, so that somebody makes it wait for what it needs. More
than three failures are no accident of timing and are not tried again.
"""

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
_FAILED = 1
"""How pytest ends when tests failed, and nothing else was wrong."""


def main(code: int, cache: Path) -> int:
    failed = list(json.loads(text)) if (text := _read(cache / "v/cache/lastfailed")) else []
    if code != _FAILED or not 0 < len(failed) <= MOST:
        return code
    _tell(f"{len(failed)} failed beside other tests and run again alone:", failed)
    again = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *failed], check=False
    ).returncode
    if again == 0:
        _tell("UNSTEADY, passed alone:", failed)
    return again


def _tell(heading: str, tests: list[str]) -> None:
    sys.stdout.write("\n  ".join([heading, *tests]) + "\n")
    sys.stdout.flush()


def _read(file: Path) -> str:
    return file.read_text() if file.is_file() else ""


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
