"""Recall by source or by id: what rests on a model, a seed or a licence, or belongs to a named
record, is withdrawn, and the rows of exported folders that hold it are named.

source or ids ─► environments, scenarios, trajectories, pairs of each run ─► withdrawals ─► bundles, and their rows to be dropped
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self
from uuid import uuid4

from envmill.base.version import __version__
from envmill.interop.exporters import EXPORTERS
from envmill.interop.exporters.sources import Cast, RowSource, trace_sources
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.pipeline.casting import read_cast
from envmill.pipeline.reverify import GATE, find_bundles, read_withdrawn
from schemas.environment import Environment
from schemas.ledger import RunEvent
from schemas.pair import Pair
from schemas.quality import Withdrawal
from schemas.rollout import Bundle, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Scenario

TABLES = ("environments", "scenarios", "trajectories", "pairs")
"""What can be withdrawn."""


@dataclass
class RestingRows:
    """What of a run is meant by a recall: ids by table."""

    run: str
    environments: list[str] = field(default_factory=list[str])
    scenarios: list[str] = field(default_factory=list[str])
    trajectories: list[str] = field(default_factory=list[str])
    pairs: list[str] = field(default_factory=list[str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    """Scenario of each of its rows that left."""

    @property
    def ids(self) -> list[str]:
        return [*self.environments, *self.scenarios, *self.trajectories, *self.pairs]


def find_resting(lake: Lake, run: str, is_meant: Callable[[RowSource], bool]) -> RestingRows | None:
    """None where the run has nothing of it."""
    started = next((one for one in lake.read(RunEvent, run) if one.event == "started"), None)
    rows = _RunRows.read(lake, run)
    cast: Cast = read_cast(RunConfig.read(started.detail)) if started else {}
    sources = trace_sources(*rows.parts, cast)
    return rows.choose({name for name, found in sources.items() if any(map(is_meant, found))})


def find_named(lake: Lake, run: str, ids: Set[str]) -> RestingRows | None:
    """The named records and what was made in them: scenarios of an environment, trajectories and
    pairs of a scenario. None where the run has none of them."""
    rows = _RunRows.read(lake, run)
    scenarios = {
        scenario.id
        for scenario in rows.scenarios
        if scenario.id in ids or scenario.environment in ids
    }
    return rows.choose(
        ids
        | scenarios
        | {row.id for row in (*rows.trajectories, *rows.pairs) if row.scenario in scenarios}
    )


@dataclass(frozen=True)
class _RunRows:
    """All rows of a run that can be withdrawn."""

    run: str
    environments: Sequence[Environment]
    scenarios: Sequence[Scenario]
    trajectories: Sequence[Trajectory]
    pairs: Sequence[Pair]

    @classmethod
    def read(cls, lake: Lake, run: str) -> Self:
        return cls(
            run,
            lake.read(Environment, run),
            lake.read(Scenario, run),
            lake.read(Trajectory, run),
            lake.read(Pair, run),
        )

    @property
    def parts(
        self,
    ) -> tuple[Sequence[Environment], Sequence[Scenario], Sequence[Trajectory], Sequence[Pair]]:
        return self.environments, self.scenarios, self.trajectories, self.pairs

    def choose(self, meant: Set[str]) -> RestingRows | None:
        ids = [[row.id for row in part if row.id in meant] for part in self.parts]
        places = {row.id: row.scenario for row in (*self.trajectories, *self.pairs)} | {
            scenario.id: scenario.id for scenario in self.scenarios
        }
        return RestingRows(self.run, *ids, places=places) if any(ids) else None


def withdraw(lake: Lake, found: RestingRows, reason: str) -> list[Withdrawal]:
    """Written once: what is withdrawn already stays as it is. Returns what is new."""
    fresh = sorted({*found.ids} - read_withdrawn(lake, found.run))
    bundles, now = (
        find_bundles(lake, [found.places.get(one, one) for one in fresh]),
        datetime.now(UTC).isoformat(),
    )
    rows = [
        Withdrawal(
            subject=one,
            reason=reason,
            bundles=bundles[found.places.get(one, one)],
            withdrawn_at=now,
        )
        for one in fresh
    ]
    if rows:
        lake.put(
            Withdrawal,
            rows,
            f"{GATE}-{uuid4().hex}",
            Stamp(found.run, GATE, "", 0, 1, __version__, now),
        )
    return rows


def list_shipped_rows(
    lake: Lake, every: Sequence[RestingRows]
) -> Iterator[tuple[Bundle, list[str]]]:
    """Bundles, of whatever run, with the ids of their rows that rest on the source."""
    for bundle in (one for run in lake.runs_with(Bundle) for one in lake.read(Bundle, run)):
        kinds = EXPORTERS[bundle.exporter].rows if bundle.exporter in EXPORTERS else ("scenarios",)
        ids = {
            one
            for found in every
            for kind in kinds
            for one in getattr(found, kind)
            if found.places[one] in bundle.scenarios
        }
        if ids:
            yield bundle, sorted(ids)
