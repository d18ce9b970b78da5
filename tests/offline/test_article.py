"""Articles by sound."""

import pytest

from offline.article import name_one


@pytest.mark.parametrize(
    "noun", ["unit", "user", "one_way_ticket", "european_union", "utility", "house"]
)
def test_what_sounds_like_a_consonant_has_a(noun: str) -> None:
    assert name_one(noun).startswith("a ")


@pytest.mark.parametrize(
    "noun",
    ["entity", "ipam", "unreferenced_merge_commit", "update", "upload", "urn", "hour", "order"],
)
def test_what_sounds_like_a_vowel_has_an(noun: str) -> None:
    assert name_one(noun).startswith("an ")
