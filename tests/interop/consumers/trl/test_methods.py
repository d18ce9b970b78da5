"""TRL's environment classes, written by the exporter and driven by a bare interpreter: methods,
rewards, end states, refusals."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.interop.consumers.trl import CONSUMER, VERSIONS
from envmill.interop.consumers.writing import find_left_out
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.scenario import Scenario, UserContract
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.consumers.folders import find_scenarios, make_export_set, write_consumer
from tests.interop.consumers.houses import LOCKS
from tests.interop.consumers.spying import find_secrets, list_looks, make_spy
from tests.specimens import make_environment, make_scenario

PATIENCE = 300


async def _play(home: Path) -> tuple[list[Play], list[tuple[Scenario, Environment]]]:
    async with Sandbox.open(Settings.read({"ENVMILL_HOME": str(home)})) as jail:
        found = await find_scenarios(jail)
        return [play for pair in found for play in await play_natively(*pair, jail)], found


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Play], Path]:
    plays, found = asyncio.run(_play(tmp_path_factory.mktemp("home")))
    return plays, write_consumer(CONSUMER, make_export_set(found), tmp_path_factory.mktemp("out"))


def drive(folder: Path, asked: list[Any]) -> dict[str, Any]:
    """What the driver reports; in its process there is nothing of ours, and no TRL."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        str(Path(__file__).with_name("driver.py")),
        str(folder),
    ]
    done = subprocess.run(
        command,
        env={},
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["ours"] == []
    return report


def ask(play: Play) -> list[Any]:
    row = {
        "prompt": [{"role": "user", "content": "x"}],
        "environment": play.environment.id,
        "scenario": play.scenario.id,
    }
    return [row, [[call.name, call.arguments] for call in play.calls], list(play.said)]


def test_five_policies_earn_what_they_earn_natively(ground: tuple[list[Play], Path]) -> None:
    plays, folder = ground
    told = drive(folder, [ask(play) for play in plays])["told"]
    assert [(one["reward"], one["state_hash"]) for one in told] == [
        (play.verdict.reward, play.state_hash) for play in plays
    ]
    assert {one["reward"] for one in told} == {0.0, 1.0}
    assert all(one["heard"] == [None] for one in told)


def test_a_malformed_call_is_answered_in_the_words_of_the_factory(
    ground: tuple[list[Play], Path],
) -> None:
    plays, folder = ground
    play = next(play for play in plays if play.name == "malformed")
    (told,) = drive(folder, [ask(play)])["told"]
    assert json.loads(told["replies"][1])["error"]["code"] == "invalid_arguments"


def test_every_tool_is_a_method_with_hints_and_a_line_for_each_parameter(
    ground: tuple[list[Play], Path],
) -> None:
    plays, folder = ground
    described = drive(folder, [])["described"]
    for environment in {play.environment.id: play.environment for play in plays}.values():
        shown = {tool.name: tool for tool in environment.shown if "agent" in tool.actors}
        assert set(described[environment.id]) == set(shown)
        for name, (text, hints) in described[environment.id].items():
            properties = shown[name].parameters["properties"]
            assert text.startswith(shown[name].description)
            assert set(hints) == set(properties)
            assert all(
                f"    {parameter}: {schema['description']}" in text
                for parameter, schema in properties.items()
            )


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        pytest.param({"scenario": "scn_9"}, "There is no scenario 'scn_9'", id="unknown scenario"),
        pytest.param({"scenario": ""}, "There is no scenario ''", id="no scenario"),
        pytest.param({"scenario": 1}, "Mend column `environment`", id="other environment"),
    ],
)
def test_a_wrong_row_is_told(
    ground: tuple[list[Play], Path], mistake: dict[str, Any], words: str
) -> None:
    plays, folder = ground
    others = {play.scenario.id for play in plays if play.environment.id != plays[0].environment.id}
    row, calls, said = ask(plays[0])
    wrong = sorted(others)[0] if mistake["scenario"] == 1 else mistake["scenario"]
    with pytest.raises(AssertionError) as raised:
        drive(folder, [[row | {"scenario": wrong}, calls, said]])
    assert words in str(raised.value)


def test_words_that_are_judged_and_were_never_heard_are_no_failure(
    ground: tuple[list[Play], Path],
) -> None:
    """`get_reward` refuses where a silent 0 would blame the policy; elsewhere it pays without
    `read_last_words`."""
    plays, folder = ground
    answered = next(
        play for play in plays if play.name == "oracle" and play.scenario.verifier.facts
    )
    silent = next(
        play for play in plays if play.name == "oracle" and not play.scenario.verifier.facts
    )
    (told,) = drive(folder, [[*ask(silent)[:2], None]])["told"]
    assert told["reward"] == 1.0
    with pytest.raises(AssertionError, match=r"add reward_funcs=\[read_last_words\]"):
        drive(folder, [[*ask(answered)[:2], None]])


