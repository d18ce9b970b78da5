"""Environments of earlier runs: which ones a run starts from, which of their scenarios it makes
harder, and what each step is handed.

earlier runs ─► kept environments, easy scenarios ─► GivenEnvironments, fixed with the run
each step of the environment lap ─► what the earlier run made and found there, under its old ids ─► nothing is asked of a model
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from envmill.base.errors import SettingsError
from envmill.kinds.findings import Finding, drop, pass_by
from envmill.lake.lake import Fingerprint, Lake
from envmill.lake.sql import fetch
from envmill.pipeline.rates import find_strongest, rate_rollouts, read_rates
from envmill.recipes.base import Recipe
from envmill.stages.context import Result, Subject
from schemas.base import Record
from schemas.choice import EasyParent, GivenEnvironments, PolicyRate
from schemas.environment import Blueprint, Environment, Test
from schemas.errand_plan import PlannedErrand
from schemas.ledger import Attrition, Evidence
from schemas.quality import Quarantine
from schemas.rollout import Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario
from schemas.seed import Seed

R = TypeVar("R", bound=Record)

GATE = "given"
_PLACES = """
    select split_part(subject, ':', 1), max(split_part(subject, ':', 2)::bigint) + 1, list(distinct run order by run)
    from attrition where lap = 'scenarios' and stage = 'generate' and gate = 'exit' group by all"""


class EarlierRun:
    """What an earlier run made, whatever the fingerprints of its steps were."""

    def __init__(self, lake: Lake, run: str) -> None:
        self._lake, self.run = lake, run

    def read(self, record: type[R], step: str = "") -> list[R]:
        """Rows of a table, made at a step if one is named, without those that quality set aside."""
        rows = self._lake.read(record, self.run, Fingerprint(step, "") if step else None)
        return [row for row in rows if (record.table, row.id) not in self._aside]

    def list_kept(self, step: str) -> set[str]:
        """Subjects that the last attempt at a step kept, and that no gate would have dropped."""
        observed = {
            row.subject
            for rows in self.ledger.values()
            for row in rows
            if row.outcome == "observed"
        }
        exits = {subject: rows for (of, subject), rows in self.ledger.items() if of == step}
        return {
            subject for subject, rows in exits.items() if any(_is_kept(row) for row in rows)
        } - observed

    @cached_property
    def ledger(self) -> Mapping[tuple[str, str], list[Attrition]]:
        """(step, subject) → rows of its last attempt."""
        last: dict[tuple[str, str], list[Attrition]] = {}
        for row in sorted(self._lake.read(Attrition, self.run), key=lambda row: row.try_number):
            place = f"{row.lap}-{row.stage}", row.subject
            if place in last and last[place][0].try_number == row.try_number:
                last[place].append(row)
            else:
                last[place] = [row]
        return last

    @cached_property
    def dossiers(self) -> Mapping[str, Evidence]:
        return {row.id: row for row in self._lake.read(Evidence, self.run)}

    @cached_property
    def _aside(self) -> set[tuple[str, str]]:
        return {(row.table_name, row.row) for row in self._lake.read(Quarantine, self.run)}


def find_given(lake: Lake, config: RunConfig, recipe: Recipe) -> GivenEnvironments:
    """What the run starts from; SettingsError where there is nothing."""
    _check(lake, config, recipe)
    runs = [EarlierRun(lake, run) for run in config.given_by]
    homes = {one: run for run in runs for one in run.list_kept("environments-filter")}
    parents, skipped = _find_parents(runs, homes.keys(), config) if config.harden else ([], {})
    wanted = {parent.environment for parent in parents} if config.harden else homes.keys()
    if not wanted:
        raise SettingsError(
            f"There is nothing to start from in {', '.join(config.given_by)}: "
            f"{_explain(skipped, config)}"
        )
    places = {
        environment: (int(first), list(held))
        for environment, first, held in fetch(lake, _PLACES, [])
        if environment in wanted
    }
    return GivenEnvironments(
        runs=config.given_by,
        known=sorted({run for _, held in places.values() for run in held}),
        environments=sorted(wanted),
        first={
            environment: places[environment][0] if environment in places else 0
            for environment in sorted(wanted)
        },
        parents=parents,
        skipped=skipped,
    )


def _check(lake: Lake, config: RunConfig, recipe: Recipe) -> None:
    if config.harden and config.environments_of:
        raise SettingsError(
            "`harden` and `environments_of` both say what the run starts from: give one of the two."
        )
    if config.corpus or config.target is not None:
        raise SettingsError(
            "A run that starts from environments of earlier runs makes none: leave out `corpus` "
            "and `target`."
        )
    if not recipe.poses:
        raise SettingsError(
            f"Recipe {recipe.name} composes its scenarios with the environment: no others can be "
            "written for it."
        )
    for run in config.given_by:
        stored = lake.find_fixed(run, "config")
        if stored is None:
            raise SettingsError(
                f"There is no run {run} in {lake.url}. Known runs: "
                f"{', '.join(lake.runs()[-10:]) or 'none'}."
            )
        if (other := RunConfig.read(stored).recipe) != config.recipe:
            raise SettingsError(
                f"Run {run} was made by recipe {other}, and this one is of {config.recipe}: give "
                f"`recipe` {other}."
            )


def _explain(skipped: Mapping[str, int], config: RunConfig) -> str:
    if not config.harden:
        return "it kept no environment."
    told = (
        ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        or "no scenario was kept"
    )
    return (
        f"{told}. Lower `above` or `least_attempts`, name a policy with `for_policy`, or give "
        "attempts made elsewhere as `rates`."
    )


def _find_parents(
    runs: Sequence[EarlierRun], homes: Container[str], config: RunConfig
) -> tuple[list[EasyParent], dict[str, int]]:
    """Easy scenarios, and why the other kept ones are none."""
    placed = [
        (run, one) for run in runs for one in _list_scenarios(run) if one.environment in homes
    ]
    rates = (
        read_rates(Path(config.rates))
        if config.rates
        else rate_rollouts(one for run in runs for one in run.read(Rollout))
    )
    known = {one.id for _, one in placed}
    policy = config.for_policy or find_strongest(
        {scenario: told for scenario, told in rates.items() if scenario in known}
    )
    parents, skipped = list[EasyParent](), Counter[str]()
    for run, scenario in placed:
        own = rates.get(scenario.id, [])
        judged = next(
            (one for one in own if one.policy == policy),
            PolicyRate(policy=policy, attempts=0, passes=0),
        )
        if scenario.polarity == "clarify":
            skipped["ask back, which more look-ups make no harder"] += 1
        elif judged.attempts < config.least_attempts:
            skipped[
                f"have fewer than {config.least_attempts} judged attempts by "
                f"{policy or 'any policy'}"
            ] += 1
        elif judged.share <= config.above:
            skipped[f"are passed by {policy} in no more than {config.above:g} of its attempts"] += 1
        else:
            parents.append(
                EasyParent(
                    scenario=scenario.id,
                    environment=scenario.environment,
                    run=run.run,
                    rates=[*own],
                )
            )
    return parents, dict(skipped)


def _list_scenarios(run: EarlierRun) -> list[Scenario]:
    kept = run.list_kept("scenarios-filter")
    return [one for one in run.read(Scenario) if one.id in kept]


def _is_kept(row: Attrition) -> bool:
    return row.gate == "exit" and row.outcome == "kept"


class HandedLap:
    """What the steps of the environment lap hand over instead of working. Repairs (`builds`) stay
    where they were made."""

    def __init__(self, lake: Lake, given: GivenEnvironments) -> None:
        self._runs, self._wanted = (
            [EarlierRun(lake, run) for run in given.runs],
            frozenset(given.environments),
        )

    @cached_property
    def environments(self) -> Mapping[str, tuple[Environment, EarlierRun]]:
        found = [
            (one, run)
            for run in self._runs
            for one in run.read(Environment)
            if one.id in self._wanted
        ]
        return {one.id: (one, run) for one, run in reversed(found)}

    @cached_property
    def blueprints(self) -> Mapping[str, Blueprint]:
        planned = {environment.blueprint for environment, _ in self.environments.values()}
        return {
            one.id: one for run in self._runs for one in run.read(Blueprint) if one.id in planned
        }

    def list_seeds(self) -> list[Seed]:
        """Seeds that the environments grew from."""
        grown = {one.origin.seed for one in self.blueprints.values()}
        return list(
            {
                one.id: one for run in self._runs for one in run.read(Seed) if one.id in grown
            }.values()
        )

    def hand_over(self, step: str, subject: Subject[object]) -> Result:
        """Records that the earlier run made of the subject at the step, and what its gates said
        then."""
        homes = [
            (one, run)
            for one, run in self.environments.values()
            if subject.id in (one.id, one.blueprint, self.find_seed(one))
        ]
        if not homes:
            return Result(
                (), (drop(GATE, "not_there", "no environment of the earlier runs comes from this"),)
            )
        findings = [
            pass_by(GATE, "handed_over", f"made by run {homes[0][1].run}"),
            *self._list_findings(homes[0][1], step, subject.id),
        ]
        return Result(tuple(self._list_records(step, homes)), tuple(findings))

    def find_seed(self, environment: Environment) -> str:
        return self.blueprints[environment.blueprint].origin.seed

    def _list_records(
        self, step: str, homes: Sequence[tuple[Environment, EarlierRun]]
    ) -> Iterator[Record]:
        own = {one.id for one, _ in homes}
        if step == "environments-generate":
            grown = {self.find_seed(one) for one, _ in homes}
            yield from {one.blueprint: self.blueprints[one.blueprint] for one, _ in homes}.values()
            yield from (seed for seed in self._seeds if seed.id in grown)
        if step == "environments-build":
            yield from (one for one, _ in homes)
            yield from {test.id: test for test in self._tests if test.environment in own}.values()

    @cached_property
    def _seeds(self) -> list[Seed]:
        return self.list_seeds()

    @cached_property
    def _tests(self) -> list[Test]:
        return [
            test
            for run in self._runs
            for test in run.read(Test)
            if test.environment in self._wanted
        ]

    def _list_findings(self, run: EarlierRun, step: str, subject: str) -> Iterator[Finding]:
        for row in run.ledger.get((step, subject), ()):
            if row.gate != "exit" and row.outcome not in ("dropped", "error"):
                dossier = run.dossiers.get(row.evidence)
                yield Finding(
                    row.gate,
                    row.outcome,
                    row.reason,
                    row.detail,
                    dossier.finding if dossier else None,
                )


@dataclass(frozen=True)
class EarlierScenarios:
    """Scenarios that other runs kept of given environments, and the lines that were planned for
    them."""

    scenarios: Mapping[str, tuple[Scenario, ...]]
    """Environment → its scenarios."""
    lines: Mapping[str, tuple[PlannedErrand, ...]]


def read_earlier(lake: Lake, given: GivenEnvironments) -> EarlierScenarios:
    """In the order of their numbers."""
    scenarios, lines, wanted = (
        defaultdict[str, dict[str, Scenario]](dict),
        defaultdict[str, dict[str, PlannedErrand]](dict),
        {*given.environments},
    )
    for run in (EarlierRun(lake, name) for name in given.known):
        for one in _list_scenarios(run):
            if one.environment in wanted:
                scenarios[one.environment][one.id] = one
        for line in run.read(PlannedErrand):
            if line.environment in wanted:
                lines[line.environment][line.id] = line
    return EarlierScenarios(
        {
            name: tuple(sorted(found.values(), key=lambda one: one.number))
            for name, found in scenarios.items()
        },
        {
            name: tuple(sorted(found.values(), key=lambda one: one.number))
            for name, found in lines.items()
        },
    )
