"""Folders of consumers: what lies where, what is left out and why, and that no secret lies where a
policy may read."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from envmill.interop.bundles.envrun.bundle import Bundle
from envmill.interop.bundles.envrun.files import FolderError
from envmill.interop.consumers import CONSUMERS, Consumer, export_for, find_left_out
from envmill.interop.consumers.sessions import open_set
from envmill.interop.exporters import ExportSet, write_output
from schemas.environment import Call
from schemas.scenario import CallPattern, Check, Fact, Predicate
from tests.interop.consumers.folders import BARE, list_public, write_consumer
from tests.interop.exporters.specimens import make_export_set
from tests.interop.harbor.machines import BROKEN, SHARE
from tests.specimens import VERIFIER

EVERY = [BARE, *CONSUMERS.values()]
names = pytest.mark.parametrize("consumer", EVERY, ids=[one.name for one in EVERY])
UNTRANSLATABLE = Fact(name="odd", kind="pattern", value=r"\pN+")
"""RE2 runs it, and the standard library cannot."""
MARKS = (
    "MARK-GOAL",
    "MARK-SOURCE",
    "MARK-FACT",
    "MARK-HARM",
    "MARK-PATH",
    "MARK-LAST",
    "MARK-FEATURE",
)


def make_marked() -> ExportSet:
    """Each part of a scenario that no policy may see bears a mark of its own."""
    export_set = make_export_set()
    check = Check(
        name="MARK-GOAL",
        op="generated",
        path=[],
        source="def check(a, b):\n    return True  # MARK-SOURCE\n",
    )
    verifier = VERIFIER.model_copy(
        update={
            "goals": [*VERIFIER.goals, check],
            "facts": [Fact(name="MARK-FACT", kind="text", value="MARK-FACT")],
            "harm": [Predicate(name="MARK-HARM", op="forbidden", call=CallPattern(name="lend"))],
        }
    )
    path = [Call(name="get_member", arguments={"member_id": "MARK-PATH"})]
    told = {
        "verifier": verifier,
        "oracle": path,
        "say": "MARK-LAST",
        "features": {"hint": "MARK-FEATURE"},
    }
    return replace(
        export_set, scenarios=tuple(one.model_copy(update=told) for one in export_set.scenarios)
    )


def find_marks(paths: list[Path]) -> set[str]:
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    return {mark for mark in MARKS if any(mark in text for text in texts)}


@names
def test_no_secret_lies_where_a_policy_may_read(consumer: Consumer, tmp_path: Path) -> None:
    folder = write_consumer(consumer, make_marked(), tmp_path)
    assert find_marks(list_public(folder)) == set()
    assert find_marks([path for path in folder.rglob("*") if path.is_file()]) == {
        "MARK-GOAL",
        "MARK-SOURCE",
        "MARK-FACT",
        "MARK-HARM",
    }


def test_a_secret_would_be_found(tmp_path: Path) -> None:
    """What the search is worth: in the plain bundle every mark is found."""
    folder = write_consumer(BARE, make_marked(), tmp_path)
    (folder / "papers.json").write_text(
        json.dumps(make_marked().scenarios[0].model_dump(mode="json"))
    )
    assert find_marks(list_public(folder)) == set(MARKS)


@names
def test_a_row_has_what_a_policy_needs_and_the_manifest_names_it(
    consumer: Consumer, tmp_path: Path
) -> None:
    export_set = make_export_set()
    folder = write_consumer(consumer, export_set, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    with open_set(folder / consumer.package) as scenarios:
        rows = scenarios.rows
    assert {row.id for row in rows} | manifest["left_out"].keys() == {
        *(one.id for one in export_set.scenarios),
        f"{export_set.scenarios[1].id}-conversation",
    }
    assert manifest["rows"].keys() == {row.id for row in rows}
    assert manifest["versions"] == dict(consumer.versions)
    brief = next(row for row in rows if row.split == "test")
    assert [message["role"] for message in brief.prompt] == ["system", "user"]
    assert {tool["function"]["name"] for tool in brief.tools} == {
        "list_tools",
        "get_member",
        "lend",
    }
    assert all(
        version in (folder / "README.md").read_text() for version in consumer.versions.values()
    )


@names
def test_the_folder_is_the_same_each_time_and_its_digests_hold(
    consumer: Consumer, tmp_path: Path
) -> None:
    first, second = (next(iter(export_for(consumer, make_export_set()))) for _ in range(2))
    assert first == second
    write_output(first, tmp_path, "r")
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"],
        cwd=tmp_path / first.name,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_what_was_changed_after_the_export_does_not_run(tmp_path: Path) -> None:
    folder = write_consumer(BARE, make_export_set(), tmp_path)
    home = next((folder / BARE.package / "sealed").iterdir())
    Bundle(home)
    (home / "program/program.py").write_text("import os\n")
    with pytest.raises(FolderError, match="it was changed after the export"):
        Bundle(home)


def test_what_has_no_place_is_left_out_by_name_and_reason() -> None:
    export_set = make_export_set()
    judged = export_set.scenarios[0].model_copy(
        update={"verifier": VERIFIER.model_copy(update={"facts": [UNTRANSLATABLE]})}
    )
    mixed = replace(
        export_set,
        environments=(*export_set.environments, SHARE),
        scenarios=(judged, BROKEN, *export_set.scenarios[1:]),
    )
    left = find_left_out(BARE, mixed)
    assert left.keys() == {judged.id, BROKEN.id}
    assert "the standard library has no spelling" in left[judged.id]
    assert "its state is a machine's" in left[BROKEN.id]
    assert "--exporter harbor" in left[BROKEN.id]
    (output,) = export_for(BARE, mixed)
    assert json.loads(output.files["manifest.json"])["left_out"] == left
    assert judged.id.encode() in output.files["README.md"]
    assert {*output.scenarios} == {one.id for one in export_set.scenarios[1:]}
    assert list(export_for(BARE, replace(mixed, scenarios=(judged, BROKEN)))) == []


def test_a_consumer_may_refuse_a_row() -> None:
    picky = replace(
        BARE, refuse=lambda row: "it knows no users" if row.form == "conversation" else ""
    )
    assert set(find_left_out(picky, make_export_set()).values()) == {"it knows no users"}
