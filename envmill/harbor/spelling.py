"""TOML out of plain values: tables of tables, strings, numbers, truth values and lists of them."""

from collections.abc import Iterator, Mapping

from schemas.base import Json, canonical_json, is_array, is_object


def spell_toml(value: Mapping[str, Json]) -> str:
    """The same text for the same values; null is left out, since TOML has none."""
    return "\n".join(_spell_table(value, "")).strip() + "\n"


def _spell_table(table: Mapping[str, Json], name: str) -> Iterator[str]:
    plain = {key: each for key, each in table.items() if each is not None and not is_object(each)}
    nested = {key: each for key, each in table.items() if is_object(each)}
    if name and (plain or not nested):
        yield f"\n[{name}]"
    for key, each in plain.items():
        yield f"{_spell_key(key)} = {_spell(each)}"
    for key, each in nested.items():
        yield from _spell_table(each, f"{name}.{_spell_key(key)}" if name else _spell_key(key))


def _spell_key(key: str) -> str:
    return key if key.replace("_", "a").replace("-", "a").isalnum() and key.isascii() else _spell(key)


def _spell(value: Json) -> str:
    if is_array(value):
        return f"[{', '.join(map(_spell, value))}]"
    # JSON's strings, numbers and truth values are TOML's, but for one character that TOML wants escaped.
    return canonical_json(value).replace("\x7f", "\\u007f")
