"""The policy server: it thinks as long as a model does, and drives many sessions at once. A process
of its own.

python -m tests.bench.loop.policy SCRIPTS  <  settings as JSON  >  what was measured, as JSON

slot ─► next attempt of a group ─► reset ─► (think ─► step)… ─► last step: the score ─► next attempt, whatever the others do
"""

import asyncio
import json
import math
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

GROUP = 8
"""Attempts at one scenario."""
_MEDIAN, _SPREAD, _LEAST, _MOST = 3.0, 0.9, 0.5, 20.0
"""Seconds of a turn, lognormal."""
_ABORTED, _STRAGGLING = 0.03, 0.01
"""Share of rollouts that end without a word in their middle, and of turns that take three times the
longest."""
_BRANCHED = 0.1
"""Share of rollouts that are branched from one of their turns."""
_PERIOD, _UPDATE = 60.0, 4.0
"""Seconds between two updates of the weights, and how long no turn is made meanwhile."""


@dataclass(frozen=True)
class Loop:
    """How the training loop is driven."""

    url: str
    token: str
    sessions: int
    seconds: float
    """Of wall time, after the last session was opened."""
    scale: float = 1.0
    """Factor on all times of the policy."""
    seed: int = 1
    opening: float = 10.0
    """Seconds over which sessions are opened."""


@dataclass
class Measured:
    """What came of it. Times are milliseconds, as the policy server sees them."""

    latencies: dict[str, list[float]] = field(
        default_factory=lambda: defaultdict[str, list[float]](list)
    )
    rollouts: int = 0
    wrong: list[str] = field(default_factory=list[str])
    """Verdicts or end states that differ from native play."""
    outcomes: Counter[str] = field(default_factory=Counter[str])
    environment: float = 0.0
    policy: float = 0.0
    """Seconds that all sessions together waited for the environment, and for the policy."""
    starts: dict[str, set[str]] = field(default_factory=lambda: defaultdict[str, set[str]](set))
    """Group → hashes of the states its attempts began in."""
    branches: int = 0
    unlike: int = 0
    """Episodes that were branched from one of their turns, and those that went on in another
    way."""
    off_policy: int = 0
    """Rollouts that an update of the weights fell into."""
    lag: list[float] = field(default_factory=list[float])
    """How late this process's own clock rings: part of every latency above."""

    def describe(self) -> dict[str, Any]:
        told = {
            name: {
                "p50": find_quantile(times, 0.5),
                "p99": find_quantile(times, 0.99),
                "count": len(times),
            }
            for name, times in self.latencies.items()
        }
        whole = self.environment + self.policy
        return {
            "latencies": told, "rollouts": self.rollouts, "wrong": self.wrong[:20], "outcomes": dict(self.outcomes),
            "share": self.environment / whole if whole else 0.0,
            "groups": len(self.starts), "split_groups": sum(len(found) > 1 for found in self.starts.values()),
            "branches": self.branches, "unlike": self.unlike,
            "off_policy": self.off_policy, "lag_p99": find_quantile(self.lag, 0.99), "processor": time.process_time(),
        }  # fmt: skip


def find_quantile(values: Sequence[float], share: float) -> float:
    """Nearest rank; 0 of nothing."""
    return (
        sorted(values)[min(len(values) - 1, math.ceil(share * len(values)) - 1)] if values else 0.0
    )


