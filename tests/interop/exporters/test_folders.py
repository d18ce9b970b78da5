"""Folders of an export: all of it, nothing else, and only what differs is written again."""

from dataclasses import replace
from pathlib import Path

from envmill.interop.exporters import EXPORTERS, ExportSet, OutputFolder, write_outputs
from envmill.interop.exporters.base import write_output
from tests.interop.exporters.specimens import make_export_set


def pack(export_set: ExportSet) -> list[OutputFolder]:
    return [output for exporter in EXPORTERS.values() for output in exporter(export_set)]


def list_folders(folder: Path) -> set[str]:
    """Of outputs, by what each of them has."""
    marks = ("manifest.json", "provenance.json")
    return {str(path.parent.relative_to(folder)) for mark in marks for path in folder.rglob(mark)}


def test_an_export_leaves_its_own_folders_and_nothing_else(tmp_path: Path) -> None:
    whole, shed = make_export_set(), make_export_set().environments[0]
    write_outputs(pack(whole), tmp_path, "r")
    assert list_folders(tmp_path) == {
        "sft",
        "rl",
        "preferences",
        "dataset",
        "atif",
        "views",
        *(f"bundle/{one.id}" for one in whole.environments),
    }
    killed = tmp_path / "bundle" / f".{shed.id}-0123"
    (killed / "program").mkdir(parents=True)
    less = replace(
        whole,
        environments=(shed,),
        scenarios=whole.scenarios[:2],
        trajectories=whole.trajectories[:2],
        pairs=(),
    )
    kept = (tmp_path / "bundle" / shed.id / "program/program.py").stat()
    write_outputs(pack(less), tmp_path, "r")
    assert list_folders(tmp_path) == {"sft", "rl", "dataset", "atif", "views", f"bundle/{shed.id}"}
    assert not killed.exists()
    assert (
        tmp_path / "bundle" / shed.id / "program/program.py"
    ).stat().st_mtime_ns == kept.st_mtime_ns


def test_a_folder_that_was_touched_is_put_right(tmp_path: Path) -> None:
    (output,) = EXPORTERS["sft"](make_export_set())
    write_output(output, tmp_path, "r")
    (tmp_path / "sft/train.jsonl").write_text("{}")
    (tmp_path / "sft/more.txt").write_text("")
    write_output(output, tmp_path, "r")
    assert {path.name: path.read_bytes() for path in (tmp_path / "sft").iterdir()} == dict(
        output.files
    )


def test_recordings_in_a_folder_outlive_another_export(tmp_path: Path) -> None:
    """Users keep there what they played."""
    (output,) = EXPORTERS["sft"](make_export_set())
    write_output(output, tmp_path, "r")
    (tmp_path / "sft/recordings").mkdir()
    (tmp_path / "sft/recordings/1.jsonl").write_text("{}")
    kept = (tmp_path / "sft/train.jsonl").stat()
    write_output(output, tmp_path, "r")
    assert (tmp_path / "sft/train.jsonl").stat().st_ino == kept.st_ino
    write_output(replace(output, files={**output.files, "train.jsonl": b"{}"}), tmp_path, "r")
    assert (tmp_path / "sft/train.jsonl").read_bytes() == b"{}"
    assert (tmp_path / "sft/recordings/1.jsonl").read_text() == "{}"
