"""SkyRL's environment, written by the exporter and driven with a stand-in for SkyRL-gym: rewards,
end states, texts, outages."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.agents import find_policy
from envmill.agents.rollout import play_scenario
from envmill.base.settings import Settings
from envmill.interop.consumers.skyrl import CONSUMER, VERSIONS
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.consumers.folders import find_scenarios, make_export_set, write_consumer
from tests.interop.consumers.houses import LOCKS
from tests.interop.consumers.pages import read_code
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.interop.consumers.texts import write_call, write_talk, write_texts

PATIENCE = 300
HERE = Path(__file__).parent


async def _play(home: Path, out: Path) -> tuple[list[Play], Rollout, Path]:
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(home)})) as jail:
        found = await find_scenarios(jail)
        talk = await play_scenario(
            find_policy("reference"), *found[0], jail, "g", 0, form="conversation"
        )
        plays = [play for pair in found for play in await play_natively(*pair, jail)]
        return plays, talk, write_consumer(CONSUMER, make_export_set(found), out)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Play], Rollout, Path]:
    return asyncio.run(_play(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("out")))


def drive(folder: Path, plays: list[Any], **more: Any) -> dict[str, Any]:
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        str(HERE / "driver.py"),
        str(folder),
        str(HERE / "stub"),
    ]
    asked = json.dumps({"plays": plays, **more})
    done = subprocess.run(
        command, env={}, input=asked, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ours"] == []
    return report | {"stderr": done.stderr}


def ask(play: Play) -> list[Any]:
    return [play.scenario.id, write_texts(play), None]


def find_oracle(plays: list[Play]) -> Play:
    return next(play for play in plays if play.name == "oracle" and len(play.calls) > 0)


def test_five_policies_earn_what_they_earn_natively(
    ground: tuple[list[Play], Rollout, Path],
) -> None:
    plays, _, folder = ground
    told = drive(folder, [ask(play) for play in plays])["told"]
    assert [(one["rewards"][-1], one["state_hash"]) for one in told] == [
        (play.verdict.reward, play.state_hash) for play in plays
    ]
    assert {one["rewards"][-1] for one in told} == {0.0, 1.0}
    assert not any(any(one["rewards"][:-1]) for one in told)
    assert [one["metrics"]["passed"] for one in told] == [play.verdict.reward for play in plays]


def test_a_conversation_is_played_with_the_scripted_user(
    ground: tuple[list[Play], Rollout, Path],
) -> None:
    plays, talk, folder = ground
    (told,) = drive(folder, [[f"{plays[0].scenario.id}-conversation", write_talk(talk), None]])[
        "told"
    ]
    assert (told["rewards"][-1], told["state_hash"]) == (talk.reward, talk.final_state_hash)
    said = [entry["content"] for entry in talk.transcript if entry["role"] == "user"][1:]
    assert said
    assert [reply for reply in told["replies"] if "<tool_response>" not in reply] == said[
        : len(told["replies"])
    ]


def test_the_program_of_the_page_registers_before_it_trains(
    ground: tuple[list[Play], Rollout, Path],
) -> None:
    _, _, folder = ground
    assert drive(folder, [], page=read_code("skyrl"))["trained"] == [["settings", ["envmill"]]]


def test_rows_hold_what_the_data_loader_reads(ground: tuple[list[Play], Rollout, Path]) -> None:
    """Every column has one shape in all rows; the tools and how they are called stand in the
    prompt, which SkyRL renders alone."""
    plays, _, folder = ground
    lines = drive(folder, [])["lines"]
    assert {tuple(line) for line in lines} == {
        ("data_source", "prompt", "env_class", "reward_spec", "extra_info")
    }
    assert {tuple(line["extra_info"]) for line in lines} == {
        ("scenario", "environment", "kind", "split")
    }
    assert {key for line in lines for message in line["prompt"] for key in message} == {
        "role",
        "content",
    }
    row = next(line for line in lines if line["extra_info"]["scenario"] == plays[0].scenario.id)
    system, asked = row["prompt"]
    told = [
        json.loads(line)
        for line in system["content"].split("<tools>\n")[1].split("\n</tools>")[0].splitlines()
    ]
    assert {tool["name"] for tool in told} == {
        tool.name for tool in plays[0].environment.shown if "agent" in tool.actors
    }
    assert all(tool["parameters"]["type"] == "object" for tool in told)
    assert asked == {"role": "user", "content": plays[0].scenario.request}


LIST = json.dumps({"name": "list_tools", "arguments": {}})


@pytest.mark.long(cases=1)
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        pytest.param(f"<tool_call>{LIST}</tool_call>", [""], id="plain"),
        pytest.param(f"I look.\n<tool_call>{LIST}", [""], id="the closing tag was a stop string"),
        pytest.param(f"<tool_call>{LIST}</tool_call><tool_call>{LIST}</tool_call>", ["", ""], id="two"),
        pytest.param(f"<tool_call>{LIST}\n<tool_call>{LIST}</tool_call>", ["", ""], id="one is not closed"),
        pytest.param(f"<think>\n<tool_call>x</tool_call>\n</think>\n<tool_call>{LIST}</tool_call>", [""], id="thought of another"),
        pytest.param(f"so </think><tool_call>{LIST}</tool_call>", [""], id="the template began the thought"),
        pytest.param('<tool_call>{"name": "list_tools", "arguments": "{}"}</tool_call>', [""], id="arguments as text"),
        pytest.param('<tool_call>{"name": "list_tools"}</tool_call>', [""], id="no arguments"),
        pytest.param('<tool_call>{"name": "list_tools", "arguments": null}</tool_call>', [""], id="null"),
        pytest.param('<tool_call>{"name": "list_tools", "arguments": []}</tool_call>', ["malformed_call"], id="a list"),
        pytest.param('<tool_call>{"name": "list_tools", "arguments": 0}</tool_call>', ["malformed_call"], id="a number"),
        pytest.param('<tool_call>{"name": 1, "arguments": {}}</tool_call>', ["malformed_call"], id="no name"),
        pytest.param('<tool_call>{"name": "list_tools", "name": "lend", "arguments": {}}</tool_call>', ["malformed_call"], id="twins"),
        pytest.param("<tool_call>list_tools()</tool_call>", ["malformed_call"], id="no JSON"),
        pytest.param("<tool_call></tool_call>", ["malformed_call"], id="nothing"),
        pytest.param("<tool_call>" + "[" * 100_000, ["malformed_call"], id="deep"),
        pytest.param(f'<tool_call>{{"name": "no_such", "arguments": {{}}}}</tool_call><tool_call>{LIST}', ["unknown_tool", ""], id="odd"),
        pytest.param(f"<think><tool_call>{LIST}</tool_call>", None, id="a thought that never ends calls nothing"),
        pytest.param("Done.", None, id="words"),
        pytest.param(json.dumps(LIST), None, id="a call without its tags is words"),
    ],
)  # fmt: skip
def test_texts_are_read_as_calls_and_words(
    ground: tuple[list[Play], Rollout, Path], text: str, codes: list[str] | None
) -> None:
    plays, _, folder = ground
    (told,) = drive(folder, [[plays[0].scenario.id, [text], None]])["told"]
    if codes is None:
        assert (told["replies"], len(told["rewards"])) == ([], 1)
        return
    replies = [
        part.split("\n</tool_response>")[0]
        for part in told["replies"][0].split("<tool_response>\n")[1:]
    ]
    assert [json.loads(reply).get("error", {}).get("code", "") for reply in replies] == codes
    assert len(told["rewards"]) == 2


def test_the_last_turn_and_the_last_step_are_judged(
    ground: tuple[list[Play], Rollout, Path],
) -> None:
    plays, _, folder = ground
    play = find_oracle(plays)
    texts = write_texts(play)
    limited, whole, long = drive(folder, [
        [play.scenario.id, texts[:-1], len(play.calls)],
        [play.scenario.id, texts[:-1], None],
        [play.scenario.id, [write_call("list_tools", {})] * 60, None],
    ])["told"]  # fmt: skip
    assert (limited["ended"], limited["rewards"]) == (
        "max_turns",
        whole["rewards"][:-2] + whole["rewards"][-1:],
    )
    assert (long["ended"], len(long["rewards"])) == ("step_limit", 40)


def test_a_dead_jail_is_replaced_and_the_episode_goes_on(
    ground: tuple[list[Play], Rollout, Path],
) -> None:
    plays, _, folder = ground
    play = find_oracle(plays)
    told = drive(folder, [ask(play), ask(play)], **{"break": 0})
    assert "played again from the beginning" in told["stderr"]
    whole, broken = told["told"][1], told["told"][0]
    assert broken == whole
    assert broken["rewards"][-1] == 1.0


OUTAGE = """
import sys
sys.path[:0] = sys.argv[1:]
import envmill_skyrl
from envmill_skyrl import environment
row = environment._open_once().rows[0]
env = envmill_skyrl.SkyrlEnvironment({}, {"extra_info": {"scenario": row.id}})
env.init(row.prompt)
def fail(*words):
    raise environment.JailError("planted")
