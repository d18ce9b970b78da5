"""Repair is bounded, tells what was wrong, and never mixes up a part with the whole."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from envmill.base.errors import BadReply
from envmill.lake.journal import Journal, read_calls
from envmill.models.base import (
    Completion,
    Message,
    Request,
    Role,
    Sampling,
    Stop,
    ToolCall,
    ToolSpec,
    Usage,
)
from envmill.models.gateway import Gateway
from envmill.models.prompt import Prompt
from schemas.base import Contract


class Question(Contract):
    word: str


class Answer(Contract):
    length: int
    note: str = ""


PROMPT = Prompt("count", "How long is {{word}}? Answer as {{reply_schema}}", "hash")
GOOD = Completion('{"length": 3}')
DEFAULT = Sampling()


class Scripted:
    """Says what it is told, in order, and keeps what it was asked."""

    name, model = "scripted", "m"

    def __init__(self, *said: Completion | str) -> None:
        self.said = [Completion(one) if isinstance(one, str) else one for one in said]
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return self.said[len(self.asked) - 1]

    async def close(self) -> None:
        return


def cut(text: str, stop: Stop = "length") -> Completion:
    return Completion(text, stop=stop)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncGenerator[Journal]:
    opened = Journal(tmp_path)
    yield opened
    await opened.close()


async def ask(
    journal: Journal, provider: Scripted, sampling: Sampling = DEFAULT, sample: int = 0
) -> Answer:
    models = Gateway(provider, journal, {}, 1).open_session("s", "a")
    return await models.ask(PROMPT, Question(word="cat"), Answer, sampling=sampling, sample=sample)


async def test_the_complaint_is_sent_back_with_the_reply(journal: Journal) -> None:
    provider = Scripted('{"length": "x"}', GOOD)
    assert await ask(journal, provider) == Answer(length=3)
    said = provider.asked[1].messages
    assert [message.role for message in said] == ["user", "assistant", "user"]
    assert said[1].text == '{"length": "x"}'
    assert "length: " in said[2].text


async def test_corrections_end_after_two(journal: Journal) -> None:
    provider = Scripted(*["{}"] * 9)
    with pytest.raises(
        BadReply, match=r"no usable reply after 2 repairs\. .*length: Field required"
    ) as failed:
        await ask(journal, provider)
    assert len(provider.asked) == 3
    assert failed.value.facts["stop"] == "end"


async def test_a_cut_reply_is_continued_and_joined(journal: Journal) -> None:
    provider = Scripted(cut('{"length": 3, "no'), cut('te": "lo'), 'ng"}')
    assert await ask(journal, provider) == Answer(length=3, note="long")
    assert provider.asked[2].messages[1].text == '{"length": 3, "note": "lo'
    assert [request.enforced for request in provider.asked] == [True, False, False]


async def test_parts_are_told_from_failures(tmp_path: Path) -> None:
    """Each by what it was good for: of the second reply the last part spoils the whole."""
    journal = Journal(tmp_path)
    await ask(journal, Scripted(cut('{"length": 3, "no'), cut('te": "lo'), 'ng"}'))
    spoilt = Scripted(cut('{"length": 3, "no'), 'te": ', GOOD)
    await ask(journal, spoilt, sample=1)
    await ask(
        journal, Scripted(cut('{"length": 3, "inner": '), '{"length": 9}}', cut(""), GOOD), sample=2
    )
    await journal.close()
    calls = list(read_calls(tmp_path))
    assert [call.outcome for call in calls] == [
        *("part", "part", "part"),
        *("part", "failure", "reply"),
        *("part", "failure", "failure", "reply"),
    ]
    assert all((call.outcome == "reply") == (call.error == "") and call.answers for call in calls)


async def test_a_part_that_looks_like_the_whole_is_not_taken_for_it(journal: Journal) -> None:
    provider = Scripted(cut('{"length": 3, "note": "he said '), '{\\"length\\": 9} {"}', GOOD)
    assert (await ask(journal, provider)).length == 3
    inner = Scripted(cut('{"note": "n", "inner": '), '{"length": 9}}', GOOD)
    assert (await ask(journal, inner)).length == 3


async def test_a_continuation_that_starts_over_is_the_reply(journal: Journal) -> None:
    provider = Scripted(cut('{"length": 3, "note": "a'), '{"length": 3, "note": "b"}')
    assert await ask(journal, provider) == Answer(length=3, note="b")


async def test_continuing_ends_too(journal: Journal) -> None:
    provider = Scripted(*[cut(" and so on")] * 20)
    with pytest.raises(BadReply, match="cut off"):
        await ask(journal, provider)
    assert len(provider.asked) <= 7


async def test_a_limit_of_our_own_is_doubled_where_nothing_came(journal: Journal) -> None:
    provider = Scripted(cut(""), GOOD)
    assert await ask(journal, provider, Sampling(max_tokens=100)) == Answer(length=3)
    assert [request.sampling.max_tokens for request in provider.asked] == [100, 200]
    assert len(provider.asked[1].messages) == 1


@pytest.mark.parametrize("stop", ["refusal", "filter"])
async def test_a_refusal_is_asked_afresh_once_and_then_told(journal: Journal, stop: Stop) -> None:
    provider = Scripted(cut("I cannot help.", stop), GOOD)
    assert await ask(journal, provider) == Answer(length=3)
    assert len(provider.asked[1].messages) == 1
    stubborn = Scripted(*[cut("I will not.", stop)] * 9)
    with pytest.raises(BadReply, match="I will not") as failed:
        await ask(journal, stubborn, sample=1)
    assert (len(stubborn.asked), failed.value.facts["stop"]) == (2, stop)


async def test_an_empty_reply_is_never_shown_to_the_model(journal: Journal) -> None:
    provider = Scripted("", GOOD)
    assert await ask(journal, provider) == Answer(length=3)
    assert len(provider.asked[1].messages) == 1


async def test_every_call_of_every_sample_has_a_number_of_its_own(journal: Journal) -> None:
    numbers: list[int] = []
    for sample in range(3):
        provider = Scripted(
            "{}", cut('{"len'), cut("", "end"), cut('gth": 3'), "{}", "{}", "{}", "{}", "{}", "{}"
        )
        with pytest.raises(BadReply):
            await ask(journal, provider, sample=sample)
        numbers += [request.sample for request in provider.asked]
    assert len(set(numbers)) == len(numbers)


async def test_what_it_cost_is_counted_for_every_repair(journal: Journal) -> None:
    models = Gateway(
        Scripted(
            Completion("{}", usage=Usage(5, 2)), Completion('{"length": 3}', usage=Usage(7, 1))
        ),
        journal,
        {},
        1,
    ).open_session("s", "a")
    await models.ask(PROMPT, Question(word="cat"), Answer)
    assert models.spent.tokens == 15


async def test_a_turn_of_a_conversation_comes_as_it_is(journal: Journal) -> None:
    calls = (ToolCall("c1", "lend", None, '{"tool": '),)
    provider = Scripted(Completion("", calls, stop="tool"))
    tool = ToolSpec("lend", "Lend a tool.", {"type": "object", "properties": {}})
    models = Gateway(provider, journal, {}, 1).open_session("s", "a")
    said = [Message("system", "Rules."), Message("user", "Lend me a drill.")]
    turn = await models.converse(PROMPT, Question(word="x"), said, tools=[tool], role="policy")
    assert (turn.tool_calls, turn.stop) == (calls, "tool")
    assert (provider.asked[0].tools, provider.asked[0].reply, len(provider.asked)) == (
        (tool,),
        None,
        1,
    )


async def test_each_role_is_asked_at_its_own_model(journal: Journal) -> None:
    author, judge = Scripted(GOOD, GOOD), Scripted(GOOD)
    judge.model = "j"
    models = Gateway(author, journal, {}, 1, {"judge": judge}).open_session("s", "a")
    roles: list[Role] = ["author", "judge", "critic"]
    for role in roles:
        await models.ask(PROMPT, Question(word=role), Answer, role=role)
    assert ([one.role for one in author.asked], [one.role for one in judge.asked]) == (
        ["author", "critic"],
        ["judge"],
    )


def test_the_key_is_of_what_is_sent_and_to_whom() -> None:
    def make(**changes: object) -> Request:
        fields = {
            "prompt": PROMPT,
            "inputs": {},
            "messages": (Message("user", "q"),),
            "reply": Answer,
            "seed": 1,
            "sample": 0,
        }
        return Request(**(fields | {"step": "s", "subject": "a"} | changes))  # type: ignore[arg-type]

    key = make().key("m")
    assert key == make(step="t", subject="b", sample=4, role="judge").key("m")
    call = ToolCall("c", "lend", {}, "{}")
    others = [
        make().key("n"),
        make(seed=2).key("m"),
        make(reply=None).key("m"),
        make(reply=Question).key("m"),
        make(sampling=Sampling(temperature=0.0)).key("m"),
        make(sampling=Sampling(max_tokens=9)).key("m"),
        make(tools=(ToolSpec("lend", "", {}),)).key("m"),
        make(messages=(Message("user", "r"),)).key("m"),
        make(messages=(Message("system", "q"),)).key("m"),
        make(messages=(Message("assistant", "q", tool_calls=(call,)),)).key("m"),
        make(messages=(Message("tool", "q", tool_call_id="c"),)).key("m"),
    ]
    assert len({key, *others}) == 12


@pytest.mark.parametrize(
    ("said", "repairs"),
    [
        pytest.param([GOOD], [False], id="right at once"),
        pytest.param(['{"length": "x"}', GOOD], [False, True], id="sent back"),
        pytest.param(
            [cut('{"length": '), "3}"], [False, False], id="a reply that was cut off goes on"
        ),
        pytest.param([cut("", "refusal"), GOOD], [False, True], id="refused, and asked again"),
    ],
)
async def test_a_call_says_whether_it_repairs(
    journal: Journal, said: list[Completion | str], repairs: list[bool]
) -> None:
    await ask(journal, Scripted(*said))
    assert [call.repair for call in read_calls(journal.path.parent)] == repairs


async def test_what_a_gate_complains_about_is_a_repair(journal: Journal) -> None:
    models = Gateway(Scripted(GOOD, GOOD, GOOD), journal, {}, 1).open_session("s", "a")
    await models.ask(PROMPT, Question(word="cat"), Answer)
    await models.ask(PROMPT, Question(word="cat"), Answer, complaint="It has four letters.")
    await models.afresh(1, "The others failed.").ask(PROMPT, Question(word="cat"), Answer)
    assert [call.repair for call in read_calls(journal.path.parent)] == [False, True, True]
