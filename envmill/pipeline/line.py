"""The line: ten steps in two laps, in the one order there is, and one before them where themes are
mined from a corpus.

environments  (mine ─►) generate ─► build ─► verify ─► filter
scenarios                                      └─► generate ─► build ─► verify ─► filter ─► collect ─► export
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from envmill.agents import FAULT_PROMPT, ROLLOUT_PROMPTS
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import EnvironmentCase, Finding, Gate, ScenarioCase
from envmill.gates.f4 import stream_repeats
from envmill.gates.f5 import find_untrainable
from envmill.gates.reading.coverage import PROMPT as COVERAGE
from envmill.gates.reading.mapping import PROMPT as MAPPER
from envmill.gates.reading.suspicions import PROMPT as SUSPICION
from envmill.gates.s16 import PROMPT as READER
from envmill.gates.w10 import stream_duplicates
from envmill.models.embedding import EMBEDDERS
from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.pipeline.entering import (
    enter_blueprints,
    enter_built,
    enter_drafts,
    enter_load,
    enter_places,
    enter_probed,
    enter_scenarios,
    enter_seeds,
    enter_sound,
    enter_texts,
    enter_verified,
)
from envmill.pipeline.inputs import StepInputs
from envmill.recipes.drafting.hardening import PROMPT as HARDER
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.choosing import choose_seeds
from envmill.stages.collect import collect_trajectories
from envmill.stages.context import (
    EnvironmentWithTests,
    PlacedScenario,
    Result,
    RunContext,
    Subject,
    Subjects,
)
from envmill.stages.export import export_bundles
from envmill.stages.filter import filter_environment, filter_scenario
from envmill.stages.generate import generate_blueprint, generate_draft
from envmill.stages.mine import mine_text
from envmill.stages.verify import verify_environment, verify_scenario
from envmill.verifiers.ruling import PROMPT as RULING
from schemas.ledger import Lap, Stage
from schemas.scenario import Scenario
from schemas.seed import Seed

T = TypeVar("T")
Work = Callable[[Subject[T], RunContext, ModelSession], Awaitable[Result]]
Decide = Callable[[Sequence[Subject[T]], StepInputs, RunContext], Iterable[tuple[str, Finding]]]


@dataclass(frozen=True)
class PipelineStep:
    """One flow, one deployment, one library function, and a barrier. `make_step` checks that what
    enters is what the functions take."""

    lap: Lap
    stage: Stage
    enter: Callable[[StepInputs], Subjects[object]]
    """What comes in."""
    work: Work[object]
    """What is done with each subject."""
    makes: tuple[str, ...] = ()
    """Tables it adds to besides attrition and gate_evidence, its product first."""
    gates: tuple[str, ...] = ()
    """Admission checks it runs."""
    settings: tuple[str, ...] = ()
    """Config fields its outcome depends on beyond what came in."""
    decide: Decide[object] | None = None
    """A decision over the whole set, made before any subject is worked on."""
    prompts: tuple[Prompt, ...] = ()
    """What it may ask models whatever the recipe; the recipe's own prompts come to these."""

    @property
    def name(self) -> str:
        return f"{self.lap}-{self.stage}"


def make_step(
    lap: Lap,
    stage: Stage,
    enter: Callable[[StepInputs], Subjects[T]],
    work: Work[T],
    makes: tuple[str, ...] = (),
    gates: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    decide: Decide[T] | None = None,
    prompts: tuple[Prompt, ...] = (),
) -> PipelineStep:
    """A row of the table. A step works on nothing but what it entered, so the record's type is checked here and then forgotten."""
    return PipelineStep(
        lap,
        stage,
        enter,
        cast(Work[object], work),
        makes,
        gates,
        settings,
        cast("Decide[object] | None", decide),
        prompts,
    )


def _decide_seeds(
    subjects: Sequence[Subject[Seed]],
    upstream: StepInputs,  # noqa: ARG001  what earlier runs started from is in the context
    context: RunContext,
) -> Iterable[tuple[str, Finding]]:
    """Of themes that were mined or grown; those of the factory are picked as many as are wanted."""
    mined = [subject.record for subject in subjects if subject.record.source]
    embed = EMBEDDERS[context.config.clusters] if context.config.clusters else None
    return choose_seeds(
        mined,
        context.config.environments,
        context.config.score,
        context.past,
        embed,
        context.config.per_field,
    ).items()


def _decide_duplicates(
    subjects: Sequence[Subject[EnvironmentWithTests]], upstream: StepInputs, context: RunContext
) -> Iterable[tuple[str, Finding]]:
    given = context.recipe.given and context.config.systems != "written"
    return stream_duplicates(
        (subject.record.environment for subject in subjects),
        upstream.seen("environments-filter"),
        given,
    )


