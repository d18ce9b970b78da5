"""The words of a text that carry its meaning. Common words and common endings are removed."""

from envmill.language.similarity import split_words

_EVERYWHERE = frozenset(
    """
    a an and are as at be but by can could do does for from has have i i'd i'm if in into is it its it's just me my of on or
    our please so than that the their them then there these this to up us was we were what when which will with would you
    your also
    """.split()  # noqa: SIM905  a list of words, read as words
)
_ENDINGS = ("ing", "ed", "es", "s", "ly")
_STEM = 4
"""Minimal number of letters that a word keeps."""


def list_content_words(text: str) -> frozenset[str]:
    return frozenset(
        _cut_ending(word) for word in split_words(text) if len(word) > 1 and word not in _EVERYWHERE
    )


def _cut_ending(word: str) -> str:
    ending = next(
        (one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _STEM), ""
    )
    return word.removesuffix(ending)
