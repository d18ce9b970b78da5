"""Recordings: written without secrets, refused when damaged, played back strictly or by order."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Completion, Request
from envmill.models.gateway import Gateway
from envmill.models.prompt import Prompt
from envmill.models.recording import is_file, read_recording, write_recording
from envmill.models.redaction import Redactor
from envmill.models.replay import ByOrder, Replay, open_playback
from schemas.ledger import ModelCall
from tests.models.calling import KEY, PROMPT, Answer, Question

EDITED = Prompt("count", "Say how long {{word}} is, as {{reply_schema}}", "other")


class Numbering:
    """Answers every question with the next number."""

    def __init__(self, model: str = "m", *before: str) -> None:
        self.name, self.model, self.before, self.count = "numbering", model, list(before), 0

    async def complete(self, request: Request) -> Completion:
        if self.before:
            return Completion(self.before.pop(0))
        self.count += 1
        return Completion(json.dumps({"length": self.count, "note": request.inputs["word"]}))

    async def close(self) -> None:
        return


async def ask(
    provider: Any, folder: Path, *words: str, prompt: Prompt = PROMPT, seed: int = 1, **more: Any
) -> list[Any]:
    """One process that asks for each word, a subject of its own."""
    journal = Journal(folder)
    known = {(call.request, call.sample): call for call in read_calls(folder) if call.answers}
    door = Gateway(provider, journal, known, seed, **more)
    asked = [
        door.open_session("s", f"sub_{word}").ask(prompt, Question(word=word), Answer)
        for word in words
    ]
    ended = await asyncio.gather(*asked, return_exceptions=True)
    await journal.close()
    return [one.length if isinstance(one, Answer) else one for one in ended]


@pytest.fixture
async def calls(tmp_path: Path) -> list[ModelCall]:
    """ant 1, bee 2, cat 3; bee needed a repair."""
    folder = tmp_path / "recorded"
    assert await ask(Numbering(), folder, "ant") == [1]
    provider = Numbering("m", "no idea")
    provider.count = 1
    assert await ask(provider, folder, "bee") == [2]
    provider = Numbering()
    provider.count = 2
    assert await ask(provider, folder, "cat") == [3]
    return list(read_calls(folder))


async def test_a_recording_is_written_read_and_played_back(
    tmp_path: Path, calls: list[ModelCall]
) -> None:
    path = tmp_path / "kept" / "run.jsonl"
    assert write_recording(path, "r1", calls, Redactor()) == 4
    assert sorted(read_recording(path), key=lambda call: call.id) == sorted(
        calls, key=lambda call: call.id
    )
    assert await ask(Replay(read_recording(path)), tmp_path / "again", "cat", "bee", "ant") == [
        3,
        2,
        1,
    ]


async def test_strict_playback_knows_nothing_else(tmp_path: Path, calls: list[ModelCall]) -> None:
    replay = Replay(calls)
    for ended in (
        await ask(replay, tmp_path / "a", "dog"),
        await ask(replay, tmp_path / "b", "ant", seed=2),
        await ask(replay, tmp_path / "c", "ant", prompt=EDITED),
    ):
        assert isinstance(ended[0], SettingsError)
        assert "holds no reply to count" in ended[0].message


async def test_every_roles_model_is_played_back(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"

    async def judge(door_folder: Path, author: Any, **more: Any) -> list[int]:
        journal = Journal(door_folder)
        models = Gateway(author, journal, {}, 1, **more).open_session("s", "a")
        heard = [
            (await models.ask(PROMPT, Question(word="ant"), Answer, role=role)).length
            for role in ("author", "judge")
        ]
        await journal.close()
        return heard

    other = Numbering("n")
    other.count = 40
    assert await judge(folder, Numbering("m"), others={"judge": other}) == [1, 41]
    for by_order in (False, True):
        cast = open_playback(read_calls(folder), (), by_order)
        assert await judge(tmp_path / f"again-{by_order}", cast.pop("author"), others=cast) == [
            1,
            41,
        ]


async def test_by_order_an_edited_prompt_gets_the_same_replies(
    tmp_path: Path, calls: list[ModelCall]
) -> None:
    assert await ask(ByOrder(calls), tmp_path / "again", "cat", "ant", "bee", prompt=EDITED) == [
        3,
        1,
        2,
    ]


async def test_by_order_a_new_subject_takes_a_free_lane(
    tmp_path: Path, calls: list[ModelCall]
) -> None:
    ended = await ask(ByOrder(calls), tmp_path / "again", "cat", "owl", "rat", "fox")
    assert ended[:3] == [3, 1, 2]
    assert isinstance(ended[3], SettingsError)
    assert "no further reply to count at s for sub_fox" in ended[3].message


async def test_by_order_a_resumed_run_goes_on_where_it_was(
    tmp_path: Path, calls: list[ModelCall]
) -> None:
    folder = tmp_path / "again"
    first = ByOrder(calls)
    assert await ask(first, folder, "owl", prompt=EDITED) == [1]
    later = ByOrder(calls, list(read_calls(folder)))
    assert await ask(later, folder, "owl", "rat", prompt=EDITED) == [1, 2]


async def test_no_key_of_ours_is_in_a_recording(tmp_path: Path) -> None:
    folder, path = tmp_path / "recorded", tmp_path / "run.jsonl"
    leaked = json.dumps({"length": 1, "note": f"use {KEY}"})
    assert await ask(Numbering("m", leaked), folder, "ant") == [1]
    found = list(read_calls(folder))
    assert KEY in found[0].reply
    write_recording(path, "r1", found, Redactor([KEY]))
    assert KEY not in path.read_text()
    assert await ask(Replay(read_recording(path)), tmp_path / "again", "ant") == [1]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: "", "cannot be read"),
        (lambda text: text[:-40], "cannot be read"),
        (lambda text: "".join(text.splitlines(True)[:-1]), "3 of 4 calls"),
        (lambda text: text + text.splitlines(True)[-1], "5 of 4 calls"),
        (lambda text: text.replace('"version":1', '"version":2', 1), "version 2"),
        (
            lambda text: text.replace('"kind":"envmill recording"', '"kind":"song"', 1),
            "is not a recording",
        ),
        (
            lambda text: text.replace('"prompt":"count"', '"tune":"count"', 1),
            "line 2 is not a model call",
        ),
        (lambda text: text.replace('"sample":0', '"sample":7', 1), "line 2 is not a model call"),
        (lambda text: "[]\n" * 5, "is not a recording"),
    ],
)
def test_a_damaged_recording_is_refused(
    tmp_path: Path, calls: list[ModelCall], damage: Any, told: str
) -> None:
    path = tmp_path / "run.jsonl"
    write_recording(path, "r1", calls, Redactor())
    path.write_text(damage(path.read_text()))
    with pytest.raises(SettingsError, match=told):
        read_recording(path)


def test_a_recording_that_cannot_be_written_leaves_no_half_of_it(
    tmp_path: Path, calls: list[ModelCall]
) -> None:
    (tmp_path / "run.jsonl").mkdir()
    with pytest.raises(SettingsError, match="name another file"):
        write_recording(tmp_path / "run.jsonl", "r1", calls, Redactor())
    assert {path.name for path in tmp_path.iterdir()} == {"recorded", "run.jsonl"}


@pytest.mark.parametrize(
    ("named", "file"), [("r1", False), ("/tmp/r1", True), ("r1.jsonl", True), ("kept/r1", True)]
)
def test_a_file_is_told_from_a_run(named: str, file: bool) -> None:
    assert is_file(named) is file
