"""The loop of versions: repairs continue the conversation, a fresh attempt knows why the others
failed, nothing is asked twice."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from envmill.kinds.authoring.complaint import MOST, Complaint, number
from envmill.kinds.authoring.repair import (
    Repair,
    UnreadableVersion,
    Version,
    describe_builds,
    give_up,
    strive,
)
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import Completion, Message, Request
from envmill.models.gateway import Gateway
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from schemas.base import Contract, Json
from schemas.environment import Fault, SentBack
from schemas.ledger import ModelCall

PROMPT = Prompt("count", "How long is {{word}}?", "hash")
SHORT = Complaint(
    "W3",
    "test_failed",
    "was rejected (limit: 3)",
    index=3,
    tool="book",
    arguments={"id": 1},
    contract="It must succeed.",
)


class Question(Contract):
    word: str = "cat"


class Answer(Contract):
    length: int


@dataclass(frozen=True)
class Try:
    answer: Answer
    complaints: tuple[Complaint, ...]

    @property
    def fault(self) -> Fault:
        return "code" if self.complaints else "none"

    @property
    def content(self) -> Json:
        return self.answer.length


class Scripted:
    """Says what it is told, in order, and keeps what it was asked."""

    name, model = "scripted", "m"

    def __init__(self, *said: str) -> None:
        self.said, self.asked = said, list[Request]()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(self.said[len(self.asked) - 1])

    async def close(self) -> None:
        return


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    await opened.close()


async def write(_before: Try | None, repair: Repair, asking: ModelSession) -> Try:
    """Right at 3; two faults at anything else, one of them told twice."""
    answer = await asking.ask(PROMPT, Question(), Answer, complaint=repair.render())
    other = Complaint("oracle", "idle", f"{answer.length} changes nothing")
    return Try(answer, () if answer.length == 3 else (SHORT, other, SHORT))


async def run(
    journal: Journal,
    provider: Scripted,
    known: Sequence[ModelCall] = (),
    locked: Sequence[str] = (),
) -> Sequence[Version]:
    rows = {(row.request, row.sample): row for row in known}
    return await strive(
        write, Gateway(provider, journal, rows, 1).open_session("s", "a"), lambda: locked
    )


def say(length: int) -> str:
    return f'{{"length": {length}}}'


async def test_a_repair_is_prompt_reply_and_all_complaints_once(journal: Journal) -> None:
    provider = Scripted(say(1), say(2), say(3))
    versions = await run(journal, provider)
    first, second, third = (request.messages for request in provider.asked)
    assert first == (Message("user", "How long is cat?"),)
    assert second[:2] == (*first, Message("assistant", say(1)))
    assert third[:4] == (*second, Message("assistant", say(2)))
    assert [message.role for message in third] == ["user", "assistant", "user", "assistant", "user"]
    told = second[2].text
    assert (
        '1. call 3, book {"id":1}: was rejected (limit: 3). It must succeed.\n2. 1 changes '
        "nothing\n" in told
    )
    assert "3. " not in told
    assert [len(version.complaints) for version in versions] == [3, 3, 0]


async def test_a_fresh_attempt_is_told_every_earlier_complaint_once(journal: Journal) -> None:
    provider = Scripted(say(1), say(2), say(4), say(3))
    await run(journal, provider)
    (message,) = provider.asked[3].messages
    assert message.text.startswith("How long is cat?\n\n## Earlier versions\n")
    assert message.text.count("was rejected (limit: 3)") == 1
    assert all(f"{length} changes nothing" in message.text for length in (1, 2, 4))
    assert provider.asked[3].sample != provider.asked[0].sample


async def test_what_is_locked_is_told_where_something_is(journal: Journal) -> None:
    provider = Scripted(say(1), say(3))
    await run(journal, provider, locked=["A rule."])
    assert "These parts must stay word for word:\n- A rule." in provider.asked[1].messages[-1].text
    provider = Scripted(say(1), say(3))
    await run(journal, provider)
    assert "word for word" not in provider.asked[1].messages[-1].text


async def test_rubbish_ends_in_a_typed_failure_with_its_history(journal: Journal) -> None:
    provider = Scripted(*["rubbish"] * 6)
    versions = await run(journal, provider)
    assert [type(version) for version in versions] == [UnreadableVersion, UnreadableVersion]
    assert "could not be used" not in provider.asked[3].messages[0].text
    assert "no usable reply after 2 repairs" in provider.asked[3].messages[0].text
    assert give_up(versions)[0] == "bad_reply"
    builds = describe_builds("a", versions)
    assert [(build.outcome, build.sent_back) for build in builds] == [
        ("failed", [SentBack(gate="reply", reason="bad_reply")])
    ] * 2
    assert all("no usable reply" in build.failure for build in builds)


async def test_rubbish_after_two_versions_ends_with_the_reason_of_the_last_that_was_read(
    journal: Journal,
) -> None:
    versions = await run(journal, Scripted(say(1), *["rubbish"] * 6))
    assert give_up(versions)[0] == "test_failed"
    assert [build.sent_back[0].reason for build in describe_builds("a", versions)] == [
        "test_failed",
        "bad_reply",
        "bad_reply",
    ]


async def test_after_a_kill_a_conversation_is_answered_from_the_journal(tmp_path: Path) -> None:
    one, told = Journal(tmp_path / "one"), Scripted(say(1), "rubbish", say(2), say(4), say(3))
    finished = await run(one, told)
    await one.close()
    rows = [*read_calls(tmp_path / "one")]
    for survived in range(len(rows) + 1):
        again, left = Journal(tmp_path / f"again{survived}"), Scripted(*told.said[survived:])
        assert await run(again, left, rows[:survived]) == finished
        await again.close()
        assert [request.messages for request in left.asked] == [
            request.messages for request in told.asked[survived:]
        ]


def test_a_list_of_complaints_ends_somewhere() -> None:
    lines = number(
        [Complaint("W3", "red", f"test {place}") for place in range(MOST + 2)]
    ).splitlines()
    assert (len(lines), lines[-1]) == (MOST + 1, "And 2 more.")


async def test_what_changed_since_the_prompt_is_told_with_the_complaint(journal: Journal) -> None:
    provider = Scripted(say(1), say(2))
    models = Gateway(provider, journal, {}, 1).open_session("s", "a")
    await models.ask(PROMPT, Question(), Answer)
    await models.ask(
        PROMPT, Question(word="horse"), Answer, complaint="No.", stands=Answer(length=7)
    )
    assert provider.asked[1].messages[0].text == "How long is cat?"
    assert provider.asked[1].messages[-1].text == (
        'No.\n\nYour reply was changed since. It is now:\n\n{"length":7}\n\n`word` has changed '
        "since. It is now:\n\nhorse"
    )


async def test_parts_of_one_prompt_have_conversations_of_their_own(journal: Journal) -> None:
    provider = Scripted(say(1), say(2), say(3))
    models = Gateway(provider, journal, {}, 1).open_session("s", "a")
    await models.ask(PROMPT, Question(), Answer, part="one")
    await models.ask(PROMPT, Question(word="dog"), Answer, part="two")
    await models.ask(PROMPT, Question(), Answer, part="one", complaint="No.")
    assert [message.text for message in provider.asked[2].messages] == [
        "How long is cat?",
        say(1),
        "No.",
    ]
    assert models.list_parts(PROMPT) == ["one", "two"]
    assert models.afresh(0).list_parts(PROMPT) == []
