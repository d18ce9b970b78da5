"""`play` and `replay` on a lake that holds the shed, its scenario and a rollout that was really
played."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from envmill.agents import find_policy
from envmill.agents.log import read_moves
from envmill.agents.rollout import play_scenario
from envmill.base.errors import SettingsError
from envmill.kinds import open_sandbox
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from flows.cli import make_app
from flows.cli.desk import HELP
from flows.local.home import Home
from schemas.base import Record
from schemas.ledger import Attrition
from schemas.quality import Reverification
from schemas.rollout import Rollout
from schemas.scenario import CallPattern, Fact, Predicate
from tests.cli.conftest import start_run
from tests.kinds.terminals import make_environment as make_machine
from tests.samples import load_sample
from tests.specimens import PROGRAM, STATE, make_environment, make_scenario, make_tests

SHED = make_environment()
LEND = make_scenario(SHED)


async def roll(home: Home) -> Rollout:
    async with open_sandbox(home.settings) as sandbox:
        return await play_scenario(find_policy("reference"), LEND, SHED, sandbox, "probe", 0)


def keep(home: Home, *rows: Record) -> None:
    """One run, published through the lake's own door."""
    start_run(home, "r1")
    place: Any = {
        "lap": "scenarios",
        "stage": "collect",
        "gate": "exit",
        "subject": "x",
        "parent": "",
        "try_number": 1,
        "evidence": "",
    }
    told: Any = {
        "outcome": "kept",
        "reason": "",
        "detail": "",
        "children": 1,
        "theme": "t",
        "tokens": 0,
        "cost": 0.0,
    }
    row = Attrition.model_validate(place | told | {"recipe": "envscaler", "seconds": 0.1})
    stamp = Stamp("r1", "scenarios-collect", "f" * 20, 0, 1, "0", "2026-11-21T00:00:00+00:00")
    assert Lake(home.settings.lake).publish(rows, [row], stamp)


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> Rollout:
    folder = tmp_path_factory.mktemp("home")
    return asyncio.run(
        roll(
            Home.read(
                {
                    "ENVMILL_HOME": str(folder),
                    "ENVMILL_LAKE": str(folder / "lake"),
                    "ENVMILL_PORT": "0",
                }
            )
        )
    )


@pytest.fixture
def full(home: Home, rolled: Rollout) -> Home:
    keep(home, SHED, *make_tests(SHED), LEND, rolled)
    return home


def invoke(home: Home, *arguments: str, lines: tuple[str, ...] = ()) -> Result:
    environ = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_PORT": "0",
    }
    result = CliRunner().invoke(
        make_app(arguments), arguments, env=environ, input="\n".join(lines) + "\n"
    )
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def said(home: Home, *arguments: str, lines: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in invoke(home, *arguments, "--json", lines=lines).stdout.splitlines()
    ]


def test_a_scenario_is_played_undone_and_scored(full: Home) -> None:
    opened, before, lent, after, undone, again = said(
        full,
        "play",
        LEND.id,
        lines=("score", "lend tool_id=T1 member_id=M1", "score", "undo", "score"),
    )
    assert opened["request"] == LEND.request
    assert [one["verdict"]["outcome"] for one in (before, after, again)] == ["fail", "pass", "fail"]
    assert {".".join(change["path"][:2]) for change in lent["changes"]} == {
        "tools.T1",
        f"loans.{lent['parts'][0]['value']['loan']}",
    }
    assert [change["op"] for change in undone["changes"]] == ["remove", "set"]


def test_what_was_undone_comes_back_with_the_same_id(full: Home) -> None:
    seen = said(
        full,
        "play",
        SHED.id,
        lines=(
            "lend tool_id=T1 member_id=M1",
            "undo",
            'lend {"tool_id": "T1", "member_id": "M1"}',
            "diff",
        ),
    )
    assert seen[1]["parts"] == seen[3]["parts"]
    assert seen[1]["changes"] == seen[3]["changes"] == seen[4]["changes"] != []


def test_for_people_changes_are_lines(full: Home) -> None:
    told = invoke(
        full,
        "play",
        SHED.id,
        lines=(
            "# a note",
            "",
            "get_member member_id=M1",
            "lend tool_id=T1 member_id=M1",
            "quit",
            "never read",
        ),
    )
    assert told.exit_code == 0
    assert '"name": "Ada"' in told.stdout
    assert "(nothing changed)" in told.stdout
    assert "~ tools.T1.free true -> false" in told.stdout
    assert "never read" not in told.stdout


WRONG = {
    "lend tool_id=T3 member_id=M1": ("rejection", "lent already"),
    "lend tool_id=T1": ("rejection", "lacks the required"),
    "steal": ("rejection", "no tool 'steal'"),
    "as stranger list_tools": ("rejection", "no actor 'stranger'"),
    "advance -5": ("rejection", "no time to advance by"),
    "blob 00 x": ("rejection", "no blob"),
    "lend T1": ("misunderstood", "no name=value"),
    "lend {": ("misunderstood", "no JSON"),
    "lend 'T1": ("misunderstood", "quotation"),
    "undo 99": ("misunderstood", "can be taken back"),
    "score": ("misunderstood", "choose a scenario"),
    "advance soon": ("misunderstood", "number of seconds"),
    "scenario x": ("misunderstood", "0 scenarios"),
    "weather hail": ("misunderstood", "known: clear, rough"),
    "about x": ("misunderstood", "takes one of"),
}


