"""`envmill tools`: what documents hold, before anything is made of them."""

import json
import sys
from pathlib import Path

import pytest

from flows.cli import main
from flows.cli.order import make_config
from flows.local.home import Home


def say(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str,
    code: int = 0,
) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["envmill", "tools", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    out, err = capsys.readouterr()
    return out, err


def test_documents_are_read_audited_and_proposed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, err = say(monkeypatch, capsys, "read")
    assert "close_ticket\thelpdesk\tchange\t1\topenapi\tApache-2.0" in out
    assert err.startswith("36 of 36 tools")
    assert say(monkeypatch, capsys, "audit")[0].startswith("tool\tinput\tmeans\n")
    place = tmp_path / "domains.json"
    out, _ = say(monkeypatch, capsys, "propose", "--out", str(place))
    assert "helpdesk tickets customers\t18\t" in out
    told = json.loads(place.read_text())
    assert {"name", "licence", "outline"} == set(told[0])
    assert "exists already" in say(monkeypatch, capsys, "propose", "--out", str(place), code=2)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["draw"], "Known: read, audit, propose"),
        (["read", "swagger:x"], "with one of openapi, mcp, botocore"),
        (["read", "openapi:nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_what_cannot_be_read_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    assert words in say(monkeypatch, capsys, *arguments, code=2)[1]


def test_a_run_names_files_by_their_whole_path(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.json").write_text("{}")
    config = make_config(
        {"recipe": "agentscaler", "documents": "openapi:shop.json,botocore:sqs"}, None, home
    )
    assert config.documents == f"openapi:{tmp_path / 'shop.json'},botocore:sqs"
