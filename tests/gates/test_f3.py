"""F3: what repeats a protected text, what only sounds like one, and how much of what is planted is
found."""

import json
import shutil
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT, Settings
from envmill.gates import f3
from envmill.gates.f3 import (
    LEAST,
    check_for_contamination,
    list_environment_texts,
    list_scenario_texts,
)
from envmill.gates.positive_controls import PLANTS
from envmill.gates.protected_texts import Protected, make_sketch, read_protected
from envmill.gates.protecting.reading import Benchmark
from envmill.gates.protecting.sketch import BenchmarkSource
from tests.gates.specimens.filtering import CONTAMINATED, PROTECTED, SHED, ask

TASKS = ROOT / "data/seeds/tasks.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets: one of our own corpus, and one of the specimens."""
    made = tmp_path_factory.mktemp("protected")
    shutil.copy(TASKS, made / "corpus.jsonl")
    (made / "bench").mkdir()
    (made / "bench" / "tasks.json").write_text(
        json.dumps([{"id": 7, "turns": [{"content": text}]} for text in PROTECTED])
    )
    (made / "README.txt").write_text("What these are.")
    return made


@pytest.mark.parametrize("name", CONTAMINATED)
def test_what_repeats_a_protected_text_is_dropped_and_what_sounds_like_it_is_kept(
    name: str, folder: Path
) -> None:
    text, reason = CONTAMINATED[name]
    finding = check_for_contamination({"request": text, "opening": "Hello."}, folder)
    assert (finding.outcome, finding.reason) == ("dropped" if reason else "kept", reason), finding
    assert finding.evidence["sets"] == {
        "bench/tasks": len(PROTECTED),
        "corpus": finding.evidence["sets"]["corpus"],
    }
    if reason:
        assert finding.evidence["source"].startswith("bench/tasks:")
        assert finding.evidence["what"] == "request"


@pytest.mark.parametrize("kind", PLANTS)
def test_planted_contamination_is_found_and_lies_where_it_was_taken_from(
    kind: str, folder: Path
) -> None:
    protected = read_protected(folder)
    assert protected is not None
    assert protected.power[kind] >= LEAST[kind]
    hit = protected.find(PLANTS[kind](PROTECTED[1], 0))
    assert hit is not None
    assert hit.source == "bench/tasks:2.1"


def test_our_own_corpus_is_no_contamination_of_other_texts(folder: Path) -> None:
    """False alarms: 300 texts of the same manner, none of which is a copy of the specimens."""
    protected = Protected(
        [
            make_sketch(
                Benchmark({f"bench:{number}": text for number, text in enumerate(PROTECTED)}),
                BenchmarkSource("bench"),
            )
        ]
    )
    lines = TASKS.read_text().splitlines()
    assert [line for line in lines if protected.find(json.loads(line)["text"])] == []


def test_without_a_protected_set_nothing_is_claimed(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert (
            check_for_contamination({"request": PROTECTED[0]}, folder).reason == "no_protected_set"
        )


def test_a_check_that_finds_too_little_claims_nothing_but_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short.txt").write_text(
        "Please refund it to me now on my card.\n\nLend the drill to our Ada."
    )
    finding = check_for_contamination(
        {"request": "Something else, of which nothing stands there."}, tmp_path
    )
    assert (finding.outcome, finding.reason, finding.evidence["too_short"]) == (
        "not_measured",
        "weak_check",
        2,
    )
    assert (
        check_for_contamination(
            {"request": "Please refund it, to me, now, on my card!"}, tmp_path
        ).reason
        == "same_text"
    )
    assert (
        check_for_contamination({"request": "Lend the drill to our Ada."}, tmp_path).outcome
        == "not_measured"
    ), "too short to be sketched"
    (tmp_path / "long.txt").write_text("\n\n".join(PROTECTED))
    monkeypatch.setattr(f3, "LEAST", {**LEAST, "reworded": 1.01})
    assert check_for_contamination({"request": "Something else."}, tmp_path).reason == "weak_check"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"a": "b"}\n{"a', "a.jsonl, line 2, is not JSON"),
        ("a.parquet", "PAR1", "is not a readable protected set"),
        ("a.txt", "x", "no text"),
    ],
)
def test_a_set_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingsError, match=message):
        read_protected(tmp_path)


def test_a_folder_that_was_named_must_be_there(tmp_path: Path) -> None:
    assert Settings.read({"ENVMILL_PROTECTED": str(tmp_path)}).protected == tmp_path
    with pytest.raises(SettingsError, match="there is no such folder"):
        Settings.read({"ENVMILL_PROTECTED": str(tmp_path / "none")})


def test_everything_an_agent_reads_is_looked_at() -> None:
    assert set(list_environment_texts(SHED)) == {"summary", "policy document", "rules", "tools"}
    assert "Lend a free tool to a member." in list_environment_texts(SHED)["tools"]
    assert {"request", "opening"} < set(list_scenario_texts(ask()))
