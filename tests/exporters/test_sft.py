"""SFT export: the vendor's spelling, whole folders, the same bytes every time."""

import json
from pathlib import Path

from envmill.exporters.sft import export_sft
from schemas.rollout import Trajectory


def make_trajectory(rollout: str, licence: str = "Apache-2.0") -> Trajectory:
    call = {"id": "call_1", "name": "lend", "arguments": {"tool_id": "T1", "note": "ü"}}
    return Trajectory(
        rollout=rollout,
        scenario="scn_x",
        environment="env_x",
        policy="reference",
        messages=[
            {"role": "user", "content": "Lend it."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": {"ok": True, "parts": []}},
            {"role": "assistant", "content": "Done."},
        ],
        tools=[{"name": "lend", "description": "Lend.", "parameters": {"type": "object", "properties": {}}}],
        loss=[False, True, False, True],
        state_hashes=["a"],
        reward=1.0,
        licence=licence,
    )


def test_lines_are_what_the_vendor_loads(tmp_path: Path) -> None:
    export_sft([make_trajectory("rol_1")], {"scn_x": "train"}, tmp_path)
    (line,) = (tmp_path / "sft" / "train.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert set(row) == {"messages", "tools"}
    call = row["messages"][1]["tool_calls"][0]
    assert call == {"id": "call_1", "type": "function", "function": {"name": "lend", "arguments": '{"note":"ü","tool_id":"T1"}'}}
    assert json.loads(row["messages"][2]["content"]) == {"ok": True, "parts": []}
    assert row["tools"][0]["type"] == "function"


def test_bytes_do_not_depend_on_order_and_a_second_export_replaces_the_first(tmp_path: Path) -> None:
    rows = [make_trajectory(f"rol_{number}") for number in range(4)]
    first = export_sft(rows, {"scn_x": "train"}, tmp_path)
    again = export_sft(rows[::-1], {"scn_x": "train"}, tmp_path)
    assert (first, first.rows) == (again, 4)
    assert export_sft(rows[:2], {"scn_x": "validation"}, tmp_path).content_hash != first.content_hash
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sft"]
    assert sorted(path.name for path in (tmp_path / "sft").iterdir()) == ["manifest.json", "validation.jsonl"]


def test_the_manifest_says_which_line_is_which(tmp_path: Path) -> None:
    rows = [make_trajectory(f"rol_{number}") for number in range(3)]
    export_sft(rows, {"scn_x": "train"}, tmp_path)
    manifest = json.loads((tmp_path / "sft" / "manifest.json").read_text())
    assert [entry["trajectory"] for entry in manifest["lines"]["train"]] == sorted(row.id for row in rows)
