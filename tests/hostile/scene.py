"""The whole corpus against one jail, as a program of its own: it can be started as another user or
in a container.

python -m tests.hostile.scene sandbox|vendored all|brief
python -m tests.hostile.scene loose

Prints the layers that hold, then a line per attack. `loose` leaves out the layers that stop an
attack: only in a throwaway container.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from tests.hostile.assault import Jail, assault
from tests.hostile.corpus import CORPUS, OUTLASTING, Attack
from tests.sandbox.vendored import open_vendored

AT_ONCE = 3
"""Drivers that attacks are spread over."""


@asynccontextmanager
async def open_jails(through: str) -> AsyncIterator[tuple[dict[str, bool], list[Jail]]]:
    """The layers that hold, and jails to be attacked side by side."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if through == "vendored":
            jails = [
                stack.enter_context(open_vendored(Path(folder, str(number))))
                for number in range(AT_ONCE)
            ]
            yield jails[0].layers(), list[Jail](jails)
            return
        settings = Settings.read(
            {"ENVMILL_HOME": folder, "ENVMILL_LAKE": folder, "ENVMILL_BUNDLES": folder}
        )
        async with Sandbox.open(settings, drivers=AT_ONCE, pinned=False) as sandbox:
            yield sandbox.layers(), [sandbox] * AT_ONCE


async def play(through: str, corpus: Mapping[str, Attack]) -> None:
    """Attack, and print what was seen."""
    left = iter(corpus.items())
    async with open_jails(through) as (layers, jails):
        _print({"layers": layers})

        async def work(jail: Jail) -> None:
            for name, attack in left:
                _print({"name": name, "seen": (await assault(jail, attack)).tell()})

        await asyncio.gather(*map(work, jails))


async def play_loosely() -> None:
    """Each attack that layers stop, against a sandbox that lacks just those."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read({"ENVMILL_HOME": folder, "ENVMILL_TRUST_GENERATED_CODE": "1"})
        for control in sorted({attack.control for attack in CORPUS.values() if attack.control}):
            async with Sandbox.open(settings, without=control, drivers=1, pinned=False) as sandbox:
                for name, attack in CORPUS.items():
                    if attack.control == control:
                        _print({"name": name, "seen": (await assault(sandbox, attack)).tell()})
            _reap_orphans()


def _reap_orphans() -> None:
    """Wait for what a closed sandbox left: in a container this process is the first one, and every
    process that nobody waits for counts towards the container's limit."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def choose(extent: str) -> dict[str, Attack]:
    """All, or without most of those that only wait for a deadline: seconds each, and the same
    everywhere."""
    waiting = list(OUTLASTING)[2:]
    return {
        name: attack for name, attack in CORPUS.items() if extent == "all" or name not in waiting
    }


def _print(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "loose":
        asyncio.run(play_loosely())
    else:
        asyncio.run(play(sys.argv[1], choose(sys.argv[2])))
