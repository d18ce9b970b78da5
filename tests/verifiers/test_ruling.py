"""Rulings: a judge lowers what is paid within its cap, never raises it, and what is no ruling is an
error and no reward of 0."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.attempts import require_reached
from envmill.agents.base import Actor, Say
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_on
from envmill.agents.setup import RolloutSetup
from envmill.base.errors import Outage
from envmill.gates.base import GateContext
from envmill.gates.calibration import describe, find_objection, open_bench
from envmill.models.base import Completion, Request, Spent
from envmill.models.lint import lint
from envmill.models.parse import ParsedCompletion, parse_completion
from envmill.models.session import ModelSession
from envmill.models.showing import show_request
from envmill.sandbox import Observation, Sandbox
from envmill.verifiers.ruling import CAP, PROMPT, CalibratedJudge, weigh
from offline.opinions import rule_on
from schemas.rollout import Calibration, Rollout, Ruling, Verdict
from schemas.ruling import RulingInput, RulingReply
from schemas.scenario import Scenario
from tests.gates.specimens import pose

in_one_loop = pytest.mark.asyncio(loop_scope="module")

STUDIO = pose()
GOOD = Calibration(wrong=8, false_accepts=0, right=4, false_rejects=0)


class Judge:
    """A door behind which one judge sits; what it says may hang on what it is shown."""

    seed = 1

    def __init__(self, answer: Callable[[RulingInput], str]) -> None:
        self._answer, self.asked = answer, list[Request]()

    def provider_of(self, role: str) -> Any:
        return SimpleNamespace(name="scripted", model=f"{role}-1")

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        self.asked.append(request)
        return parse_completion(
            Completion(self._answer(RulingInput.model_validate(request.inputs))), RulingReply
        )


def say(outcome: str, reason: str = "so it looks") -> Callable[[RulingInput], str]:
    return lambda _: json.dumps({"outcome": outcome, "reason": reason})


def compare(asked: RulingInput) -> str:
    return rule_on(asked).model_dump_json()


def vanish(asked: RulingInput) -> str:
    raise Outage("nobody is there")


def seat(judge: Judge, calibration: Calibration = GOOD) -> CalibratedJudge:
    return CalibratedJudge(
        ModelSession(judge, "scenarios-filter", STUDIO.scenario.id), (), calibration
    )


class Idle:
    """Does nothing and says that all is done."""

    name = "idle"

    def begin(self, scenario: Scenario, environment: Any, seed: int) -> Actor:
        return self

    def act(self, last: Observation | Say | None) -> Say:
        return Say("All of it is done.")


async def play(jail: Sandbox, bench: CalibratedJudge | None, policy: Any = None) -> Rollout:
    ground = RolloutSetup.of(STUDIO.scenario, STUDIO.environment)
    return await play_on(ground, policy or find_policy("reference"), jail, "probe", 0, bench=bench)


def test_the_prompt_uses_what_it_is_given_and_its_example_is_complete() -> None:
    assert lint(PROMPT.text, RulingInput, RulingReply) == []
    assert "{{" not in show_request(PROMPT).messages[0].text
    example = PROMPT.exemplify()
    assert isinstance(example, RulingInput)
    assert rule_on(example).outcome == "complete"
    assert (
        rule_on(example.model_copy(update={"changes": example.changes[:-1]})).outcome
        == "incomplete"
    )


@in_one_loop
async def test_nobody_is_asked_about_an_end_that_the_verifier_fails(jail: Sandbox) -> None:
    judge = Judge(say("complete"))
    rollout = await play(jail, seat(judge), Idle())
    assert (rollout.outcome, rollout.reward, rollout.ruling, judge.asked) == ("fail", 0.0, None, [])


@in_one_loop
@pytest.mark.parametrize(
    ("answer", "ruled", "outcome", "reward"),
    [
        pytest.param(say("complete"), "complete", "pass", 1.0, id="agrees"),
        pytest.param(say("incomplete"), "incomplete", "pass", 1 - CAP, id="objects"),
        pytest.param(say("agent_error"), "agent_error", "pass", 1 - CAP, id="blames the agent"),
        pytest.param(
            say("server_error"), "server_error", "error", None, id="blames the environment"
        ),
        pytest.param(
            lambda _: "I would rather not say.", "unreadable", "error", None, id="unreadable"
        ),
        pytest.param(say("splendid"), "unreadable", "error", None, id="of no known kind"),
        pytest.param(vanish, "unreached", "error", None, id="out of reach"),
    ],
)
async def test_a_ruling_lowers_or_is_an_error(
    jail: Sandbox, answer: Any, ruled: str, outcome: str, reward: float | None
) -> None:
    judge = Judge(answer)
    rollout = await play(jail, seat(judge))
    assert (rollout.outcome, rollout.reward) == (outcome, reward)
    assert rollout.ruling is not None
    assert (rollout.ruling.outcome, rollout.ruling.model, rollout.ruling.weight) == (
        ruled,
        "judge-1",
        CAP,
    )
    assert {request.role for request in judge.asked} == {"judge"}
    assert rollout.components.get("judge") == {
        "complete": 1.0,
        "incomplete": 0.0,
        "agent_error": 0.0,
    }.get(ruled)
    stored = Rollout.model_validate_json(rollout.model_dump_json())
    assert not (await rescore(stored, STUDIO.scenario, STUDIO.environment, jail)).changed


@in_one_loop
async def test_an_outage_of_the_judge_is_tried_again(jail: Sandbox) -> None:
    rollout = await play(jail, seat(Judge(vanish)))
    with pytest.raises(Outage, match="nobody is there"):
        require_reached([rollout])


@pytest.mark.parametrize(
    "outcome",
    ["complete", "incomplete", "server_error", "agent_error", "unreadable", "unreached", "unasked"],
)
@pytest.mark.parametrize(
    ("verdict", "reward"), [("pass", 1.0), ("fail", 0.4), ("fail", 0.0), ("error", None)]
)
def test_no_ruling_raises_anything(outcome: Any, verdict: Any, reward: float | None) -> None:
    before = Verdict(outcome=verdict, reward=reward, components={"goals": 1.0})
    after = weigh(
        before,
        Ruling(
            model="m", prompt_hash="h", outcome=outcome, reason="r", weight=CAP, calibration=GOOD
        ),
    )
    if verdict != "pass":
        assert after == before
    elif after.reward is None:
        assert after.outcome == "error"
    else:
        assert (after.outcome, 1.0 >= after.reward >= 1 - CAP) == ("pass", True)


@in_one_loop
async def test_who_tells_right_from_wrong_has_a_say(jail: Sandbox) -> None:
    judge = Judge(compare)
    bench = await open_bench(
        STUDIO, GateContext(jail), ModelSession(judge, "scenarios-filter", STUDIO.scenario.id)
    )
    counted = bench.calibration
    assert (counted.false_accepts, counted.false_rejects, counted.told, bench.weight) == (
        0,
        0,
        "",
        CAP,
    )
    assert len(judge.asked) == counted.wrong + counted.right
    assert (counted.wrong >= 6, counted.right >= 3) == (True, True)
    evidence = describe(bench).evidence
    assert (evidence["model"], evidence["weight"], evidence["wrong"]) == (
        "judge-1",
        CAP,
        counted.wrong,
    )
    rollout = await play(jail, bench)
    assert (rollout.reward, rollout.components["judge"]) == (1.0, 1.0)


@in_one_loop
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(say("complete"), "wrong ends complete", id="praises everything"),
        pytest.param(say("incomplete"), "right ends complete", id="praises nothing"),
        pytest.param(lambda _: "Hm.", "right ends complete", id="unreadable"),
    ],
)
async def test_who_does_not_has_none_and_is_not_asked(jail: Sandbox, answer: Any, why: str) -> None:
    judge = Judge(answer)
    bench = await open_bench(
        STUDIO, GateContext(jail), ModelSession(judge, "scenarios-filter", STUDIO.scenario.id)
    )
    assert bench.weight == 0.0
    assert why in bench.calibration.told
    before, rollout = len(judge.asked), await play(jail, bench)
    assert len(judge.asked) == before
    assert (rollout.outcome, rollout.reward) == ("pass", 1.0)
    assert rollout.ruling is not None
    assert (rollout.ruling.outcome, rollout.ruling.reason, rollout.ruling.weight) == (
        "unasked",
        bench.calibration.told,
        0.0,
    )
    assert "judge" not in rollout.components


@in_one_loop
async def test_a_judge_out_of_reach_is_not_calibrated(jail: Sandbox) -> None:
    with pytest.raises(Outage, match="calibrated"):
        await open_bench(
            STUDIO,
            GateContext(jail),
            ModelSession(Judge(vanish), "scenarios-filter", STUDIO.scenario.id),
        )


@pytest.mark.parametrize(
    ("wrong", "accepts", "right", "rejects", "told"),
    [
        pytest.param(8, 2, 4, 1, "", id="just good enough"),
        pytest.param(8, 3, 4, 0, "it calls 3 of 8 wrong ends complete", id="too kind"),
        pytest.param(8, 0, 4, 2, "it does not call 2 of 4 right ends complete", id="too harsh"),
        pytest.param(
            3,
            0,
            4,
            0,
            "3 wrong and 4 right ends could be made; 4 and 2 are the fewest that say anything",
            id="few wrong",
        ),
        pytest.param(
            8,
            0,
            1,
            0,
            "8 wrong and 1 right ends could be made; 4 and 2 are the fewest that say anything",
            id="few right",
        ),
    ],
)
def test_when_a_judge_has_no_say(
    wrong: int, accepts: int, right: int, rejects: int, told: str
) -> None:
    assert (
        find_objection(
            Calibration(wrong=wrong, false_accepts=accepts, right=right, false_rejects=rejects)
        )
        == told
    )


@in_one_loop
async def test_a_scenario_without_a_reference_path_has_no_judge(jail: Sandbox) -> None:
    posed = pose(oracle=[])
    judge = Judge(compare)
    bench = await open_bench(
        posed, GateContext(jail), ModelSession(judge, "scenarios-filter", posed.scenario.id)
    )
    assert (bench.weight, bench.calibration.told, judge.asked) == (
        0.0,
        "near misses of this scenario are not known",
        [],
    )
