"""kill -9 at random points, witnessed by the vendor: what is journalled is never asked again, what
was returned is never lost."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.models.asker import IN_FLIGHT, read_known
from tests.models.vendors.launch import Loopback
from tests.soak import count

RUNS, KILLS, A_LIFE = count(1, 10), count(3, 10), 60
"""Runs, kills of each, and the most questions answered between two kills. Each life asks anew for
all that those before it know."""


@dataclass
class Asker:
    """The process, and the numbers it said."""

    process: "subprocess.Popen[str]"
    returned: set[int] = field(default_factory=set[int])
    _listener: threading.Thread | None = None

    def listen(self) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == "ready\n"
        self._listener = threading.Thread(target=self._hear)
        self._listener.start()

    def _hear(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.returned.add(int(line))

    def wait_for(self, number: int) -> None:
        """Until it was given so many replies, those that were known before among them."""
        while len(self.returned) < number and self.process.poll() is None:
            time.sleep(0.001)

    def end(self) -> int:
        assert self._listener
        self._listener.join()
        return self.process.wait()


@contextlib.contextmanager
def start(folder: Path, vendors: Loopback, numbers: range, *tokens: int) -> Iterator[Asker]:
    program = [
        sys.executable,
        "-m",
        "tests.models.asker",
        str(folder),
        "openai",
        vendors.root,
        str(numbers.start),
        str(numbers.stop),
    ]
    with subprocess.Popen(
        [*program, *map(str, tokens)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        asker = Asker(process)
        try:
            asker.listen()
            yield asker
        finally:
            process.kill()


def count_asked(vendors: Loopback) -> Counter[int]:
    """Number → how often the vendor was asked."""
    asked = Counter[int]()
    for text, times in vendors.counts()["by_last"].items():
        asked[int(text.split("<", 1)[1].split(">", 1)[0])] += times
    return asked


def list_answered(folder: Path) -> set[int]:
    """Questions whose replies are kept."""
    return {int(call.subject.strip("<>")) for call in read_known(folder, sealing=False).values()}


@pytest.mark.long
@pytest.mark.soak(area="models")
@pytest.mark.parametrize("run", range(RUNS))
def test_a_killed_asker_repeats_at_most_what_was_in_flight(
    vendors: Loopback, tmp_path: Path, run: int
) -> None:
    vendors.say('{"length": 3}')
    vendors.set(latency=0.02)
    numbers, chance = (
        range(KILLS * A_LIFE * 2),
        random.Random(f"{os.environ.get('ENVMILL_SEED', '')}{run}"),
    )
    kept, asked = set[int](), Counter[int]()
    for life in range(KILLS + 1):
        with start(tmp_path, vendors, numbers) as asker:
            if life < KILLS:
                asker.wait_for(len(kept) + chance.randrange(1, A_LIFE))
                time.sleep(chance.uniform(0.0, 0.02))
                asker.process.send_signal(signal.SIGKILL)
            assert asker.end() == (-signal.SIGKILL if life < KILLS else 0), (
                "it was to be killed in the midst of its questions"
            )
        now = count_asked(vendors)
        assert {number for number in kept if now[number] != asked[number]} == set(), (
            "a journalled reply was asked for again"
        )
        kept, asked = list_answered(tmp_path), now
        assert asker.returned <= kept, "a reply was returned and is lost"
    assert kept == set(numbers) == asker.returned
    assert asked.total() <= len(numbers) + KILLS * IN_FLIGHT
