"""Tiers: a suspicion that no judge decided is kept, marked and left out of exports; a judge that
has a say decides it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import (
    Finding,
    GateContext,
    ScenarioCase,
    drop,
    gather,
    keep,
    merge_findings,
    skip,
)
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.models.prices import Prices
from envmill.pipeline.estimate import estimate
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.stages.passing import observe as observe_findings
from envmill.stages.review import list_queue
from flows.opening import open_walk
from schemas.base import Json
from schemas.run import RunConfig

CONFIG = RunConfig(
    environments=1,
    scenarios=2,
    attempts=2,
    keep=1,
    seed=11,
    mistakes=0.0,
    polarities={"achieve": 1},
)
AMBIGUOUS = "Does the request leave open which row is meant?"


async def suspect_first(posed: ScenarioCase, means: GateContext) -> Finding:
    """A gate that suspects one scenario of each environment, twice."""
    if posed.scenario.number:
        return keep("S15")
    return gather(
        "S15",
        [
            replace(drop("S15", f"doubt_{name}", f"doubt {name}"), question=AMBIGUOUS)
            for name in ("one", "two")
        ],
    )


def answer(verdict: str) -> Any:
    """The embedded author, whose judge always answers the same."""

    def reply(
        prompt: str, inputs: Json, seed: int, sample: int, mistakes: float, talk: Sequence[str] = ()
    ) -> str:
        if prompt != "suspicion":
            return author.answer(prompt, inputs, seed, sample, mistakes, talk)
        return f'{{"answer": "{verdict}", "quotes": ["{inputs["name"]}"], "reason": "it reads so"}}'

    return reply


def run_line(
    folder: Path, answering: Any = author.answer, **config: Any
) -> tuple[Lake, Mapping[str, list[Any]]]:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )

    async def walk() -> None:
        async with open_walk("r1", CONFIG.model_copy(update=config), settings, answering) as opened:
            await opened.walk()

    asyncio.run(walk())
    lake = Lake(settings.lake)
    views = open_views(lake)
    asked = {
        "gates": "select outcome, reason, count(*) from attrition where gate = 'S15' group by all "
        "order by all",
        "exits": "select outcome, reason, count(*) from exits where stage = 'verify' and lap = "
        "'scenarios' group by all order by all",
        "tiers": "select lap, tier, count(*) from tiers group by all order by all",
        "rows": "select sum(rows)::bigint from bundles where exporter = 'bundle'",
        "left": "select finding from gate_evidence where gate = 'suspected'",
    }
    return lake, {name: views.execute(question).fetchall() for name, question in asked.items()}


@pytest.fixture(autouse=True)
def gate(monkeypatch: pytest.MonkeyPatch) -> None:
    suspicious = replace(GATES["S15"], check=suspect_first, codes={"doubt_*": "suspicion"})
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", (suspicious,))


async def refuse(posed: ScenarioCase, means: GateContext) -> Finding:
    """A gate with a proof against each scenario."""
    return drop("S9", "expected_value", f"scenario {posed.scenario.number} names its value")


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("observe", [True, False])
def test_a_run_that_observes_drops_nothing_and_exports_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, observe: bool
) -> None:
    """The gates behind the one that would have dropped are asked as well, and the scenarios are
    played."""
    gates = (
        replace(GATES["S9"], check=refuse),
        replace(GATES["S15"], check=suspect_first, codes={"doubt_*": "suspicion"}),
    )
    monkeypatch.setattr("envmill.stages.passing.SCENARIO_GATES", gates)
    lake, found = run_line(tmp_path, observe=observe, with_tier="suspected", rehearse=False)
    views = open_views(lake)
    refused = views.execute(
        "select outcome, reason, count(*) from attrition where gate = 'S9' group by all"
    ).fetchall()
    played = views.execute("select count(*) from rollouts").fetchall()[0][0]
    if not observe:
        assert (refused, found["gates"], played) == ([("dropped", "expected_value", 2)], [], 0)
        return
    assert refused == [("observed", "expected_value", 2)]
    assert found["gates"] == [("kept", "", 1), ("suspected", "doubt_one", 1)]
    assert found["exits"] == [("kept", "", 2)]
    assert found["tiers"] == [("environments", "clean", 1), ("scenarios", "observed", 2)]
    assert played > 0
    assert found["rows"] == [(None,)]
    told = views.execute("select reason, detail from exits where stage = 'export'").fetchall()
    assert [reason for reason, _ in told] == ["nothing_to_export"]
    assert "--observe" in told[0][1]


@pytest.mark.long
def test_what_nobody_solves_is_observed_too(tmp_path: Path) -> None:
    lake, found = run_line(tmp_path, observe=True, probe="skilled@0")
    views = open_views(lake)
    seen = views.execute(
        "select stage, gate, outcome, count(*) from attrition where reason = 'unsolved' group by "
        "all"
    ).fetchall()
    assert seen == [("filter", "F1", "observed", 2)]
    assert found["tiers"] == [("environments", "clean", 1), ("scenarios", "observed", 2)]


def test_what_the_filter_would_drop_is_observed_and_what_cannot_be_played_is_dropped() -> None:
    found = [
        drop("F1", "unsolved", "no attempt passes"),
        drop("W2", "does_not_construct", "it raises"),
        keep("F3"),
    ]
    assert [one.outcome for one in observe_findings(found)] == ["observed", "dropped", "kept"]


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("tier", ["", "suspected"])
def test_without_a_judge_it_is_kept_and_leaves_only_when_asked_for(
    tmp_path: Path, tier: str
) -> None:
    lake, found = run_line(tmp_path, with_tier=tier)
    assert found["gates"] == [("kept", "", 1), ("suspected", "doubt_one", 1)]
    assert found["exits"] == [("kept", "", 2)]
    assert found["tiers"] == [
        ("environments", "clean", 1),
        ("scenarios", "clean", 1),
        ("scenarios", "suspected", 1),
    ]
    assert found["rows"] == [(2 if tier else 1,)]
    assert ("exported" if tier else "left_at_home") in found["left"][0][0]
    (folder,) = {path.parent for path in tmp_path.glob("bundles/r1/bundle/*/README.md")}
    card = (folder / "README.md").read_text()
    assert ("Tiers: 1 clean, 1 suspected." if tier else "Tiers: 1 clean, 0 suspected.") in card
    assert "suspicions undecided 2" in " ".join(item.why for item in list_queue(lake, "r1"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("verdict", "outcome", "exits"),
    [
        pytest.param(
            "yes", "dropped", [("dropped", "doubt_one", 1), ("kept", "", 1)], id="confirmed"
        ),
        pytest.param("no", "cleared", [("kept", "", 2)], id="not confirmed"),
    ],
)
def test_a_judge_decides(tmp_path: Path, verdict: str, outcome: str, exits: Any) -> None:
    _, found = run_line(tmp_path, answer(verdict), suspicions="judge")
    assert ("suspected" in str(found["gates"]), found["gates"][0][0]) == (False, outcome)
    assert found["exits"] == exits
    assert ("scenarios", "suspected", 1) not in found["tiers"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("config", "calls"),
    [({}, []), ({"suspicions": "judge"}, [2]), ({"judge": "openai:judge-1"}, [2])],
)
def test_an_estimate_counts_two_readings_of_each_suspicion(
    tmp_path: Path, config: dict[str, str], calls: list[int]
) -> None:
    """Known: half a suspicion a scenario. Expected: a tenth of a difference. Two readings each,
    rounded up."""
    lake, _ = run_line(tmp_path)
    note(lake, "r1", "finished", [])
    wanted = CONFIG.model_copy(update={**config, "scenarios": 1})
    found = asyncio.run(estimate(lake, wanted, RECIPES[CONFIG.recipe](read_themes()), Prices()))
    assert [(one.step, one.calls) for one in found if one.prompt == "suspicion"] == [
        ("scenarios-verify", one) for one in calls
    ]


@pytest.mark.long
def test_a_run_that_keeps_suspicions_asks_nobody(tmp_path: Path) -> None:
    _, found = run_line(tmp_path, answer("yes"), suspicions="keep")
    assert found["exits"] == [("kept", "", 2)]


def test_a_gate_has_one_row_and_the_worst_of_its_findings_in_it() -> None:
    doubt, proof = (
        replace(drop("S8", "a", "one", {"row": 1}), outcome="suspected"),
        drop("S8", "b", "two"),
    )
    (merged, other) = merge_findings([doubt, skip("S9", "c", "three"), proof])
    assert (merged.gate, merged.outcome, merged.reason, merged.detail) == (
        "S8",
        "dropped",
        "b",
        "two",
    )
    assert [one["reason"] for one in merged.evidence["findings"]] == ["b", "a"]
    assert other == skip("S9", "c", "three")
    assert merge_findings([doubt, doubt])[0].detail == "one"
