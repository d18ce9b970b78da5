"""The corpus for theme mining: texts of our own, each its own, over many walks of life."""

import json
import re
from collections import Counter

from envmill.base.settings import ROOT
from envmill.recipes.drafting.themes import read_themes

CORPUS = ROOT / "data/seeds/tasks.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def list_words(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def test_corpus_is_large_and_covers_many_domains() -> None:
    assert len(ROWS) >= 300
    assert len({row["domain"] for row in ROWS}) >= 40
    assert max(Counter(row["domain"] for row in ROWS).values()) <= len(ROWS) // 40


def test_every_line_has_the_four_fields() -> None:
    for row in ROWS:
        assert set(row) == {"id", "text", "domain", "licence"}
        assert row["licence"] == "Apache-2.0"
        assert row["id"].startswith(row["domain"])
        assert re.fullmatch(r"[a-z_]+", row["domain"])
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_every_theme_we_know_is_in_it_and_many_we_do_not() -> None:
    hinted = {row["domain"] for row in ROWS}
    known = {name for name, _ in read_themes()}
    assert known <= hinted
    assert len(hinted - known) >= 20


def test_no_two_texts_share_five_words_in_a_row() -> None:
    """Texts made from a template would."""
    runs = Counter(
        run
        for row in ROWS
        for words in [list_words(row["text"])]
        for run in {tuple(words[at : at + 5]) for at in range(len(words) - 4)}
    )
    assert not [run for run, times in runs.items() if times > 1]


def test_texts_begin_in_many_ways_and_have_some_length() -> None:
    starts = Counter(tuple(list_words(row["text"])[:2]) for row in ROWS)
    assert starts.most_common(1)[0][1] <= len(ROWS) * 0.03
    assert all(5 <= len(list_words(row["text"])) <= 40 for row in ROWS)
