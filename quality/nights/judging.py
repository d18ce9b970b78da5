"""A night, judged: its frames through the suites, with bounds from the last nights of its
family."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.nights.drift import Mean, MeanBounds, bound, measure
from quality.nights.frames import read_frames

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GATE = "night"
_EARLIER = """
    select found.run, arg_max(finding, found.written_at) as finding, max(found.written_at) as judged,
           coalesce(any_value(said), '') = 'accept' as accepted
    from gate_evidence found
    left join (select subject, arg_max(judgement, reviewed_at) as said from reviews where judgement <> 'note' group by subject) reviewed
      on reviewed.subject = found.subject
    where gate = 'night' and found.run <> $run
    group by found.run order by judged"""
JUDGED = (
    "select finding from gate_evidence where run = $run and gate = 'night' order by written_at "
    "desc limit 1"
)
_SAID = (
    "select arg_max(judgement, reviewed_at) from reviews where judgement <> 'note' and subject = "
    "'run:' || $run"
)


@dataclass(frozen=True)
class JudgedNight:
    """What a run measured, what was expected of it, and what it breaks."""

    family: str
    """Digest of the settings that nights of one kind share."""
    means: Mapping[str, Mean]
    bounds: Mapping[str, MeanBounds]
    broken: Mapping[str, str]
    """RowFrame and column → what was expected and what is there."""
    accepted: bool
    """Whether a person has accepted it as it is."""

    @property
    def passes(self) -> bool:
        return self.accepted or not self.broken

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "means": {name: asdict(one) for name, one in self.means.items()},
            "bounds": {name: asdict(one) for name, one in self.bounds.items()},
            "broken": dict(self.broken),
        }

    def to_markdown(self) -> str:
        """For the run's page."""
        state = "accepted by a review" if self.accepted else "no export until a review accepts it"
        head = (
            [f"**{len(self.broken)} expectations are not met** ({state})."]
            if self.broken
            else ["Every expectation is met."]
        )
        lines = [f"- `{name}`: {said}" for name, said in self.broken.items()]
        rows = [
            f"| `{name}` | {one.low:.4g} to {one.high:.4g} | {self.means[name].mean:.4g} |"
            for name, one in self.bounds.items()
        ]
        table = (
            ["", "| mean of | expected | found |", "|---|---|---|", *rows]
            if rows
            else ["", "Too few earlier nights to compare with."]
        )
        return "\n".join([*head, "", *lines, *table])


def judge_night(connection: "DuckDBPyConnection", run: str, family: str) -> JudgedNight:
    """Run the suites over what the run wrote."""
    from quality.nights.suites import run_suites

    frames = read_frames(connection, run)
    means = measure(frames)
    bounds = bound(means, _find_nights(connection, run, family))
    said = connection.execute(_SAID, {"run": run}).fetchone()
    return JudgedNight(
        family, means, bounds, run_suites(run, frames, bounds), bool(said and said[0] == "accept")
    )


def write_night(connection: "DuckDBPyConnection", run: str, folder: Path) -> Path | None:
    """Data Docs of a night that was judged, with the bounds of then."""
    from quality.nights.docs import write_docs

    found = connection.execute(JUDGED, {"run": run}).fetchone()
    if found is None:
        return None
    bounds = {name: MeanBounds(**one) for name, one in json.loads(found[0])["bounds"].items()}
    return write_docs(run, read_frames(connection, run), bounds, folder)


def _find_nights(
    connection: "DuckDBPyConnection", run: str, family: str
) -> Sequence[Mapping[str, Mean]]:
    """Earlier nights of the family, oldest first. One that broke something counts only where it was
    accepted."""
    nights: list[Mapping[str, Mean]] = []
    for _, finding, _, accepted in connection.execute(_EARLIER, {"run": run}).fetchall():
        told = json.loads(finding)
        if told["family"] == family and (accepted or not told["broken"]):
            nights.append({name: Mean(**one) for name, one in told["means"].items()})
    return nights
