"""Recipe `perturb` through the stages: healthy systems become environments, and broken ones
scenarios that only their mends pass."""

from dataclasses import replace
from typing import Any, cast

import pytest

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.w10 import find_duplicates
from envmill.interop.exporters.base import ExportSet
from envmill.kinds.base import Composition
from envmill.kinds.terminal.perturbing import list_machines
from envmill.recipes import perturb
from envmill.sandbox import Sandbox
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.context import ExportInput, PlacedScenario, RunContext, Subject
from envmill.stages.export import export_bundles, pack_outputs
from envmill.stages.generate import generate_blueprint, generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.environment import Blueprint, Environment
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from tests.kinds.conftest import terminals
from tests.kinds.terminals import break_system, make_scenario
from tests.soak import count

__all__ = ["terminals"]

SYSTEMS = count(1, 14)
SCENARIOS = count(1, 3)


class Nobody:
    """Whoever is asked: nobody is."""

    provider, model, last_asked = "offline", "none", None

    def afresh(self, number: int, warning: str = "") -> "Nobody":
        return self


def make_mill(sandbox: Any, **config: Any) -> RunContext:
    config = {"recipe": "perturb", "seed": 3, **config}
    return RunContext(
        "r", RunConfig(**config), cast(Any, None), perturb.make([]), cast(Any, None), sandbox
    )


async def make_environments(context: RunContext) -> list[Environment]:
    """Of each seed, in the order of seeds."""
    found: list[Environment] = []
    for seed in context.recipe.pick_seeds(context.config):
        saved, blueprint = (
            await generate_blueprint(
                Subject(seed.id, "", seed.brief.theme, seed), context, cast(Any, Nobody())
            )
        ).records
        assert isinstance(saved, Seed)
        assert isinstance(blueprint, Blueprint)
        built = await build_environment(
            Subject(blueprint.id, seed.id, seed.brief.theme, blueprint),
            context,
            cast(Any, Nobody()),
        )
        (environment,) = built.records
        assert isinstance(environment, Environment)
        found.append(environment)
    return found


async def test_each_system_is_an_environment_of_its_own_and_a_variation_is_a_duplicate() -> None:
    context = make_mill(None, environments=16)
    environments = await make_environments(context)
    assert len({each.id for each in environments}) == 16
    assert {each.kind for each in environments} == {"terminal"}
    findings = find_duplicates(environments)
    kept = [each.brief.theme for each in environments if findings[each.id].outcome == "kept"]
    assert sorted(kept) == sorted({each.brief.theme for each in environments})


def test_there_are_as_many_seeds_as_machines() -> None:
    seeds = perturb.make([]).pick_seeds(RunConfig(recipe="perturb", environments=1000))
    assert len(seeds) == len({seed.id for seed in seeds}) == len(list_machines())
    assert {seed.licence for seed in seeds} == {"Apache-2.0"}


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_a_machine_is_broken_posed_and_judged(terminals: Sandbox) -> None:
    context = make_mill(terminals, environments=SYSTEMS)
    for environment in await make_environments(context):
        for number in range(SCENARIOS):
            place = ScenarioSlot(environment, number)
            result = await generate_draft(
                Subject(place.id, environment.id, "", place), context, cast(Any, Nobody())
            )
            draft = result.records[0]
            assert isinstance(draft, Draft), result.findings
            assert len(draft.oracle) == 1 + number % 3
            built = await build_scenario(
                Subject(draft.id, environment.id, "", PlacedScenario(draft, environment)),
                context,
                cast(Any, Nobody()),
            )
            (scenario,) = built.records
            assert isinstance(scenario, Scenario), built.findings
            assert (scenario.oracle_reward, scenario.do_nothing_reward) == (1.0, 0.0)
            assert not scenario.verifier.partial
            finding = (
                await GATES["S1"].check(ScenarioCase(scenario, environment), GateContext(terminals))
                if count(0, 1)
                else None
            )
            assert finding is None or finding.outcome == "kept", finding


async def test_a_composition_that_does_not_hold_is_drawn_anew_and_every_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (environment,) = await make_environments(make_mill(None, environments=1))
    turns: list[int] = []

    async def refuse(*arguments: Any) -> Any:
        turns.append(arguments[3])
        return refused

    refused = Composition(
        ScenarioReply(initial_state={}, request="", oracle=[]), "silent", "the check sees nothing"
    )
    monkeypatch.setattr("envmill.kinds.terminal.kind.perturb", refuse)
    result = await generate_draft(
        Subject("p", environment.id, "", ScenarioSlot(environment, 0)),
        make_mill(None),
        cast(Any, Nobody()),
    )
    assert turns == list(range(len(turns)))
    assert len(turns) > 1
    assert (result.findings[0].outcome, result.findings[0].reason) == ("dropped", "silent")
    assert len(result.records) == len(turns)


async def test_an_outage_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    (environment,) = await make_environments(make_mill(None, environments=1))

    async def break_down(*_: Any, **__: Any) -> None:
        raise SandboxError("No container engine works here.")

    monkeypatch.setattr("envmill.kinds.terminal.perturbing.prove", break_down)
    with pytest.raises(SandboxError):
        await generate_draft(
            Subject("p", environment.id, "", ScenarioSlot(environment, 0)),
            make_mill(None),
            cast(Any, Nobody()),
        )


async def test_what_needs_the_vendored_jail_is_not_made_of_machines() -> None:
    (environment,) = await make_environments(make_mill(None, environments=1))
    scenario = make_scenario(environment, break_system("backup", "wrong_path"), {"archive"})
    export_set = ExportSet((environment,), (), (scenario,), ())
    assert {
        parcel.exporter for parcel in pack_outputs(export_set, ["bundle", "rl", "dataset"])
    } == {
        "rl",
        "dataset",
    }
    load = ExportInput(export_set)
    config = {"exporters": ["bundle", "rl"], "provisional": True}
    context = replace(make_mill(None, **config), settings=Settings.read({}))
    result = await export_bundles(Subject("export", "", "", load), context, cast(Any, Nobody()))
    assert {"left_out": {"bundle": [scenario.id]}} in [
        finding.evidence for finding in result.findings
    ]
