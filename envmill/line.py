"""The line: ten steps in two laps, in the one order there is, and one before them where themes are mined from a corpus.

environments  (mine ─►) generate ─► build ─► verify ─► filter
scenarios                                      └─► generate ─► build ─► verify ─► filter ─► collect ─► export
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envmill.agents import FAULT_PROMPT, ROLLOUT_PROMPTS
from envmill.build import build_environment, build_scenario
from envmill.collect import collect_trajectories
from envmill.export import export_bundles
from envmill.filter import filter_environment, filter_scenario
from envmill.gates import ENVIRONMENT_GATES, SCENARIO_GATES
from envmill.gates.base import Finding, Gate
from envmill.gates.f4 import find_repeats
from envmill.gates.f5 import Probed, find_untrainable
from envmill.gates.suspicions import PROMPT as SUSPICION
from envmill.gates.w10 import find_duplicates
from envmill.generate import generate_blueprint, generate_draft
from envmill.mill import Mill, Result, Subject
from envmill.mine import choose_seeds, mine_text
from envmill.models.door import Account
from envmill.models.prompt import Prompt
from envmill.upstream import (
    Upstream,
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
from envmill.verifiers.ruling import PROMPT as RULING
from envmill.verify import verify_environment, verify_scenario
from schemas.ledger import Lap, Stage
from schemas.run import RunConfig

Work = Callable[[Subject[Any], Mill, Account], Awaitable[Result]]
Decide = Callable[[Sequence[Subject[Any]], RunConfig], Mapping[str, Finding]]


@dataclass(frozen=True)
class Step:
    """One flow, one deployment, one library function, and a barrier."""

    lap: Lap
    stage: Stage
    enter: Callable[[Upstream], Sequence[Subject[Any]]]
    """What comes in."""
    work: Work
    """What is done with each subject."""
    makes: tuple[str, ...] = ()
    """Tables it adds to besides attrition and gate_evidence, its product first."""
    gates: tuple[str, ...] = ()
    """Admission checks it runs."""
    settings: tuple[str, ...] = ()
    """Config fields its outcome depends on beyond what came in."""
    decide: Decide | None = None
    """A decision over the whole set, made before any subject is worked on."""
    prompts: tuple[Prompt, ...] = ()
    """What it may ask models whatever the recipe; the recipe's own prompts come to these."""

    @property
    def name(self) -> str:
        return f"{self.lap}-{self.stage}"


def _decide_seeds(subjects: Sequence[Subject[Any]], config: RunConfig) -> Mapping[str, Finding]:
    """Of themes that were mined or grown; those of the factory are picked as many as are wanted."""
    mined = [subject.record for subject in subjects if subject.record.source]
    return choose_seeds(mined, config.environments, config.score)


def _decide_duplicates(subjects: Sequence[Subject[Any]], _: RunConfig) -> Mapping[str, Finding]:
    seen = subjects[0].record.seen if subjects else ()
    return find_duplicates([subject.record.environment for subject in subjects], seen)


def _decide_repeats(subjects: Sequence[Subject[Any]], _: RunConfig) -> Mapping[str, Finding]:
    return find_repeats([subject.record.record for subject in subjects])


def _decide_untrainable(subjects: Sequence[Subject[Any]], config: RunConfig) -> Mapping[str, Finding]:
    """Here and not in the filter: the step before is the first after which the probes of all siblings are known, and nothing is paid
    for in between."""
    placed = {subject.id: subject.record for subject in subjects}
    probes = {name: [one for one in found.rollouts if one.rollout_group == "probe"] for name, found in placed.items()}
    probed = {name: Probed.of(found.environment.id, probes[name]) for name, found in placed.items()}
    return find_untrainable(probed, drops=config.untrainable == "drop")


def _name(gates: Sequence[Gate[Any]]) -> tuple[str, ...]:
    return tuple(gate.name for gate in gates)


_WANTED = ("recipe", "environments", "tools", "collections", "rows", "seed", "mistakes")
_ASKED = ("provider", "model", "critic", "judge", "policy", "user", "recording")
_LOOP = ("rehearse", "suspicions")
_PLAYED = ("form", "person", "steps", "turns", "tokens")

STEPS: tuple[Step, ...] = (
    Step(
        "environments",
        "generate",
        enter_seeds,
        generate_blueprint,
        ("blueprints", "seeds", "builds"),
        ("choice",),
        (*_WANTED, *_ASKED),
        _decide_seeds,
    ),
    Step(
        "environments",
        "build",
        enter_blueprints,
        build_environment,
        ("environments", "builds", "tests"),
        settings=("review", "whole", *_LOOP),
        prompts=(SUSPICION,),
    ),
    Step(
        "environments",
        "verify",
        enter_built,
        verify_environment,
        gates=_name(ENVIRONMENT_GATES),
        settings=("review", "suspicions"),
        prompts=(SUSPICION,),
    ),
    Step("environments", "filter", enter_verified, filter_environment, gates=("W10", "F3"), decide=_decide_duplicates),
    Step(
        "scenarios",
        "generate",
        enter_places,
        generate_draft,
        ("drafts", "builds"),
        settings=("scenarios", "polarities", "reward", *_LOOP),
        prompts=(SUSPICION,),
    ),
    Step("scenarios", "build", enter_drafts, build_scenario, ("scenarios", "builds"), settings=("checks", "reward", "holdout")),
    Step(
        "scenarios",
        "verify",
        enter_scenarios,
        verify_scenario,
        ("attacks",),
        _name(SCENARIO_GATES),
        ("search", "suspicions"),
        prompts=(SUSPICION,),
    ),
    Step(
        "scenarios",
        "filter",
        enter_sound,
        filter_scenario,
        ("rollouts",),
        ("F4", "F3", "S13", "F1", "F2"),
        ("attempts", "probe", "weak", "trivial", "untrainable", "judged", *_PLAYED),
        _decide_repeats,
        (*ROLLOUT_PROMPTS, FAULT_PROMPT, RULING),
    ),
    Step(
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
    Step("scenarios", "export", enter_load, export_bundles, ("bundles",), settings=("provisional", "with_tier", "exporters")),
)

MINE = Step(
    "environments",
    "mine",
    enter_texts,
    mine_text,
    ("seeds",),
    ("theme",),
    ("corpus", "column", "texts", "documents", "score", *_WANTED, *_ASKED),
)
"""Before all others, where a corpus is given."""

STEP: dict[str, Step] = {step.name: step for step in (MINE, *STEPS)}