def _decide_repeats(
    subjects: Sequence[Subject[PlacedScenario[Scenario]]], upstream: StepInputs, context: RunContext
) -> Iterable[tuple[str, Finding]]:
    planned = bool(context.config.harden) or (context.config.plan and context.recipe.plans)
    homes = (
        {subject.record.environment.id for subject in subjects}
        if upstream.given is not None
        else set[str]()
    )
    earlier = {
        one.id: one
        for home, known in upstream.earlier.scenarios.items()
        if home in homes
        for one in known
    }
    return stream_repeats(
        (subject.record.record for subject in subjects),
        planned=planned,
        earlier=[*earlier.values()],
    )


def _decide_untrainable(
    subjects: Sequence[Subject[PlacedScenario[Scenario]]],  # noqa: ARG001
    upstream: StepInputs,
    context: RunContext,
) -> Iterable[tuple[str, Finding]]:
    """Here and not in the filter: the step before is the first after which the probes of all siblings are known, and nothing is paid
    for in between."""
    kept = upstream.kept("scenarios-filter").intersection(
        upstream.made(Scenario, "scenarios-build").ids
    )
    return find_untrainable(
        upstream.count_probes(kept), drops=context.config.untrainable == "drop"
    ).items()


def _name(gates: Sequence[Gate[EnvironmentCase]] | Sequence[Gate[ScenarioCase]]) -> tuple[str, ...]:
    return tuple(gate.name for gate in gates)


_WANTED = ("recipe", "environments", "fresh", "tools", "collections", "rows", "seed", "mistakes")
_ASKED = ("provider", "model", "critic", "judge", "policy", "user", "recording")
_LOOP = ("rehearse", "suspicions")
_PLAYED = ("form", "person", "steps", "turns", "tokens")

STEPS: tuple[PipelineStep, ...] = (
    make_step(
        "environments",
        "generate",
        enter_seeds,
        generate_blueprint,
        ("blueprints", "seeds", "builds"),
        ("choice",),
        (*_WANTED, "clusters", "servers", *_ASKED),
        _decide_seeds,
    ),
    make_step(
        "environments",
        "build",
        enter_blueprints,
        build_environment,
        ("environments", "builds", "tests"),
        settings=(
            "review",
            "reviewed",
            "whole",
            "coverage",
            "exact",
            "promises",
            "summary",
            *_LOOP,
        ),
        prompts=(SUSPICION, COVERAGE),
    ),
    make_step(
        "environments",
        "verify",
        enter_built,
        verify_environment,
        gates=_name(ENVIRONMENT_GATES),
        settings=("review", "reviewed", "suspicions", "observe"),
        prompts=(SUSPICION,),
    ),
    make_step(
        "environments",
        "filter",
        enter_verified,
        filter_environment,
        gates=("W10", "F3"),
        settings=("observe",),
        decide=_decide_duplicates,
    ),
    make_step(
        "scenarios",
        "generate",
        enter_places,
        generate_draft,
        ("drafts", "builds", "errands"),
        settings=(
            "scenarios",
            "polarities",
            "plan",
            "reward",
            "chains",
            "dag",
            "requests",
            "fairness",
            "reach",
            "natural",
            *_LOOP,
        ),
        prompts=(SUSPICION, READER, MAPPER, HARDER),
    ),
    make_step(
        "scenarios",
        "build",
        enter_drafts,
        build_scenario,
        ("scenarios", "builds"),
        settings=("checks", "reward", "holdout"),
    ),
    make_step(
        "scenarios",
        "verify",
        enter_scenarios,
        verify_scenario,
        ("attacks",),
        _name(SCENARIO_GATES),
        ("search", "suspicions", "fairness", "observe"),
        prompts=(SUSPICION, READER, MAPPER),
    ),
    make_step(
        "scenarios",
        "filter",
        enter_sound,
        filter_scenario,
        ("rollouts",),
        ("F4", "F3", "S13", "F1", "F2"),
        (
            "attempts",
            "probe",
            "weak",
            "trivial",
            "untrainable",
            "judged",
            "suspicions",
            "observe",
            *_PLAYED,
        ),
        _decide_repeats,
        (*ROLLOUT_PROMPTS, FAULT_PROMPT, RULING, SUSPICION),
    ),
    make_step(
        "scenarios",
        "collect",
        enter_probed,
        collect_trajectories,
        ("trajectories", "rollouts", "pairs"),
        ("F5",),
        ("teacher", "keep", "pairs", "judged", "untrainable"),
        _decide_untrainable,
        (*ROLLOUT_PROMPTS, FAULT_PROMPT, RULING),
    ),
    make_step(
        "scenarios",
        "export",
        enter_load,
        export_bundles,
        ("bundles",),
        settings=("provisional", "with_tier", "exporters"),
    ),
)

MINE = make_step(
    "environments",
    "mine",
    enter_texts,
    mine_text,
    ("seeds",),
    ("theme",),
    ("corpus", "column", "texts", "documents", "score", *_WANTED, *_ASKED),
)
"""Before all others, where a corpus is given."""

STEP: dict[str, PipelineStep] = {step.name: step for step in (MINE, *STEPS)}
