"""How subjects enter each step: made of the records of the steps before it, in id order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from sys import intern

from envmill.agents.loop import MASKED
from envmill.agents.transcript import list_sampled
from envmill.gates.base import EnvironmentCase
from envmill.interop.exporters.base import ContaminationReport, ExportSet, ScoredAttempt
from envmill.interop.exporters.sources import trace_sources
from envmill.kinds import kind_of
from envmill.lake.spool import StoredRecords
from envmill.pipeline.casting import read_cast
from envmill.pipeline.choice import is_mined, pick_round
from envmill.pipeline.given import EarlierScenarios
from envmill.pipeline.inputs import StepInputs
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
from envmill.stages.passing import name_content
from envmill.stages.places import HardenedParent, ScenarioSlot
from envmill.stages.splits import assign_splits
from schemas.base import Json, digest
from schemas.choice import GivenEnvironments
from schemas.environment import Blueprint, Environment, Test
from schemas.errand_plan import ErrandLine
from schemas.ledger import Attack, GateOutcome
from schemas.pair import Pair
from schemas.quality import Reverification
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed

TIERS: tuple[GateOutcome, ...] = ("suspected", "observed")
"""Outcomes that put an item into the tier of that name; `observed` wins."""

_LINE = {*ErrandLine.model_fields}
_RECENT = 64  # environments whose first place is kept


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
        read = tested.make(name).record
        environment = read.environment
        count = kind_of(environment).count_scenarios(environment, upstream.config.scenarios)
        first = ScenarioSlot(environment, 0, count, tests=read.tests)
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
    built = upstream.made(Scenario, "scenarios-build")
    scenarios = built.keep(kept).change(partial(_bound, upstream))
    owners = built.owners()
    homes = {owners[name] for name in scenarios.ids}
    environments = upstream.environments("environments-filter").keep(homes)
    tests = upstream.made(Test, "environments-build")
    tests = tests.keep({name for name, home in tests.owners().items() if home in homes})
    trajectories = upstream.made(Trajectory, "scenarios-collect")
    pairs = upstream.made(Pair, "scenarios-collect")
    attempts = _read_attempts(upstream, kept, pairs)
    export_set = ExportSet(
        environments=environments,
        tests=tests,
        scenarios=scenarios,
        trajectories=trajectories,
        pairs=pairs,
        attempts=tuple(attempts.probes),
        sampled=attempts.sampled,
        judged_by=attempts.judged_by,
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
        export_set,
        provisional,
        frozenset(upstream.refused()),
        upstream.accepted(),
        suspected,
        observed,
    )
    return list_subjects([Subject(f"run:{upstream.run}", "", "", load)] if scenarios else [])


@dataclass(frozen=True)
class _Attempts:
    """What an export needs of a run's rollouts, which are read once."""

    probes: list[ScoredAttempt] = field(default_factory=list[ScoredAttempt])
    sampled: dict[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    judged_by: dict[str, str] = field(default_factory=dict[str, str])


def _read_attempts(upstream: StepInputs, kept: set[str], pairs: Sequence[Pair]) -> _Attempts:
    found, again = _Attempts(), upstream.rejudged()
    paired = {name for one in pairs for name in (one.chosen, one.rejected)}
    for step in ("scenarios-filter", "scenarios-collect"):
        for rollout in upstream.made(Rollout, step):
            scored = score_attempt(rollout, again.get(rollout.id))
            found.judged_by[rollout.id] = scored.verifier_version
            if rollout.rollout_group == "probe" and rollout.scenario in kept:
                found.probes.append(scored)
            if rollout.id in paired and (tokens := list_sampled(rollout.transcript)):
                found.sampled[rollout.id] = tokens
    return found


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
    return ScoredAttempt(  # texts that many attempts share are held once
        rollout.id,
        intern(rollout.scenario),
        intern(rollout.environment),
        rollout.form,
        intern(rollout.policy),
        None if rejudged else rollout.reward,
        verifier_version=intern(again.verifier_version if again else rollout.verifier_version),
        group=intern(rollout.rollout_group),
        attempt=rollout.attempt,
        checkpoint=intern(rollout.checkpoint),
        termination=intern(rollout.termination),
        mask="rejudged" if rejudged else ended if rollout.reward is None else "",
        outcome=rollout.outcome,
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
    return replace(placed, record=_bound(upstream, placed.record))


def _bound(upstream: StepInputs, scenario: Scenario) -> Scenario:
    """With the error bounds that were measured since it was built."""
    found = upstream.bounds.get(scenario.id)
    return scenario if found is None else scenario.model_copy(update={"bounds": found})


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
