"""An environment played over MCP, from the factory and out of a bundle by a bare interpreter: what
it earns is what it earns natively."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envmill.agents.recorded import judge_recorded
from envmill.base.settings import Settings
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.bundles.envrun.recording import read_recording, score_recording
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.runtime.jail.client import Jail
from envmill.runtime.mcp.host import JailHost
from envmill.runtime.mcp.offer import Offer
from envmill.sandbox import Program, Reset, Sandbox
from envmill.sandbox.vendor import RUNTIME
from schemas.environment import Environment
from schemas.rollout import Verdict
from schemas.scenario import Scenario
from tests.interop.bundles.five import BARE, PATIENCE, check_record, check_served, name_of
from tests.interop.bundles.policies import Play, play_natively
from tests.runtime.mcp.clients import REVISION, WHO, Lines, make_request
from tests.sandbox.processes import find_processes, wait_until_gone
from tests.soak import count
from tests.specimens import PROGRAM, make_environment, make_scenario
from tests.trust import posing

SPOTS = [
    posing.Spot("clinic_scheduling", 0, place, polarity)
    for place, polarity in enumerate(posing.ANYTHING[: count(1, 5)])
]


async def list_scenarios(jail: Sandbox) -> list[tuple[Scenario, Environment]]:
    """One written by hand, the others as the line makes them."""
    shed = make_environment()
    found = [(make_scenario(shed, say="Done."), shed)]
    for place, spot in enumerate(SPOTS):
        environment, posed = (
            posing.make_environment(spot.theme, spot.number),
            await posing.find_clean(spot, jail),
        )
        assert isinstance(posed, Scenario)
        told = posed.model_dump() | {"environment": environment.id, "id": "", "number": place}
        found.append((Scenario.model_validate(told), environment))
    return found


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> list[Play]:
    async def play_all() -> list[Play]:
        async with Sandbox.open(
            Settings.read({"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))})
        ) as jail:
            return [
                play
                for found in await list_scenarios(jail)
                for play in await play_natively(*found, jail)
            ]

    return asyncio.run(play_all())


def group(plays: list[Play]) -> list[list[Play]]:
    """By scenario."""
    return [
        [play for play in plays if play.scenario.id == key]
        for key in dict.fromkeys(play.scenario.id for play in plays)
    ]


@pytest.fixture(scope="module")
def folders(plays: list[Play], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Environment → its bundle folder."""
    out = tmp_path_factory.mktemp("out")
    for environment in {play.environment.id: play.environment for play in plays}.values():
        scenarios = {
            play.scenario.id: play.scenario
            for play in plays
            if play.environment.id == environment.id
        }
        write_output(pack_environment(environment, list(scenarios.values())), out, "r")
    return {path.name: path for path in (out / "bundle").iterdir()}


def test_the_five_differ(plays: list[Play]) -> None:
    rewards = {(play.scenario.id, play.name): play.verdict.reward for play in plays}
    assert {reward for (_, name), reward in rewards.items() if name == "oracle"} == {1.0}
    assert {
        reward for (_, name), reward in rewards.items() if name in ("nothing", "malformed", "cheat")
    } == {0.0}
    assert {outcome for play in plays for outcome in play.outcomes} == {"ok", "rejection"}


@pytest.mark.soak(area="mcp")
async def test_the_factory_gives_what_is_earned_natively(
    plays: list[Play], jail: Sandbox, tmp_path: Path
) -> None:
    for mine in group(plays):
        scenario = mine[0].scenario
        start = {
            "initial_state": scenario.initial_state,
            "clock": scenario.clock,
            "seed": scenario.seed,
        }
        with JailHost(
            Offer("x", Program.of(mine[0].environment).message, start), lambda: Jail(RUNTIME)
        ) as host:
            paths = {
                play.name: play_over(host, play, tmp_path / f"{scenario.id} {play.name}")
                for play in mine
            }
        for play in mine:
            check_record(play, paths[play.name])
            assert await judge(play, paths[play.name], jail) == play.verdict


def play_over(host: JailHost, play: Play, path: Path) -> Path:
    opened = host.open(path)
    opened.answer(make_request(0, "initialize", {"protocolVersion": REVISION, **WHO}))
    for call in play.calls:
        opened.answer(
            make_request(1, "tools/call", {"name": call.name, "arguments": call.arguments})
        )
    opened.close()
    return path


async def judge(play: Play, path: Path, jail: Sandbox, *wrong: str) -> Verdict:
    kept = read_recording(path)
    hashes = [kept.start, *(move["state_hash"] for move in kept.moves)]
    hashes[len(hashes) - len(wrong) :] = wrong
    return await judge_recorded(
        play.scenario,
        play.environment,
        jail,
        Reset(play.scenario.initial_state, kept.clock, kept.seed),
        play.calls,
        hashes,
        play.said,
    )


async def test_what_comes_out_otherwise_than_recorded_is_no_verdict(
    plays: list[Play], jail: Sandbox, tmp_path: Path
) -> None:
    play = plays[0]
    start = {
        "initial_state": play.scenario.initial_state,
        "clock": play.scenario.clock,
        "seed": play.scenario.seed,
    }
    with JailHost(
        Offer("x", Program.of(play.environment).message, start), lambda: Jail(RUNTIME)
    ) as host:
        path = play_over(host, play, tmp_path / "moves")
    told = await judge(play, path, jail, "0" * 32)
    assert (told.outcome, told.reward, "this is not what was played" in told.reason) == (
        "error",
        None,
        True,
    )


