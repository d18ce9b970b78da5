"""What the steps before a step left: the lake as one run sees it.

Records lie in a spool and are read one by one: a run of any size enters with its ids alone in memory.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from envmill.base.errors import SettingsError
from envmill.gates import GATES
from envmill.gates.f5 import ProbeCounts
from envmill.gates.w10 import GATE as W10
from envmill.gates.w10 import Seen, read_seen
from envmill.interop.exporters.base import StepCount
from envmill.kinds.findings import Finding
from envmill.lake.arrow import from_arrow
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.spool import RowSpool, Shelf, StoredRecords
from envmill.pipeline.choice import find_choice
from envmill.pipeline.given import EarlierScenarios, read_earlier
from envmill.recipes.base import Recipe
from envmill.stages.passing import BOUNDS
from envmill.stages.rehearsal import LOOP, read_held
from envmill.stages.review import latest_judgements
from schemas.base import Record
from schemas.choice import NO_PAST, GivenEnvironments, Past, SeedChoice
from schemas.environment import Environment, Test
from schemas.ledger import Attack, Attrition, Evidence, GateOutcome
from schemas.pair import Pair
from schemas.quality import Quarantine, Reverification, Withdrawal
from schemas.rollout import Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Bounds, Draft, Scenario

R = TypeVar("R", bound=Record)

_OWNERS: Mapping[type[Record], str] = {
    Test: "environment",
    Draft: "environment",
    Scenario: "environment",
    Attack: "environment",
    Rollout: "scenario",
    Trajectory: "scenario",
    Pair: "scenario",
}
"""Column by which records are found besides their id."""

EXPORT = "scenarios-export"


class ProbeRow(NamedTuple):
    """What is counted of a probe."""

    outcome: str
    policy: str
    checkpoint: str


class GateRow(NamedTuple):
    """What a gate said of a subject."""

    subject: str
    gate: str
    outcome: GateOutcome
    reason: str


class StepInputs:
    """The lake as the next step sees it: one run, every step under its present fingerprint."""

    def __init__(
        self,
        lake: Lake,
        run: str,
        marks: Mapping[str, Fingerprint],
        config: RunConfig,
        recipe: Recipe,
    ) -> None:
        self._lake, self.run, self._marks = lake, run, marks
        self.config, self.recipe = config, recipe
        self._spool = RowSpool()
        self._stored: dict[tuple[type[Record], str], StoredRecords[Any]] = {}

    @property
    def choice(self) -> SeedChoice | None:
        """Seeds that were chosen when the run was opened; None if no run was opened."""
        return find_choice(self._lake, self.run)

    @property
    def given(self) -> GivenEnvironments | None:
        """Environments of earlier runs that this one starts from."""
        return choice.given if (choice := self.choice) is not None else None

    @cached_property
    def earlier(self) -> EarlierScenarios:
        """What other runs kept of the given environments."""
        return (
            read_earlier(self._lake, self.given)
            if self.given is not None
            else EarlierScenarios({}, {})
        )

    @property
    def past(self) -> Past:
        """What earlier runs started from, as it was when the run was opened."""
        return choice.past if (choice := self.choice) is not None else NO_PAST

    def made(self, record: type[R], step: str) -> StoredRecords[R]:
        """Records that a finished step made, without those that quality set aside."""
        if (stored := self._stored.get((record, step))) is None:
            parts = self._lake.scan(record, self.run, self._marks[step])
            stored = self._stored[record, step] = self._spool.hold(
                record, parts, _OWNERS.get(record, "")
            )
        aside = self._list_aside(record)
        return stored.keep({*stored.ids} - aside) if aside else stored

    def _list_aside(self, record: type[Record]) -> set[str]:
        return {
            row.row
            for row in self._lake.read(Quarantine, self.run)
            if row.table_name == record.table
        }

    def shelve_findings(self) -> Shelf[Finding]:
        """A place for the findings of a decision over a whole set: each may hold a sketch of a program."""
        return self._spool.shelve(vars, lambda told: Finding(**told))

    def kept(self, step: str) -> set[str]:
        """Subjects a step kept."""
        return {
            subject
            for subject, outcome in self._lake.outcomes(self.run, self._marks[step]).items()
            if outcome == "kept"
        }

    def provisional(self, step: str) -> set[str]:
        """Subjects of which the last attempt at a step left a required gate not measured."""
        return {
            row.subject
            for row in self._ledger(step)
            if row.outcome == "not_measured" and self._requires(row)
        }

    def marked(self, step: str, outcome: GateOutcome) -> set[str]:
        """Subjects of which the last attempt at a step has such an outcome of some gate."""
        return {row.subject for row in self._ledger(step) if row.outcome == outcome}

    def _ledger(self, step: str) -> Iterator[GateRow]:
        """What gates said of subjects at a step, at the last attempt."""
        last: dict[str, int] = {}
        for subject, number in self._scan_ledger(step, "subject", "try_number"):
            last[subject] = max(number, last.get(subject, 0))
        for *told, number in self._scan_ledger(step, *GateRow._fields, "try_number"):
            if number == last[told[0]]:
                yield GateRow(*told)

    def _scan_ledger(self, step: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        return self._lake.scan_columns(Attrition, self.run, self._marks[step], columns)

    def _requires(self, row: GateRow) -> bool:
        """What was asked for is required: a review, a reader, or protected sets put where they are looked for."""
        if row.gate == "F3":
            return row.reason != "no_protected_set"
        if row.gate == "S16":
            return row.reason in ("not_read", "not_mapped")
        return row.gate in GATES and (
            GATES[row.gate].required or (row.gate == "W4" and self.config.review)
        )

    def evidence(self, gate: str, step: str) -> StoredRecords[Evidence]:
        """Dossiers of a gate about what a step decided."""
        parts = self._lake.scan(Evidence, self.run, self._marks[step], only={"gate": gate})
        return self._spool.hold(Evidence, parts)

    def untrainable(self) -> set[str]:
        """Scenarios that a group of attempts would learn nothing from, where the run drops them."""
        rows = self._scan_ledger("scenarios-collect", "subject", "gate", "outcome")
        return {subject for subject, gate, outcome in rows if gate == "F5" and outcome == "dropped"}

    def count_probes(self, scenarios: Iterable[str]) -> dict[str, ProbeCounts]:
        """Of some scenarios the probes, counted. Transcripts are not read."""
        columns = [
            "id",
            "try_number",
            "scenario",
            "rollout_group",
            "outcome",
            "policy",
            "checkpoint",
        ]
        rows = self._lake.scan_columns(Rollout, self.run, self._marks["scenarios-filter"], columns)
        latest: dict[str, tuple[Any, ...]] = {}
        for row in rows:
            if row[0] not in latest or row[1] > latest[row[0]][1]:
                latest[row[0]] = row
        aside = self._list_aside(Rollout)
        homes, probes = (
            self.made(Scenario, "scenarios-build").owners(),
            defaultdict[str, list[ProbeRow]](list),
        )
        for name, _, scenario, group, *told in (latest[name] for name in sorted(latest)):
            if group == "probe" and name not in aside:
                probes[scenario].append(ProbeRow(*told))
        return {
            scenario: ProbeCounts.of(homes[scenario], probes.get(scenario, ()))
            for scenario in scenarios
        }

    def refused(self) -> set[str]:
        """What reviewers rejected, or what was recalled, in whatever run."""
        withdrawn = {
            one.subject
            for run in self._lake.runs_with(Withdrawal)
            for one in self._lake.read(Withdrawal, run)
        }
        return withdrawn | {
            one.subject
            for one in latest_judgements(self._lake).values()
            if one.judgement == "reject"
        }

    def accepted(self) -> dict[str, str]:
        """What reviewers accepted, in whatever run, and their words."""
        return {
            one.subject: one.note
            for one in latest_judgements(self._lake).values()
            if one.judgement == "accept"
        }

    def rejudged(self) -> dict[str, Reverification]:
        """Rollout → its latest verdict by code of a known version."""
        rows = (one for one in self._lake.read(Reverification, self.run) if one.verifier_version)
        return {one.subject: one for one in sorted(rows, key=lambda one: one.judged_at)}

    def counts(self) -> list[StepCount]:
        """What became of everything at each step before the export, and what it took."""
        return [self.count(step) for step in self._marks if step != EXPORT]

    def count(self, step: str) -> StepCount:
        """What became of everything at a step."""
        return count_exits(
            step,
            self._scan_ledger(
                step, "gate", "subject", "try_number", "outcome", "reason", "tokens", "cost"
            ),
        )

    def pin(self, name: str, value: str, changed: str) -> None:
        """Hold a run to what it began with."""
        if self._lake.fix(self.run, name, {"value": value})["value"] != value:
            raise SettingsError(f"{changed}. Put it back, or start a new run.")

    def seen(self, step: str) -> Iterator[Seen]:
        """What runs that began before this one kept of environments at a step."""
        runs = self._lake.runs()
        for run in runs[: runs.index(self.run)] if self.run in runs else runs:
            for part in self._lake.scan(Evidence, run, Fingerprint(step, ""), only={"gate": W10}):
                yield from read_seen(from_arrow(Evidence, part))

    def environments(self, step: str) -> StoredRecords[Environment]:
        """Environments that a gate step kept."""
        return self.made(Environment, "environments-build").keep(self.kept(step))

    def held_by(self, *steps: str) -> Shelf[dict[str, GateOutcome]]:
        """Content → gate → what its open probes said of it in the repair loops of steps."""
        shelf: Shelf[dict[str, GateOutcome]] = self._spool.shelve(
            lambda gates: gates, lambda told: told
        )
        for step in steps:
            shelf.put_all(read_held(self.evidence(LOOP, step)))
        return shelf

    @cached_property
    def bounds(self) -> Shelf[Bounds]:
        """Scenario → the error bounds that were measured since it was built."""
        shelf = self._spool.shelve(lambda bounds: bounds.model_dump(), Bounds.model_validate)
        shelf.put_all(
            (row.subject, Bounds.model_validate(row.finding))
            for row in self.evidence(BOUNDS, "scenarios-verify")
        )
        return shelf


def count_exits(step: str, rows: Iterable[tuple[Any, ...]]) -> StepCount:
    """Outcomes of the last attempts; what was spent on all of them. Rows are gate, subject, attempt, outcome, reason, tokens and cost."""
    exits = {(row[1], row[2]): row[3:] for row in rows if row[0] == "exit"}
    last = {
        subject: (outcome, reason)
        for (subject, _), (outcome, reason, *_) in sorted(
            exits.items(), key=lambda item: item[0][1]
        )
    }
    dropped = [reason for outcome, reason in last.values() if outcome == "dropped"]
    costs = [cost for *_, cost in exits.values()]
    return StepCount(
        step=step,
        kept=sum(outcome == "kept" for outcome, _ in last.values()),
        dropped=len(dropped),
        reasons=dict(sorted(Counter(dropped).items())),
        tokens=sum(tokens for _, _, tokens, _ in exits.values()),
        cost=None if None in costs else sum(costs),
    )
