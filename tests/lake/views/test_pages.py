"""docs/views says what the views say, and every worked query runs and shows something."""

import pytest

from envmill.lake.lake import Lake
from envmill.lake.sql import ask
from envmill.lake.views import VIEWS, View
from envmill.lake.views.opening import connect
from tests.lake.views.pages import FOLDER, render


def test_the_pages_are_what_the_program_says(example: Lake) -> None:
    with connect(example, VIEWS, example.runs(), "") as connection:
        pages = render(connection)
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")} == pages, (
        "python -m tests.lake.views.pages"
    )


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_every_column_has_a_meaning(example: Lake, view: View) -> None:
    with ask(example, f"select * from {view.name}") as answer:
        assert answer.columns == list(view.columns)
    assert all(meaning.endswith(".") for meaning in view.columns.values())


@pytest.mark.long(cases=2)
@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_three_worked_queries_answer(example: Lake, view: View) -> None:
    assert len(view.questions) == 3
    for title, question in view.questions:
        assert title.endswith("?")
        with ask(example, question) as answer:
            assert list(answer.rows()), question


def test_the_names_are_the_promised_ones() -> None:
    assert list(VIEWS) == [
        "runs", "exits", "funnel", "yield", "pass_rate", "conversations", "user_faults", "cost_per_kept", "spending", "versions", "repairs",
        "sealed", "defects", "trainability", "failures", "bounds", "tiers", "chains", "novelty", "rarefaction",
    ]  # fmt: skip
