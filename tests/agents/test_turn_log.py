"""The turn log: what each turn came to, from the stored calls alone, and nothing where they come to
something else."""

from dataclasses import replace
from typing import Any

import pytest

from envmill.agents.base import Actor, Say, Wait
from envmill.agents.rollout import play_scenario
from envmill.agents.turn_log import LoggedTurn, log_machine_turns, log_turns
from envmill.base.errors import BuildError
from envmill.sandbox import Observation, Sandbox
from schemas.environment import Call, Environment
from schemas.rollout import Rollout
from schemas.scenario import Check, Scenario
from tests.specimens import LEND, VERIFIER, make_environment, make_scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHED = make_environment()
GUARDED = VERIFIER.model_copy(
    update={
        "guards": [
            Check(name="Bo stays", op="equals", path=["members", "M2", "name"], value="Bo"),
            Check(name="the saw stays", op="equals", path=["tools", "T2", "free"], value=True),
        ]
    }
)
POSED = make_scenario(SHED, verifier=GUARDED)
LIST = Call(name="list_tools")
SAW = Call(name="lend", arguments={"tool_id": "T2", "member_id": "M1"})
AXE = Call(name="lend", arguments={"tool_id": "T3", "member_id": "M1"})


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


async def play(sandbox: Sandbox, *moves: Any, scenario: Scenario = POSED) -> Rollout:
    made = await play_scenario(Moves(*moves), scenario, SHED, sandbox, "probe", 0)
    return Rollout.model_validate_json(made.model_dump_json())


async def test_each_turn_has_its_state_and_what_it_met_and_broke(sandbox: Sandbox) -> None:
    rollout = await play(sandbox, LIST, AXE, SAW, Wait(60.0), LEND, Say("Done."))
    turns = await log_turns(rollout, POSED, SHED, sandbox)
    assert [one.calls for one in turns] == [["ok"], ["taken"], ["ok"], ["ok"], []]
    assert [one.goals_met for one in turns] == [[], [], [], [0, 1], []]
    assert [one.guards_broken for one in turns] == [[], [], [1], [], []]
    assert {(one.goals_lost, one.guards_mended) == ([], []) for one in turns} == {True}
    hashes = [entry["state_hash"] for entry in rollout.transcript if entry["role"] == "tool"]
    waited = next(e["state_hash"] for e in rollout.transcript if e["role"] == "wait")
    assert [one.state_hash for one in turns] == [
        *hashes[:2],
        waited,
        hashes[3],
        rollout.final_state_hash,
    ]
    assert [one.find_gain(GUARDED) for one in turns] == [0, 0, -0.5, 1.0, 0]


async def test_what_it_names_is_what_the_verdict_finds(sandbox: Sandbox) -> None:
    """The last turn's goals and guards are those of the verdict."""
    for moves in ((LIST, LEND), (SAW, LEND), (LIST,), (LEND, LEND)):
        rollout = await play(sandbox, *moves, Say("Done."))
        turns = await log_turns(rollout, POSED, SHED, sandbox)
        missed = {one["name"] for one in rollout.evidence if one["component"] == "goals"}
        broken = {one["name"] for one in rollout.evidence if one["component"] == "guards"}
        met = {GUARDED.goals[number].name for one in turns for number in one.goals_met or ()}
        assert met == {goal.name for goal in GUARDED.goals} - missed
        assert {
            GUARDED.guards[number].name for one in turns for number in one.guards_broken or ()
        } == broken


@pytest.mark.parametrize(
    ("place", "field", "told"),
    [
        pytest.param(1, "state_hash", "0000", id="another state"),
        pytest.param(1, "content", {"ok": True, "parts": []}, id="another reply"),
    ],
)
async def test_calls_that_come_to_something_else_have_no_log(
    sandbox: Sandbox, place: int, field: str, told: Any
) -> None:
    rollout = await play(sandbox, LIST, LEND, Say("Done."))
    replies = [number for number, entry in enumerate(rollout.transcript) if entry["role"] == "tool"]
    transcript = [dict(entry) for entry in rollout.transcript]
    transcript[replies[place]][field] = told
    with pytest.raises(BuildError, match="differs"):
        await log_turns(rollout.model_copy(update={"transcript": transcript}), POSED, SHED, sandbox)


GENERATED = """
def check(initial: dict, final: dict, rollout: dict) -> bool:
    return {body}
"""


async def test_generated_checks_are_heard_in_the_jail(sandbox: Sandbox) -> None:
    heard = Check(
        name="lent",
        op="generated",
        path=[],
        source=GENERATED.format(body="not final['tools']['T1']['free']"),
    )
    posed = make_scenario(
        SHED, verifier=VERIFIER.model_copy(update={"goals": [*VERIFIER.goals, heard]})
    )
    rollout = await play(sandbox, LIST, LEND, Say("Done."), scenario=posed)
    assert [one.goals_met for one in await log_turns(rollout, posed, SHED, sandbox)] == [
        [],
        [0, 1, 2],
        [],
    ]
    broken = heard.model_copy(update={"source": GENERATED.format(body="final['nothing']")})
    raising = make_scenario(SHED, verifier=VERIFIER.model_copy(update={"goals": [broken]}))
    with pytest.raises(BuildError, match="neither yes nor no"):
        await log_turns(rollout, raising, SHED, sandbox)


async def test_an_attempt_without_a_turn_has_an_empty_log(sandbox: Sandbox) -> None:
    rollout = await play(sandbox, LIST, Say("Done."))
    assert (
        await log_turns(
            rollout.model_copy(update={"transcript": rollout.transcript[:1]}), POSED, SHED, sandbox
        )
        == []
    )


async def test_of_a_machine_the_last_turn_alone_has_a_state(sandbox: Sandbox) -> None:
    """From the record, with nothing played again; the gains add up to those of a log that looked
    after each turn."""
    rollout = await play(sandbox, LIST, AXE, SAW, LEND, Say("Done."))
    recorded = await log_machine_turns(rollout, POSED, SHED, sandbox)
    assert [one.calls for one in recorded] == [["ok"], ["taken"], ["ok"], ["ok"], []]
    unknown = LoggedTurn([], "", None, None, None, None)
    assert [replace(one, calls=[]) for one in recorded[:-1]] == [unknown] * 4
    assert recorded[-1] == LoggedTurn([], rollout.final_state_hash, [0, 1], [], [1], [])
    looked = await log_turns(rollout, POSED, SHED, sandbox)
    gains = [sum(one.find_gain(GUARDED) for one in turns) for turns in (recorded, looked)]
    assert gains == [0.5, 0.5]


async def test_of_a_machine_whose_end_is_unknown_there_is_no_log(sandbox: Sandbox) -> None:
    rollout = await play(sandbox, LIST, LEND, Say("Done."))
    for changes, complaint in ((None, "not known"), ([], "was recorded")):
        with pytest.raises(BuildError, match=complaint):
            await log_machine_turns(
                rollout.model_copy(update={"changes": changes}), POSED, SHED, sandbox
            )
