"""Batches, through every carrier: nothing is sent twice, only what came to nothing goes out again,
and a kill costs nothing."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import BadRequest, KeyRefused, ModelError, Outage, Pending, SettingsError
from envmill.lake.journal import read_calls
from envmill.models.batch import Batch
from envmill.models.batches.slips import Slips
from tests.models.batching import WORDS, Field, kinds_of, render_answer
from tests.models.calling import GOOD, PROMPT, Answer, Question
from tests.models.vendors.launch import Loopback


async def test_a_batch_is_sent_once_and_its_replies_are_journalled(run: Field) -> None:
    if run.kind != "lines":
        run.vendors.set(batches={"polls": 2})
    assert kinds_of(await run.run()) == {"Pending": 6}
    assert kinds_of(await run.run()) == {"Pending": 6}, "it is under way"
    run.serve()
    assert kinds_of(await run.run()) == {"Answer": 6}
    assert run.asked() == dict.fromkeys(WORDS, 1)
    calls = [call for call in read_calls(run.folder / "journal")]
    assert Counter((call.provider, call.outcome, call.reused) for call in calls) == {
        (f"batch-{run.kind}", "reply", False): 6
    }
    assert all(call.tokens_in and call.tokens_out for call in calls)
    assert kinds_of(await run.run()) == {"Answer": 6}
    assert run.asked() == dict.fromkeys(WORDS, 1)


async def test_later_questions_go_out_in_another_batch(run: Field) -> None:
    await run.run("ant", "bee")
    await run.run("ant", "cat")
    run.serve()
    assert kinds_of(await run.run("ant", "bee", "cat")) == {"Answer": 3}
    assert run.asked() == {"ant": 1, "bee": 1, "cat": 1}


async def test_only_what_failed_goes_out_again(run: Field) -> None:
    run.vendors.fail("status", status=500, match="long is cat?", times=1)
    await run.run()
    run.serve("cat")
    if run.kind == "lines":
        (path,) = run.lines.glob("*.out.jsonl")
        row = next(
            json.loads(line)
            for line in run.lines.glob("*.in.jsonl").__next__().read_text().splitlines()
            if "is cat?" in line
        )
        path.write_text(path.read_text() + render_answer(row, 500))
    ended = await run.run()
    assert kinds_of(ended) == {"Answer": 5, "Pending": 1}
    assert isinstance(ended["cat"], Pending)
    run.serve()
    assert kinds_of(await run.run()) == {"Answer": 6}
    assert run.asked() == dict.fromkeys(WORDS, 1) | {"cat": 2}


async def test_only_what_expired_goes_out_again(vendor: Field) -> None:
    vendor.vendors.set(batches={"expire": True, "unfinished": "is dog?"})
    await vendor.run()
    assert kinds_of(await vendor.run()) == {"Answer": 5, "Pending": 1}
    vendor.vendors.set(batches={"expire": False})
    assert kinds_of(await vendor.run()) == {"Answer": 6}
    assert vendor.asked() == dict.fromkeys(WORDS, 1) | {"dog": 2}


async def test_what_is_done_of_a_cancelled_batch_counts(run: Field) -> None:
    if run.kind != "lines":
        run.vendors.set(batches={"polls": 9, "unfinished": "is elk?"})
    await run.run()
    run.serve("elk")
    assert kinds_of(await run.run()) == {"Pending": 6}
    (filed,) = run.slips.read()
    assert filed.state == "under way"
    carrier = run.make_carrier()
    await carrier.cancel(filed.id)
    await carrier.close()
    run.vendors.set(batches={"polls": 1})
    assert kinds_of(await run.run()) == {"Answer": 5, "Pending": 1}
    assert [one.fate for one in (run.slips.read()[0].undone or {}).values()] == ["cancelled"]
    run.serve()
    assert kinds_of(await run.run()) == {"Answer": 6}
    assert run.asked() == dict.fromkeys(WORDS, 1) | {"elk": 2}


async def test_what_is_refused_is_said_and_not_sent_again(run: Field) -> None:
    run.vendors.fail("status", status=400, match="long is fox?", message="too foxy")
    await run.run()
    if run.kind == "lines":
        run.serve("fox")
        (path,) = run.lines.glob("*.out.jsonl")
        row = next(
            json.loads(line)
            for line in run.lines.glob("*.in.jsonl").__next__().read_text().splitlines()
            if "is fox?" in line
        )
        error = {"object": "error", "message": "too foxy", "type": "BadRequestError", "code": 400}
        wrong = {
            "id": "x",
            "custom_id": row["custom_id"],
            "response": {"status_code": 400, "request_id": "r", "body": None},
            "error": error,
        }
        path.write_text(path.read_text() + json.dumps(wrong) + "\n")
    for _ in range(2):
        ended = await run.run()
        assert kinds_of(ended) == {"Answer": 5, "BadRequest": 1}
        assert "too foxy" in str(ended["fox"])
    assert run.asked() == dict.fromkeys(WORDS, 1)


async def test_a_field_that_is_refused_is_left_out_next_time(vendor: Field) -> None:
    """Structured output that a server does not know comes back as a refusal of every item."""
    named = "response_format" if vendor.kind == "openai" else "output_config"
    vendor.vendors.fail("status", status=400, message=f"Unknown parameter: '{named}'", times=2)
    await vendor.run("ant", "bee")
    assert kinds_of(await vendor.run("ant", "bee")) == {"Pending": 2}
    assert kinds_of(await vendor.run("ant", "bee")) == {"Answer": 2}


async def test_a_batch_that_fails_as_a_whole_goes_out_again_three_times_and_three_more_when_retried(
    tmp_path: Path, vendors: Loopback
) -> None:
    run = Field("openai", tmp_path, vendors)
    vendors.set(batches={"refuse": "the file is too large"})
    for number in range(3):
        assert kinds_of(await run.run("ant")) == {"Pending": 1}, number
    ended = await run.run("ant")
    assert kinds_of(ended) == {"BadRequest": 1}
    assert "3 batches in a row" in str(ended["ant"])
    assert "the file is too large" in str(ended["ant"])
    assert run.asked() == {"ant": 3}
    vendors.set(batches={"refuse": ""})
    vendors.say(GOOD)
    assert kinds_of(await run.run("ant")) == {"Pending": 1}
    assert kinds_of(await run.run("ant")) == {"Answer": 1}


async def test_results_that_are_deleted_are_asked_for_again(vendor: Field) -> None:
    vendor.vendors.fail(
        "status",
        status=404,
        path="/v1/files/file-batch"
        if vendor.kind == "openai"
        else "/v1/messages/batches/batch_1/results",
    )
    await vendor.run("ant")
    ended = await vendor.run("ant")
    assert kinds_of(ended) == {"Pending": 1}, ended


async def test_batches_stay_below_the_carriers_limits(run: Field) -> None:
    async with run.door() as door:
        batch = door.provider
        assert isinstance(batch, Batch)
        batch._carrier.most_items = 4
        await asyncio.gather(
            *(
                door.open_session("s", word).ask(PROMPT, Question(word=word), Answer)
                for word in WORDS
            ),
            return_exceptions=True,
        )
        assert [len(one.slip.items) for one in await batch.hand_in()] == [4, 2]


async def test_a_batch_is_bounded_in_bytes_too(lines: Field) -> None:
    async with lines.door() as door:
        batch = door.provider
        assert isinstance(batch, Batch)
        batch._carrier.most_bytes = 1500
        asked = [
            door.open_session("s", word).ask(PROMPT, Question(word=word), Answer) for word in WORDS
        ]
        await asyncio.gather(*asked, return_exceptions=True)
        handed = await batch.hand_in()
    assert len(handed) > 1
    assert sum(len(one.slip.items) for one in handed) == 6
    assert all(path.stat().st_size <= 1500 for path in lines.lines.glob("*.in.jsonl"))


async def test_two_processes_hand_in_one_batch_between_them(run: Field) -> None:
    async with run.door() as one, run.door() as two:
        for door in (one, two):
            await asyncio.gather(
                *(
                    door.open_session("s", word).ask(PROMPT, Question(word=word), Answer)
                    for word in WORDS
                ),
                return_exceptions=True,
            )
        first, second = one.provider, two.provider
        assert isinstance(first, Batch)
        assert isinstance(second, Batch)
        await asyncio.gather(first.hand_in(), second.hand_in())
    assert run.asked() == dict.fromkeys(WORDS, 1)


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize(
    "moment",
    [
        "before the slip",
        "after the slip",
        "after sending",
        "after the id",
        "before closing",
        "after closing",
    ],
)
async def test_a_kill_at_any_moment_sends_nothing_twice_and_loses_nothing(
    run: Field, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    when, where = moment.split(" ", 1)
    owner, name = {
        "the slip": (Slips, "hand"),
        "sending": (type(run.make_carrier()), "submit"),
        "the id": (Slips, "mark_sent"),
        "closing": (Slips, "close"),
    }[where]
    kept = getattr(owner, name)

    def die(*arguments: Any) -> Any:
        monkeypatch.setattr(owner, name, kept)
        if when == "after":
            kept(*arguments)
        raise Killed

    async def die_sending(*arguments: Any) -> Any:
        monkeypatch.setattr(owner, name, kept)
        if when == "after":
            await kept(*arguments)
        raise Killed

    monkeypatch.setattr(owner, name, die_sending if name == "submit" else die)
    for _ in range(5):
        try:
            ended = await run.run()
        except Killed:
            continue
        if kinds_of(ended) == {"Answer": 6}:
            break
        run.serve()
    else:
        pytest.fail(f"not finished: {ended}")
    assert getattr(owner, name) is kept, "the kill never came"
    assert run.asked() == dict.fromkeys(WORDS, 1)


async def test_an_unsent_slip_of_another_machine_is_given_time(
    lines: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock cannot be seen from here: it may be sending right now."""
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    monkeypatch.setattr("envmill.models.batches.lines.Lines.submit", _die)
    with pytest.raises(Killed):
        await lines.run()
    monkeypatch.undo()
    assert kinds_of(await lines.run()) == {"Pending": 6}
    assert lines.asked() == {}, "nothing of ours went out"
    assert [filed.state for filed in lines.slips.read()] == ["being sent"]
    monkeypatch.setattr("envmill.models.batches.watch._FOREIGN_SENDING", 0.0)
    assert kinds_of(await lines.run()) == {"Pending": 6}
    assert lines.asked() == dict.fromkeys(WORDS, 1)


