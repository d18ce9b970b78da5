"""Pairs of words: what is left of them where a word is left out."""

from envmill.language.similarity import list_pairs, list_runs, share, split_words

TEXT = split_words(
    "please lend the large drill to Ada on Monday and tell me when that is done and where she can "
    "fetch it tomorrow"
)


def test_pairs_are_of_words_side_by_side_and_with_one_between() -> None:
    assert list_pairs(["a", "b", "c", "d"]) == {"a b", "a c", "b c", "b d", "c d"}
    assert list_pairs(["a"]) == frozenset() == list_pairs([])


def test_more_pairs_than_runs_of_three_are_left_where_words_are_left_out() -> None:
    fewer = [word for place, word in enumerate(TEXT) if place % 6]
    assert (
        share(list_pairs(TEXT), list_pairs(fewer))
        > share(list_runs(TEXT, 3), list_runs(fewer, 3)) + 0.05
    )
