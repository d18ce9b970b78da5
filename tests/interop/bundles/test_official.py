"""The official SDK's clients, each in a house of its own: over lines and HTTP they see what the
bare client sees, and earn the same."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.recording import read_recording, score_recording
from envmill.interop.exporters import write_output
from envmill.interop.exporters.bundle import pack_environment
from envmill.sandbox import Sandbox
from tests.interop.bundles.five import BARE, PATIENCE, serving
from tests.interop.bundles.policies import Play, play_natively
from tests.interop.exporters.consumers import open_house
from tests.soak import count
from tests.specimens import PROGRAM, make_environment, make_scenario

LINES = ("2.3.0", "2.2.0", "1.30.0", "1.29.1")[: count(0, 4)]
"""The current and the previous minor line of either major. The bare client was held against them;
`make soak AREA=mcp` does it again."""
SCRIPT = Path(__file__).with_name("official.py")
CRASHING = PROGRAM.replace("        return dict(self.members[member_id])", "        return 1 / 0")


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> list[Play]:
    shed = make_environment(CRASHING)

    async def play_all() -> list[Play]:
        async with Sandbox.open(
            Settings.read({"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))})
        ) as jail:
            return [*await play_natively(make_scenario(shed, say="Done."), shed, jail)]

    return asyncio.run(play_all())


@pytest.fixture(scope="module")
def folder(plays: list[Play], tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = pack_environment(plays[0].environment, [plays[0].scenario])
    write_output(output, out := tmp_path_factory.mktemp("out"), "r")
    return out / output.name


def ask(version: str, told: dict[str, Any]) -> list[Any]:
    house = open_house(f"mcp=={version}")
    done = subprocess.run(
        [house, "-B", SCRIPT],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        timeout=PATIENCE * 5,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["played"]


def render(play: Play) -> list[Any]:
    return [[call.name, call.arguments] for call in play.calls]


def modes(version: str) -> tuple[str, ...]:
    return ("auto", "legacy", "2026-07-28") if version.startswith("2.") else ("",)


@pytest.mark.soak(area="mcp")
@pytest.mark.parametrize("version", LINES)
def test_over_http_each_earns_what_is_earned_natively(
    version: str, plays: list[Play], folder: Path, tmp_path: Path
) -> None:
    """Five sessions at once."""
    with serving(folder, "--scenario", "000", "--record", str(tmp_path / "all")) as url:
        for mode in modes(version)[:2]:
            played = ask(version, {"url": url, "mode": mode, "sessions": list(map(render, plays))})
            for play, seen in zip(plays, played, strict=True):
                assert (seen["revision"], seen["tools"]) == (
                    "2025-11-25",
                    ["list_tools", "get_member", "lend"],
                )
                assert [failed for failed, _ in seen["seen"]] == [
                    outcome != "ok" for outcome in play.outcomes
                ]
    found = [(path, read_recording(path)) for path in (tmp_path / "all").iterdir()]
    with Bundle(folder) as bundle:
        for play in plays:
            made = [{"name": call.name, "arguments": call.arguments} for call in play.calls]
            mine = [
                path
                for path, kept in found
                if [{key: move[key] for key in ("name", "arguments")} for move in kept.moves]
                == made
            ]
            assert len(mine) == len(modes(version)[:2])
            for path in mine:
                assert score_recording(bundle, path, "000", play.said) == play.verdict.model_dump(
                    mode="json"
                )


@pytest.mark.soak(area="mcp")
@pytest.mark.parametrize("version", LINES)
def test_over_lines_every_revision_is_spoken_and_nothing_stays(
    version: str, plays: list[Play], folder: Path
) -> None:
    oracle = next(play for play in plays if play.name == "oracle")
    calls = [
        ["get_member", {"member_id": "M1"}],
        ["lend", {"tool_id": "T3", "member_id": "M1"}],
        *render(oracle),
    ]
    for mode in modes(version):
        told = {
            "command": [*BARE, "--scenario", "000"],
            "cwd": str(folder),
            "mode": mode,
            "sessions": [calls, calls],
        }
        one, other = ask(version, told)
        assert one == other
        assert one["revision"] == ("2026-07-28" if mode in ("auto", "2026-07-28") else "2025-11-25")
        outcomes = [
            json.loads(text)["error"]["outcome"] if failed else "ok" for failed, text in one["seen"]
        ]
        assert outcomes == ["failure", "rejection", *oracle.outcomes]
    assert not find_processes_of(folder)


def find_processes_of(folder: Path) -> list[str]:
    """Whatever runs still in the folder."""
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [line.decode() for line in lines if bytes(folder) in line]
