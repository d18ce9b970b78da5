"""Inputs that mean harm, made by chance: seconds of them here, and 30 minutes of computing under
`make soak AREA=fuzz`.

What was found is in `found/`, an input a file, and is played each time.
"""

import os
import resource
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from envmill.base.settings import ROOT
from tests.fuzz import hunting
from tests.fuzz.hunting import INPUT, TARGETS, BrokenPromise, Target, hunt, open_target, play
from tests.fuzz.mutating import LARGEST, Mutator
from tests.soak import count

FOUND = Path(__file__).parent / "found"
SECONDS = count(1, 240)
"""Of computing for each target: eight of them have 32 minutes."""


@pytest.mark.long
@pytest.mark.soak(area="fuzz")
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_promise(name: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.hunting",
        name,
        os.environ.get("ENVMILL_SEED", "0"),
        str(SECONDS),
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    kept = ROOT / ".stamps/fuzz" / name
    if done.returncode:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes((tmp_path / INPUT).read_bytes())
    assert done.returncode == 0, (
        f"the input is in {kept}; kept as a test it belongs into {FOUND}\n{done.stderr[-4000:]}"
    )
    sys.stdout.write(done.stdout)


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: path.name)
def test_what_was_found_stays_mended(path: Path) -> None:
    with closing(open_target(path.name.partition("-")[0])) as target:
        play(target, path.read_bytes())


class Planted(Target):
    """A target that breaks on an input."""

    def __init__(self, body: str) -> None:
        self._body, self.held = body, list[bytes]()

    def make(self, mutator: Mutator) -> bytes:
        return mutator.damage(b"input")

    def play(self, content: bytes) -> str:
        if content[:1] == b"i":
            return "passed"
        if self._body == "hangs":
            while True:
                pass
        if self._body == "takes memory":
            self.held.append(b"x" * (hunting.MEMORY + (64 << 20)))
            return "passed"
        raise RecursionError(self._body)


@pytest.mark.parametrize("body", ["hangs", "takes memory", "raises"])
def test_a_broken_promise_is_seen(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hunting, "DEADLINE", 0.2)
    # What this process once held would hide what an input takes.
    monkeypatch.setattr(
        hunting,
        "MEMORY",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if body == "takes memory"
        else 1 << 40,
    )
    with pytest.raises((BrokenPromise, RecursionError)):
        hunt(Planted(body), "seed", 1000.0, tmp_path)
    assert (tmp_path / INPUT).read_bytes()[:1] != b"i"
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "mcp_http"])
def test_the_same_seed_makes_the_same_inputs(name: str) -> None:
    """To open the one that is left out is to listen on a port; its inputs are made as those of
    `mcp_messages` are."""
    made = [
        [target.make(Mutator(Random(f"s:{number}"))) for number in range(20)]
        for target in (open_target(name), open_target(name))
    ]
    assert made[0] == made[1]
    assert len(set(made[0])) > 10
    assert max(map(len, made[0])) < 3 * LARGEST
