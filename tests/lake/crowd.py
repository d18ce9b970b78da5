"""Processes that work on one lake at once: writers, readers, and one that compacts. Each prints
what it did, and is told by argv.

writer PLACE BUCKET [COUNT]   publishes batch after batch, each of BATCH seeds; prints the number
before each, `done` after
reader PLACE                  prints `count committed-before committed-after` and what it cannot explain
compactor PLACE GRACE         compacts without a pause
"""

import sys
import time

from envmill.lake.arrow import to_arrow
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.reading import encode
from schemas.ledger import Attrition
from schemas.seed import Brief, Seed
from tests.lake.conftest import exit_row, stamp

BATCH = 5
MARK = Fingerprint("environments-generate", "f" * 20)
RUN = "r1"


def write(place: str, bucket: str, batches: str = "1000000") -> None:
    """Each batch is an attempt of its own; the seeds' numbers say which."""
    lake = Lake(place)
    for record, rows in ((Seed, [make_seed(0)]), (Attrition, [exit_row("warm", "kept", 1)])):
        encode(to_arrow(record, rows, stamp()))  # the first one takes longer than a batch
    _await_start()
    for number in range(1, int(batches) + 1):
        attempt = lake.next_attempt(RUN, MARK.step, int(bucket))
        first = (int(bucket) * 1_000_000 + attempt) * BATCH
        subjects = [make_seed(first + place) for place in range(BATCH)]
        if lake.publish(
            subjects,
            [exit_row(one.id, "kept", attempt) for one in subjects],
            stamp(attempt, int(bucket)),
        ):
            _say(f"{number}")
    _say("done")


def make_seed(number: int) -> Seed:
    """A seed that no other number has."""
    return Seed(
        recipe="envscaler",
        brief=Brief(theme="clinic", text="A clinic.", number=number),
        licence="CC0-1.0",
    )


def read(place: str) -> None:
    """What a reader sees: seeds (through their own listing), and exits (through theirs), whole
    batches only, never fewer than before."""
    lake, last = Lake(place), 0
    _await_start()
    while True:
        exits = len(lake.outcomes(RUN, MARK))
        seeds = len(lake.read(Seed, RUN, MARK))
        later = len(lake.outcomes(RUN, MARK))
        whole = seeds % BATCH == exits % BATCH == 0
        _say(
            f"{seeds} "
            f"{'fine' if whole and last <= exits <= seeds <= later else f'WRONG {last} {exits} {seeds} {later}'}"
        )
        last = later


def squeeze(place: str, grace: str) -> None:
    """Compact on and on."""
    from envmill.lake.compaction import (
        compact,
    )  # brings DuckDB, which writers and readers need not wait for

    lake = Lake(place)
    _await_start()
    while True:
        done = compact(lake, RUN, grace=float(grace))
        _say(f"{done.replaced} {done.deleted}")
        time.sleep(0.05)


def _await_start() -> None:
    """Everybody begins together."""
    _say("ready")
    sys.stdin.readline()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    {"writer": write, "reader": read, "compactor": squeeze}[sys.argv[1]](*sys.argv[2:])
