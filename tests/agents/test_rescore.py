"""Rollouts judged again from what was stored: the same verdict without running anything, and no
reward where the record does not hold."""

from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.base import Actor, Say, Wait
from envmill.agents.log import StoredCall, StoredWait, read_moves
from envmill.agents.replay import replay_rollout
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.kinds.trial import try_calls
from envmill.sandbox import Observation, Sandbox
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.scenario import CallPattern, Check, Fact, Predicate, Scenario
from tests.specimens import LEND, PROGRAM, STATE, VERIFIER, make_environment, make_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHED = make_environment()
LOOKED = Predicate(
    name="the drill was looked at", op="seen", call=CallPattern(name=""), shows=["T1", "drill"]
)
QUIET = Predicate(name="no reading up", op="forbidden", call=CallPattern(name="get_member"))
TOLD = Fact(name="who has it", kind="text", value="Ada has the drill")
SAID = "Done. Ada has the drill."
PICKY = make_scenario(
    SHED,
    say=SAID,
    verifier=VERIFIER.model_copy(update={
        "procedure": [LOOKED], "facts": [TOLD], "harm": [QUIET],
    }),
)  # fmt: skip


class Moves:
    """Plays what it is given."""

    name = "moves"

    def __init__(self, *moves: Any) -> None:
        self._moves = moves

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:
        self._left = iter(self._moves)
        return self

    def act(self, last: Observation | Say | None) -> Any:
        return next(self._left)


LIST, ADA = Call(name="list_tools"), Call(name="get_member", arguments={"member_id": "M1"})


@pytest.mark.parametrize(
    ("moves", "failing"),
    [
        pytest.param((LIST, LEND, Say(SAID)), set[str](), id="right"),
        pytest.param((LEND, Say(SAID)), {"procedure"}, id="without looking"),
        pytest.param((LIST, LEND, Say("Done.")), {"facts"}, id="without telling"),
        pytest.param((LIST, Say(SAID)), {"goals"}, id="without doing"),
        pytest.param((LIST, ADA, LEND, Say(SAID)), {"harm"}, id="with harm"),
        pytest.param((LIST, Wait(60.0), LEND, Say(SAID)), set[str](), id="with patience"),
        pytest.param(
            (LIST, LEND.model_copy(update={"actor": "stranger"}), LEND, Say(SAID)),
            set[str](),
            id="a call refused",
        ),
    ],
)
async def test_a_stored_rollout_is_judged_again_as_it_was(
    sandbox: Sandbox, moves: Any, failing: set[str]
) -> None:
    rollout = await play_scenario(Moves(*moves), PICKY, SHED, sandbox, "probe", 0)
    assert (
        {row["component"] for row in rollout.evidence}
        == failing
        == {name for name, value in rollout.components.items() if value < 1}
    )
    stored = Rollout.model_validate_json(rollout.model_dump_json())
    again = await rescore(stored, PICKY, SHED, sandbox)
    assert (again.basis, again.changed) == ("changes", False)
    assert (again.verdict.components, again.verdict.evidence) == (
        rollout.components,
        rollout.evidence,
    )
    replayed = await rescore(stored.model_copy(update={"changes": None}), PICKY, SHED, sandbox)
    assert (replayed.basis, replayed.changed) == ("replay", False)


async def test_a_judge_that_changed_its_mind_shows(sandbox: Sandbox) -> None:
    rollout = await play_scenario(find_policy("reference"), PICKY, SHED, sandbox, "probe", 0)
    assert rollout.outcome == "pass"
    sterner = PICKY.model_copy(update={"verifier": PICKY.verifier.model_copy(update={"frame": []})})
    again = await rescore(rollout, sterner, SHED, sandbox)
    assert (again.changed, again.verdict.outcome, again.verdict.reward) == (True, "fail", 0.0)


async def test_generated_checks_are_heard_again_with_what_was_done(sandbox: Sandbox) -> None:
    asked = (
        "[one['name'] for one in rollout['calls']] == ['list_tools', 'lend'] and 'Ada' in "
        "rollout['said'][0]"
    )
    source = f"def check(initial, final, rollout):\n    return {asked}\n"
    heard = Check(name="looked, then lent", op="generated", path=[], source=source)
    scenario = PICKY.model_copy(
        update={"verifier": PICKY.verifier.model_copy(update={"goals": [*VERIFIER.goals, heard]})}
    )
    rollout = await play_scenario(find_policy("reference"), scenario, SHED, sandbox, "probe", 0)
    assert rollout.outcome == "pass", rollout.reason
    assert not (await rescore(rollout, scenario, SHED, sandbox)).changed


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"changes": []}, id="changes lost"),
        pytest.param(
            {"changes": [{"path": ["nowhere", "x"], "op": "remove"}]}, id="changes of another state"
        ),
        pytest.param({"changes": [{"path": "x"}]}, id="no changes"),
        pytest.param({"final_state_hash": "0" * 32}, id="another hash"),
        pytest.param({"changes": None, "final_state_hash": "0" * 32}, id="another hash, replayed"),
    ],
)
async def test_what_cannot_be_had_again_is_an_error_and_never_a_reward(
    sandbox: Sandbox, damage: dict[str, Any]
) -> None:
    rollout = await play_scenario(find_policy("reference"), PICKY, SHED, sandbox, "probe", 0)
    again = await rescore(rollout.model_copy(update=damage), PICKY, SHED, sandbox)
    assert (again.verdict.outcome, again.verdict.reward, again.changed) == ("error", None, True)
    assert again.verdict.reason


