"""The article before a noun, by its sound."""

import re

ARTICLE = re.compile(r"\ba(?= (?:[aio](?!ne\b)|e(?!u)|u(?:n(?!i)|[lmpr])|hour\b))")
"""Where `a` is spoken as `an`: before an update, and not before a unit or a user."""


def name_one(noun: str) -> str:
    """`an entity`, `a user`."""
    return ARTICLE.sub("an", f"a {noun.replace('_', ' ')}")
