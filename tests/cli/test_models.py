"""`envmill models`: servers and models looked at, and never asked."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli import main
from tests.models.vendors.launch import Loopback, launch

KEY = "sk-loopback-0123456789abcdef"


@pytest.fixture(scope="module")
def vendors() -> Iterator[Loopback]:
    with launch() as started:
        started.set(models=["gpt-x", "gpt-x-mini", "claude-y"])
        yield started


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendors: Loopback) -> Loopback:
    """Two vendors, a box that is up, one that is down, one that is something else."""
    named = {
        "HOME": str(tmp_path),
        "LAKE": str(tmp_path / "lake"),
        "OPENAI_URL": vendors.openai,
        "ANTHROPIC_URL": vendors.root,
        "ENDPOINT_BOX": vendors.openai,
        "ENDPOINT_DOWN": "http://127.0.0.1:9/v1",
        "ENDPOINT_ELSE": f"{vendors.root}/nowhere",
    }
    for name, value in named.items():
        monkeypatch.setenv(f"ENVMILL_{name}", value)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return vendors


def say(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str,
    code: int = 0,
) -> dict[str, list[str]]:
    """Rows by their first cell."""
    monkeypatch.setattr(sys, "argv", ["envmill", "models", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert (ended.value.code or 0) == code, err
    assert KEY not in out + err
    return {cells[0]: cells[1:] for cells in (line.split("\t") for line in out.splitlines()[1:])}


def test_every_server_that_is_set_is_looked_at(
    surroundings: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = say(monkeypatch, capsys)
    assert rows["openai"] == [surroundings.openai, "set", "", "yes", "3", "0 of 3"]
    assert rows["anthropic"] == [surroundings.root, "not set", "", "yes", "3", "0 of 3"]
    assert rows["@box"] == [surroundings.openai, "not set", "", "yes", "3", "0 of 3"]
    assert "cannot be reached" in rows["@down"][3]
    assert rows["@else"][3] == "it answers, and lists no models"
    assert not any(
        "completions" in request["path"] or "messages" in request["path"]
        for request in surroundings.requests()
    )


def test_models_are_looked_at_by_name(
    surroundings: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = say(monkeypatch, capsys, "openai:gpt-x", "responses:gpt-x-mini@box")
    assert rows["openai:gpt-x"][2:] == ["openai", "yes", "3", "unknown"]
    assert rows["responses:gpt-x-mini@box"][3] == "yes"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("openai:gpt-z", "lists no such model; it has gpt-x"),
        ("openai:m@down", "cannot be reached"),
        ("openai:m@nowhere", "ENVMILL_ENDPOINT_NOWHERE"),
    ],
)
def test_a_model_that_cannot_be_used_is_told_and_exits_with_1(
    surroundings: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spec: str,
    told: str,
) -> None:
    assert told in say(monkeypatch, capsys, "openai:gpt-x", spec, code=1)[spec][3]


def test_a_model_asked_through_batches_is_looked_at_where_it_is_asked(
    surroundings: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = say(monkeypatch, capsys, "batch-openai:gpt-x", "batch-anthropic:claude-y")
    assert [cells[3] for cells in rows.values()] == ["yes", "yes"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("offline", "asks no server"),
        ("batch-lines:m", "asks no server"),
        ("gpt-x", "name one like openai:my-model"),
    ],
)
def test_what_is_no_model_of_a_server_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    spec: str,
    told: str,
) -> None:
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["envmill", "models", spec])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_no_key_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (
        "ENVMILL_OPENAI_URL",
        "ENVMILL_ANTHROPIC_URL",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    rows = say(monkeypatch, capsys)
    assert rows["openai"][3] == "not set: OPENAI_API_KEY is missing"
    assert (
        "OPENAI_API_KEY is not set"
        in say(monkeypatch, capsys, "openai:gpt-x", code=1)["openai:gpt-x"][3]
    )


def test_a_silent_server_is_not_waited_for(
    surroundings: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    surroundings.fail("hang", path="/v1/models")
    rows = say(monkeypatch, capsys, "--timeout", "0.2", "openai:gpt-x", code=1)
    surroundings.script()
    assert rows["openai:gpt-x"][3] == "no answer within 0.2 s"


def test_a_refused_key_is_told(
    surroundings: Loopback, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    surroundings.fail(
        "status", status=401, path="/v1/models", message=f"Incorrect API key provided: {KEY}"
    )
    rows = say(monkeypatch, capsys, "openai:gpt-x", code=1)
    surroundings.script()
    assert rows["openai:gpt-x"][3].startswith("the key is refused")


def test_a_run_whose_judge_is_of_the_authors_family_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    told: list[str] = []
    for judge in ("openai:o3", "anthropic:claude-x"):
        monkeypatch.setattr(
            sys,
            "argv",
            ["envmill", "run", "--provider", "openai", "--model", "gpt-5", "--judge", judge],
        )
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 3, "no server; the order itself was understood"
        told.append(capsys.readouterr().err)
    assert "warning: The judge (openai:o3) is of the author's family (openai)" in told[0]
    assert "warning" not in told[1]