async def test_an_environment_that_broke_is_no_verdict_now_either(sandbox: Sandbox) -> None:
    broken = make_environment(PROGRAM.replace('key = new_id("loan")', "key = 1 / 0"))
    scenario = make_scenario(broken)
    rollout = await play_scenario(find_policy("reference"), scenario, broken, sandbox, "probe", 0)
    again = await rescore(rollout, scenario, broken, sandbox)
    assert (rollout.outcome, again.verdict.outcome, again.changed, again.basis) == (
        "error",
        "error",
        False,
        "none",
    )


async def test_weather_actors_and_uses_are_stored_and_replay(sandbox: Sandbox) -> None:
    rough = {
        "profile": [{"kind": "server_error", "rate": 0.9, "statuses": ["503 Service Unavailable"]}],
        "seed": 3,
    }
    stranger = LEND.model_copy(update={"actor": "user"})
    rollout = await play_scenario(
        Moves(LIST, LIST, stranger, LEND, Wait(5.0), Say(SAID)),
        PICKY,
        SHED,
        sandbox,
        "probe",
        0,
        weather=rough,
    )
    moves = list(read_moves(rollout.transcript))
    assert rollout.weather == rough
    assert set(rollout.met) == {"server_error"}
    assert [move.call.actor for move in moves if isinstance(move, StoredCall)] == [
        "agent",
        "agent",
        "user",
        "agent",
    ]
    assert [move.seconds for move in moves if isinstance(move, StoredWait)] == [5.0]
    assert await replay_rollout(rollout, PICKY, SHED, sandbox) is None
    spoilt = rollout.model_copy(update={"weather": None})
    assert await replay_rollout(spoilt, PICKY, SHED, sandbox) is not None
    clear = await play_scenario(find_policy("reference"), PICKY, SHED, sandbox, "probe", 0)
    assert clear.uses == {"clock": 1, "ids": 1}
    assert {tuple(change["path"][:2]) for change in clear.changes or []} >= {("tools", "T1")}


async def test_a_trial_says_what_it_is_told_to_say(sandbox: Sandbox) -> None:
    def tell(replies: Any) -> list[str]:
        return [SAID] if len(replies) == 2 and replies[1].outcome == "ok" else []

    trial = await try_calls(PICKY, SHED, sandbox, PICKY.oracle, tell)
    assert (trial.verdict.outcome, len(trial.seen), len(trial.replies)) == ("pass", 4, 2)
    assert (await try_calls(PICKY, SHED, sandbox, PICKY.oracle)).verdict.outcome == "fail"
    nothing = await try_calls(PICKY, SHED, sandbox, [], [SAID])
    assert (nothing.verdict.outcome, nothing.verdict.reward) == ("fail", 0.0)


@pytest.mark.parametrize(
    ("program", "state", "code"),
    [
        pytest.param(
            PROGRAM.replace('key = new_id("loan")', "import os\n        os._exit(1)"),
            STATE,
            "killed",
            id="ends the process",
        ),
        pytest.param(
            PROGRAM.replace('key = new_id("loan")', "while True: pass"),
            STATE,
            "timeout",
            id="hangs",
        ),
        pytest.param(PROGRAM, {}, "KeyError", id="does not construct"),
    ],
)
async def test_a_breakdown_is_no_verdict_on_a_trial(
    sandbox: Sandbox, program: str, state: Any, code: str
) -> None:
    broken = make_environment(program)
    trial = await try_calls(
        make_scenario(broken, initial_state=state), broken, sandbox, [LIST, LEND]
    )
    assert (trial.verdict.outcome, trial.verdict.reward, trial.ending) == ("error", None, None)
    assert code in trial.verdict.reason


async def test_a_tool_that_crashes_is_a_call_that_did_not_happen(sandbox: Sandbox) -> None:
    broken = make_environment(PROGRAM.replace('key = new_id("loan")', "key = 1 / 0"))
    trial = await try_calls(make_scenario(broken), broken, sandbox, [LIST, LEND])
    assert trial.ending is not None
    assert [deed.outcome for deed in trial.ending.deeds] == ["ok", "failure"]
    assert trial.verdict.outcome == "fail"
