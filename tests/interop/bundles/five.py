"""The five policies over exported folders: in the factory, by a bare interpreter and over MCP the
same is earned, the same state left."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from envmill.agents.users.doing import needs_user
from envmill.base.settings import Settings
from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.recording import read_recording, score_recording
from envmill.lake.lake import Lake
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.scenario import Scenario
from tests.interop.bundles.openers import consume
from tests.interop.bundles.policies import Play, play_natively
from tests.runtime.mcp.clients import Web

BARE = [str(Path(sys.executable).resolve()), "-I", "-S", "-B", "envrun", "mcp"]
PATIENCE = 60.0


async def check_five(settings: Settings, run: str, most: int, records: Path) -> int:
    """Over so many scenarios of a finished run, of as many environments as there are; how many were
    played."""
    homes = {path.parent.name: path.parent for path in Path(settings.bundles).rglob("bundle.json")}
    chosen = _choose(Lake(settings.lake), run, homes)[:most]
    async with Sandbox.open(settings) as sandbox:
        played = [await play_natively(*one, sandbox) for one in chosen]
    for mine in played:
        _check_native(mine)
        folder = homes[mine[0].environment.id]
        check_bare(mine, folder)
        check_served(mine, folder, records)
    return len(played)


def _choose(lake: Lake, run: str, homes: dict[str, Path]) -> list[tuple[Scenario, Environment]]:
    """Exported ones with something to do in an order, one of each environment before a second of
    any. An agent must do them alone: a
    server offers the tools of one actor."""
    known = {one.id: one for one in lake.read(Environment, run) if one.id in homes}
    told = [
        one
        for one in lake.read(Scenario, run)
        if one.polarity == "achieve" and one.environment in known and not needs_user(one)
    ]
    found = [
        (one, known[one.environment])
        for one in told
        if (homes[one.environment] / "scenarios" / f"{one.number:03d}").is_dir()
    ]
    turns = {
        one.id: sum(
            other.environment == one.environment and other.id < one.id for other, _ in found
        )
        for one, _ in found
    }
    return sorted(found, key=lambda one: (turns[one[0].id], one[0].id))


def _check_native(plays: Sequence[Play]) -> None:
    """What makes five of them: one succeeds, three earn nothing."""
    rewards = {play.name: play.verdict.reward for play in plays}
    assert (len(plays), rewards["oracle"]) == (5, 1.0)
    assert {rewards[name] for name in ("nothing", "malformed", "cheat")} == {0.0}, rewards


def check_bare(plays: Sequence[Play], folder: Path) -> None:
    """By an interpreter with nothing on its path."""
    moves: list[Any] = [
        [
            *({"name": call.name, "arguments": call.arguments} for call in play.calls),
            *({"say": text} for text in play.said),
        ]
        for play in plays
    ]
    report = consume(
        [folder],
        {folder.name: [[name_of(play), done] for play, done in zip(plays, moves, strict=True)]},
    )
    assert report["verdicts"][folder.name] == [
        play.verdict.model_dump(mode="json") for play in plays
    ]
    assert report["hashes"][folder.name] == [play.state_hash for play in plays]


def check_served(plays: Sequence[Play], folder: Path, records: Path) -> None:
    """Over HTTP, by a bare interpreter: one server, a session for each policy."""
    scenario = plays[0].scenario
    paths: dict[str, Path] = {}
    with serving(
        folder, "--scenario", name_of(plays[0]), "--record", str(records / scenario.id)
    ) as url:
        for play in plays:
            client = Web(url)
            client.begin()
            paths[play.name] = records / scenario.id / f"{client.session}.jsonl"
            for call, outcome in zip(play.calls, play.outcomes, strict=True):
                assert client.call(call.name, call.arguments)["result"]["isError"] is (
                    outcome != "ok"
                )
            client.close()
    with Bundle(folder) as bundle:
        for play in plays:
            check_record(play, paths[play.name])
            told = score_recording(bundle, paths[play.name], name_of(play), play.said)
            assert told == play.verdict.model_dump(mode="json"), play.name


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """The URL of a bundle's server."""
    process = subprocess.Popen(
        [*BARE, "--http", "0", *words], cwd=folder, env={}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        rest = process.stderr.read()
        process.stderr.close()
        assert (process.wait(PATIENCE), rest) == (0, "")


def check_record(play: Play, path: Path) -> None:
    """What a recording holds is what was played."""
    kept = read_recording(path)
    assert tuple(move["outcome"] for move in kept.moves) == play.outcomes
    assert (kept.moves[-1]["state_hash"] if kept.moves else kept.start) == play.state_hash


def name_of(play: Play) -> str:
    """Its scenario, as its folder calls it."""
    return f"{play.scenario.number:03d}"
