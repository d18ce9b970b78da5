"""verl's tools and reward function, written by the exporter and driven with a stand-in for verl:
rewards, end states, names, outages."""

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from envmill.agents.transcript import list_tools
from envmill.base.settings import Settings
from envmill.interop.consumers import export_for, find_left_out
from envmill.interop.consumers.verl import CONSUMER, VERSIONS
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.scenario import UserContract
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.consumers.folders import find_scenarios, make_export_set, write_consumer
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.specimens import make_environment, make_scenario

PATIENCE = 300
HERE = Path(__file__).parent


async def _play(home: Path, out: Path) -> tuple[list[Play], Path]:
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(home)})) as jail:
        found = await find_scenarios(jail)
        plays = [play for pair in found for play in await play_natively(*pair, jail)]
        return plays, write_consumer(CONSUMER, make_export_set(found), out)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Play], Path]:
    return asyncio.run(_play(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("out")))


def read_rows(folder: Path) -> list[Any]:
    return [
        row
        for path in sorted(folder.glob("data/*.parquet"))
        for row in pq.read_table(path).to_pylist()
    ]


def drive(folder: Path, plays: list[Any], **more: Any) -> list[Any]:
    command = [sys.executable, "-I", "-B", str(HERE / "driver.py"), str(folder), str(HERE / "stub")]
    asked = json.dumps({"plays": plays, "rows": read_rows(folder), **more})
    done = subprocess.run(
        command, env={}, input=asked, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ours"] == []
    return report["told"]


def ask(play: Play) -> list[Any]:
    """A message for each call."""
    return [
        play.scenario.id,
        [[[call.name, call.arguments]] for call in play.calls],
        list(play.said),
    ]


def find_oracle(plays: list[Play]) -> Play:
    return next(play for play in plays if play.name == "oracle" and len(play.calls) > 0)


@pytest.mark.long
def test_five_policies_earn_what_they_earn_natively(ground: tuple[list[Play], Path]) -> None:
    plays, folder = ground
    told = drive(folder, [ask(play) for play in plays])
    assert [(one["score"], one["state_hash"]) for one in told] == [
        (play.verdict.reward, play.state_hash) for play in plays
    ]
    assert {one["score"] for one in told} == {0.0, 1.0}


def test_the_calls_of_one_message_are_made_in_their_order(ground: tuple[list[Play], Path]) -> None:
    """verl starts them together."""
    plays, folder = ground
    play = find_oracle(plays)
    calls = [[call.name, call.arguments] for call in play.calls]
    together, one_by_one = drive(folder, [[play.scenario.id, [calls], list(play.said)], ask(play)])
    assert together["replies"] == one_by_one["replies"]
    assert together["live"]["moves"] == [
        {"name": name, "arguments": arguments} for name, arguments in calls
    ]


def test_a_malformed_call_is_answered_in_the_words_of_the_factory(
    ground: tuple[list[Play], Path],
) -> None:
    plays, folder = ground
    play = next(play for play in plays if play.name == "malformed")
    (told,) = drive(folder, [ask(play)])
    assert json.loads(told["replies"][1])["error"]["code"] == "invalid_arguments"
    assert told["replies"][0] == "Unknown function 'no_such_tool'"  # by verl itself


def test_an_interface_keeps_all_of_its_schema(ground: tuple[list[Play], Path]) -> None:
    plays, folder = ground
    for play in {play.environment.id: play for play in plays}.values():
        (told,) = drive(folder, [[play.scenario.id, [], []]])
        assert [one["function"] for one in told["schemas"]] == list_tools(play.environment)


def make_twin(home: Environment) -> Environment:
    """With a tool of the same name that differs."""
    told: dict[str, Any] = home.model_dump() | {"id": "", "name": "Barn"}
    told["tools"] = [
        tool | ({"description": "Lend in the barn."} if tool["name"] == "lend" else {})
        for tool in told["tools"]
    ]
    return Environment.model_validate(told)


def test_tools_that_share_a_name_and_differ_get_a_number() -> None:
    shed = make_environment()
    homes = sorted([shed, make_twin(shed)], key=lambda one: one.id)
    export_set = make_export_set([(make_scenario(home), home) for home in homes])
    (parcel,) = export_for(CONSUMER, export_set)
    told = {
        one["config"]["name"]: one["config"]
        for one in yaml.safe_load(parcel.files["tools.yaml"])["tools"]
    }
    assert {name for name in told if name.startswith("lend")} == {"lend", "lend_2"}
    assert (told["lend"]["environment"], told["lend_2"]["environment"]) == (
        homes[0].id,
        homes[1].id,
    )
    assert len(told) == len(shed.tools) + 1, "equal ones are one tool"
    rows = pq.read_table(io.BytesIO(parcel.files["data/train.parquet"])).to_pylist()
    for row in rows:
        chosen = [told[name]["tool"] for name in row["extra_info"]["tool_selection"]]
        assert chosen == [tool["name"] for tool in list_tools(shed)]
        lends = [
            name for name in row["extra_info"]["tool_selection"] if told[name]["tool"] == "lend"
        ]
        assert told[lends[0]]["environment"] == row["extra_info"]["environment"]


def test_rows_have_one_shape_and_no_secret(ground: tuple[list[Play], Path]) -> None:
    plays, folder = ground
    rows = read_rows(folder)
    assert {row["extra_info"]["scenario"] for row in rows} == {play.scenario.id for play in plays}
    for row in rows:
        assert (row["data_source"], row["agent_name"]) == ("envmill", "tool_agent")
        assert row["extra_info"]["tools_kwargs"] == {
            "envmill": {"create_kwargs": {"scenario": row["extra_info"]["scenario"]}}
        }
        assert row["reward_model"] == {
            "style": "rule",
            "ground_truth": row["extra_info"]["scenario"],
        }


def test_a_dead_jail_is_replaced_and_the_rollout_goes_on(ground: tuple[list[Play], Path]) -> None:
    plays, folder = ground
    play = find_oracle(plays)
    broken, whole = drive(folder, [ask(play), ask(play)], **{"break": 0})
    assert broken == whole
    assert broken["score"] == 1.0


SCORE = """
import sys
sys.path[:0] = sys.argv[1:3]
from envmill_verl import reward, worlds
trail = eval(sys.argv[3])
row = worlds.open_worlds().rows[0]
trail = {"scenario": row.id, "moves": [], "state_hash": "", "words": "", "outage": "", **trail}
try:
    print(reward.compute_score("envmill", "x", row.id, {"scenario": row.id, "extras": {"envmill": trail}}))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("trail", "words"),
    [
        pytest.param({"outage": "planted"}, "OutageError", id="outage"),
        pytest.param({"state_hash": "0" * 32}, "OutageError", id="another state than was recorded"),
        pytest.param({"scenario": "scn_9"}, "SetError The row is of scenario", id="of another row"),
        pytest.param({}, "{'score': 0.0", id="nothing done"),
    ],
)
def test_what_nobody_knows_is_no_reward(
    ground: tuple[list[Play], Path], trail: dict[str, str], words: str
) -> None:
    _, folder = ground
    command = [
        sys.executable,
        "-I",
        "-B",
        "-c",
        SCORE,
        str(folder),
        str(HERE / "stub"),
        repr(trail),
    ]
    done = subprocess.run(
        command, env={}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout.startswith(words), done.stdout + done.stderr


CUT = """
import sys
sys.path[:0] = sys.argv[1:3]
from envmill_verl.reward import cut_marks, strip_thoughts
assert cut_marks("Done.<|im_end|>", "…assistant\\nDone.") == "Done."
assert cut_marks("Done. <|im_end|>", "…Done. ").strip() == "Done."
assert cut_marks("Done.", "Done.") == "Done."
assert cut_marks("Other", "Done.") == ""
assert strip_thoughts("<think>a</think>\\nb") == strip_thoughts("a</think>b") == "b"
assert strip_thoughts("<think>a") == ""
"""


def test_last_words_are_told_without_tokens_and_thoughts(ground: tuple[list[Play], Path]) -> None:
    _, folder = ground
    command = [sys.executable, "-I", "-B", "-c", CUT, str(folder), str(HERE / "stub")]
    done = subprocess.run(
        command, env={}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr


def test_conversations_stay_at_home_by_name() -> None:
    shed = make_environment()
    scenario = make_scenario(
        shed,
        user=UserContract(opening="I need a drill.", facts={"member": "Ada"}, hidden=["member"]),
    )
    left = find_left_out(CONSUMER, make_export_set([(scenario, shed)]))
    assert list(left) == [f"{scenario.id}-conversation"]
    assert "no place for a user who answers" in left[f"{scenario.id}-conversation"]


def test_a_program_that_looks_for_its_verifier_finds_nothing(tmp_path: Path) -> None:
    scenario, spied = make_spy()
    folder = write_consumer(CONSUMER, make_export_set([(scenario, spied)]), tmp_path)
    looks = [[[look["name"], look["arguments"]]] for look in list_looks(folder, CONSUMER.package)]
    (told,) = drive(folder, [[scenario.id, looks, []]])
    assert len(told["replies"]) == len(looks) >= 7
    assert find_secrets(told["replies"]) == []
    assert all('"no: ' in reply for reply in told["replies"][:-1])
    assert told["score"] == 0.0


def test_another_version_is_refused_by_name(
    ground: tuple[list[Play], Path], tmp_path: Path
) -> None:
    _, folder = ground
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        "-c",
        "import sys; sys.path[:0] = sys.argv[1:]; import envmill_verl",
        str(folder),
    ]
    for found, refused in (("0.8.0", True), ("1.0.0", True), ("0.9.3", False)):
        installed = tmp_path / found / f"verl-{found}.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: verl\nVersion: {found}\n"
        )
        done = subprocess.run(
            [*command, str(installed.parent)],
            env={},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode != 0, f"{found} is installed" in done.stderr) == (
            refused,
            refused,
        ), done.stderr
    assert f'TESTED = "{VERSIONS["verl"]}"' in (CONSUMER.adapter / "__init__.py").read_text()