@pytest.mark.parametrize(
    ("tool", "parameter", "why"),
    [
        ("reset", "a", "the tool reset has the name of a method that TRL calls itself"),
        ("get_reward", "a", "the tool get_reward has the name of a method that TRL calls itself"),
        ("_lend", "a", "the tool _lend begins with an underscore, and TRL hides such methods"),
        (
            "lend",
            "class",
            "the parameter class of the tool lend cannot be the name of a parameter of a Python "
            "method",
        ),
        (
            "lend",
            "self",
            "the parameter self of the tool lend cannot be the name of a parameter of a Python "
            "method",
        ),
        (
            "lend",
            "a-b",
            "the parameter a-b of the tool lend cannot be the name of a parameter of a Python "
            "method",
        ),
        ("state", "runtime", ""),
    ],
)
def test_an_interface_that_cannot_be_methods_stays_at_home_by_name(
    tool: str, parameter: str, why: str
) -> None:
    shed = make_environment()
    odd = shed.tools[0].model_copy(
        update={
            "name": tool,
            "parameters": {"type": "object", "properties": {parameter: {"type": "string"}}},
        }
    )
    home = Environment.model_validate(
        shed.model_dump()
        | {"tools": [*(one.model_dump() for one in shed.tools[1:]), odd.model_dump()], "id": ""}
    )
    scenario = make_scenario(home)
    assert find_left_out(CONSUMER, make_export_set([(scenario, home)])) == (
        {scenario.id: why} if why else {}
    )


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
    """Tools run in the jail, though TRL calls them in the trainer's process."""
    scenario, spied = make_spy()
    folder = write_consumer(CONSUMER, make_export_set([(scenario, spied)]), tmp_path)
    looks = [[look["name"], look["arguments"]] for look in list_looks(folder, CONSUMER.package)]
    (told,) = drive(folder, [[{"scenario": scenario.id, "environment": spied.id}, looks, []]])[
        "told"
    ]
    assert len(told["replies"]) == len(looks) >= 7
    assert find_secrets(told["replies"]) == []
    assert all('"no: ' in reply for reply in told["replies"][:-1])
    assert told["reward"] == 0.0


def test_another_version_of_trl_is_refused_by_name(
    ground: tuple[list[Play], Path], tmp_path: Path
) -> None:
    _, folder = ground
    command = [
        sys.executable,
        "-I",
        "-S",
        "-B",
        "-c",
        "import sys; sys.path[:0] = sys.argv[1:]; import envmill_trl",
        str(folder),
    ]
    for found, refused in (
        ("1.15.0", True),
        ("2.0.0", True),
        ("1.16.3", False),
        (VERSIONS["trl"], False),
    ):
        installed = tmp_path / found / f"trl-{found}.dist-info"
        installed.mkdir(parents=True)
        (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trl\nVersion: {found}\n")
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
    assert f'TESTED = "{VERSIONS["trl"]}"' in (CONSUMER.adapter / "__init__.py").read_text()
    assert all(
        f"{name}=={version}" in (LOCKS / "trl.txt").read_text().splitlines()
        for name, version in VERSIONS.items()
    )


BREAKING = """
import sys
from importlib import import_module

sys.path.insert(0, sys.argv[1])
made = import_module("envmill_trl.environments")
row = made._open().rows[0]
environment = made.load_environments()[row.environment]()
environment.reset(scenario=row.id)
made._open().lanes.shared[0].engine.jail.close()
print(environment._call(row.tools[0]["function"]["name"], {}))
print(environment.get_reward())
environment.reset(scenario=row.id)
environment._take_words("")
print(environment.get_reward())
"""


def test_a_dead_jail_is_no_reward_and_the_next_rollout_has_another(
    ground: tuple[list[Play], Path],
) -> None:
    _, folder = ground
    command = [sys.executable, "-I", "-S", "-B", "-c", BREAKING, str(folder)]
    done = subprocess.run(
        command, env={}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    reply, reward, next_reward = done.stdout.splitlines()
    assert json.loads(reply)["error"]["code"] == "out_of_order"
    assert (reward, next_reward) == ("None", "0.0")
    assert "nothing was found out" in done.stderr
