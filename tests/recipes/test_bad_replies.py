"""The recipe against a server whose model answers one prompt badly: never a crash, always an end
that says why, and what it cost."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from flows.opening import open_walk
from schemas.base import Json, is_array, is_object
from schemas.run import RunConfig
from tests.recipes.loopback import Known, Spoil, serve
from tests.soak import count

PROSE = "Sure! First I would think about the rules, and then about what people need. Shall I begin?"
MODEL: dict[str, Any] = {
    "provider": "openai",
    "model": "m@box",
    "environments": 1,
    "scenarios": 1,
    "attempts": 1,
    "seed": 11,
    "person": "scripted",
    "probe": "careless",
    "teacher": "reference",
}
"""The server answers as the embedded author does, who plays no user and is no agent."""


def unreadable(good: str, number: int) -> tuple[str, str]:
    """Another way each time: prose, nothing, half of it, another shape, too deep, a refusal, no
    text at all."""
    ways = [
        (PROSE, "stop"),
        ("", "stop"),
        (good[: len(good) // 2], "length"),
        ('{"answer": 42}', "stop"),
        ("[" * 5000, "stop"),
        (PROSE, "content_filter"),
        ('{"a": "\\ud800"} \x00 \ufffd', "stop"),
        ("[]", "stop"),
    ]
    return ways[number % len(ways)]


def hollow(good: str, number: int) -> tuple[str, str]:
    """Of the right shape, and nothing in it."""
    return json.dumps(_empty(json.loads(good))), "stop"


def absurd(good: str, number: int) -> tuple[str, str]:
    """Of the right shape, with other words and numbers in it."""
    return json.dumps(_twist(json.loads(good))), "stop"


def _empty(value: Json) -> Json:
    if is_object(value):
        return {
            key: _empty(one)
            if key not in ("effect", "expect", "polarity", "opinion", "kind")
            else one
            for key, one in value.items()
        }
    return [] if is_array(value) else "" if isinstance(value, str) else value


def _twist(value: Json) -> Json:
    if is_object(value):
        kept = ("effect", "expect", "polarity", "opinion", "kind")
        return {key: one if key in kept else _twist(one) for key, one in value.items()}
    if is_array(value):
        return [_twist(one) for one in value[::-1]]
    if isinstance(value, str):
        return f"{value[::-1]} ({{}}%s) \u202e"
    return value if isinstance(value, bool) or not isinstance(value, int) else value % 9 + 1


PLACES: dict[str, tuple[int, dict[str, Any]]] = {
    "theme": (2, {"corpus": "own", "texts": 3}),
    "blueprint": (1, {}),
    "program": (2, {}),
    "skeleton": (2, {"whole": 0}),
    "methods": (2, {"whole": 0}),
    "tests": (2, {}),
    "tester": (2, {"review": True}),
    "checker": (2, {"review": True}),
    "scenario": (5, {}),
    "checks": (6, {"checks": "written", "polarities": "achieve=1"}),
}
"""Prompt → how many steps to walk until it was asked and judged, and what asks it."""


async def walk(known: Known, folder: Path, steps: int, config: RunConfig) -> Settings:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    told = {key: str(folder / name) for key, name in names.items()} | {
        "ENVMILL_PORT": "0",
        "ENVMILL_ENDPOINT_BOX": known.url,
    }
    settings = Settings.read(told)
    async with open_walk("r1", config, settings) as opened:
        await opened.walk(opened.line[:steps])
    return settings


def read(settings: Settings, question: str) -> list[Any]:
    return open_views(Lake(settings.lake), question=question).execute(question).fetchall()


EXITS = "select stage, subject, outcome, reason from exits order by all"


EVERY = [(prompt, spoil) for prompt in PLACES for spoil in (unreadable, hollow, absurd)]
DRAWN = random.Random(os.environ.get("ENVMILL_SEED", "")).sample(EVERY, count(7, len(EVERY)))
"""Other ones with every commit, all of them in a soak."""


@pytest.mark.long(cases=1)
@pytest.mark.soak(area="line")
@pytest.mark.parametrize(
    ("prompt", "spoil"), [pytest.param(*one, id=f"{one[0]}-{one[1].__name__}") for one in DRAWN]
)
async def test_whatever_a_prompt_is_answered_the_run_ends_and_says_why(
    prompt: str, spoil: Spoil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, asked = PLACES[prompt]
    with serve(monkeypatch) as known:
        known.spoil[prompt] = spoil
        settings = await walk(known, tmp_path, steps, RunConfig.model_validate(MODEL | asked))
    assert known.answered[prompt] > 0
    ended = read(settings, "select outcome, reason, detail from exits")
    assert {outcome for outcome, _, _ in ended} <= {"kept", "dropped"}
    assert all(reason and detail for outcome, reason, detail in ended if outcome == "dropped")
    ((tokens, calls),) = read(
        settings, "select sum(tokens_in + tokens_out), count(*) from model_calls where not reused"
    )
    assert calls == sum(known.answered.values())
    assert tokens == read(settings, "select sum(tokens) from exits")[0][0], (
        "what it cost stands beside its end"
    )


@pytest.mark.long
async def test_a_run_with_bad_replies_is_played_back_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_first(good: str, number: int) -> tuple[str, str]:
        return unreadable(good, number) if number < 2 else (good, "stop")

    recording = str(tmp_path / "run.jsonl")
    with serve(monkeypatch) as known:
        known.spoil = dict.fromkeys(("blueprint", "program", "tests", "scenario"), at_first)
        settings = await walk(
            known,
            tmp_path / "asked",
            10,
            RunConfig.model_validate(MODEL | {"scenarios": 2, "record": recording}),
        )
        asked = known.answered.copy()
        assert {name for name, _ in asked.items()} >= {"blueprint", "program", "tests", "scenario"}
        replay = {"provider": "replay", "model": "", "recording": recording, "scenarios": 2}
        again = await walk(
            known, tmp_path / "replayed", 10, RunConfig.model_validate(MODEL | replay)
        )
        assert known.answered == asked, "nobody was asked again"
    assert read(again, EXITS) == read(settings, EXITS)
    assert read(
        settings, "select count(*) from exits where stage = 'collect' and outcome = 'kept'"
    ) > [(0,)]
