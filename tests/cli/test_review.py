import sys
from pathlib import Path

import pytest

from envmill.lake.lake import Lake
from envmill.stages.review import latest_judgements, name_pair, read_pairs
from flows.cli import main
from schemas.quality import Review
from schemas.rollout import Bundle
from tests.stages.test_review import BARE, ENVIRONMENT, SOUND, make_reviewable, put


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    monkeypatch.setenv("ENVMILL_LAKE", str(tmp_path / "lake"))
    lake = make_reviewable(str(tmp_path / "lake"))
    bundle = Bundle(
        exporter="rl",
        content_hash="h",
        path="bundles/b",
        files={},
        rows=2,
        scenarios=[SOUND.id, BARE.id],
    )
    put(lake, Bundle, bundle)
    return lake


def run_cli(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["envmill", "review", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_queue_judgement_and_sample(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(monkeypatch) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [
        "subject",
        BARE.id,
        ENVIRONMENT.id,
        SOUND.id,
    ]
    assert (
        run_cli(monkeypatch, BARE.id[:12], "--reject", "--note=asks for nothing", "--by=Kim") == 0
    )
    assert run_cli(monkeypatch, SOUND.id, "--accept", "--lock=the drill is lent", "--by=Kim") == 0
    assert sorted(
        (one.subject, one.judgement, tuple(one.locks)) for one in lake.read(Review, "r1")
    ) == sorted([(BARE.id, "reject", ()), (SOUND.id, "accept", ("the drill is lent",))])
    capsys.readouterr()
    assert run_cli(monkeypatch, "--bundle=bundles/b") == 0
    assert (
        "2 of 2 reviewed in this order, 1 rejected: with 95 % confidence at most 50.0 %"
        in capsys.readouterr().err
    )


def test_two_scenarios_are_called_the_same_task_and_that_is_taken_back(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest judgement of the pair counts, in whatever order they are named;
    `ExportInput.accepted` holds the pair in between."""
    assert run_cli(monkeypatch, BARE.id, f"--same-as={SOUND.id[:14]}", "--by=Kim") == 0
    subject = name_pair(SOUND.id, BARE.id)
    assert latest_judgements(lake)[subject].judgement == "accept"
    assert read_pairs(latest_judgements(lake)) == [(min(SOUND.id, BARE.id), max(SOUND.id, BARE.id))]
    assert (
        run_cli(
            monkeypatch,
            SOUND.id,
            f"--same-as={BARE.id}",
            "--reject",
            "--note=they differ in the tool",
            "--by=Kim",
        )
        == 0
    )
    assert latest_judgements(lake)[subject].judgement == "reject"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((SOUND.id, "--accept", "--reject"), "exclude each other"),
        ((SOUND.id, "--lock=x"), "give --accept, --reject or --note too"),
        ((SOUND.id, "--reject"), "A rejection needs a reason"),
        (("scn_none", "--accept"), "No record"),
        (("--bundle=none",), "No bundle none"),
        ((SOUND.id, f"--same-as={SOUND.id}"), "not two scenarios"),
        ((SOUND.id, f"--same-as={ENVIRONMENT.id}"), "not two scenarios"),
    ],
)
def test_what_makes_no_sense_is_told(
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: tuple[str, ...],
    told: str,
) -> None:
    assert run_cli(monkeypatch, *given) == 2
    assert told in capsys.readouterr().err
    assert lake.read(Review, "r1") == []
