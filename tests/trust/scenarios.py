"""Scenarios of the offline author put to their gates: clean ones must be kept, planted faults must
be caught and named.

    python -m tests.trust.scenarios COUNT [KIND,KIND…] [every] [missed]

spot ──author, line──► scenario ──gates──► row ──► table: n, share caught and its lower bound, by which gate
"""

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envmill.base.settings import Settings
from envmill.gates import SCENARIO_GATES
from envmill.gates.base import GateContext, ScenarioCase
from envmill.sandbox import Sandbox
from envmill.stages.passing import settle
from envmill.verifiers.bounds import limit_share
from offline.faults import KINDS
from tests.offline.questions import THEMES
from tests.trust.posing import ANYTHING, Spot, choose_polarities, pose_at

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Row:
    """What came of one scenario."""

    spot: Spot
    kind: str
    """Planted fault, or the polarity of clean work."""
    findings: dict[str, str]
    """Gate → outcome, or reason code where it is not kept; a draft that is no scenario has
    `draft`."""
    detail: str = ""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Gate → seconds in this process."""
    posed: ScenarioCase | None = None
    """What the gates saw."""

    @property
    def caught(self) -> list[str]:
        """Gates that reported it, with their reason: those that only suspect it too."""
        return [
            f"{gate}:{found}"
            for gate, found in self.findings.items()
            if found not in ("kept", "not_applicable", "not_measured")
        ]


async def measure(spot: Spot, kind: str, sandbox: Sandbox, *, every: bool = False) -> Row | None:
    """One scenario through its gates, all of them or up to the first drop; None where it has no
    place."""
    clean = kind in ANYTHING
    posed = await pose_at(spot, "" if clean else kind, sandbox)
    if posed is None:
        return None
    if isinstance(posed, str):
        return Row(spot, kind, {"draft": posed.split(":")[0]}, posed)
    return await judge(Row(spot, kind, {}, posed=posed), sandbox, every=every)


async def judge(row: Row, sandbox: Sandbox, *, every: bool) -> Row:
    """The gates' answers."""
    details: list[str] = []
    assert row.posed
    for gate in (one for one in SCENARIO_GATES if one.name != "S13"):
        start = time.process_time()
        finding = await gate.check(row.posed, GateContext(sandbox))
        row.seconds[gate.name] = time.process_time() - start
        row.findings[gate.name] = (
            finding.reason if finding.outcome in ("dropped", "error") else finding.outcome
        )
        finding = settle(gate, finding)
        if finding.outcome in ("dropped", "suspected", "error"):
            details.append(f"{gate.name} {finding.reason}: {finding.detail}")
            if not every and finding.outcome != "suspected":
                break
    return Row(row.spot, row.kind, row.findings, " | ".join(details), row.seconds, row.posed)


def pick(count: int, seed: int, kind: str) -> Iterator[Spot]:
    """Themes in turn, all of them before any comes again; variation and scenario by chance."""
    dice, themes = random.Random(seed), sorted(THEMES)
    polarities = (kind,) if kind in ANYTHING else choose_polarities(kind)
    for number in range(count):
        theme, polarity = (
            themes[(number + seed) % len(themes)],
            polarities[number % len(polarities)],
        )
        yield Spot(theme, dice.randrange(6), dice.randrange(4), polarity)


async def follow(
    count: int, seed: int, kinds: Sequence[str], sandbox: Sandbox, *, every: bool = False
) -> AsyncIterator[list[Row]]:
    """So many scenarios of each kind, a kind at a time."""
    for kind in kinds:
        rows = [await measure(spot, kind, sandbox, every=every) for spot in pick(count, seed, kind)]
        yield [row for row in rows if row is not None]


def bound(caught: int, tried: int) -> float:
    """The share caught is at least this, with 95 % confidence (Clopper and Pearson, one-sided)."""
    return 1 - limit_share(tried - caught, tried)


def tabulate(rows: Iterable[Row]) -> Iterator[str]:
    """Kind → share dropped and by what, most frequent first."""
    by_kind: dict[str, Counter[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, Counter())[", ".join(row.caught) or "kept"] += 1
    for kind, found in by_kind.items():
        n, caught = found.total(), found.total() - found["kept"]
        by = ", ".join(f"{name} {times}" for name, times in found.most_common(9))
        yield f"| {kind} | {n} | {caught / n:.1%} | {bound(caught, n):.1%} | {by} |"


def read_children() -> float:
    """Seconds of CPU of all processes below this one, those that ended among them."""
    stats = [_read_stat(each) for each in Path("/proc").iterdir() if each.name.isdigit()]
    parents = {pid: (parent, ticks) for pid, parent, ticks in filter(None, stats)}
    return sum(ticks for pid, (_, ticks) in parents.items() if _is_below(pid, parents)) / TICK


def _read_stat(folder: Path) -> tuple[int, int, int] | None:
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(folder.name), int(fields[1]), sum(map(int, fields[11:15]))


def _is_below(pid: int, parents: dict[int, tuple[int, int]]) -> bool:
    while pid in parents:
        pid = parents[pid][0]
        if pid == os.getpid():
            return True
    return False


async def main(count: int, kinds: Sequence[str], seed: int, *, every: bool, missed: bool) -> None:
    """The table line by line, what was wrongly dropped or missed, and what it cost."""
    spent, judged, here = Counter[str](), 0, 0.0
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        async for rows in follow(count, seed, kinds, sandbox, every=every):
            for line in tabulate(rows):
                sys.stdout.write(f"{line}\n")
            for row in rows:
                spent.update(row.seconds)
                judged, here = judged + bool(row.seconds), here + sum(row.seconds.values())
                if bool(row.caught) is (row.kind in ANYTHING) and (missed or row.kind in ANYTHING):
                    sys.stdout.write(f"    {row.spot}: {row.detail[:500]}\n")
            sys.stdout.flush()
    costs = ", ".join(f"{gate} {1000 * spent[gate] / max(1, judged):.1f}" for gate in spent)
    sys.stdout.write(
        f"ms of CPU in this process, per scenario: {1000 * here / max(1, judged):.1f}: {costs}\n"
    )


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    tried, first = [*numbers, *(30, 1)[len(numbers) :]][:2]
    named = [
        kind
        for one in sys.argv[1:]
        if not one.isdigit() and one not in ("every", "missed")
        for kind in one.split(",")
    ]
    everything = [*ANYTHING, *KINDS["scenario"], "checks", *KINDS["checks"]]
    asyncio.run(
        main(
            tried,
            named or everything,
            first,
            every="every" in sys.argv,
            missed="missed" in sys.argv,
        )
    )
