"""kill -9 of a whole run that asks through batches: no item is handed in twice, and no reply is
lost or in the ledger twice."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import ROOT
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from tests.models.batcher import MOMENTS, WAITS
from tests.models.vendors.launch import Loopback
from tests.soak import count

ITEMS, MOST_LIVES = 6, 12
BLUEPRINT = (
    '{"name": "Shed", "summary": "Tools are lent.", "collections": {"tools": ["id", "name"]}, '
    '"rules": ["A tool is lent once."], '
    '"tools": [{"name": "find_tool", "description": "Find one.", "effect": "query"}, '
    '{"name": "lend_tool", "description": "Lend it.", "effect": "change"}], "policy": ""}'
)
ALL = [f"{when} {what}" for what in MOMENTS for when in ("before", "after")]
CHANCE = random.Random(os.environ.get("ENVMILL_SEED", ""))
SOME = sorted(CHANCE.sample(ALL, count(3, len(ALL))), key=ALL.index)
CARRIERS = pytest.mark.parametrize("carrier", ["openai", "anthropic"])


@dataclass
class Lives:
    """The process that forks them, and the place of their run."""

    process: "subprocess.Popen[str]"
    folder: Path
    vendors: Loopback
    carrier: str = ""

    def begin(self, folder: Path) -> None:
        """A new run, at vendors that know of nothing."""
        self.folder = folder
        self.vendors.reset()
        self.vendors.say(BLUEPRINT)
        self.vendors.set(batches={"polls": 2})

    def live(self, **end: Any) -> int:
        """How one life ended."""
        assert self.process.stdin
        assert self.process.stdout
        config = {
            "provider": f"batch-{self.carrier}",
            "model": "m",
            "environments": ITEMS,
            "seed": 1,
        }
        self.process.stdin.write(
            json.dumps({"environ": self.environ, "config": config} | end) + "\n"
        )
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    @property
    def environ(self) -> dict[str, str]:
        return {
            "ENVMILL_HOME": str(self.folder / "home"),
            "ENVMILL_LAKE": str(self.folder / "lake"),
            "ENVMILL_BUNDLES": str(self.folder / "bundles"),
            "ENVMILL_OPENAI_URL": self.vendors.openai,
            "ENVMILL_ANTHROPIC_URL": self.vendors.anthropic,
            "OPENAI_API_KEY": "sk-loopback-0123456789abcdef",
            "ANTHROPIC_API_KEY": "sk-loopback-0123456789abcdef",
        }

    def check_ledger(self) -> None:
        """All items went out in one batch, were answered once, and each answer is in the ledger
        once, with its outcome."""
        handed = [
            one
            for one in self.vendors.requests()
            if one["method"] == "POST" and one["path"].endswith("/batches")
        ]
        assert len(handed) == 1, "items were handed in twice, or never"
        assert sorted(self.vendors.counts()["asked"].values()) == [1] * ITEMS
        lake = Lake(self.folder / "lake")
        calls = fetch(
            lake,
            "select outcome, count(*), count(distinct request) from model_calls where not reused "
            "group by all",
        )
        assert calls == [("reply", ITEMS, ITEMS)], "a reply was lost, or counted twice"
        assert fetch(lake, "select outcome, count(*) from exits group by all") == [("kept", ITEMS)]


@pytest.fixture(scope="module")
def nursery(_process: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """The forking process, after a whole run at each vendor."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.models.batcher"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        lives = Lives(process, tmp_path_factory.getbasetemp(), _process)
        for lives.carrier in ("openai", "anthropic"):
            lives.begin(tmp_path_factory.mktemp(lives.carrier))
            while lives.live(here=True):
                pass
            lives.check_ledger()
        yield lives
        assert process.stdin
        process.stdin.close()


@pytest.mark.long
@CARRIERS
@pytest.mark.soak(area="models")
def test_a_run_killed_at_a_moment_of_its_batch_goes_on_from_there(
    nursery: Lives, tmp_path: Path, carrier: str
) -> None:
    nursery.carrier = carrier
    for number, moment in enumerate(SOME):
        nursery.begin(tmp_path / str(number))
        ends: list[int] = []
        while 0 not in ends and len(ends) < MOST_LIVES:
            ends.append(nursery.live(moment="" if -signal.SIGKILL in ends else moment))
        assert (ends.count(-signal.SIGKILL), ends[-1]) == (1, 0), (
            f"{moment}: it was killed once, and then finished: {ends}"
        )
        assert set(ends) <= {-signal.SIGKILL, WAITS, 0}
        nursery.check_ledger()


@pytest.mark.long
@CARRIERS
@pytest.mark.soak(area="models")
def test_a_run_killed_at_random_goes_on_from_there(
    nursery: Lives, tmp_path: Path, carrier: str
) -> None:
    """Half of its lives are killed, wherever they happen to be."""
    nursery.carrier = carrier
    ended: Counter[int] = Counter()
    for number in range(count(1, 25)):
        nursery.begin(tmp_path / str(number))
        ends: list[int] = []
        while 0 not in ends and len(ends) < 4 * MOST_LIVES:
            ends.append(
                nursery.live(seconds=CHANCE.uniform(0.0, 0.6) if CHANCE.random() < 0.5 else None)
            )
        assert ends[-1] == 0, ends
        nursery.check_ledger()
        ended.update(ends)
    assert set(ended) <= {-signal.SIGKILL, WAITS, 0}
