"""Scenarios posed and built: the mix of polarities, drafts whose words hold what they must,
verifiers measured before they are kept."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import pytest
from pydantic import ValidationError

from envmill.recipes.drafting.brief import ScenarioBrief
from envmill.sandbox import Sandbox
from envmill.stages.build import build_scenario
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot, choose_polarity, spread
from envmill.verifiers.court import decide
from envmill.verifiers.diff import apply_changes
from envmill.verifiers.ending import Ending
from schemas.environment import Build, Call
from schemas.prompts import ScenarioReply
from schemas.run import RunConfig
from schemas.scenario import CallPattern, Draft, Fact, Scenario
from tests.agents.talks import OWN
from tests.specimens import LEND, PROGRAM, STATE, make_environment

SHED = make_environment(
    PROGRAM.replace(
        "        return dict(self.members[member_id])",
        "        return dict(self.members[member_id], id=member_id)",
    )
)
MIX = RunConfig().polarities
DUE: dict[str, Any] = STATE | {
    "members": {"M1": {"name": "Ada", "lent": 2}, "M2": {"name": "Bo", "lent": 0}}
}
ASK = Call(name="get_member", arguments={"member_id": "M1"})
COUNT = Fact(name="how many tools she has", kind="number", value=2)
ANSWER: dict[str, Any] = {
    "initial_state": DUE, "request": "How many tools does Ada have?", "oracle": [ASK], "polarity": "answer",
    "say": "Ada has two tools.", "tell": [COUNT], "avoid": [CallPattern(name="lend")],
}  # fmt: skip


@dataclass
class Script:
    """A recipe that answers what it was told to, and remembers what it was asked for."""

    operators = ()
    samplers = ()
    poses = True
    reply: ScenarioReply
    asked: str = ""

    async def pose(self, brief: ScenarioBrief, repair: Any, models: Any) -> ScenarioReply:
        self.asked = brief.polarity
        return self.reply


class Nobody:
    provider, model, last_asked = "offline", "m", None

    def name_model(self, role: str) -> str:
        return self.model

    def name_provider(self, role: str) -> str:
        return self.provider

    def afresh(self, number: int, warning: str = "") -> "Nobody":
        return self


def make_config(**config: Any) -> RunConfig:
    """The gates are not asked inside the loop: `tests/stages/test_rehearsal.py` has those."""
    return RunConfig(**{"seed": 3, "rehearse": False, **config})


def make_mill(sandbox: Sandbox, recipe: Any = None, **config: Any) -> RunContext:
    return RunContext(
        "r", make_config(**config), cast(Any, None), cast(Any, recipe), cast(Any, None), sandbox
    )


async def generate(sandbox: Sandbox, **changes: Any) -> Result:
    recipe = Script(ScenarioReply.model_validate(ANSWER | changes))
    subject = Subject("x", "y", "t", ScenarioSlot(SHED, 0))
    return await generate_draft(subject, make_mill(sandbox, recipe), cast(Any, Nobody()))


async def build(sandbox: Sandbox, **changes: Any) -> Result:
    (draft,) = (await generate(sandbox, **changes)).records
    assert isinstance(draft, Draft)
    return await build_scenario(
        Subject("x", "y", "t", PlacedScenario(draft, SHED)), make_mill(sandbox), cast(Any, Nobody())
    )


def test_a_turn_keeps_the_shares_and_spreads_them() -> None:
    turn = spread(MIX)
    assert Counter(turn) == MIX
    others = [place for place, name in enumerate(turn) if name != "achieve"]
    assert max(later - one for one, later in pairwise(others)) <= 3, turn
    assert any(later - one > 1 for one, later in pairwise(others)), turn
    assert spread({"refuse": 1, "achieve": 0}) == ["refuse"]


def test_every_polarity_is_asked_for_where_environments_have_few_places() -> None:
    asked = Counter(
        choose_polarity(MIX, f"env_{number}", place) for number in range(250) for place in range(4)
    )
    assert set(asked) == set(MIX)
    assert 500 < asked["achieve"] < 700
    assert choose_polarity(MIX, "env_1", 3) == choose_polarity(MIX, "env_1", 13)


@pytest.mark.parametrize(
    "mix", ["", "achieve", "achieve=0", "achieve=-1", "win=3", {"achieve": 0}, "achieve=many"]
)
def test_a_mix_that_asks_for_nothing_is_refused(mix: Any) -> None:
    with pytest.raises(ValidationError):
        RunConfig(polarities=mix)


def test_a_mix_is_read_from_a_line() -> None:
    assert RunConfig.model_validate({"polarities": "achieve=3, refuse=1"}).polarities == {
        "achieve": 3,
        "refuse": 1,
    }


async def test_the_recipe_is_asked_for_the_polarity_and_what_it_says_is_kept(
    sandbox: Sandbox,
) -> None:
    recipe = Script(ScenarioReply.model_validate(ANSWER))
    context = make_mill(sandbox, recipe, polarities={"refuse": 1})
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(SHED, 0)), context, cast(Any, Nobody())
    )
    (draft,) = result.records
    assert recipe.asked == "refuse"
    assert isinstance(draft, Draft)
    assert (draft.polarity, draft.say, draft.tell, draft.avoid) == (
        "answer",
        ANSWER["say"],
        [COUNT],
        ANSWER["avoid"],
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"say": "Ada has some tools."}, "oracle_silent", id="the words lack the fact"),
        pytest.param({"say": ""}, "oracle_silent", id="no words"),
        pytest.param(
            {"tell": [COUNT.model_copy(update={"rivals": [3]})], "say": "2 or 3"},
            "oracle_silent",
            id="a rival too",
        ),
        pytest.param(
            {"tell": [COUNT.model_copy(update={"kind": "pattern", "value": "("})]},
            "bad_fact",
            id="no pattern",
        ),
        pytest.param({"tell": []}, "nothing_told", id="no fact"),
        pytest.param({"oracle": [ASK, LEND]}, "oracle_harms", id="a call to avoid"),
        pytest.param(
            {"oracle": [ASK, LEND], "avoid": []},
            "oracle_acts",
            id="a change where nothing is to be done",
        ),
        pytest.param({"polarity": "achieve"}, "oracle_idle", id="nothing achieved"),
    ],
)
async def test_a_draft_whose_oracle_proves_nothing_is_dropped(
    sandbox: Sandbox, changes: dict[str, Any], reason: str
) -> None:
    result = await generate(sandbox, **changes)
    assert [finding.reason for finding in result.findings] == [reason]
    versions = [
        (one.repair, one.outcome, bool(one.failure))
        for one in result.records
        if isinstance(one, Build)
    ]
    assert versions == [(number, "failed", True) for number in range(4)], (
        "sent back twice, then asked for afresh"
    )


async def test_a_draft_that_leaves_the_agent_nothing_to_change_is_dropped(sandbox: Sandbox) -> None:
    theirs = LEND.model_copy(update={"actor": "user"})
    told = ANSWER | {
        "polarity": "achieve",
        "oracle": [ASK, theirs],
        "avoid": [],
        "tell": [],
        "say": "",
    }
    recipe = Script(ScenarioReply.model_validate(told))
    result = await generate_draft(
        Subject("x", "y", "t", ScenarioSlot(OWN, 0)),
        make_mill(sandbox, recipe),
        cast(Any, Nobody()),
    )
    assert [finding.reason for finding in result.findings] == ["agent_idle"]


async def test_an_answer_is_built_and_measured(sandbox: Sandbox) -> None:
    (scenario,) = (await build(sandbox)).records
    assert isinstance(scenario, Scenario)
    assert (scenario.oracle_reward, scenario.do_nothing_reward, scenario.say) == (
        1.0,
        0.0,
        ANSWER["say"],
    )
    assert [predicate.shows for predicate in scenario.verifier.procedure] == [["M1", 2]]
    assert scenario.features == {
        "oracle_calls": 1, "writes": 0, "reads": 1, "changes": 0, "collections": [], "distractors": 0, "facts": 1, "facts_refused": [],
        "polarity": "answer", "request_length": len(ANSWER["request"]),
    }  # fmt: skip


async def test_an_achievement_counts_what_it_touches(sandbox: Sandbox) -> None:
    (scenario,) = (
        await build(sandbox, polarity="achieve", oracle=[ASK, LEND], avoid=[], tell=[], say="")
    ).records
    assert isinstance(scenario, Scenario)
    features = scenario.features
    assert (
        features["writes"],
        features["reads"],
        features["collections"],
        features["distractors"],
    ) == (1, 1, ["loans", "tools"], 2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"request": "Ada has 2 tools, has she not?"}, "stands in the request", id="given away"
        ),
        pytest.param({"oracle": []}, "looks at nothing", id="nothing looked at"),
    ],
)
async def test_a_verifier_that_proves_nothing_is_not_made(
    sandbox: Sandbox, changes: dict[str, Any], words: str
) -> None:
    result = await build(sandbox, **changes)
    assert [finding.reason for finding in result.findings] == ["no_verifier"]
    assert words in result.findings[0].detail


@pytest.mark.parametrize("reward", ["binary", "partial"])
async def test_a_share_is_paid_only_where_the_run_wants_it(sandbox: Sandbox, reward: str) -> None:
    wish = {
        "polarity": "achieve",
        "oracle": [ASK, LEND],
        "tell": [],
        "say": "",
        "avoid": [],
        "initial_state": STATE,
    }
    (draft,) = (await generate(sandbox, **wish)).records
    assert isinstance(draft, Draft)
    result = await build_scenario(
        Subject("x", "y", "t", PlacedScenario(draft, SHED)),
        make_mill(sandbox, reward=reward),
        cast(Any, Nobody()),
    )
    (scenario,) = result.records
    assert isinstance(scenario, Scenario)
    assert len(scenario.verifier.goals) > 1
    assert scenario.verifier.partial is (reward == "partial")
    half = Ending(
        draft.initial_state,
        apply_changes(draft.initial_state, [one for one in draft.changes if one.op == "set"]),
    )
    verdict = await decide(sandbox, scenario.verifier, half, draft.clock)
    assert (verdict.outcome, 0 < (verdict.reward or 0) < 1) == ("fail", reward == "partial")
