"""Bounds of the offline author's scenarios: a derived verifier errs nowhere, others are found out
by the domain's own truth."""

import asyncio

import pytest

from envmill.base.settings import Settings
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.stages.passing import measure_bounds
from offline.truth import find_truth
from schemas.scenario import Check, Scenario
from tests.gates.specimens import pose as pose_studio
from tests.offline.questions import SEED
from tests.trust.posing import Spot, find_clean, make_environment

THEME = "tool_lending"


async def measure_all() -> dict[str, Finding]:
    theme = THEME if THEME in dict(read_themes()) else sorted(dict(read_themes()))[0]
    environment = make_environment(theme, 0)
    async with Sandbox.open(Settings.read({}), drivers=1) as sandbox:
        scenario = await find_clean(Spot(theme, 0, 0), sandbox)
        assert isinstance(scenario, Scenario)
        verifier = scenario.verifier
        loose = verifier.model_copy(
            update={
                "goals": verifier.goals[:1],
                "frame": [[name] for name in scenario.initial_state],
            }
        )
        never = Check(name="never", op="equals", path=["nowhere"], value=1)
        cases = {
            "derived": verifier,
            "loose": loose,
            "strict": verifier.model_copy(update={"goals": [*verifier.goals, never]}),
        }
        means = GateContext(sandbox, seed=SEED, find_truth=find_truth)
        found = {
            name: await measure_bounds(
                ScenarioCase(
                    scenario.model_copy(update={"verifier": one, "id": f"scn_{name}"}), environment
                ),
                means,
            )
            for name, one in cases.items()
        }
        seeded = [
            GateContext(sandbox, seed=seed, find_truth=find_truth)
            for seed in range(SEED + 1, SEED + 9)
        ]
        others = [await measure_bounds(ScenarioCase(scenario, environment), one) for one in seeded]
        found["other seed"] = next(one for one in others if one.outcome == "not_measured")
        found["nobody knows"] = await measure_bounds(
            ScenarioCase(scenario, environment), GateContext(sandbox, seed=SEED)
        )
        return found | {"studio": await measure_bounds(pose_studio(request="Anything."), means)}


@pytest.fixture(scope="module")
def found() -> dict[str, Finding]:
    return asyncio.run(measure_all())


def test_a_derived_verifier_errs_nowhere(found: dict[str, Finding]) -> None:
    bounds = found["derived"].evidence
    assert bounds["false_accept_n"] >= 20
    assert bounds["false_accept"] == pytest.approx(1 - 0.05 ** (1 / bounds["false_accept_n"]))
    assert bounds["false_reject_n"] >= 3
    assert bounds["false_reject"] == pytest.approx(1 - 0.05 ** (1 / bounds["false_reject_n"]))


def test_one_that_looks_at_half_of_it_accepts_wrong_ends(found: dict[str, Finding]) -> None:
    assert found["loose"].evidence["false_accept"] > found["derived"].evidence["false_accept"]


def test_one_that_nothing_satisfies_rejects_every_right_end(found: dict[str, Finding]) -> None:
    assert found["strict"].evidence["false_reject"] == 1.0


def test_where_no_truth_is_known_nothing_is_measured(found: dict[str, Finding]) -> None:
    assert (found["studio"].outcome, found["studio"].reason) == ("not_measured", "no_truth")
    assert "this is another" in found["other seed"].detail
    assert (found["nobody knows"].outcome, found["nobody knows"].reason) == (
        "not_measured",
        "no_truth",
    )
