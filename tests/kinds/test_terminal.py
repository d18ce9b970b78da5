"""A terminal's state is what the judge found, its verifier is declarative, and an agent is told
what a shell tells."""

from typing import Any

import pytest

from envmill.agents.reference import ReferencePolicy
from envmill.agents.rescore import rescore
from envmill.agents.rollout import play_scenario
from envmill.agents.turn_log import log_machine_turns
from envmill.base.errors import BuildError, SandboxError
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, GateContext, ScenarioCase
from envmill.kinds.start import start
from envmill.kinds.terminal import compose_checks, derive_tables, find_recipe_faults
from envmill.kinds.terminal.gates import LOOKS
from envmill.kinds.terminal.gates.mended import FORGERS
from envmill.kinds.terminal.gates.plays import list_decisive
from envmill.kinds.trial import try_calls
from envmill.sandbox import (
    Advance,
    Invoke,
    Look,
    Observation,
    Program,
    Reset,
    Restore,
    Sandbox,
    Snapshot,
)
from envmill.sandbox.machines.files import MACHINE, read_machine
from envmill.sandbox.machines.machine import check_health
from schemas.rollout import Rollout
from tests.kinds.terminals import break_system, call, make_environment, make_scenario
from tests.soak import count

SHARE = make_environment()
BROKEN = make_scenario(SHARE, break_system(), {"posts"})


def test_a_machine_is_the_same_after_it_was_written_and_read() -> None:
    again = read_machine(SHARE.files)
    assert again.system.model_dump(mode="json") == read_machine(
        make_environment().files
    ).system.model_dump(mode="json")
    assert "/usr/local/sbin/services" in again.files
    assert derive_tables(SHARE.files, {}) == []


@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({}, "machine.json", id="empty"),
        pytest.param({MACHINE: "{}", "check.py": ""}, "describes no system", id="no-system"),
        pytest.param(
            {name: text for name, text in SHARE.files.items() if name != "Dockerfile"},
            "image recipe",
            id="no-recipe",
        ),
        pytest.param(SHARE.files | {"Dockerfile": "FROM a\nADD x /"}, "ADD", id="recipe"),
    ],
)
def test_files_that_are_no_machine_are_refused(files: dict[str, str], says: str) -> None:
    with pytest.raises(BuildError, match=says):
        derive_tables(files, {})


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("RUN --mount=type=cache,target=/x true", id="mount"),
        pytest.param("COPY <<END /x", id="heredoc"),
        pytest.param("# syntax=docker/dockerfile:1", id="syntax"),
        pytest.param("RUN apt-get install -y nginx", id="fetches"),
        pytest.param("COPY check.py /srv/", id="tells-the-check"),
        pytest.param("FROM other", id="two-bases"),
        pytest.param("ONBUILD RUN true", id="strange"),
    ],
)
def test_a_recipe_that_not_every_builder_reads_is_refused(line: str) -> None:
    assert list(find_recipe_faults(f"FROM envmill/base:1\nRUN true\n{line}\n"))
    assert not list(find_recipe_faults("FROM envmill/base:1\n# why\nRUN true && \\\n  false\n"))


def test_what_is_ill_is_a_goal_and_what_is_well_a_guard() -> None:
    verifier = compose_checks(BROKEN.initial_state)
    health = {tuple(goal.path) for goal in verifier.goals if goal.path[0] == "health"}
    assert health == {("health", "posts")}
    assert ["health", "plans"] in [guard.path for guard in verifier.guards]
    assert len([goal for goal in verifier.goals if goal.path[0] == "lasting"]) == 6


@pytest.mark.asyncio(loop_scope="module")
async def test_a_shell_stays_and_every_end_of_a_command_has_a_name(terminals: Sandbox) -> None:
    commands = [
        call("cd /tmp; word=kept; cat /usr/local/bin/survey-post | head -1"),
        call("echo $PWD $word; false"),
        call("exit 3"),
        call("sleep 60", seconds=1),
        call("yes | head -c 100000"),
        call("a\0b"),
        call(""),
    ]
    trial = await try_calls(BROKEN, SHARE, terminals, commands)
    first, second, ended, slow, much, nul, empty = trial.replies
    assert _tell(second) == {"exit_code": 1, "output": "/tmp kept\n"}, first
    assert (_tell(ended)["exit_code"], _tell(slow)["exit_code"]) == (3, None)
    assert "new one" in _tell(ended)["note"]
    assert "bytes left out" in _tell(much)["output"]
    assert [nul.code, empty.code] == ["invalid_arguments"] * 2
    assert (trial.verdict.outcome, trial.verdict.reward) == ("fail", 0.0)
    assert trial.ending is not None
    assert trial.ending.final == BROKEN.initial_state


@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_mends_is_paid_and_what_else_was_touched_is_seen(terminals: Sandbox) -> None:
    program = Program.of(SHARE)
    async with terminals.session(program) as session:
        await session.step(start(BROKEN))
        (kept,) = (await session.step(Snapshot())).parts
        touched = await session.play(
            [Invoke(call("chmod 777 /etc/shadow")), *map(Invoke, BROKEN.oracle), Look()]
        )
        restored = await session.play(
            [Restore(kept["value"]), Invoke(call("stat -c %a /etc/shadow")), Advance(5), Look()]
        )
        strange = await session.step(Restore({"layer": "layer-9"}))
    assert touched[-1].state is not None
    assert touched[-1].state["outside"] == {"/etc/shadow": True}
    assert _tell(restored[1])["output"] == "640\n"
    assert [restored[2].outcome, strange.code] == ["rejection", "unknown_snapshot"]
    assert restored[-1].state == BROKEN.initial_state
    rollout = await play_scenario(ReferencePolicy(), BROKEN, SHARE, terminals, "probe", 0)
    assert (rollout.outcome, rollout.reward, rollout.reason) == ("pass", 1.0, "")
    stored = Rollout.model_validate_json(rollout.model_dump_json())
    judged = await rescore(stored, BROKEN, SHARE, terminals)
    assert (judged.basis, judged.verdict.outcome, judged.changed) == ("changes", "pass", False)
    *_, last = await log_machine_turns(stored, BROKEN, SHARE, terminals)
    assert last.state_hash == rollout.final_state_hash
    assert (last.goals_met, last.guards_broken) == (
        [number for number, _ in enumerate(BROKEN.verifier.goals)],
        [],
    )