environment._begin = fail
environment._open_once().lanes.shared[0].engine.jail.close()
try:
    env.step("Done.")
except envmill_skyrl.OutageError as error:
    print(f"outage: {error}")
"""


def test_an_outage_is_an_error_and_no_reward(ground: tuple[list[Play], Rollout, Path]) -> None:
    _, _, folder = ground
    command = [sys.executable, "-I", "-S", "-B", "-c", OUTAGE, str(folder), str(HERE / "stub")]
    done = subprocess.run(
        command, env={}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert "planted" in done.stdout, done.stderr
    assert done.stdout.startswith("outage: ")


@pytest.mark.parametrize(
    ("row", "words"), [("scn_9", "There is no scenario 'scn_9'"), ("", "The row names no scenario")]
)
def test_a_wrong_row_is_told(
    ground: tuple[list[Play], Rollout, Path], row: str, words: str
) -> None:
    _, _, folder = ground
    with pytest.raises(AssertionError) as raised:
        drive(folder, [[row, [], None]])
    assert words in str(raised.value)


def test_a_program_that_looks_for_its_verifier_finds_nothing(tmp_path: Path) -> None:
    scenario, spied = make_spy()
    folder = write_consumer(CONSUMER, make_export_set([(scenario, spied)]), tmp_path)
    looks = [
        write_call(look["name"], look["arguments"]) for look in list_looks(folder, CONSUMER.package)
    ]
    (told,) = drive(folder, [[scenario.id, looks, None]])["told"]
    assert len(told["replies"]) == len(looks) >= 7
    assert find_secrets(told["replies"]) == []
    assert all('"no: ' in reply for reply in told["replies"][:-1])
    assert told["rewards"][-1] == 0.0


def test_another_version_is_refused_by_name(
    ground: tuple[list[Play], Rollout, Path], tmp_path: Path
) -> None:
    _, _, folder = ground
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        "-c",
        "import sys; sys.path[:0] = sys.argv[1:]; import envmill_skyrl",
        str(folder),
    ]
    for found, refused in (("0.3.9", True), ("1.0.0", True), ("0.4.3", False)):
        installed = tmp_path / found / f"skyrl_gym-{found}.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: skyrl-gym\nVersion: {found}\n"
        )
        places = [str(installed.parent), str(HERE / "stub")]
        done = subprocess.run(
            [*command, *places],
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
    assert f'TESTED = "{VERSIONS["skyrl-gym"]}"' in (CONSUMER.adapter / "__init__.py").read_text()
    assert all(
        f"{name}=={version}" in (LOCKS / "skyrl.txt").read_text().splitlines()
        for name, version in VERSIONS.items()
    )
