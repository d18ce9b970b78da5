"""The article before a noun, by its sound."""

import re

ARTICLE = re.compile(r"\ba(?= [aeio](?!ne\b))")
"""Where `a` is spoken as `an`; a unit and a union begin with no vowel one hears."""


def name_one(noun: str) -> str:
    """`an entity`, `a user`."""
    return ARTICLE.sub("an", f"a {noun.replace('_', ' ')}")
