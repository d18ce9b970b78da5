"""Filter and collect: which attempts are made, which are kept, and which are told apart as
pairs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from envmill.agents.transcript import weigh_messages
from envmill.base.settings import Settings
from envmill.kinds.findings import Finding
from envmill.recipes import RECIPES
from envmill.sandbox import Sandbox
from envmill.stages.collect import choose, collect_trajectories, make_trajectory
from envmill.stages.context import PlacedScenario, Result, RunContext, Subject
from envmill.stages.filter import filter_scenario
from envmill.stages.pairs import pair_rollouts
from schemas.base import Json
from schemas.pair import Pair
from schemas.rollout import Rollout, Trajectory
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.specimens import make_environment, make_scenario

SHED = make_environment()
LEND = make_scenario(SHED, split="validation", features={"oracle_calls": 2})
ASKED = {"role": "user", "content": "Please lend the drill to Ada."}
DONE = {"role": "assistant", "content": "Done."}


def call(name: str, vendor_id: str, code: str = "", **arguments: Any) -> list[Json]:
    """A call with its reply."""
    content = (
        {"ok": False, "error": {"code": code, "message": "No."}}
        if code
        else {"ok": True, "parts": []}
    )
    asked = {"id": vendor_id, "name": name, "arguments": arguments}
    return [
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": vendor_id, "content": content, "state_hash": "h"},
    ]


def make_rollout(number: int, outcome: str, *moves: Json, **changes: Any) -> Rollout:
    fields = {
        "scenario": LEND.id, "environment": SHED.id, "policy": "model", "rollout_group": "probe", "attempt": number, "seed": number,
        "outcome": outcome, "reward": {"pass": 1.0, "fail": 0.0}.get(outcome), "components": {}, "reason": "", "steps": len(moves) // 2,
        "termination": "done", "final_state_hash": "h", "transcript": [ASKED, *moves, DONE],
    }  # fmt: skip
    return Rollout.model_validate(fields | changes)


LOOK, TAKE, WRONG = (
    call("list_tools", "x1"),
    call("lend", "x2", tool="T1"),
    call("lend", "x9", tool="T2"),
)


def pair(*rollouts: Rollout, cap: int = 4) -> list[Pair]:
    return pair_rollouts(rollouts, LEND, SHED, cap)


def test_a_pair_is_cut_where_the_policy_went_another_way() -> None:
    passed, failed = (
        make_rollout(0, "pass", *LOOK, *TAKE),
        make_rollout(1, "fail", *call("list_tools", "other_id"), *WRONG),
    )
    (found,) = pair(passed, failed)
    assert (found.chosen, found.rejected, found.margin, found.split) == (
        passed.id,
        failed.id,
        1.0,
        "validation",
    )
    assert [message["role"] for message in found.shared] == ["user", "assistant", "tool"]
    assert found.better[0]["tool_calls"] == [
        {"id": "call_2", "name": "lend", "arguments": {"tool": "T1"}}
    ]
    assert found.worse[0]["tool_calls"] == [
        {"id": "call_2", "name": "lend", "arguments": {"tool": "T2"}}
    ]
    assert (found.better_loss, found.worse_loss) == ([True, False, True], [True, False, True])
    assert "state_hash" not in str(found.model_dump())


def test_where_a_reply_differs_they_part_before_the_call_that_was_answered() -> None:
    other = [LOOK[0], LOOK[1] | {"content": {"ok": True, "parts": ["late"]}}]
    (found,) = pair(make_rollout(0, "pass", *LOOK, *TAKE), make_rollout(1, "fail", *other, *WRONG))
    assert len(found.shared) == 1


def test_the_shortest_contrast_comes_first_and_no_attempt_stands_in_two() -> None:
    near, far = (
        make_rollout(0, "fail", *LOOK, *WRONG),
        make_rollout(1, "fail", *WRONG, *LOOK, *LOOK),
    )
    passed = [make_rollout(2, "pass", *LOOK, *TAKE), make_rollout(3, "pass", *LOOK, *LOOK, *TAKE)]
    assert [(one.chosen, one.rejected) for one in pair(far, near, *passed)] == [
        (passed[0].id, near.id),
        (passed[1].id, far.id),
    ]
    assert len(pair(far, near, *passed, cap=1)) == 1
    assert pair(far, near, *passed, cap=0) == []


@pytest.mark.parametrize(
    "other",
    [
        make_rollout(1, "error", *LOOK, *WRONG, reward=None, termination="outage"),
        make_rollout(1, "fail", *LOOK, *WRONG, policy="careless"),
        make_rollout(1, "fail", *LOOK, *WRONG, form="conversation"),
        make_rollout(1, "fail", *LOOK, *WRONG, checkpoint="openai:other"),
        make_rollout(1, "fail", transcript=[ASKED, *LOOK]),
        make_rollout(1, "pass", *LOOK, *WRONG),
    ],
    ids=[
        "an outage",
        "another policy",
        "another form",
        "another model",
        "cut off where the other goes on",
        "passed as well",
    ],
)
def test_no_pair_is_made_of(other: Rollout) -> None:
    assert pair(make_rollout(0, "pass", *LOOK, *TAKE), other) == []


def test_of_passes_that_did_the_same_one_is_kept_the_shortest_first() -> None:
    long, short = (
        make_rollout(0, "pass", *LOOK, *LOOK, *TAKE),
        make_rollout(1, "pass", *LOOK, *TAKE),
    )
    reworded = make_rollout(
        2, "pass", *LOOK, *TAKE[:1], TAKE[1] | {"content": {"ok": True, "parts": ["other"]}}
    )
    talked = make_rollout(3, "pass", *LOOK, *TAKE, form="conversation")
    failed = make_rollout(4, "fail")
    assert choose([long, short, reworded, talked, failed], 9) == [short, talked, long]
    assert choose([long, short, reworded, failed], 1) == [short]


def test_what_the_policy_said_is_learnt_but_not_a_turn_that_never_reached_the_program() -> None:
    malformed, refused = call("lend", "x3", "malformed_call"), call("lend", "x4", "taken")
    rollout = make_rollout(0, "pass", *malformed, *refused, *TAKE)
    assert weigh_messages(rollout.transcript) == [
        False,
        False,
        False,
        True,
        False,
        True,
        False,
        True,
    ]
    trajectory = make_trajectory(rollout, LEND, SHED)
    assert (trajectory.split, trajectory.features, trajectory.form) == (
        "validation",
        {"oracle_calls": 2},
        "single",
    )
    assert len(trajectory.loss) == len(trajectory.messages)


async def work(
    step: Any,
    scenario: Scenario,
    sandbox: Sandbox,
    settings: Settings,
    rollouts: tuple[Rollout, ...] = (),
    **config: Any,
) -> Result:
    context = RunContext(
        "r",
        RunConfig.model_validate({"seed": 3} | config),
        settings,
        RECIPES["envscaler"]([]),
        cast(Any, None),
        sandbox,
    )
    placed = PlacedScenario(scenario, SHED, rollouts)
    return await step(Subject(scenario.id, "y", "t", placed), context, cast(Any, None))


async def test_attempts_are_made_as_long_as_they_matter_and_those_of_the_probe_are_used_again(
    sandbox: Sandbox, settings: Settings
) -> None:
    """One jail for the whole way: probes, pairs, rejection, and numbers that go on where the probes
    ended."""
    probed = await work(filter_scenario, LEND, sandbox, settings, probe="careless", attempts=16)
    probes = tuple(one for one in probed.records if isinstance(one, Rollout))
    assert {one.outcome for one in probes} == {"pass", "fail"}
    assert len(probes) in (4, 8), "mixed attempts settle it"
    assert [(one.gate, one.outcome) for one in probed.findings] == [
        ("F3", "kept"), ("S13", "kept"), ("F1", "kept"), ("F2", "not_applicable"),
    ]  # fmt: skip
    always = await work(filter_scenario, LEND, sandbox, settings, probe="reference", attempts=8)
    assert len(always.records) == 8, "it may still fail"
    found = await work(
        collect_trajectories,
        LEND,
        sandbox,
        settings,
        probes,
        probe="careless",
        teacher="careless",
        attempts=16,
        keep=1,
    )
    assert [type(one) for one in found.records] == [Trajectory, Pair], (
        "a probe passed: nothing is played again"
    )
    more = await work(
        collect_trajectories,
        LEND,
        sandbox,
        settings,
        probes,
        probe="careless",
        teacher="careless",
        attempts=16,
        keep=9,
    )
    numbers = [one.attempt for one in more.records if isinstance(one, Rollout)]
    assert numbers == list(range(len(probes), len(probes) + len(numbers)))
    assert len(numbers) >= 4
    other = await work(
        collect_trajectories,
        LEND,
        sandbox,
        settings,
        probes,
        probe="careless",
        teacher="reference",
        keep=1,
    )
    (kept,) = (one for one in other.records if isinstance(one, Trajectory))
    assert kept.policy == "reference"
    same = await work(
        collect_trajectories, LEND, sandbox, settings, teacher="reference", attempts=32, keep=2
    )
    assert len([one for one in same.records if isinstance(one, Rollout)]) == 8, (
        "a round that brought nothing new is the last"
    )
    hopeless = make_scenario(SHED, oracle=[])
    lost = await work(
        collect_trajectories, hopeless, sandbox, settings, teacher="reference", attempts=2
    )
    assert [one.reason for one in lost.findings] == ["no_pass"]
    assert {one.outcome for one in lost.records if isinstance(one, Rollout)} == {"fail"}


async def test_what_is_contaminated_is_not_played(
    sandbox: Sandbox, settings: Settings, tmp_path: Any
) -> None:
    request = (
        "Ada is here for the drill that we promised her on Monday, so please lend it to her and "
        "tell me when that is done."
    )
    (tmp_path / "bench.txt").write_text(request)
    protecting = replace(settings, protected=tmp_path)
    asked = make_scenario(SHED, request=request.replace("Ada", "Bo"))
    found = await work(filter_scenario, asked, sandbox, protecting)
    assert [(one.gate, one.reason) for one in found.findings] == [("F3", "quotation")]
    assert found.records == ()


@pytest.mark.parametrize(
    ("decision", "outcomes"),
    [("yes", ["dropped"]), ("no", ["cleared", "kept", "kept", "not_applicable"])],
)
async def test_a_judge_who_reads_both_texts_decides_whether_a_suspected_task_is_played(
    decision: str,
    outcomes: list[str],
    sandbox: Sandbox,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before any probe is paid for. The finding is F3's; what the judge says is what the readings
    come to."""
    asked: list[str] = []

    async def judge(found: Sequence[Finding], *_: object) -> list[Finding]:
        asked.extend(one.question for one in found)
        return [
            replace(one, outcome="dropped" if decision == "yes" else "cleared") for one in found
        ]

    suspected = Finding("F3", "suspected", "like_task", "alike", question="Is it the same?")
    monkeypatch.setattr("envmill.stages.filter.check_for_contamination", lambda *_, **__: suspected)
    monkeypatch.setattr("envmill.stages.filter.ask_judge", judge)
    found = await work(filter_scenario, LEND, sandbox, settings, probe="reference")
    assert asked == ["Is it the same?"]
    assert [one.outcome for one in found.findings] == outcomes
    assert bool(found.records) == (decision == "no")


async def test_pass_at_makes_all_its_attempts_with_a_policy_that_is_no_script(
    sandbox: Sandbox, settings: Settings
) -> None:
    """Without it probing ends as soon as the attempts that are left could change no label."""
    early = await work(filter_scenario, LEND, sandbox, settings, probe="skilled@0.5", attempts=16)
    assert len(early.records) < 16
    whole = await work(
        filter_scenario, LEND, sandbox, settings, probe="skilled@0.5", attempts=2, pass_at=16
    )
    assert len(whole.records) == 16
    hopeless = make_scenario(SHED, oracle=[])
    never = await work(
        filter_scenario, hopeless, sandbox, settings, probe="skilled@0.9", attempts=2, pass_at=5
    )
    assert ("F1", "unsolved", 5) in [
        (one.gate, one.reason, len(never.records)) for one in never.findings
    ]
    with pytest.raises(ValidationError, match="the probe is a script"):
        RunConfig(pass_at=16)
    assert RunConfig(pass_at=16, policy="openai:strong").probe == "model"
