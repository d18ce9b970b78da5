"""Attempts played again: what each call changed, where it went the same way."""

from pathlib import Path
from typing import Any

from envmill.agents import find_policy
from envmill.agents.rollout import play_scenario
from envmill.lake.lake import Lake
from envmill.report.folder import write_report
from envmill.sandbox import Sandbox
from schemas.rollout import Rollout
from tests.quality.specimen import gate_row
from tests.report.crowd import note, publish
from tests.report.opened import record
from tests.specimens import make_environment, make_scenario


async def test_each_call_tells_what_it_changed_unless_the_replay_goes_another_way(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    home = make_environment()
    scenario = make_scenario(home)
    played: Rollout = await play_scenario(
        find_policy("reference"), scenario, home, sandbox, "probe", 0
    )
    turns = [
        one | ({"state_hash": "other"} if one["role"] == "tool" else {})
        for one in played.transcript
    ]
    strayed = played.model_copy(update={"attempt": 1, "id": "", "transcript": turns})
    lost = Rollout.model_validate(
        strayed.model_dump(exclude={"id"}) | {"attempt": 2, "scenario": "scn_gone"}
    )
    strayed = Rollout.model_validate(strayed.model_dump(exclude={"id"}))
    lake = Lake(tmp_path / "lake")
    note(lake, "started")
    kept = [gate_row("scenarios-filter", scenario.id, "exit")]
    publish(lake, "scenarios-filter", 0, [home, scenario, played, strayed, lost], kept)
    await write_report(lake, "crowd", tmp_path / "report", None, sandbox)
    moves: list[Any] = record(tmp_path / "report", played.id)["moves"]
    assert moves[0]["same"]
    nothing, lent = moves[0]["changes"]
    assert nothing == []
    assert [(one["op"], one["path"][:2]) for one in lent] == [
        ("add", ["loans", lent[0]["path"][1]]),
        ("set", ["tools", "T1"]),
    ]
    assert record(tmp_path / "report", strayed.id)["moves"] == [{"same": False, "changes": []}]
    assert "moves" not in record(tmp_path / "report", lost.id)
