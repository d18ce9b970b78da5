import sys
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.pipeline import finished as finishing
from flows.cli import main
from flows.cli.order import _explain_end, make_config
from flows.local.home import Home
from tests.cli.conftest import start_run


def test_what_is_not_given_keeps_its_default(home: Home) -> None:
    config = make_config({"environments": 3, "scenarios": None, "recipe": None}, None, home)
    assert config.model_dump(exclude_unset=True) == {"environments": 3}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"recipe": "unheard-of"}, r"Unknown recipe 'unheard-of'. Known: .*envscaler"),
        ({"provider": "nobody"}, r"Unknown provider 'nobody'. Known: .*offline"),
        ({"environments": 0}, "--environments is 0: input should be greater than or equal to 1"),
        ({"provider": "openai"}, "no model is named: set `model`"),
        ({"judge": "mistral:m"}, "its provider must be one of"),
        ({"policy": "batch-openai:m"}, "ask it as openai:m"),
        ({"enlarge": 1}, "Recipe envscaler makes no tables"),
        ({"mistakes": 2.0}, "--mistakes is 2.0: input should be less than or equal to 1"),
    ],
)
def test_a_bad_option_is_named_with_what_would_do(
    home: Home, given: dict[str, object], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        make_config(given, None, home)


def test_a_resumed_run_takes_no_other_options(home: Home) -> None:
    start_run(home, "first")
    assert make_config({"seed": None}, "first", home).run == "first"
    with pytest.raises(SettingsError, match="Leave out --seed"):
        make_config({"seed": 1}, "first", home)


def test_an_unknown_run_is_answered_with_the_known_ones(home: Home) -> None:
    start_run(home, "first")
    with pytest.raises(SettingsError, match=r"No run other in .*Known runs: first"):
        make_config({}, "other", home)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["run", "--recipe", "unheard-of"], 2, "Unknown recipe"),
        (["run"], 3, "Start it with `envmill up`"),
        (["run", "--recipe", "awm,scaleenv"], 3, "Start it with `envmill up`"),
        (["funnel"], 2, "No run in"),
        (["estimate", "--provider", "openai"], 2, "no model is named"),
        (
            ["estimate", "--provider", "openai", "--model", "m"],
            0,
            "No price of openai:m: enter it in",
        ),
        (["estimate", "--critic", "openai:m"], 0, "cost 0"),
        (["down"], 0, "server: was not running"),
    ],
)
def test_exit_codes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    monkeypatch.setenv("ENVMILL_LAKE", str(tmp_path / "lake"))
    monkeypatch.setattr(sys, "argv", ["envmill", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert told in "".join(capsys.readouterr())


def test_a_finished_run_is_not_resumed_and_needs_no_server(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start_run(home, "first")
    monkeypatch.setenv("ENVMILL_HOME", str(tmp_path))
    monkeypatch.setenv("ENVMILL_LAKE", str(tmp_path / "lake"))
    monkeypatch.setattr(sys, "argv", ["envmill", "run", "--resume", "first"])
    for finished, code, told in (
        (True, 0, "nothing of it is lacking"),
        (False, 3, "Start it with `envmill up`"),
    ):
        monkeypatch.setattr(
            finishing,
            "is_finished",
            lambda lake, run, finished=finished: finished and run == "first",
        )
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code, told in "".join(capsys.readouterr())) == (code, True)


@pytest.mark.parametrize(
    ("message", "advice", "other"),
    [
        (
            "Flow run ended: BudgetReached: it is reached",
            "--resume r1 --budget MORE",
            "Press Retry",
        ),
        ("Flow run ended: SandboxError: no room", "Press Retry at http://here", "MORE"),
    ],
)
def test_a_retry_is_not_advised_where_it_would_stop_again(
    message: str, advice: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _explain_end({"state_name": "Failed", "state": {"message": message}}, "r1", "http://here")
    told = capsys.readouterr().err
    assert advice in told
    assert other not in told