async def _die(*_: Any) -> str:
    raise Killed


@pytest.mark.parametrize(("status", "error"), [(401, KeyRefused), (400, BadRequest), (503, Outage)])
async def test_a_batch_that_cannot_be_handed_in_says_so_and_goes_out_later(
    vendor: Field, status: int, error: type[ModelError]
) -> None:
    vendor.vendors.fail(
        "status",
        status=status,
        path="/v1/files" if vendor.kind == "openai" else "/v1/messages/batches",
        times=1,
    )
    with pytest.raises(error):
        await vendor.run()
    assert kinds_of(await vendor.run()) == {"Pending": 6}
    assert kinds_of(await vendor.run()) == {"Answer": 6}


async def test_another_runs_batch_of_the_same_size_is_not_taken_for_ours(
    tmp_path: Path, vendors: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic keeps no notes: only names in the results tell whose batch it is."""
    vendors.say(GOOD)
    other, ours = (
        Field("anthropic", tmp_path / "other", vendors),
        Field("anthropic", tmp_path / "ours", vendors),
    )
    await other.run("ant", "bee")
    await ours.run()  # six items, so that nothing of two matches by chance
    with monkeypatch.context() as patched:
        patched.setattr("envmill.models.batches.anthropic.Anthropic.submit", _die)
        with pytest.raises(Killed):
            await ours.run("ant", "bee", "owl", "rat")
    ended = await ours.run("owl", "rat")
    assert kinds_of(ended) == {"Pending": 2}
    assert kinds_of(await ours.run("owl", "rat")) == {"Answer": 2}


async def test_a_conversation_is_refused(lines: Field) -> None:
    async with lines.door() as door:
        with pytest.raises(SettingsError, match="Give the role policy a direct provider"):
            await door.open_session("s", "a").converse(
                PROMPT, Question(word="cat"), [], role="policy"
            )


async def test_repairs_go_through_batches_too(lines: Field) -> None:
    await lines.run("cat")
    (path,) = lines.lines.glob("*.in.jsonl")
    row = json.loads(path.read_text())
    path.with_name(path.name.replace(".in.", ".out.")).write_text(
        render_answer(row).replace(json.dumps(GOOD)[1:-1], "no idea")
    )
    assert kinds_of(await lines.run("cat")) == {"Pending": 1}
    lines.serve()
    assert kinds_of(await lines.run("cat")) == {"Answer": 1}
    assert lines.asked() == {"cat": 2}
    calls = sorted(
        read_calls(lines.folder / "journal"), key=lambda call: call.asked_at
    )  # one journal a process, in no order
    assert [call.outcome for call in calls if not call.reused] == ["failure", "reply"]
