"""What enters a step: subjects made from the records of the steps before it, in id order."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from envmill.agents.loop import MASKED
from envmill.errors import SettingsError
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase
from envmill.gates.w10 import Seen, read_seen
from envmill.interop.exporters.base import ContaminationReport, ExportSet, ScoredAttempt, StepCount
from envmill.interop.exporters.sources import trace_sources
from envmill.kinds import kind_of
from envmill.lake.lake import Fingerprint, Lake
from envmill.pipeline.casting import read_cast
from envmill.pipeline.choice import find_choice, is_mined, pick_round
from envmill.pipeline.given import EarlierScenarios, read_earlier
from envmill.recipes.base import Recipe
from envmill.recipes.drafting.errands import TakenLine
from envmill.stages.context import EnvironmentWithTests, ExportInput, PlacedScenario, Subject
from envmill.stages.corpus import OWN_LICENCE, Text, read_corpus
from envmill.stages.passing import name_content
from envmill.stages.places import HardenedParent, ScenarioSlot
from envmill.stages.rehearsal import read_held
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

_LINE = {*ErrandLine.model_fields}
EXPORT = "scenarios-export"


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

    def made(self, record: type[R], step: str) -> list[R]:
        """Records a step made, without those that quality set aside."""
        aside = {
            row.row
            for row in self._lake.read(Quarantine, self.run)
            if row.table_name == record.table
        }
        return [
            row
            for row in self._lake.read(record, self.run, self._marks[step])
            if row.id not in aside
        ]

    def kept(self, step: str) -> set[str]:
        """Subjects a step kept."""
        return {
            subject
            for subject, outcome in self._lake.outcomes(self.run, self._marks[step]).items()
            if outcome == "kept"
        }

    def provisional(self, step: str) -> set[str]:
        """Subjects of which the last attempt at a step left a required gate not measured."""
        rows = self._lake.read(Attrition, self.run, self._marks[step])
        last = {row.subject: row.try_number for row in sorted(rows, key=lambda row: row.try_number)}
        open_gates = [row for row in rows if row.outcome == "not_measured" and self._requires(row)]
        return {row.subject for row in open_gates if row.try_number == last[row.subject]}

    def marked(self, step: str, outcome: GateOutcome) -> set[str]:
        """Subjects of which the last attempt at a step has such an outcome of some gate."""
        rows = self._lake.read(Attrition, self.run, self._marks[step])
        last = {row.subject: row.try_number for row in sorted(rows, key=lambda row: row.try_number)}
        return {
            row.subject
            for row in rows
            if row.outcome == outcome and row.try_number == last[row.subject]
        }

    def _requires(self, row: Attrition) -> bool:
        """What was asked for is required: a review, a reader, or protected sets put where they are
        looked for."""
        if row.gate == "F3":
            return row.reason != "no_protected_set"
        if row.gate == "S16":
            return row.reason in ("not_read", "not_mapped")
        return row.gate in GATES and (
            GATES[row.gate].required or (row.gate == "W4" and self.config.review)
        )

    def evidence(self, gate: str, step: str) -> list[Evidence]:
        """Dossiers of a gate about what a step decided."""
        return [
            row
            for row in self._lake.read(Evidence, self.run, self._marks[step])
            if row.gate == gate
        ]

    def untrainable(self) -> set[str]:
        """Scenarios that a group of attempts would learn nothing from, where the run drops them."""
        rows = self._lake.read(Attrition, self.run, self._marks["scenarios-collect"])
        return {row.subject for row in rows if row.gate == "F5" and row.outcome == "dropped"}

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
        return [
            count_exits(step, self._lake.read(Attrition, self.run, mark))
            for step, mark in self._marks.items()
            if step != EXPORT
        ]

    def pin(self, name: str, value: str, changed: str) -> None:
        """Hold a run to what it began with."""
        if self._lake.fix(self.run, name, {"value": value})["value"] != value:
            raise SettingsError(f"{changed}. Put it back, or start a new run.")

    def seen(self, step: str) -> tuple[Seen, ...]:
        """What runs that began before this one kept of environments at a step; of one that came
        again, any sketch will do."""
        runs = self._lake.runs()
        earlier = runs[: runs.index(self.run)] if self.run in runs else runs
        made = Fingerprint(step, "")
        return tuple(
            dict(
                found
                for run in earlier
                for found in read_seen(self._lake.read(Evidence, run, made))
            ).items()
        )

    def environments(self, step: str) -> list[Environment]:
        """Environments that a gate step kept."""
        kept = self.kept(step)
        return [one for one in self.made(Environment, "environments-build") if one.id in kept]


def _own(text: str) -> Text:
    return Text(text, OWN_LICENCE)


def enter_texts(upstream: StepInputs) -> list[Subject[Text]]:
    """Texts of the corpus the run began with, a file that has changed since being refused; or those
    that the recipe grows themes from."""
    config = upstream.config
    if not config.corpus:
        return [
            Subject(text.id, "", "", text)
            for text in map(_own, upstream.recipe.pick_texts(config, upstream.past))
        ]
    texts = read_corpus(config.corpus, config.column, config.texts)
    upstream.pin(
        "corpus",
        digest([text.id for text in texts]),
        f"{config.corpus} is no longer what this run began with",
    )
    return [Subject(text.id, "", "", text) for text in texts]


def enter_seeds(upstream: StepInputs) -> list[Subject[Seed]]:
    """Themes that were mined, or the seeds that were chosen when the run was opened."""
    if is_mined(upstream.config, upstream.recipe):
        return [
            Subject(seed.id, seed.source, seed.brief.theme, seed)
            for seed in upstream.made(Seed, "environments-mine")
        ]
    choice = upstream.choice
    picked = choice.seeds if choice is not None else pick_round(upstream.recipe, upstream.config)
    return [Subject(seed.id, "", seed.brief.theme, seed) for seed in picked]


def enter_blueprints(upstream: StepInputs) -> list[Subject[Blueprint]]:
    return [
        Subject(one.id, one.origin.seed, one.brief.theme, one)
        for one in upstream.made(Blueprint, "environments-generate")
    ]


def enter_built(upstream: StepInputs) -> list[Subject[EnvironmentWithTests]]:
    held = read_held(upstream.made(Evidence, "environments-build"))
    tested = _with_tests(upstream, upstream.made(Environment, "environments-build"))
    return [
        replace(
            each, record=replace(each.record, held=held.get(name_content(_show(each.record)), {}))
        )
        for each in tested
    ]


def _show(tested: EnvironmentWithTests) -> EnvironmentCase:
    return EnvironmentCase(tested.environment, tested.tests)


def enter_verified(upstream: StepInputs) -> list[Subject[EnvironmentWithTests]]:
    seen = upstream.seen("environments-filter")
    tested = _with_tests(upstream, upstream.environments("environments-verify"))
    return [replace(subject, record=replace(subject.record, seen=seen)) for subject in tested]


def enter_places(upstream: StepInputs) -> list[Subject[ScenarioSlot]]:
    plans = {one.id: one for one in upstream.made(Blueprint, "environments-generate")}
    environments = upstream.environments("environments-filter")
    tests = {
        each.record.environment.id: each.record.tests
        for each in _with_tests(upstream, environments)
    }

    given = upstream.given

    def list_places(environment: Environment) -> list[ScenarioSlot]:
        count = kind_of(environment).count_scenarios(environment, upstream.config.scenarios)
        plan = plans.get(environment.blueprint)
        first = ScenarioSlot(environment, 0, count, tests=tests[environment.id])
        if given is not None:
            first = _go_on(first, given, upstream.earlier)
        if plan is not None:
            first = replace(first, requirements=tuple(plan.requirements), rows=plan.rows)
        return [replace(first, number=number) for number in range(first.first, first.places)]

    places = [place for environment in environments for place in list_places(environment)]
    return [
        Subject(place.id, place.environment.id, place.environment.brief.theme, place)
        for place in places
    ]


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


def enter_drafts(upstream: StepInputs) -> list[Subject[PlacedScenario[Draft]]]:
    homes, drafts = _homes(upstream), upstream.made(Draft, "scenarios-generate")
    splits = assign_splits(
        [homes[one] for one in sorted({draft.environment for draft in drafts})],
        upstream.config.holdout,
    )
    return [
        Subject(
            one.id,
            one.environment,
            homes[one.environment].brief.theme,
            PlacedScenario(one, homes[one.environment], split=splits[one.environment]),
        )
        for one in drafts
    ]


def enter_scenarios(upstream: StepInputs) -> list[Subject[PlacedScenario[Scenario]]]:
    scenarios = upstream.made(Scenario, "scenarios-build")
    homes: dict[str, list[Scenario]] = defaultdict(list)
    for one in (*(old for each in upstream.earlier.scenarios.values() for old in each), *scenarios):
        homes[one.environment].append(one)
    # An errand's scenario is judged when its machine is built.
    held = read_held(
        [
            *upstream.made(Evidence, "environments-build"),
            *upstream.made(Evidence, "scenarios-generate"),
        ]
    )

    def know(placed: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
        return replace(
            placed,
            siblings=tuple(homes[placed.environment.id]),
            held=held.get(placed.record.id, {}),
        )

    return [
        replace(subject, record=know(subject.record)) for subject in _place(upstream, scenarios)
    ]


def enter_sound(upstream: StepInputs) -> list[Subject[PlacedScenario[Scenario]]]:
    kept = upstream.kept("scenarios-verify")
    library: dict[str, list[Attack]] = defaultdict(list)
    for attack in sorted(upstream.made(Attack, "scenarios-verify"), key=lambda one: one.id):
        library[attack.environment].append(attack)
    placed = _place(
        upstream,
        _bound(
            upstream, [one for one in upstream.made(Scenario, "scenarios-build") if one.id in kept]
        ),
    )
    earlier = upstream.earlier.scenarios

    def know(found: PlacedScenario[Scenario]) -> PlacedScenario[Scenario]:
        return replace(
            found,
            attacks=tuple(library[found.environment.id]),
            siblings=earlier.get(found.environment.id, ()),
        )

    return [replace(subject, record=know(subject.record)) for subject in placed]


def enter_probed(upstream: StepInputs) -> list[Subject[PlacedScenario[Scenario]]]:
    kept = upstream.kept("scenarios-filter")
    probes: dict[str, list[Rollout]] = defaultdict(list)
    for rollout in upstream.made(Rollout, "scenarios-filter"):
        probes[rollout.scenario].append(rollout)
    return _place(
        upstream,
        _bound(
            upstream, [one for one in upstream.made(Scenario, "scenarios-build") if one.id in kept]
        ),
        probes,
    )


def enter_load(upstream: StepInputs) -> list[Subject[ExportInput]]:
    """The run itself, once: nothing enters when nothing is left to learn from. Scenarios that no
    teacher passed are worth rollouts."""
    kept = upstream.kept("scenarios-filter") - upstream.untrainable()
    scenarios = _bound(
        upstream, [one for one in upstream.made(Scenario, "scenarios-build") if one.id in kept]
    )
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
    return [Subject(f"run:{upstream.run}", "", "", load)] if scenarios else []


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


def count_exits(step: str, rows: Sequence[Attrition]) -> StepCount:
    """Outcomes of the last attempts; what was spent on all of them."""
    exits = sorted((row for row in rows if row.gate == "exit"), key=lambda row: row.try_number)
    last = {row.subject: row for row in exits}.values()
    dropped = [row.reason for row in last if row.outcome == "dropped"]
    return StepCount(
        step=step,
        kept=sum(row.outcome == "kept" for row in last),
        dropped=len(dropped),
        reasons=dict(sorted(Counter(dropped).items())),
        tokens=sum(row.tokens for row in exits),
        cost=None
        if any(row.cost is None for row in exits)
        else sum(row.cost or 0.0 for row in exits),
    )


def _with_tests(
    upstream: StepInputs, environments: list[Environment]
) -> list[Subject[EnvironmentWithTests]]:
    tests: dict[str, list[Test]] = defaultdict(list)
    for test in upstream.made(Test, "environments-build"):
        tests[test.environment].append(test)
    return [
        Subject(
            one.id, one.blueprint, one.brief.theme, EnvironmentWithTests(one, tuple(tests[one.id]))
        )
        for one in environments
    ]


def _homes(upstream: StepInputs) -> dict[str, Environment]:
    return {one.id: one for one in upstream.made(Environment, "environments-build")}


def _bound(upstream: StepInputs, scenarios: list[Scenario]) -> list[Scenario]:
    """With the error bounds that were measured since they were built."""
    rows = [row for row in upstream.made(Evidence, "scenarios-verify") if row.gate == "bounds"]
    found = {row.subject: Bounds.model_validate(row.finding) for row in rows}
    return [one.model_copy(update={"bounds": found.get(one.id, one.bounds)}) for one in scenarios]


def _place(
    upstream: StepInputs,
    scenarios: list[Scenario],
    rollouts: Mapping[str, list[Rollout]] | None = None,
) -> list[Subject[PlacedScenario[Scenario]]]:
    homes, found = _homes(upstream), rollouts or {}
    return [
        Subject(
            one.id,
            one.draft,
            homes[one.environment].brief.theme,
            PlacedScenario(one, homes[one.environment], tuple(found.get(one.id, ()))),
        )
        for one in scenarios
    ]
