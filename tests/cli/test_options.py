"""Options that are made from the fields of a run's settings."""

import inspect
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from flows.cli import make_app
from flows.cli.options import WITHHELD, complete, describe_setting, list_options, render_option
from schemas.run import RunConfig


def list_flags(command: str) -> set[str]:
    group: Any = typer.main.get_command(make_app())
    return {flag for param in group.commands[command].params for flag in param.opts}


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_every_setting_is_an_option(command: str) -> None:
    settings = {render_option(name) for name in RunConfig.model_fields if name not in WITHHELD}
    assert settings >= {"--keep", "--pairs", "--trivial", "--seed", "--with"}
    assert settings <= list_flags(command)
    assert not {"--first", "--run"} & list_flags(command)


def test_every_option_says_what_it_is_for() -> None:
    assert [name for name, field in RunConfig.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("keep", "1 to 64. Default: 2."),
        ("trivial", "More than 0, at most 1. Default: 1.0."),
        ("texts", "mines all. 1 or more."),
        ("budget", "More than 0."),
        ("checks", "One of derived, written. Default: derived."),
        ("holdout", "Default: validation=10,test=10."),
        ("exporters", "harbor, atif, views. Default: sft,rl,preferences,dataset,bundle."),
        ("weak", "uses the probe policy."),
        ("rehearse", "Default: on."),
        ("review", "makes the gate required."),
    ],
)
def test_help_ends_with_what_a_setting_takes_and_its_default(name: str, told: str) -> None:
    assert describe_setting(RunConfig.model_fields[name]).endswith(told)


def read(*words: str) -> dict[str, Any]:
    """Settings as a command gets them."""
    found: dict[str, Any] = {}

    def order(context: typer.Context, here: bool = False, **settings: Any) -> None:
        found.update(settings)

    app = typer.Typer()
    app.command()(complete(order))
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return {name: value for name, value in found.items() if value is not None}


def test_what_is_not_said_is_not_set() -> None:
    assert read("--here") == {}


def test_values_arrive_as_their_fields_take_them() -> None:
    words = [
        "--keep",
        "3",
        "--trivial",
        "0.5",
        "--polarities",
        "achieve=1",
        "--no-rehearse",
        "--with",
        "suspected",
        "--exporters",
        "sft,rl",
    ]
    found = read(*words)
    assert found == {
        "keep": 3, "trivial": 0.5, "polarities": "achieve=1", "rehearse": False, "with_tier": "suspected", "exporters": "sft,rl"
    }  # fmt: skip
    config = RunConfig.model_validate(found)
    assert (config.keep, config.polarities, config.exporters) == (3, {"achieve": 1}, ("sft", "rl"))


def test_a_command_that_is_not_named_loads_no_settings() -> None:
    def order(context: typer.Context, **settings: Any) -> None:
        raise NotImplementedError

    assert list(inspect.signature(complete(order, ["other"])).parameters) == ["context"]
    assert len(inspect.signature(complete(order, ["order"])).parameters) == 1 + len(
        list(list_options())
    )
