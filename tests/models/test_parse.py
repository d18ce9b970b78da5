"""Replies as models write them: what is forgiven, what is refused, and that the complaint says what
was wrong."""

import json
import re

import pytest

from envmill.models.base import Completion, Stop
from envmill.models.mend import load_object
from envmill.models.parse import parse_completion, parse_reply
from schemas.base import Contract, Json


class Answer(Contract):
    length: int
    note: Json = None


class Shelf(Contract):
    items: list[Answer]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"length": 3}', id="bare"),
        pytest.param('Sure! {"length": 3} Anything else?', id="prose"),
        pytest.param('As {word} is short, f({}) says {"length": 3}', id="braces-in-prose"),
        pytest.param('```json\n{"length": 3}\n```\n', id="fence"),
        pytest.param(
            'First:\n```json\n{"length": \n```\nno, this:\n```json\n{"length": 3}\n```',
            id="second-block",
        ),
        pytest.param(
            '```python\nprint({"a": 1})\n```\n```json\n{"length": 3}\n```', id="several-blocks"
        ),
        pytest.param('{"length": 3} and again {"length": 3}', id="said-twice"),
        pytest.param('{"length": 3,}', id="trailing-comma"),
        pytest.param('{"length": 3, "note": [1, 2,\n],\n}', id="trailing-commas-inside"),
        pytest.param('{"length": 3, "note": None, }', id="python-constants"),
        pytest.param('{"length": "3"}', id="number-as-text"),
        pytest.param('{"length": 3.0}', id="whole-float"),
        pytest.param('{"reply": {"length": 3}}', id="wrapped"),
        pytest.param('\ufeff{"length": 3}', id="byte-order-mark"),
    ],
)
def test_a_usable_reply_is_read(text: str) -> None:
    found = parse_reply(text, Answer)
    assert isinstance(found, Answer)
    assert found.length == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("no json at all", "holds no JSON object", id="prose"),
        pytest.param("[1]", "holds no JSON object", id="array"),
        pytest.param('{"length": 3', "Expecting ',' delimiter", id="cut"),
        pytest.param('{"length": "long"}', 'length: .*it is "long"', id="wrong-type"),
        pytest.param('{"note": 1}', "length: Field required", id="missing"),
        pytest.param('{"length": 3, "extra": 1}', "extra: Extra inputs", id="extra"),
        pytest.param(
            '{"length": 3} or {"length": 4}', "2 different JSON objects", id="two-answers"
        ),
        pytest.param(
            '[{"length": 3}, {"length": 4}]', "2 different JSON objects", id="list-of-answers"
        ),
        pytest.param('{"length": 3, "length": 4}', "'length' stands twice", id="twin-keys"),
        pytest.param(
            '{"length": 3, "note": {"a": 1, "b": 0, "a": 2}}',
            "'a' stands twice",
            id="twin-keys-inside",
        ),
        pytest.param('{"length": NaN}', "not JSON compliant", id="nan"),
        pytest.param('{"length": 3, "note": 1e999}', "not JSON compliant", id="infinite"),
        pytest.param('{"length": 3, "note": "\\ud800"}', "surrogate", id="half-a-pair"),
        pytest.param("{'length': 3}", "double quotes", id="single-quotes"),
        pytest.param(
            '{"length": 3, "note": {"length": 4}', "cannot be read", id="object-inside-a-broken-one"
        ),
        pytest.param(
            '{"note": {"length": 4}, "length": ', "cannot be read", id="object-before-the-break"
        ),
    ],
)
def test_an_unusable_reply_is_told_what_is_wrong(text: str, told: str) -> None:
    complaint = parse_reply(text, Answer)
    assert isinstance(complaint, str)
    assert re.search(told, complaint), complaint


def test_what_stands_in_a_string_is_left_alone() -> None:
    text = '{"length": 3, "note": "a,} True {\\"length\\": 4}\nsecond line ```",}'
    assert parse_reply(text, Answer) == Answer(
        length=3, note='a,} True {"length": 4}\nsecond line ```'
    )


def test_an_object_that_holds_the_record_is_not_unwrapped_where_both_have_a_field() -> None:
    assert isinstance(parse_reply('{"length": {"length": 3}}', Answer), str)


def test_a_complaint_is_short_whatever_came() -> None:
    complaint = parse_reply(json.dumps({"items": [{"length": "x" * 10_000}] * 100}), Shelf)
    assert isinstance(complaint, str)
    assert len(complaint) < 1500
    assert "items.0.length" in complaint
    assert "and 95 more" in complaint


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        '{"a":' + "[" * 200_000,
        "{" * 300_000,
        '{"' * 200_000,
        '"' * 300_000,
        '{"a" ' * 20_000,
        '```\n{"a": \n' * 20_000,
    ],
    ids=["deep-objects", "deep-arrays", "braces", "openings", "quotes", "broken", "fences"],
)
def test_a_text_made_to_be_slow_or_deep_is_a_complaint_and_no_crash(text: str) -> None:
    assert isinstance(parse_reply(text, Answer), str)


@pytest.mark.parametrize(
    ("stop", "told"), [("refusal", "refused"), ("filter", "content filter"), ("length", "cut off")]
)
def test_a_stop_is_part_of_the_complaint(stop: Stop, told: str) -> None:
    heard = parse_completion(Completion('{"length": ', stop=stop), Answer)
    assert not heard.usable
    assert told in heard.complaint


def test_a_refusal_that_looks_like_an_answer_is_none() -> None:
    assert not parse_completion(Completion('{"length": 3}', stop="refusal"), Answer).usable


def test_a_reply_that_was_complete_when_it_was_cut_is_used() -> None:
    assert parse_completion(
        Completion('{"length": 3} I chose', stop="length"), Answer
    ).record == Answer(length=3)


def test_free_text_is_used_as_it_is() -> None:
    assert parse_completion(Completion("hello"), None).usable


@pytest.mark.parametrize("text", ['{"a": 1}', ' {"a": 1}\n'])
def test_arguments_are_read(text: str) -> None:
    assert load_object(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        '{"a": 1,}',
        '{"a": 1} {}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "{" * 99_999,
    ],
)
def test_arguments_are_never_mended(text: str) -> None:
    assert isinstance(load_object(text), str)