@pytest.mark.soak(area="mcp")
def test_a_bundle_gives_what_is_earned_natively(
    plays: list[Play], folders: dict[str, Path], tmp_path: Path
) -> None:
    for mine in group(plays):
        check_served(mine, folders[mine[0].environment.id], tmp_path)


def test_over_lines_it_is_the_same_and_scored_by_the_folder_itself(
    plays: list[Play], folders: dict[str, Path], tmp_path: Path
) -> None:
    play = next(one for one in plays if one.name == "oracle" and len(one.calls) > 3)
    folder, moves = folders[play.environment.id], tmp_path / "moves"
    with Lines([*BARE, "--scenario", name_of(play), "--record", str(moves)], folder, {}) as client:
        client.begin("2024-11-05")
        client.write(b"{nonsense\n\n" + b"x" * 5_000_000 + b"\n")
        assert [client.read()["error"]["code"] for _ in range(2)] == [-32700, -32600]
        for call in play.calls:
            client.call(call.name, call.arguments)
        assert client.leave() == (0, "")
    scored = [
        *BARE[:-1],
        "score",
        name_of(play),
        str(moves),
        *(word for text in play.said for word in ("--say", text)),
    ]
    done = subprocess.run(
        scored,
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        timeout=PATIENCE * 10,
        check=False,
    )
    assert json.loads(done.stdout) == play.verdict.model_dump(mode="json"), done.stderr


HANGING = PROGRAM.replace(
    "        return dict(self.members[member_id])", "        while True: pass"
)
CLIENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(**message): server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n"); server.stdin.flush()
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25"})
server.stdout.readline()
send(id=2, method="tools/call", params={"name": "get_member", "arguments": {"member_id": "M1"}})
print(server.pid, flush=True)
time.sleep(600)
"""


def test_a_client_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    """In the middle of a call that hangs."""
    hanging = make_environment(HANGING)
    output = pack_environment(hanging, [make_scenario(hanging)])
    write_output(output, tmp_path, "r")
    client = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", CLIENT, *BARE, "--scenario", "000"],
        cwd=tmp_path / output.name,
        stdout=subprocess.PIPE,
    )
    assert client.stdout
    server = int(client.stdout.readline())
    assert find_processes(server)
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()
    assert not wait_until_gone(server, PATIENCE)
    end = time.monotonic() + PATIENCE
    while Path(f"/proc/{server}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{server}").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_told_to_end_in_mid_call_it_ends_in_order(number: int, code: int, tmp_path: Path) -> None:
    hanging = make_environment(HANGING)
    output = pack_environment(hanging, [make_scenario(hanging)])
    write_output(output, tmp_path, "r")
    with Lines([*BARE, "--scenario", "000"], tmp_path / output.name, {}) as client:
        client.begin()
        client.write(
            json.dumps(
                make_request(
                    9, "tools/call", {"name": "get_member", "arguments": {"member_id": "M1"}}
                )
            ).encode()
            + b"\n"
        )
        client.process.send_signal(number)
        assert client.process.wait(PATIENCE) == code
        assert client.leave() == (code, "")
    assert not wait_until_gone(client.process.pid, PATIENCE)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["--scenario", "999"], "There are: 000", id="scenario"),
        pytest.param([], "Choose a scenario by --scenario: 000", id="no start"),
        pytest.param(["--scenario", "000", "--actor", "boss"], "There are: agent", id="actor"),
        pytest.param(["--scenario", "000", "--clock", "soon"], "Write ISO 8601", id="clock"),
        pytest.param(["--scenario", "000", "--http", "here"], "Write HOST:PORT", id="address"),
        pytest.param(
            ["--scenario", "000", "--record", "README.md"], "exists already", id="recording"
        ),
    ],
)
def test_wrong_use_is_told_with_the_mend(
    plays: list[Play], folders: dict[str, Path], words: list[str], complaint: str
) -> None:
    with Lines([*BARE, *words], folders[plays[0].environment.id], {}) as client:
        code, told = client.leave()
    assert (code, complaint in told) == (2, True), told


def test_a_recording_is_scored_where_it_was_made(
    plays: list[Play], folders: dict[str, Path], tmp_path: Path
) -> None:
    shed, clinic = plays[0], plays[-1]
    head = {
        "recording": 1,
        "program": Program.of(shed.environment).message["hash"],
        "scenario": "000",
        "seed": 7,
        "state_hash": "x",
    }
    moves = tmp_path / "moves"
    moves.write_text(json.dumps(head | {"clock": shed.scenario.clock}) + "\n")
    with Bundle(folders[shed.environment.id]) as bundle:
        assert score_recording(bundle, moves, "000")["outcome"] == "error"
        moves.write_text(json.dumps(head | {"clock": shed.scenario.clock, "scenario": ""}) + "\n")
        with pytest.raises(FolderError, match="recorded in no scenario"):
            score_recording(bundle, moves, "000")
    with (
        Bundle(folders[clinic.environment.id]) as bundle,
        pytest.raises(FolderError, match="another environment"),
    ):
        score_recording(bundle, moves, "000")
