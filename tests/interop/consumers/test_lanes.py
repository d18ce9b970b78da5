"""Lanes: who runs where, what becomes of a lane whose jail is gone, and that bad neighbours keep
nobody waiting."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest

from envmill.interop.consumers.sessions import (
    JailError,
    JudgeError,
    ScenarioSession,
    SetError,
    open_set,
)
from envmill.interop.consumers.sessions.lanes import QUARANTINE, Lanes
from envmill.interop.consumers.sessions.scenario_set import ScenarioSet
from schemas.scenario import Check
from tests.bench.loop.played import _make_hostile
from tests.interop.consumers.folders import BARE, make_export_set, write_consumer
from tests.soak import count
from tests.specimens import LEND, VERIFIER, make_environment, make_scenario

SORTS = ("spin", "spin", "spin", "hog", "hog", "flood", "flood", "flood")
CHECK = "def check(initial, final):\n    return len(final['loans']) == 1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shed = make_environment()
    goal = Check(name="One loan.", op="generated", path=[], source=CHECK)
    checked = make_scenario(
        shed, verifier=VERIFIER.model_copy(update={"goals": [*VERIFIER.goals, goal]})
    )
    return (
        write_consumer(
            BARE,
            make_export_set([(checked, shed), _make_hostile()]),
            tmp_path_factory.mktemp("out"),
        )
        / BARE.package
    )


@pytest.fixture
def scenarios(folder: Path) -> Iterator[ScenarioSet]:
    with open_set(folder, lanes=2) as opened:
        yield opened


def find(scenarios: ScenarioSet, *, hostile: bool = False) -> str:
    return next(
        row.id
        for row in scenarios.rows
        if any(tool["function"]["name"] == "spin" for tool in row.tools) == hostile
    )


def finish(session: ScenarioSession) -> tuple[str, float | None]:
    session.call(LEND.name, LEND.arguments)
    session.say("Done.")
    judged = session.judge()
    return judged.outcome, judged.reward


def test_sessions_are_spread_and_a_slow_environment_has_a_lane_of_its_own_for_a_while() -> None:
    now = [0.0]
    lanes = Lanes(2, lambda: now[0])
    taken = [lanes.take("env_a") for _ in range(4)]
    assert [taken.count(lane) for lane in lanes.shared] == [2, 2]
    lanes.quarantine("env_a")
    assert lanes.take("env_a") is lanes.patient
    assert lanes.take("env_b") in lanes.shared
    assert lanes.quarantined == ["env_a"]
    now[0] = QUARANTINE + 1
    assert lanes.take("env_a") in lanes.shared
    assert lanes.quarantined == []


def test_one_lane_has_no_patient_one() -> None:
    lanes = Lanes()
    lanes.quarantine("env_a")
    assert (lanes.patient, lanes.take("env_a")) == (None, lanes.shared[0])


def test_a_lane_that_failed_is_closed_when_its_last_session_has_ended(
    scenarios: ScenarioSet,
) -> None:
    session = scenarios.begin(find(scenarios))
    lane = session.lane
    lane.engine.jail.close()
    with pytest.raises(JailError):
        session.call(LEND.name, LEND.arguments)
    assert lane not in scenarios.lanes.shared
    assert (len(scenarios.lanes.shared), scenarios.lanes.replaced, lane.live) == (2, 1, 1)
    session.close()
    session.close()
    assert (lane.live, scenarios.lanes._leaving) == (0, [])


@pytest.mark.soak(area="consumers")
@pytest.mark.parametrize("place", range(count(1, 20)))
def test_a_killed_jail_costs_its_own_sessions_alone(scenarios: ScenarioSet, place: int) -> None:
    sessions = [scenarios.begin(find(scenarios)) for _ in range(6)]
    lost = sessions[place % len(sessions)].lane
    os.kill(lost.engine.jail._process.pid, signal.SIGKILL)
    told = []
    for session in sessions:
        try:
            told.append(finish(session))
        except JailError:
            told.append(("outage", None))
    assert told == [
        ("outage", None) if session.lane is lost else ("pass", 1.0) for session in sessions
    ]
    assert {told.count(one) for one in set(told)} == {3}
    with scenarios.begin(find(scenarios)) as session:
        assert finish(session) == ("pass", 1.0)


def test_generated_checks_run_apart_from_tools(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios)) as session:
        assert finish(session) == ("pass", 1.0)
        assert session.lane.engine.checking is not session.lane.engine.jail


def test_a_judge_answers_a_process_of_many_descriptors(scenarios: ScenarioSet) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with scenarios.begin(find(scenarios)) as session:
            assert finish(session) == ("pass", 1.0)
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_an_endless_tool_keeps_nobody_waiting_twice(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios, hostile=True)) as session:
        session.call("spin", {})
        assert session.broken
        assert session.judge().outcome == "error"
    assert scenarios.lanes.quarantined == [session.row.environment]
    with (
        scenarios.begin(find(scenarios, hostile=True)) as slow,
        scenarios.begin(find(scenarios)) as quick,
    ):
        assert slow.lane is scenarios.lanes.patient
        with slow.lane.turn:  # as an endless call holds it
            assert finish(quick) == ("pass", 1.0)


@pytest.mark.long
@pytest.mark.soak(area="consumers")
def test_eight_hostile_of_sixteen_change_no_verdict(scenarios: ScenarioSet) -> None:
    """Endless loops, all the memory and the longest replies beside eight who do their work."""
    over, hostile = Event(), find(scenarios, hostile=True)

    def attack(tool: str) -> int:
        sessions = 0
        while not over.is_set():
            with suppress(JailError, JudgeError), scenarios.begin(hostile) as one:
                sessions += 1
                while not (over.is_set() or one.ended or one.broken):
                    one.call(tool, {})
        return sessions

    def work(place: int) -> list[tuple[str, float | None]]:
        told = []
        for number in range(count(2, 40)):
            with scenarios.begin(find(scenarios)) as session:
                if (place + number) % 2:
                    session.say("Done.")
                    judged = session.judge()
                    told.append((judged.outcome, judged.reward))
                else:
                    told.append(finish(session))
        return told

    with ThreadPoolExecutor(16) as pool:
        attacks = [pool.submit(attack, tool) for tool in SORTS]
        try:
            honest = [one.result() for one in [pool.submit(work, place) for place in range(8)]]
        finally:
            over.set()
        assert all(one.result() for one in attacks), "every attacker played"
    for place, told in enumerate(honest):
        expected = [
            ("fail", 0.0) if (place + number) % 2 else ("pass", 1.0) for number in range(len(told))
        ]
        assert told == expected


def test_a_refused_call_is_no_reason_to_leave_the_shared_lanes(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios)) as session:
        session.call("lend", {"tool_id": "T9", "member_id": "M1"})
        session.call("no_such_tool", {})
        assert not session.broken
    assert scenarios.lanes.quarantined == []


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("turns", range(5))
def test_a_branch_goes_on_as_the_session_did(scenarios: ScenarioSet, turns: int) -> None:
    moves = [
        ("list_tools", {}),
        ("lend", "{"),
        ("lend", {"tool_id": "T2", "member_id": "M1"}),
        (LEND.name, LEND.arguments),
    ]
    with scenarios.begin(find(scenarios), 11) as session:
        replies = [session.call(*move) for move in moves]
        with scenarios.branch(session.turns[:turns], session.row.id, session.seed) as branch:
            assert [branch.call(*move) for move in moves[turns:]] == replies[turns:]
            assert branch.turns == session.turns
            assert branch.judge() == session.judge()


def test_the_log_of_a_session_says_what_each_turn_came_to(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios), 11) as session:
        session.call("list_tools", {})
        session.call("lend", "{")
        session.call("lend", {"tool_id": "T3", "member_id": "M1"})
        session.call(LEND.name, LEND.arguments)
        session.say("Done.")
        hashes = [turn.state_hash for turn in session.turns]
        verdict = session.judge()
        told = scenarios.log_turns(session.turns, session.row.id, session.seed)
        assert told is not None
        assert session.judge() == verdict, "the session itself goes on as it was"
    assert verdict.outcome == "pass"
    assert [one["outcome"] for one in told] == ["ok", "malformed_call", "taken", "ok", ""]
    assert [one["state_hash"] for one in told] == hashes
    assert [one["goals_met"] for one in told] == [[], [], [], [0, 1, 2], []]
    assert not [name for one in told for name in ("goals_lost", "guards_broken") if one[name]]
    assert sum(lane.live for lane in scenarios.lanes.shared) == 0


def test_a_log_of_turns_that_come_elsewhere_is_none(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios), 11) as session:
        session.call(LEND.name, LEND.arguments)
        assert scenarios.log_turns(session.turns, session.row.id, session.seed + 1) is None


def test_a_branch_that_comes_elsewhere_is_refused(scenarios: ScenarioSet) -> None:
    with scenarios.begin(find(scenarios), 11) as session:
        session.call(LEND.name, LEND.arguments)
        with pytest.raises(SetError, match="Turn 1 came to something else"):
            scenarios.branch(session.turns, session.row.id, session.seed + 1)
        assert sum(lane.live for lane in scenarios.lanes.shared) == 1


def test_a_warm_set_has_every_lane_started_and_no_session(scenarios: ScenarioSet) -> None:
    scenarios.warm()
    assert all(
        {"jail", "court", "checking"} <= vars(lane.engine).keys() for lane in scenarios.lanes.shared
    )
    assert [lane.live for lane in scenarios.lanes.shared] == [0, 0]


def test_a_group_begins_in_one_state(scenarios: ScenarioSet) -> None:
    begun = [scenarios.begin(find(scenarios)) for _ in range(8)]
    assert len({session.state_hash for session in begun}) == 1
    assert {session.lane for session in begun} == set(scenarios.lanes.shared)
    for session in begun:
        session.close()