class PolicyServer:
    """Many slots; each plays one attempt after the other."""

    def __init__(self, loop: Loop, scripts: Sequence[dict[str, Any]]) -> None:
        self.loop, self.scripts = loop, scripts
        self.measured = Measured()
        self._open = asyncio.Event()
        self._open.set()
        self._checkpoint = 0
        self._updates: list[tuple[float, float]] = []
        """When generation stood still."""
        self._attempts = self._number_attempts()
        self._end = math.inf

    async def run(self) -> Measured:
        """Open the sessions one after the other, and drive them until the time is over."""
        slots = [asyncio.create_task(self._drive(slot)) for slot in range(self.loop.sessions)]
        watching = [asyncio.create_task(self._update()), asyncio.create_task(self._watch_lag())]
        await asyncio.sleep(self.loop.opening)
        self._end = time.monotonic() + self.loop.seconds
        done, _ = await asyncio.wait(slots, timeout=self.loop.seconds + 5)
        for task in (*watching, *slots):
            task.cancel()
        await asyncio.gather(*slots, *watching, return_exceptions=True)
        for task in done:
            if not task.cancelled() and (error := task.exception()):
                self.measured.wrong.append(f"a slot broke: {error!r}")
        return self.measured

    def _number_attempts(self) -> Iterator[tuple[str, int, dict[str, Any], random.Random]]:
        by_scenario: dict[str, list[dict[str, Any]]] = {}
        for script in self.scripts:
            by_scenario.setdefault(script["scenario"], []).append(script)
        scenarios = sorted(by_scenario)
        for group in count():
            scenario = scenarios[group % len(scenarios)]
            for attempt in range(GROUP):
                chance = random.Random(f"{self.loop.seed}/{group}/{attempt}")
                yield f"{scenario}/{group}", attempt, chance.choice(by_scenario[scenario]), chance

    async def _drive(self, slot: int) -> None:
        await asyncio.sleep(self.loop.opening * slot / self.loop.sessions)
        while time.monotonic() < self._end:
            bearer = {"Authorization": f"Bearer {self.loop.token}"}
            address = self.loop.url.replace("http", "ws") + "/ws"
            async with connect(
                address, additional_headers=bearer, open_timeout=120, ping_timeout=120, proxy=None
            ) as socket:
                try:
                    while time.monotonic() < self._end:
                        await self._play(socket, *next(self._attempts))
                except ConnectionClosed:
                    if time.monotonic() < self._end:
                        self.measured.outcomes["vanished"] += 1

    async def _play(
        self,
        socket: ClientConnection,
        group: str,
        attempt: int,
        script: dict[str, Any],
        chance: random.Random,
    ) -> None:
        last = chance.randrange(len(script["calls"]) + 1) if chance.random() < _ABORTED else None
        checkpoint = self._checkpoint
        reply = await self._ask(socket, "reset", "reset", {"scenario": script["scenario"]})
        state = await self._ask(socket, "state", "state", None)
        self.measured.starts[group].add(state.get("state_hash", ""))
        told: list[Any] = []
        moves = [*script["calls"], {"say": script["say"]}]
        for place, call in enumerate(moves):
            await self._think(chance)
            if place == last:
                socket.transport.abort()
                return
            reply = await self._ask(
                socket, "step", f"score_{script['judged']}" if "say" in call else "step", call
            )
            told.append(reply)
            if reply.get("done"):
                break
        end = await self._ask(socket, "state", "state", None)
        self._note(script, reply, end)
        self.measured.off_policy += self._checkpoint > checkpoint
        if chance.random() < _BRANCHED and reply.get("reward") is not None:
            await self._branch(socket, moves, told, end, chance.randrange(len(told)))

    async def _branch(
        self,
        socket: ClientConnection,
        moves: list[Any],
        told: list[Any],
        end: dict[str, Any],
        turn: int,
    ) -> None:
        """Go on from a turn of an episode as it went on then: every reply and the end must be the
        same."""
        await self._ask(socket, "reset", "branch", {"branch": end["episode_id"], "turn": turn})
        again = [
            await self._ask(socket, "step", "branch_step", call) for call in moves[turn : len(told)]
        ]
        state = await self._ask(socket, "state", "state", None)
        self.measured.branches += 1
        if again != told[turn:] or state["state_hash"] != end["state_hash"]:
            self.measured.unlike += 1

    def _note(self, script: dict[str, Any], reply: dict[str, Any], state: dict[str, Any]) -> None:
        outcome = (reply.get("metadata") or {}).get(
            "outcome", str(reply.get("message", "no verdict"))[:60]
        )
        self.measured.rollouts += 1
        self.measured.outcomes[outcome] += 1
        if outcome == "error" and reply.get("reward") is None:
            return
        told, native = (
            (reply.get("reward"), state.get("state_hash")),
            (script["reward"], script["state_hash"]),
        )
        if told != native:
            self.measured.wrong.append(
                f"{script['scenario']} {script['name']}: {told}, natively {native}"
            )

    async def _ask(
        self, socket: ClientConnection, kind: str, name: str, data: dict[str, Any] | None
    ) -> dict[str, Any]:
        begun = time.monotonic()
        await socket.send(json.dumps({"type": kind} | ({} if data is None else {"data": data})))
        reply = json.loads(await socket.recv())
        taken = time.monotonic() - begun
        # Until all sessions are open many begin at once: told apart from what follows.
        self.measured.latencies[name if self._end < math.inf else f"opening_{name}"].append(
            1000 * taken
        )
        self.measured.environment += taken
        if reply["type"] == "error":
            self.measured.outcomes[f"{name}: {reply['data'].get('message', '')[:80]}"] += 1
        return reply["data"]

    async def _think(self, chance: random.Random) -> None:
        seconds = min(_MOST, max(_LEAST, chance.lognormvariate(math.log(_MEDIAN), _SPREAD)))
        if chance.random() < _STRAGGLING:
            seconds = 3 * _MOST
        begun, left = time.monotonic(), seconds * self.loop.scale
        while left > 0:
            slept = time.monotonic()
            await asyncio.sleep(left)
            woke = time.monotonic()
            await self._open.wait()
            # An update stops generation where it is; afterwards it goes on for as long as was left.
            left = sum(
                max(0.0, min(woke, end) - max(slept, start)) for start, end in self._updates[-2:]
            )
        self.measured.policy += time.monotonic() - begun

    async def _update(self) -> None:
        while True:
            await asyncio.sleep(_PERIOD * self.loop.scale)
            self._open.clear()
            begun = time.monotonic()
            await asyncio.sleep(_UPDATE * self.loop.scale)
            self._updates.append((begun, time.monotonic()))
            self._checkpoint += 1
            self._open.set()

    async def _watch_lag(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0.05)
            self.measured.lag.append(1000 * (time.monotonic() - begun - 0.05))


def main() -> None:
    scripts = json.loads(Path(sys.argv[1]).read_text())["scripts"]
    loop = Loop(**json.load(sys.stdin))
    measured = asyncio.run(PolicyServer(loop, scripts).run())
    json.dump({"loop": asdict(loop) | {"token": ""}, **measured.describe()}, sys.stdout)


if __name__ == "__main__":
    main()
