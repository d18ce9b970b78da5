"""`envmill prompt`: the files, and exactly what is sent."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.lake.journal import Journal
from envmill.models.base import Completion, Request
from envmill.models.gateway import Gateway
from envmill.models.prompt import Prompt
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from flows.cli import main
from flows.cli.prompt import collect_prompts

TEXT = Prompt.load(ROOT / "envmill/recipes/prompts/shared/scenario.md").text


def say(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str,
    code: int = 0,
) -> str:
    monkeypatch.setattr(sys, "argv", ["envmill", "prompt", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    out, err = capsys.readouterr()
    return out + err


def test_the_prompts_are_listed_with_step_and_hash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = say(monkeypatch, capsys)
    prompts = RECIPES["envscaler"](read_themes()).prompts
    for step, asked in prompts.items():
        for prompt in asked:
            assert f"envscaler/{prompt.name}\t{step}\t{prompt.hash}\t" in said


def test_prompts_that_every_recipe_asks_are_listed_with_the_step_that_asks_them_first() -> None:
    shared = {
        name: step for name, (step, _) in collect_prompts().items() if name.startswith("all/")
    }
    assert shared == {
        "all/suspicion": "environments-build", "all/coverage": "environments-build",
        "all/reader": "scenarios-generate", "all/mapper": "scenarios-generate", "all/harder": "scenarios-generate",
        "all/user": "scenarios-filter", "all/user_fault": "scenarios-filter", "all/ruling": "scenarios-filter",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["scenario", "envscaler/scenario"])
def test_a_prompt_is_shown_as_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert say(monkeypatch, capsys, name) == TEXT


class Listening:
    """A provider that keeps what it is asked."""

    name, model = "listening", "m"
    heard: Request | None = None

    async def complete(self, request: Request) -> Completion:
        self.heard = request
        raise SettingsError("heard enough")

    async def close(self) -> None:
        return


@pytest.mark.long(cases=6)
@pytest.mark.parametrize("name", list(collect_prompts()))
def test_an_example_is_exactly_what_a_provider_is_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    _, prompt = collect_prompts()[name]
    provider = Listening()

    async def ask() -> None:
        journal = Journal(tmp_path)
        assert prompt.gives
        with pytest.raises(SettingsError, match="heard enough"):
            await (
                Gateway(provider, journal, {}, 1)
                .open_session("s", "a")
                .ask(prompt, prompt.exemplify(), prompt.gives)
            )
        await journal.close()

    asyncio.run(ask())
    assert provider.heard
    assert say(monkeypatch, capsys, name, "--example") == "".join(
        message.text for message in provider.heard.messages
    )


@pytest.mark.parametrize(
    ("wire", "place"), [("openai", "messages"), ("responses", "input"), ("anthropic", "messages")]
)
def test_a_wire_shows_the_whole_body(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wire: str, place: str
) -> None:
    body = json.loads(say(monkeypatch, capsys, "blueprint", "--example", "--wire", wire))
    assert body["model"] == "MODEL"
    assert "# Design a tool environment" in json.dumps(body[place])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nothing"], "There is no prompt nothing. Known: envscaler/theme, envscaler/blueprint, "),
        (["blueprint", "--wire", "openai"], "add --example"),
        (["blueprint", "--example", "--wire", "morse"], "no wire format 'morse'. Known: openai"),
    ],
)
def test_a_wrong_question_is_answered_with_what_would_do(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    assert told in say(monkeypatch, capsys, *arguments, code=2)
