"""What a night's suites look at: one frame per table, a row of the frame for each row that the run
wrote.

A column is a number, a word, or a share (0 or 1 in each row). A column that `drifts` has a mean
that nights of one family share.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# (duckdb and pandas ship loose types)

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from schemas.scenario import Polarity

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class FrameColumn:
    """One column of a frame, and what is expected of each of its values."""

    name: str
    sql: str
    about: str
    """What it is, as a person says it."""
    least: float | None = None
    most: float | None = None
    among: tuple[str, ...] = ()
    """Words that it may hold; empty where any will do."""
    unique: bool = False
    filled: bool = True
    """Whether every row has it."""
    drifts: bool = False
    """Whether its mean is compared with the last nights."""

    @property
    def share(self) -> bool:
        """Whether a row says yes or no."""
        return self.drifts and (self.least, self.most) == (0, 1)


@dataclass(frozen=True)
class RowFrame:
    """One table of a run."""

    name: str
    about: str
    rows: str
    """SQL: where the rows come from; `$run` is the run."""
    columns: tuple[FrameColumn, ...]


_STEPS = (
    *(("environments", stage) for stage in ("generate", "build", "verify", "filter")),
    *(("scenarios", stage) for stage in ("generate", "build", "verify", "filter", "collect")),
)
_DEMANDS = " + ".join(
    f"coalesce(json_array_length(verifier, '$.{part}'), 0)"
    for part in ("goals", "procedure", "facts")
)
_POLARITIES: tuple[str, ...] = get_args(Polarity)
_KEPT = "tier in ('clean', 'suspected')"
"""What a gate dropped, or would have dropped in a run that observes, was built all the same."""


def _share(name: str, condition: str, about: str, among: str = "true") -> FrameColumn:
    """1 where the condition holds and 0 where it does not, of the rows that count."""
    sql = f"case when {among} then coalesce(({condition}), false)::int end"
    return FrameColumn(name, sql, about, 0, 1, filled=among == "true", drifts=True)


def _keep(lap: str, stage: str) -> FrameColumn:
    place = f"lap = '{lap}' and stage = '{stage}'"
    return _share(
        f"kept_{lap}_{stage}",
        "outcome = 'kept'",
        f"share of candidates that {stage} of {lap} keeps",
        place,
    )


FRAMES: tuple[RowFrame, ...] = (
    RowFrame(
        "exits",
        "What became of each candidate at each step before export",
        "(select * from exits where run = $run and stage <> 'export')",
        (
            FrameColumn("subject", "subject", "candidate"),
            FrameColumn("outcome", "outcome", "kept, dropped or error, after this step", among=("kept", "dropped", "error")),
            FrameColumn("reason_is_given", "(outcome = 'kept' or reason <> '')::int", "1 if what is not kept has a reason", least=1),
            *(_keep(*step) for step in _STEPS),
            _share("error", "outcome = 'error'", "share of candidates and steps that end in error"),
            _share("again", "attempts > 1", "share of candidates and steps that were tried again after an error"),
            _share("duplicate", "stopped_by in ('W10', 'F4')", "share of candidates dropped as duplicates", "stage = 'filter'"),
            FrameColumn("tokens_environments", "case when lap = 'environments' then tokens end",
                   "model tokens per step of an environment", least=0, filled=False, drifts=True),
            FrameColumn("tokens_scenarios", "case when lap = 'scenarios' then tokens end",
                   "model tokens per step of a scenario", least=0, filled=False, drifts=True),
        ),
    ),
    RowFrame(
        "environments",
        "Environments that were built",
        "(select * from environments where run = $run)",
        (
            FrameColumn("id", "id", "id", unique=True),
            FrameColumn("licence", "licence", "licence"),
            FrameColumn("tools", "json_array_length(tools)", "tools of an environment", least=1, most=200, drifts=True),
            FrameColumn("rules", "json_array_length(rules)", "rules of an environment", least=0, most=200, drifts=True),
            FrameColumn("characters", "length(files)", "characters of an environment's files", least=1, drifts=True),
        ),
    ),
    RowFrame(
        "scenarios",
        "Scenarios that were built",
        """(select scenarios.*, tier from scenarios left join tiers
            on tiers.run = scenarios.run and tiers.subject = scenarios.id where scenarios.run = $run)""",
        (
            FrameColumn("id", "id", "id", unique=True),
            FrameColumn("environment_exists", "(environment in (select id from environments))::int",
                   "1 if its environment is in the lake", least=1),
            FrameColumn("polarity", "polarity", "what the request comes to", among=_POLARITIES),
            *(_share(one, f"polarity = '{one}'", f"share of scenarios whose polarity is {one}") for one in _POLARITIES),
            FrameColumn("words", "array_length(string_split_regex(trim(request), '\\s+'))", "words of a request",
                   least=1, most=5000, drifts=True),
            FrameColumn("calls", "json_array_length(oracle)", "calls of the reference path", least=0, most=200, drifts=True),
            FrameColumn("demands", _DEMANDS, "demands of a verifier", least=0, drifts=True),
            FrameColumn("reference_reward", f"case when {_KEPT} then oracle_reward end", "reward of the reference path, of what is kept",
                   least=1, most=1, filled=False),
            FrameColumn("idle_reward", f"case when {_KEPT} then do_nothing_reward end", "reward for doing nothing, of what is kept",
                   least=0, most=0, filled=False),
            _share("suspected", "tier = 'suspected'", "share of kept scenarios with an undecided suspicion", "tier is not null"),
        ),
    ),
    RowFrame(
        "rollouts",
        "Attempts that were made",
        "(select * from rollouts where run = $run)",
        (
            FrameColumn("scenario_exists", "(scenario in (select id from scenarios))::int", "1 if its scenario is in the lake", least=1),
            FrameColumn("outcome", "outcome", "verdict", among=("pass", "fail", "error")),
            FrameColumn("reward", "reward", "reward", least=0, most=1, filled=False),
            FrameColumn("error_has_no_reward", "(outcome <> 'error' or reward is null)::int", "1 if an error has no reward", least=1),
            FrameColumn("steps", "steps", "calls of an attempt", least=0, most=1000, drifts=True),
            _share("passed", "outcome = 'pass'", "share of probe attempts that pass", "rollout_group = 'probe' and outcome <> 'error'"),
            _share("unjudged", "outcome = 'error'", "share of attempts that end in error"),
        ),
    ),
)  # fmt: skip


def read_frames(connection: "DuckDBPyConnection", run: str) -> "dict[str, pd.DataFrame]":
    """The rows of one run. A table of which it has none gives no frame: nothing can be said of
    it."""
    found = {frame.name: connection.execute(_ask(frame), {"run": run}).df() for frame in FRAMES}
    return {name: rows for name, rows in found.items() if len(rows)}


def _ask(frame: RowFrame) -> str:
    return (
        f"select {', '.join(f'{one.sql} as {one.name}' for one in frame.columns)} from {frame.rows}"
    )


def list_drifting() -> Iterator[tuple[str, FrameColumn]]:
    """Frame and column of everything that is compared with the last nights."""
    yield from ((frame.name, one) for frame in FRAMES for one in frame.columns if one.drifts)
