"""Known calls on disk: what the door needs of a dictionary."""

from envmill.models.call_book import CallBook
from schemas.ledger import ModelCall
from tests.bench.lake import _call as make_call


def test_the_last_answer_counts_and_a_known_one_stays() -> None:
    first, other = make_call(1), make_call(2)
    later = first.model_copy(update={"reply": "said again"})
    book = CallBook([first, other, later])
    key = first.request, first.sample
    assert key in book
    assert book.get(key) == later
    assert book.setdefault(key, first) == later
    assert book.get(key) == later
    unknown = "nobody asked", 0
    assert unknown not in book
    assert book.get(unknown) is None
    assert book.setdefault(unknown, other) == other
    assert book.get(unknown) == other


def test_a_call_without_an_answer_is_not_known() -> None:
    failed: ModelCall = make_call(1).model_copy(update={"outcome": "outage", "reply": ""})
    assert not failed.answers
    assert (failed.request, failed.sample) not in CallBook([failed])