def test_what_cannot_be_done_is_said_and_changes_nothing(full: Home) -> None:
    _, *told, state = said(full, "play", SHED.id, lines=(*WRONG, "state"))
    for (line, (outcome, words)), result in zip(WRONG.items(), told, strict=True):
        assert (result["ok"], result["outcome"]) == (False, outcome), line
        assert words in result["message"]
    assert state["state"] == STATE


def test_only_a_line_that_is_not_understood_is_a_failure(full: Home) -> None:
    assert invoke(full, "play", SHED.id, lines=("lend tool_id=T3 member_id=M1",)).exit_code == 0
    assert invoke(full, "play", SHED.id, lines=("lend T1",)).exit_code == 1


def test_a_machine_that_is_not_there_is_said_and_no_command_claims_that_nothing_changed(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = tmp_path / "share.json"
    held.write_text(make_machine().model_dump_json())
    monkeypatch.setenv("ENVMILL_IMAGES", str(tmp_path / "none"))
    told = invoke(home, "play", str(held), lines=("shell command=true", "shell"))
    assert told.exit_code == 1
    assert "`envmill base` makes it" in told.stdout
    assert "(nothing changed)" not in told.stdout


def test_actors_time_weather_and_blobs_of_a_file(home: Home, tmp_path: Path) -> None:
    sample = load_sample("clinic")
    clinic = make_environment(
        sample.program.files["program.py"], entry="program:Clinic", tools=sample.program.tools
    )
    held, start = tmp_path / "clinic.json", tmp_path / "state.json"
    held.write_text(clinic.model_dump_json())
    start.write_text(json.dumps(sample.state))
    lines = (
        "as supervisor waive_fee fee_id=fee_b because='good will'", "as user waive_fee fee_id=fee_a because=x",
        "advance 7200", "tools supervisor",
        "weather rough 3", "tools", "reset 5", "scenarios", "help", "about book",
    )  # fmt: skip
    _, waived, refused, passed, supervised, _, rough, _, none, helped, about = said(
        home, "play", str(held), "--state", str(start), lines=lines
    )
    assert [change["after"] for change in waived["changes"]] == ["waived: good will"]
    assert refused["code"] == "not_allowed"
    assert passed["notifications"][0]["text"].startswith("Booking bkg_old2 has lapsed")
    assert [row["name"] for row in supervised["tools"]] == ["waive_fee"]
    assert "ping" in {row["name"] for row in rough["tools"]}
    assert none["scenarios"] == []
    assert helped["help"] == HELP
    assert about["tool"]["actors"] == ["agent", "user"]


def test_undo_brings_a_session_back_from_the_dead(home: Home, tmp_path: Path) -> None:
    source = PROGRAM.replace(
        "        return dict(self.members[member_id])", "        import os\n        os._exit(1)"
    )
    held, start = tmp_path / "shed.json", tmp_path / "state.json"
    held.write_text(make_environment(source).model_dump_json())
    start.write_text(json.dumps(STATE))
    lines = (
        "lend tool_id=T1 member_id=M1",
        "get_member member_id=M1",
        "list_tools",
        "undo 2",
        "list_tools",
    )
    _, lent, died, lost, undone, listed = said(
        home, "play", str(held), "--state", str(start), lines=lines
    )
    assert [one["ok"] for one in (lent, died, lost, undone, listed)] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert (died["code"], lost["code"]) == ("killed", "session_lost")
    assert [row["free"] for row in listed["parts"][0]["value"]] == [False, True, False]


def test_a_rollout_replays(full: Home, rolled: Rollout) -> None:
    assert len(list(read_moves(rolled.transcript))) == 2
    told = invoke(full, "replay", rolled.id)
    assert (told.exit_code, told.stdout.split()[:3]) == (0, ["identical:", "2", "moves"])


def spoil(rolled: Rollout, place: int, **changes: Any) -> Rollout:
    transcript = list(rolled.transcript)
    tools = [number for number, entry in enumerate(transcript) if entry["role"] == "tool"]
    transcript[tools[place]] = transcript[tools[place]] | changes
    return rolled.model_copy(update={"transcript": transcript})


def test_a_rollout_that_was_changed_or_came_of_other_code_is_told(
    home: Home, rolled: Rollout
) -> None:
    other = spoil(
        rolled, 1, content={"ok": True, "parts": [{"type": "json", "value": {"loan": "loan_0"}}]}
    )
    keep(home, SHED, LEND, other)
    told = invoke(home, "replay", rolled.id)
    assert told.exit_code == 1
    assert (
        "different: step 2, lend.reply.parts.0.value.loan: recorded 'loan_0', now 'loan_"
        in told.stdout
    )


def test_a_hash_that_differs_is_told(home: Home, rolled: Rollout) -> None:
    end = rolled.model_copy(update={"final_state_hash": "0" * 32})
    keep(home, SHED, LEND, end)
    assert "different: step 3, final_state_hash" in invoke(home, "replay", rolled.id).stdout


def test_what_cannot_be_played_is_named(full: Home, rolled: Rollout, tmp_path: Path) -> None:
    broken = tmp_path / "x.json"
    broken.write_text("{}")
    for arguments, words in (
        (("play", rolled.id), "is a row of rollouts"),
        (("replay", SHED.id), "is a row of environments"),
        (("play", str(broken)), "holds no environment"),
        (("play", SHED.id, "--state", str(tmp_path / "none")), "holds no JSON"),
    ):
        with pytest.raises(SettingsError, match=words):
            invoke(full, *arguments)


def test_what_was_done_and_said_is_scored_too(home: Home, rolled: Rollout) -> None:
    looked = Predicate(name="somebody looked", op="required", call=CallPattern(name="list_tools"))
    told = Fact(name="who", kind="text", value="Ada has it")
    picky = make_scenario(
        SHED, verifier=LEND.verifier.model_copy(update={"procedure": [looked], "facts": [told]})
    )
    keep(home, SHED, *make_tests(SHED), picky)
    lines = (
        "list_tools",
        "lend tool_id=T1 member_id=M1",
        "score",
        "score Now Ada has it",
        "undo 2",
        "lend tool_id=T1 member_id=M1",
        "score Ada has it",
    )
    *_, silent, spoken, _, _, unlooked = said(home, "play", picky.id, lines=lines)
    assert [row["component"] for row in silent["verdict"]["evidence"]] == ["facts"]
    assert spoken["verdict"]["outcome"] == "pass"
    assert [row["component"] for row in unlooked["verdict"]["evidence"]] == ["procedure"]


def test_rollouts_are_rescored_and_the_verdicts_kept(full: Home, rolled: Rollout) -> None:
    told = invoke(full, "rescore", rolled.id[:12])
    assert (told.exit_code, told.stdout) == (
        0,
        "1 rollouts of r1 judged again: 1 pass; 0 otherwise than before\n",
    )
    (row,) = [
        json.loads(line) for line in invoke(full, "rescore", "r1", "--json").stdout.splitlines()
    ]
    assert (row["rollout"], row["changed"], row["basis"], row["now"]["reward"]) == (
        rolled.id,
        False,
        "changes",
        1.0,
    )
    kept = Lake(full.settings.lake).read(Reverification, "r1")
    assert [(one.subject, one.outcome, one.outcome_before, one.basis) for one in kept] == [
        (rolled.id, "pass", "pass", "changes")
    ] * 2


def test_a_rollout_that_is_judged_otherwise_is_named(home: Home, rolled: Rollout) -> None:
    lied = rolled.model_copy(update={"outcome": "fail", "reward": 0.0})
    lost = rolled.model_copy(update={"id": "", "attempt": 1, "changes": []})
    keep(home, SHED, *make_tests(SHED), LEND, lied, Rollout.model_validate(lost.model_dump()))
    told = invoke(home, "rescore", "r1")
    assert told.exit_code == 1
    assert f"{rolled.id}: fail 0 -> pass 1" in told.stdout
    assert "pass 1 -> error  The stored changes lead to state" in told.stdout
    assert told.stdout.endswith("2 otherwise than before\n")


def test_rescore_of_what_is_not_there_says_what_is(full: Home) -> None:
    with pytest.raises(SettingsError, match="No run r9"):
        invoke(full, "rescore", "r9")


@pytest.mark.parametrize(
    ("asked", "code", "shown"),
    [
        pytest.param([], 0, "pass, reward 1 (done after 2 calls)", id="the reference"),
        pytest.param(["--policy", "skilled@0", "--attempt", "3"], 1, "fail", id="no skill at all"),
    ],
)
def test_a_scripted_policy_plays_before_ones_eyes(
    full: Home, asked: list[str], code: int, shown: str
) -> None:
    done = invoke(full, "rollout", LEND.id, *asked)
    assert (done.exit_code, shown in done.output) == (code, True), done.output


@pytest.mark.parametrize(
    ("asked", "mend"),
    [
        pytest.param([LEND.id, "--policy", "clever"], r"skilled@0\.7", id="no such policy"),
        pytest.param([LEND.id, "--policy", "model"], "envmill run --probe model", id="a model"),
        pytest.param([LEND.id, "--form", "letter"], "--form conversation", id="no such form"),
        pytest.param([SHED.id], "is not a scenario", id="no scenario"),
    ],
)
def test_what_cannot_be_shown_is_told(full: Home, asked: list[str], mend: str) -> None:
    with pytest.raises(SettingsError, match=mend):
        invoke(full, "rollout", *asked)
