"""What enters a step: subjects made from the records of the steps before it, in id order.

Records lie in a spool and are read one by one: a run of any size enters with its ids alone in memory.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

from envmill.agents.loop import MASKED
from envmill.errors import SettingsError
from envmill.findings import Finding
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase
from envmill.gates.f5 import ProbeCounts
from envmill.gates.w10 import GATE as W10
from envmill.gates.w10 import Seen, read_seen
from envmill.interop.exporters.base import ContaminationReport, ExportSet, ScoredAttempt, StepCount
from envmill.interop.exporters.sources import trace_sources
from envmill.kinds import kind_of
from envmill.lake.arrow import from_arrow
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.spool import Shelf, Spool, StoredRecords
from envmill.pipeline.casting import read_cast
from envmill.pipeline.choice import find_choice, is_mined, pick_round
from envmill.pipeline.given import EarlierScenarios, read_earlier
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.errands import TakenLine
from envmill.stages.context import (
    EnvironmentWithTests,
    ExportInput,
    PlacedScenario,
    Subject,
    Subjects,
    list_subjects,
)
from envmill.stages.corpus import OWN_LICENCE, Text, read_corpus
from envmill.stages.passing import BOUNDS, name_content
from envmill.stages.places import HardenedParent, ScenarioSlot
from envmill.stages.rehearsal import LOOP, read_held
from envmill.stages.review import latest_judgements
from envmill.stages.splits import assign_splits
from schemas.base import Record, digest
from schemas.choice import NO_PAST, GivenEnvironments, Past, SeedChoice
from schemas.environment import Blueprint, Environment, Test
from schemas.errand_plan import ErrandLine
from schemas.ledger import Attack, Attrition, Evidence, GateOutcome
from schemas.pair import Pair
from schemas.quality import Quarantine, Reverification, Withdrawal
from schemas.rollout import Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Bounds, Draft, Scenario
from schemas.seed import Seed

TIERS: tuple[GateOutcome, ...] = ("suspected", "observed")
"""Outcomes that put an item into the tier of that name; `observed` wins."""

R = TypeVar("R", bound=Record)

_OWNERS: Mapping[type[Record], str] = {
    Test: "environment",
    Draft: "environment",
    Scenario: "environment",
    Attack: "environment",
    Rollout: "scenario",
}
"""Column by which records are found besides their id."""

_LINE = {*ErrandLine.model_fields}
_RECENT = 64  # environments whose first place is kept
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
        self._spool = Spool()
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


def _own(text: str) -> Text:
    return Text(text, OWN_LICENCE)


def enter_texts(upstream: StepInputs) -> Subjects[Text]:
    """Texts of the corpus the run began with, a file that has changed since being refused; or those that the recipe grows themes from."""
    config = upstream.config
    if not config.corpus:
        return list_subjects(
            [
                Subject(text.id, "", "", text)
                for text in map(_own, upstream.recipe.pick_texts(config, upstream.past))
            ]
        )
    texts = read_corpus(config.corpus, config.column, config.texts)
    upstream.pin(
        "corpus",
        digest([text.id for text in texts]),
        f"{config.corpus} is no longer what this run began with",
    )
    return list_subjects([Subject(text.id, "", "", text) for text in texts])


def enter_seeds(upstream: StepInputs) -> Subjects[Seed]:
    """Themes that were mined, or the seeds that were chosen when the run was opened."""
    if is_mined(upstream.config, upstream.recipe):
        seeds = upstream.made(Seed, "environments-mine")
        return list_subjects(
            [Subject(seed.id, seed.source, seed.brief.theme, seed) for seed in seeds]
        )
    choice = upstream.choice
    picked = choice.seeds if choice is not None else pick_round(upstream.recipe, upstream.config)
    return list_subjects([Subject(seed.id, "", seed.brief.theme, seed) for seed in picked])


def enter_blueprints(upstream: StepInputs) -> Subjects[Blueprint]:
    plans = upstream.made(Blueprint, "environments-generate")

    def make(name: str) -> Subject[Blueprint]:
        plan = plans.get(name)
        return Subject(name, plan.origin.seed, plan.brief.theme, plan)

    return Subjects(plans.ids, make)


def enter_built(upstream: StepInputs) -> Subjects[EnvironmentWithTests]:
    held = upstream.held_by("environments-build")
    tested = _with_tests(upstream, upstream.made(Environment, "environments-build"))

    def make(name: str) -> Subject[EnvironmentWithTests]:
        subject = tested.make(name)
        shown = EnvironmentCase(subject.record.environment, subject.record.tests)
        return replace(
            subject, record=replace(subject.record, held=held.get(name_content(shown)) or {})
        )

    return Subjects(tested.ids, make)


def enter_verified(upstream: StepInputs) -> Subjects[EnvironmentWithTests]:
    return _with_tests(upstream, upstream.environments("environments-verify"))


def enter_places(upstream: StepInputs) -> Subjects[ScenarioSlot]:
    plans = upstream.made(Blueprint, "environments-generate")
    tested = _with_tests(upstream, upstream.environments("environments-filter"))
    given = upstream.given

    def open_place(name: str) -> ScenarioSlot:
        """The first place of an environment."""
        environment, tests = tested.make(name).record.environment, tested.make(name).record.tests
        count = kind_of(environment).count_scenarios(environment, upstream.config.scenarios)
        first = ScenarioSlot(environment, 0, count, tests=tests)
        if given is not None:
            first = _go_on(first, given, upstream.earlier)
        plan = plans.find(environment.blueprint)
        return (
            first
            if plan is None
            else replace(first, requirements=tuple(plan.requirements), rows=plan.rows)
        )

    recent = lru_cache(maxsize=_RECENT)(open_place)
    homes: dict[str, tuple[str, int]] = {}
    for name in tested.ids:
        first = open_place(name)
        homes |= {
            replace(first, number=number).id: (name, number)
            for number in range(first.first, first.places)
        }

    def make(name: str) -> Subject[ScenarioSlot]:
        home, number = homes[name]
        place = replace(recent(home), number=number)
        return Subject(place.id, place.environment.id, place.environment.brief.theme, place)

    return Subjects([*homes], make)


def _go_on(slot: ScenarioSlot, given: GivenEnvironments, earlier: EarlierScenarios) -> ScenarioSlot:
    """The first place of a given environment: numbers go on behind those of earlier runs, whose
    lines are taken."""
    environment, first = slot.environment.id, given.first[slot.environment.id]
    scenarios = {one.id: one for one in earlier.scenarios.get(environment, ())}
    parents = tuple(
        HardenedParent(scenarios[one.scenario], one)
        for one in given.parents
        if one.environment == environment
    )
    taken = tuple(
        TakenLine(line.polarity, ErrandLine.model_validate(line.model_dump(include=_LINE)))
        for line in earlier.lines.get(environment, ())
    )
    count = len(parents) if given.parents else slot.places
    return replace(
        slot, number=first, first=first, places=first + count, taken=taken, parents=parents
    )


def enter_drafts(upstream: StepInputs) -> Subjects[PlacedScenario[Draft]]:
    homes, drafts = (
        upstream.made(Environment, "environments-build"),
        upstream.made(Draft, "scenarios-generate"),
    )
    splits = assign_splits(homes.keep({*drafts.owners().values()}), upstream.config.holdout)

    def make(name: str) -> Subject[PlacedScenario[Draft]]:
        draft = drafts.get(name)
        home = homes.get(draft.environment)
        return Subject(
            name, home.id, home.brief.theme, PlacedScenario(draft, home, split=splits[home.id])
        )

    return Subjects(drafts.ids, make)


def enter_scenarios(upstream: StepInputs) -> Subjects[PlacedScenario[Scenario]]:
    scenarios, earlier = upstream.made(Scenario, "scenarios-build"), upstream.earlier.scenarios
    # An errand's scenario is judged when its machine is built.
    held = upstream.held_by("environments-build", "scenarios-generate")

    def know(placed: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
        home = placed.environment.id
        return replace(
            placed,
            siblings=(*earlier.get(home, ()), *scenarios.of(home)),
            held=held.get(placed.record.id) or {},
        )

    return _place(upstream, scenarios, know)


def enter_sound(upstream: StepInputs) -> Subjects[PlacedScenario[Scenario]]:
    library, earlier = upstream.made(Attack, "scenarios-verify"), upstream.earlier.scenarios

    def know(placed: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
        home = placed.environment.id
        return _bind(
            upstream, replace(placed, attacks=library.of(home), siblings=earlier.get(home, ()))
        )

    return _place(
        upstream,
        upstream.made(Scenario, "scenarios-build").keep(upstream.kept("scenarios-verify")),
        know,
    )


def enter_probed(upstream: StepInputs) -> Subjects[PlacedScenario[Scenario]]:
    probes = upstream.made(Rollout, "scenarios-filter")

    def know(placed: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
        return _bind(upstream, replace(placed, rollouts=probes.of(placed.record.id)))

    return _place(
        upstream,
        upstream.made(Scenario, "scenarios-build").keep(upstream.kept("scenarios-filter")),
        know,
    )


def enter_load(upstream: StepInputs) -> Subjects[ExportInput]:
    """The run itself, once: nothing enters when nothing is left to learn from. Scenarios that no teacher passed are worth rollouts."""
    kept = upstream.kept("scenarios-filter") - upstream.untrainable()
    scenarios = _bound(upstream, upstream.made(Scenario, "scenarios-build").keep(kept))
    homes = {one.environment for one in scenarios}
    acted, again = (
        [*upstream.made(Rollout, "scenarios-filter"), *upstream.made(Rollout, "scenarios-collect")],
        upstream.rejudged(),
    )
    probes = (one for one in acted if one.rollout_group == "probe" and one.scenario in kept)
    environments = tuple(
        one for one in upstream.environments("environments-filter") if one.id in homes
    )
    trajectories, pairs = (
        upstream.made(Trajectory, "scenarios-collect"),
        upstream.made(Pair, "scenarios-collect"),
    )
    cargo = ExportSet(
        environments=environments,
        tests=tuple(
            one for one in upstream.made(Test, "environments-build") if one.environment in homes
        ),
        scenarios=tuple(scenarios),
        trajectories=tuple(trajectories),
        pairs=tuple(pairs),
        attempts=tuple(score_attempt(one, again.get(one.id)) for one in probes),
        judged_by={one.id: score_attempt(one, again.get(one.id)).verifier_version for one in acted},
        counts=tuple(upstream.counts()),
        contamination=_read_contamination(upstream),
        sources=trace_sources(
            environments, scenarios, trajectories, pairs, read_cast(upstream.config)
        ),
    )
    judged = ("environments-verify", "environments-filter", "scenarios-verify", "scenarios-filter")
    provisional = frozenset(subject for step in judged for subject in upstream.provisional(step))
    suspected, observed = (
        frozenset(subject for step in judged for subject in upstream.marked(step, outcome))
        for outcome in TIERS
    )
    load = ExportInput(
        cargo, provisional, frozenset(upstream.refused()), upstream.accepted(), suspected, observed
    )
    return list_subjects([Subject(f"run:{upstream.run}", "", "", load)] if scenarios else [])


def _read_contamination(upstream: StepInputs) -> ContaminationReport | None:
    """What gate F3 compared the environments with, out of its evidence."""
    found = sorted(upstream.evidence("F3", "environments-filter"), key=lambda row: row.subject)
    near = {
        row.subject: sorted(row.finding["near_domain"])
        for row in found
        if row.finding.get("near_domain")
    }
    return (
        ContaminationReport(found[0].finding["sets"], found[0].finding["power"], near)
        if found
        else None
    )


def score_attempt(rollout: Rollout, again: Reverification | None = None) -> ScoredAttempt:
    """What it earned; nothing where it ended in error, as every attempt that its user misled does.

    Judged again with the same result, it counts as judged by the code that did so. With another
    result it counts nowhere: its transcript
    was kept or dropped for the first one.
    """
    same = again is not None and (again.outcome, again.reward) == (rollout.outcome, rollout.reward)
    rejudged = again is not None and not same
    ended = rollout.termination if rollout.termination in MASKED else "unjudged"
    return ScoredAttempt(
        rollout.id,
        rollout.scenario,
        rollout.environment,
        rollout.form,
        rollout.policy,
        None if rejudged else rollout.reward,
        verifier_version=again.verifier_version if again else rollout.verifier_version,
        group=rollout.rollout_group,
        attempt=rollout.attempt,
        checkpoint=rollout.checkpoint,
        termination=rollout.termination,
        mask="rejudged" if rejudged else ended if rollout.reward is None else "",
    )


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


def _with_tests(
    upstream: StepInputs, environments: StoredRecords[Environment]
) -> Subjects[EnvironmentWithTests]:
    tests = upstream.made(Test, "environments-build")

    def make(name: str) -> Subject[EnvironmentWithTests]:
        one = environments.get(name)
        return Subject(
            name, one.blueprint, one.brief.theme, EnvironmentWithTests(one, tests.of(name))
        )

    return Subjects(environments.ids, make)


def _bind(upstream: StepInputs, placed: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
    """With the error bounds that were measured since it was built."""
    found = upstream.bounds.get(placed.record.id)
    return (
        placed
        if found is None
        else replace(placed, record=placed.record.model_copy(update={"bounds": found}))
    )


def _bound(upstream: StepInputs, scenarios: Sequence[Scenario]) -> list[Scenario]:
    """With the error bounds that were measured since they were built."""
    return [
        one.model_copy(update={"bounds": upstream.bounds.get(one.id) or one.bounds})
        for one in scenarios
    ]


def _place(
    upstream: StepInputs,
    scenarios: StoredRecords[Scenario],
    know: Callable[[PlacedScenario[Scenario]], PlacedScenario[Scenario]],
) -> Subjects[PlacedScenario[Scenario]]:
    homes = upstream.made(Environment, "environments-build")

    def make(name: str) -> Subject[PlacedScenario[Scenario]]:
        scenario = scenarios.get(name)
        home = homes.get(scenario.environment)
        return Subject(name, scenario.draft, home.brief.theme, know(PlacedScenario(scenario, home)))

    return Subjects(scenarios.ids, make)
