"""The measure of prompts: the recorded tasks are those of the corpus, and a beginning counts less
only where an earlier request has it."""

import json

import pytest

from schemas.base import canonical_json
from tests.bench.prompt_tasks.sent import Sent, read_sent
from tests.bench.prompt_tasks.today import Asked, render_today
from tests.bench.prompt_tasks.tokens import split, weigh
from tests.bench.prompts import weigh_runs
from tests.real_authors.corpus import list_items


def make_task(recipe: str, number: int, stem: str = "rows") -> Sent:
    return Sent(recipe, number, "shed", f"{stem}.{number}", "", None, {})


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Find the member.", ["Find", " the", " member", "."]),
        ("loan_3f9c", ["loan", "_", "3", "f", "9", "c"]),
        ("transportation", ["transpor", "tation"]),
        ('{"id":12345}', ['{"', "id", '":', "123", "45", "}"]),
        ("a:\n\n        b", ["a", ":", "\n\n        ", "b"]),
    ],
)
def test_a_text_is_split_by_the_rule_and_nothing_is_lost(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens
    assert "".join(split(text)) == text


def test_the_longest_beginning_that_an_earlier_request_has_counts_a_tenth() -> None:
    assert list(weigh([[*"abcd"], [*"abxy"], [*"abcz"], [*"zabc"]])) == pytest.approx(
        [4, 2 + 0.2, 1 + 0.3, 4]
    )


def test_runs_share_nothing_and_an_enforced_schema_is_sent_before_the_text() -> None:
    tasks = [make_task("awm", 1), make_task("awm", 2), make_task("envscaler", 1)]
    plain = weigh_runs(tasks, {task.id: Asked("one two three", None) for task in tasks})
    assert list(plain.values()) == pytest.approx([3, 0.3, 3])
    asked = [
        Asked("one two three", None),
        Asked("one two three", {"type": "object"}),
        Asked("one two three", None),
    ]
    assert list(weigh_runs(tasks, dict(zip(plain, asked, strict=True))).values()) == pytest.approx(
        [3, 3 + len(split('{"type":"object"}')), 3]
    )


def test_every_recorded_task_is_one_of_the_corpus() -> None:
    tasks, items = read_sent(), {item.id: item for item in list_items()}
    assert len({task.id for task in tasks}) == len(tasks) == 164
    written = [task for task in tasks if task.item != "mined"]
    assert {f"{task.recipe}/{task.item}" for task in written} == set(items)
    assert [
        task.id for task in written if items[f"{task.recipe}/{task.item}"].read(task.stem) is None
    ] == []


def test_what_was_asked_before_there_is_an_environment_is_asked_with_the_same_facts() -> None:
    tasks = [task for task in read_sent() if task.item == "mined"]
    today = render_today(tasks)
    assert {task.id for task in tasks} == set(today)
    for task in tasks:
        facts = dict(task.inputs)
        cards = [canonical_json(card) for card in json.loads(facts.pop("others", "[]"))]
        assert [fact for fact in (*facts.values(), *cards) if fact not in today[task.id].text] == []
