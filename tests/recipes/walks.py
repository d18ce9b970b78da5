"""The line walked by each recipe over tables: small under `make test`, in a soak enough for forty
environments and two hundred scenarios.

WALKS ──recipe──► one or more runs ──► lakes, kept to be read ──► attrition per step, every loss with its reason, every chain re-checked
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.base.settings import ROOT, Settings
from envmill.lake.lake import Lake
from envmill.sandbox import Sandbox
from flows.opening import open_walk
from schemas.environment import Environment
from schemas.run import RecipeName, RunConfig
from tests.pipeline.test_runner import ask, settings_in
from tests.recipes.chains import find_underivable, recheck_kept
from tests.soak import count

SEED = 7
SCENARIOS = 5
ENVIRONMENTS_KEPT, SCENARIOS_KEPT = 40, 200
_SERVICES = """sns sqs iot kms ecr cognito-idp amplify appsync backup batch codebuild codecommit connect ec2 ecs efs eks elasticache glue
    imagebuilder lambda lightsail rds route53 ses transfer workspaces"""


@dataclass(frozen=True)
class Walked:
    """How a recipe is walked in a soak."""

    environments: int
    """Of each run."""
    runs: int = 1
    """The author knows 41 places: more environments than that take another run, with another
    seed."""
    documents: str = ""
    chains: bool = False
    """Whether every scenario of it comes with a chain."""
    homes: int = 1
    """Environments under `make test`."""
    few: int = 1
    """Scenarios of an environment under `make test`."""
    acts: bool = False
    """Whether under `make test` all have something to be done: which have not hangs on every word
    of the environment."""


WALKS: dict[RecipeName, Walked] = {
    "awm": Walked(27, runs=2),
    "scaleenv": Walked(27, runs=2, chains=True),
    "envfactory": Walked(35, runs=2, chains=True, homes=2, few=2, acts=True),
    "autoforge": Walked(
        72,
        documents=",".join(f"botocore:{one}" for one in _SERVICES.split()),
        chains=True,
        few=3,
        acts=True,
    ),
    "agentscaler": Walked(
        72, documents=",".join(f"botocore:{one}" for one in _SERVICES.split()), chains=True
    ),
}
"""Recipe → its soak."""


MIX = RunConfig.model_fields["polarities"].default
"""Polarities as a run has them that is told nothing."""


async def walk_recipe(recipe: RecipeName, folder: Path) -> list[Settings]:
    """Finished runs. A soak's lakes stay under `.envmill/soak-recipes`, where a run that was cut
    off goes on."""
    home = ROOT / ".envmill/soak-recipes" / recipe if count(0, 1) else folder
    return [
        await _walk(recipe, settings_in(home / f"run{turn}"), SEED + turn)
        for turn in range(count(1, WALKS[recipe].runs))
    ]


async def _walk(recipe: RecipeName, settings: Settings, seed: int) -> Settings:
    walked = WALKS[recipe]
    config = RunConfig(
        recipe=recipe,
        documents=walked.documents if count(0, 1) else "",
        environments=count(walked.homes, walked.environments),
        scenarios=count(walked.few, SCENARIOS),
        polarities=MIX if count(0, 1) or not walked.acts else {"achieve": 1},
        attempts=2,
        search=count(20, 400),
        seed=seed,
        fresh=False,
        mistakes=count(0, 1) * 0.2,
        exporters=("bundle",),
    )
    async with open_walk("r1", config, settings) as opened:
        await opened.walk()
    return settings


def check_walk(runs: Sequence[Settings]) -> None:
    """Enough of everything, and nothing lost without a word."""
    kept = Counter[str]()
    for settings in runs:
        for lap, stage, number in ask(
            settings, "select lap, stage, count(*) from exits where outcome = 'kept' group by all"
        ):
            kept[f"{lap}-{stage}"] += number
        assert ask(settings, "select id from exits where outcome = 'dropped' and reason = ''") == []
        assert (
            ask(
                settings,
                "select lap, stage from funnel where entered <> kept + dropped + error or error "
                "> 0",
            )
            == []
        )
        assert {one.kind for one in Lake(settings.lake).read(Environment, "r1")} == {"sql"}
    assert kept["environments-filter"] >= count(1, ENVIRONMENTS_KEPT), kept
    assert kept["scenarios-verify"] >= count(1, SCENARIOS_KEPT), kept


async def check_chains(runs: Sequence[Settings], sandbox: Sandbox) -> None:
    """Each kept chain passes the validator, and without one of its thoughts none does."""
    kept = [one for settings in runs async for one in recheck_kept(settings, sandbox)]
    assert len(kept) >= count(1, SCENARIOS_KEPT)
    # `gone` is concluded from a verb, and was carried out: a record that is only marked as deleted
    # can still be shown.
    assert [
        (one.draft.id, one.faults)
        for one in kept
        if any(fault.code != "gone" for fault in one.faults)
    ] == []
    assert any(node.kind == "reason" for one in kept for node in one.chain.nodes)
    assert [(one.draft.id, idle) for one in kept if (idle := find_underivable(one))] == []


def tell(recipe: str, runs: Sequence[Settings]) -> str:
    """Attrition per step, over all runs, and what was lost to which reason."""
    steps, reasons = Counter[tuple[str, str]](), Counter[str]()
    for settings in runs:
        for lap, stage, *numbers in ask(
            settings, "select lap, stage, entered, kept, dropped, error from funnel"
        ):
            for name, number in zip(("entered", "kept", "dropped", "error"), numbers, strict=True):
                steps[f"{lap}-{stage}", name] += number
        told = ask(
            settings,
            "select lap, stage, reason, count(*) from exits where outcome <> 'kept' group by all",
        )
        reasons.update({f"{lap}-{stage} {reason}": number for lap, stage, reason, number in told})
    names = list(dict.fromkeys(name for name, _ in steps))
    lines = [
        " ".join(
            (
                name,
                *(
                    f"{what} {steps[name, what]}"
                    for what in ("entered", "kept", "dropped", "error")
                ),
            )
        )
        for name in names
    ]
    return "\n".join([f"== {recipe}", *lines, json.dumps(dict(reasons.most_common()), indent=1)])
