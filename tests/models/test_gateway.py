"""The door: typed reply or typed failure, journalled first, outages told apart, nothing asked
twice."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envmill.base.errors import BadReply, Outage, SettingsError
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Provider
from envmill.models.caller import Retries
from envmill.models.gateway import CallPolicy, Gateway
from envmill.models.offline import Offline
from envmill.models.parse import parse_reply
from envmill.models.prompt import Prompt
from envmill.models.replay import Replay
from schemas.base import Contract, Json
from schemas.ledger import ModelCall


class Question(Contract):
    word: str


class Answer(Contract):
    length: int
    note: Json = None


PROMPT = Prompt("count", "How long is {{word}}? Answer as {{reply_schema}}", "hash")


class Scripted:
    """An author that says what it is told, by sample."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, list[int]()

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        self.asked.append(sample)
        return self.replies[sample]


QUICK = CallPolicy(retries=Retries(pauses=(0.01, 0.01)))


def open_door(
    provider: Provider, journal: Journal, known: dict[tuple[str, int], ModelCall], seed: int
) -> Gateway:
    """A door that does not keep a test waiting."""
    return Gateway(provider, journal, known, seed, discipline=QUICK)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    await opened.close()


def known_of(folder: Path) -> dict[tuple[str, int], ModelCall]:
    return {(call.request, call.sample): call for call in read_calls(folder) if call.answers}


async def test_a_reply_is_on_disk_before_it_is_returned_and_is_never_asked_again(
    journal: Journal, tmp_path: Path
) -> None:
    author = Scripted('Sure! Here it is: {"length": 3} Anything else?')
    for subject in ("a", "b"):
        models = open_door(Offline(author, 0.0), journal, known_of(tmp_path), 1).open_session(
            "environments-build", subject
        )
        assert await models.ask(PROMPT, Question(word="cat"), Answer) == Answer(length=3)
    assert author.asked == [0]
    assert [(call.subject, call.reused, call.outcome) for call in read_calls(tmp_path)] == [
        ("a", False, "reply"),
        ("b", True, "reply"),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "no json at all",
        '{"length": 3',
        '{"length": "long"}',
        '{"length": 3, "extra": 1}',
        "[1]",
        '{"length": NaN}',
        '{"length": 3, "note": "\\ud800"}',
    ],
)
async def test_a_bad_reply_is_repaired_and_both_are_in_the_ledger(
    journal: Journal, tmp_path: Path, bad: str
) -> None:
    author = Scripted(bad, '{"length": 3}')
    models = open_door(Offline(author, 0.0), journal, {}, 1).open_session("s", "a")
    assert await models.ask(PROMPT, Question(word="cat"), Answer) == Answer(length=3)
    assert [call.outcome for call in read_calls(tmp_path)] == ["failure", "reply"]


async def test_repair_is_bounded_and_the_failure_says_what_was_wrong(journal: Journal) -> None:
    author = Scripted("{}", "{}", "{}", "{}")
    with pytest.raises(BadReply, match="length: Field required"):
        await (
            open_door(Offline(author, 0.0), journal, {}, 1)
            .open_session("s", "a")
            .ask(PROMPT, Question(word="cat"), Answer)
        )
    assert author.asked == [0, 1, 2]


class _Served(BaseHTTPRequestHandler):
    mood = "well"
    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        body = {
            "well": json.dumps({"reply": '{"length": 3}'}),
            "garbled": "<html>proxy</html>",
            "down": "later",
        }[self.mood].encode()
        self.send_response(503 if self.mood == "down" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def served() -> Iterator[tuple[type[_Served], str]]:
    handler = type("Handler", (_Served,), {"mood": "well", "asked": 0})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("mood", ["down", "garbled"])
async def test_an_outage_is_retried_then_told_apart_from_a_bad_reply(
    journal: Journal, tmp_path: Path, served: tuple[type[_Served], str], mood: str
) -> None:
    handler, url = served
    handler.mood = mood
    provider = Offline(Scripted(), 0.0, url)
    models = open_door(provider, journal, {}, 1).open_session("s", "a")
    with pytest.raises(Outage, match="Start it again"):
        await models.ask(PROMPT, Question(word="cat"), Answer)
    assert (handler.asked, [call.outcome for call in read_calls(tmp_path)]) == (3, ["outage"])
    handler.mood = "well"
    assert await models.ask(PROMPT, Question(word="cat"), Answer) == Answer(length=3)
    await provider.close()


async def test_one_question_asked_by_two_at_once_is_asked_once(journal: Journal) -> None:
    author = Scripted('{"length": 3}')
    door = open_door(Offline(author, 0.0), journal, {}, 1)
    await asyncio.gather(
        *(
            door.open_session("s", subject).ask(PROMPT, Question(word="cat"), Answer)
            for subject in "abc"
        )
    )
    assert author.asked == [0]


async def test_nobody_listening_is_an_outage(journal: Journal) -> None:
    provider = Offline(Scripted(), 0.0, "http://127.0.0.1:9/")
    with pytest.raises(Outage):
        await (
            open_door(provider, journal, {}, 1)
            .open_session("s", "a")
            .ask(PROMPT, Question(word="cat"), Answer)
        )
    await provider.close()


async def test_a_recording_answers_what_was_asked_and_nothing_else(
    journal: Journal, tmp_path: Path
) -> None:
    await (
        open_door(Offline(Scripted('{"length": 3}'), 0.5), journal, {}, 1)
        .open_session("s", "a")
        .ask(PROMPT, Question(word="cat"), Answer)
    )
    replay = Replay(list(read_calls(tmp_path)))
    assert await open_door(replay, journal, {}, 1).open_session("s", "z").ask(
        PROMPT, Question(word="cat"), Answer
    ) == Answer(length=3)
    with pytest.raises(SettingsError, match="recording holds no reply"):
        await (
            open_door(replay, journal, {}, 1)
            .open_session("s", "z")
            .ask(PROMPT, Question(word="dog"), Answer)
        )
    with pytest.raises(SettingsError, match="recording holds no reply"):
        await (
            open_door(replay, journal, {}, 2)
            .open_session("s", "z")
            .ask(PROMPT, Question(word="cat"), Answer)
        )


def test_a_prompt_with_a_slot_nobody_fills_is_refused() -> None:
    with pytest.raises(SettingsError, match="colour"):
        Prompt("p", "{{colour}}", "h").render(Question(word="x"), Answer)


def test_deep_json_is_a_complaint_and_no_crash() -> None:
    assert isinstance(parse_reply('{"a":' + "[" * 200_000, Answer), str)
