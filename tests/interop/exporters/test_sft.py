"""SFT export: the vendor's format, loss flags, whole folders, the same bytes every time."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from envmill.interop.exporters import ExportSet, OutputFolder, write_output
from envmill.interop.exporters.messages import as_openai
from envmill.interop.exporters.sft import export_sft
from tests.interop.exporters.specimens import ASKED, DONE, make_export_set, make_trajectory


def export(export_set: ExportSet) -> OutputFolder:
    (output,) = export_sft(export_set)
    return output


def test_lines_are_what_the_vendor_loads() -> None:
    (line,) = (
        export(ExportSet(trajectories=(make_trajectory("rol_1"),)))
        .files["train.jsonl"]
        .splitlines()
    )
    row = json.loads(line)
    assert set(row) == {"messages", "tools"}
    call = row["messages"][1]["tool_calls"][0]
    assert call == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "lend", "arguments": '{"note":"ü","tool_id":"T1"}'},
    }
    assert json.loads(row["messages"][2]["content"]) == {"ok": True, "parts": []}
    assert row["tools"][0]["type"] == "function"


def test_what_must_not_be_learnt_has_no_weight_and_what_only_we_know_stays_out() -> None:
    wrong = {"role": "assistant", "content": "Hm.", "reasoning": "let me think"}
    waits = [
        {"role": "wait", "seconds": 5, "notifications": said}
        for said in ([], [{"text": "It is back."}])
    ]
    row = as_openai(
        make_trajectory(
            "rol_1", messages=[ASKED, wrong, *waits, DONE], loss=[False, False, False, False, True]
        )
    )
    assert row["messages"] == [
        ASKED,
        {"role": "assistant", "content": "Hm.", "weight": 0},
        {"role": "user", "content": '[{"text":"It is back."}]'},
        DONE,
    ]


def test_parquet_holds_messages_and_flags_as_they_are(tmp_path: Path) -> None:
    export_set = make_export_set()
    write_output(export(export_set), tmp_path, "r")
    (row,) = pq.read_table(tmp_path / "sft/test.parquet").to_pylist()
    kept = next(one for one in export_set.trajectories if one.split == "test")
    assert (json.loads(row["messages"]), row["loss"], json.loads(row["tools"])) == (
        kept.messages,
        kept.loss,
        kept.tools,
    )
    assert (row["trajectory"], row["reward"], row["state_hashes"]) == (kept.id, 1.0, ["a"])


def test_bytes_do_not_depend_on_order_and_another_export_replaces_the_first(tmp_path: Path) -> None:
    export_set = make_export_set()
    first = write_output(export(export_set), tmp_path, "r")
    marked = (tmp_path / "sft/manifest.json").stat().st_ino
    again = write_output(
        export(replace(export_set, trajectories=export_set.trajectories[::-1])), tmp_path, "r"
    )
    assert (first, first.rows) == (again, 4)
    assert (tmp_path / "sft/manifest.json").stat().st_ino == marked, (
        "the same content is left alone"
    )
    other = write_output(
        export(replace(export_set, trajectories=export_set.trajectories[:1])), tmp_path, "r"
    )
    assert other.content_hash != first.content_hash
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sft"]
    assert sorted(path.name for path in (tmp_path / "sft").iterdir()) == [
        "manifest.json",
        "train.jsonl",
        "train.parquet",
    ]


def test_the_manifest_says_which_line_is_which_and_bears_a_canary() -> None:
    export_set = make_export_set()
    manifest = json.loads(export(export_set).files["manifest.json"])
    assert [entry["trajectory"] for entry in manifest["lines"]["train"]] == sorted(
        one.id for one in export_set.trajectories if one.split == "train"
    )
    assert manifest["canary"].startswith("EnvMill canary ")
    assert (
        manifest["canary"]
        != json.loads(
            export(ExportSet(trajectories=export_set.trajectories[:1])).files["manifest.json"]
        )["canary"]
    )


@pytest.mark.parametrize("field", ["environments", "scenarios"])
def test_the_record_names_what_a_recall_looks_for(tmp_path: Path, field: str) -> None:
    export_set = make_export_set()
    assert getattr(write_output(export(export_set), tmp_path, "r"), field) == sorted(
        one.id for one in getattr(export_set, field)
    )