@pytest.mark.soak(area="terminal")
@pytest.mark.asyncio(loop_scope="module")
async def test_whoever_looks_briefly_sees_who_loses_and_nobody_else(terminals: Sandbox) -> None:
    """What such a look leaves out is told as unasked, or was not looked for."""
    (step,) = (each.arguments["command"] for each in BROKEN.oracle)
    until = list_decisive(BROKEN.verifier)
    assert until == (("outside",), ("health", "posts"))
    plays = [
        ("true",),
        (step, "echo x >>/srv/survey/README"),
        (step,),
        ("rm /etc/issue",),
        *((each,) for each in FORGERS.values()),
    ]
    for commands in plays[: count(4, len(plays))]:
        calls = list(map(call, commands))
        brief, whole = [
            await try_calls(BROKEN, SHARE, terminals, calls, look=Look(each))
            for each in (until, ())
        ]
        assert (brief.verdict.outcome, brief.verdict.reward) == (
            whole.verdict.outcome,
            whole.verdict.reward,
        ), commands
        assert brief.ending is not None
        assert whole.ending is not None
        said = [
            (brief.ending.final["health"][name], whole.ending.final["health"][name])
            for name in BROKEN.initial_state["health"]
        ]
        assert all(one in ("unasked", other) for one, other in said)
        assert brief.verdict.outcome == "fail" or brief.ending.final == whole.ending.final


@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_equal_machine_showed_is_not_asked_again(
    terminals: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever could make it another one has it asked: a time, an attribute, a process, a file in
    memory or where anything may change."""
    asked: list[str] = []

    async def count_checks(*given: Any, **more: Any) -> dict[str, str]:
        asked.append("")
        return await check_health(*given, **more)

    monkeypatch.setattr("envmill.sandbox.machines.baseline.check_health", count_checks)

    async def look(command: str, *, known: bool = True) -> tuple[int, Any]:
        asked.clear()
        trial = await try_calls(BROKEN, SHARE, terminals, [call(command)], look=Look(known=known))
        assert trial.ending is not None
        return len(asked), trial.ending.final

    assert await look("true", known=False) == (1, BROKEN.initial_state)
    assert await look("cat /srv/survey/README; cd /tmp; kill $$") == (0, BROKEN.initial_state)
    assert await look("true", known=False) == (1, BROKEN.initial_state)
    others = [
        "echo >/tmp/x",
        "touch -d @1 /srv/survey/README",
        "sleep 100 &",
        "echo >/run/x",
        "echo >/root/x",
    ]
    others += [
        'python3 -c \'import os; os.setxattr("/srv/survey/README", "user.x", b"1")\' || echo '
        ">/tmp/x"
    ]
    for command in others[: count(3, len(others))]:
        assert await look(command) == (1, BROKEN.initial_state), command


def test_nothing_is_left_out_where_a_part_of_the_rest_would_be_paid() -> None:
    assert list_decisive(BROKEN.verifier.model_copy(update={"partial": True})) == ()
    fewer = [guard for guard in BROKEN.verifier.guards if guard.path != ["outside"]]
    assert list_decisive(BROKEN.verifier.model_copy(update={"guards": fewer})) == (
        ("health", "posts"),
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_a_machine_that_broke_is_an_error_and_never_a_reward(
    terminals: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise SandboxError("The container is gone.")

    monkeypatch.setattr("envmill.sandbox.machines.terminal.examine", fail)
    trial = await try_calls(BROKEN, SHARE, terminals, [])
    assert (trial.verdict.outcome, trial.verdict.reward) == ("error", None)
    assert trial.seen[-1].code == "session_lost"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_state_that_cannot_be_begun_says_so(terminals: Sandbox) -> None:
    begins = [
        Reset({}, BROKEN.clock, 0),
        Reset({**BROKEN.initial_state, "breaks": ["exit 7"]}, BROKEN.clock, 0),
        Look(),
    ]
    healthy, *begun = await terminals.play(Program.of(SHARE), begins)
    assert (healthy.outcome, begun[1].code) == ("ok", "no_session")
    assert (begun[0].outcome, begun[0].code) == ("failure", "does_not_construct")
    assert "ends with 7" in begun[0].message
    stormy = await terminals.play(
        Program.of(SHARE), [Reset({}, BROKEN.clock, 0, {"profile": "rough", "seed": 0})]
    )
    assert "no weather profile" in stormy[0].message
    await terminals.inspect(Program.of(SHARE))


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(count(0, 1) == 0, reason="every gate on real machines: make soak AREA=terminal")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", sorted(LOOKS))
async def test_a_real_machine_passes(terminals: Sandbox, name: str) -> None:
    other = make_scenario(SHARE, break_system(operator="wrong_mode"), {"plans"})
    subject = EnvironmentCase(SHARE) if name[0] == "W" else ScenarioCase(BROKEN, SHARE, (other,))
    finding = await GATES[name].check(subject, GateContext(terminals))
    assert (finding.outcome, finding.detail) == ("kept", "")


def _tell(reply: Observation) -> dict[str, Any]:
    (part,) = reply.parts
    return part["value"]
