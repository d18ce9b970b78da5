"""TOML out of plain values: tables of tables and of rows, strings, numbers, truth values and lists
of them."""

from collections.abc import Iterator, Mapping

from schemas.base import Json, canonical_json, is_array, is_object


def render_toml(value: Mapping[str, Json]) -> str:
    """The same text for the same values; null is left out, since TOML has none."""
    return "\n".join(_render_table(value, "")).strip() + "\n"


def _render_table(table: Mapping[str, Json], name: str) -> Iterator[str]:
    several = {
        key: each
        for key, each in table.items()
        if is_array(each) and each and all(map(is_object, each))
    }
    nested = {key: each for key, each in table.items() if is_object(each)}
    plain = {
        key: each
        for key, each in table.items()
        if each is not None and key not in several and key not in nested
    }
    if name and (plain or not nested):
        yield f"\n[{name}]"
    for key, each in plain.items():
        yield f"{_render_key(key)} = {_render(each)}"
    for key, each in nested.items():
        yield from _render_table(each, _join(name, key))
    for key, rows in several.items():
        for row in rows:
            first, *rest = _render_table(row, _join(name, key))
            yield from (first.replace("[", "[[", 1).replace("]", "]]"), *rest)


def _join(name: str, key: str) -> str:
    return f"{name}.{_render_key(key)}" if name else _render_key(key)


def _render_key(key: str) -> str:
    return (
        key if key.replace("_", "a").replace("-", "a").isalnum() and key.isascii() else _render(key)
    )


def _render(value: Json) -> str:
    if is_array(value):
        return f"[{', '.join(map(_render, value))}]"
    # JSON's strings, numbers and truth values are TOML's, but for one character that TOML wants
    # escaped.
    return canonical_json(value).replace("\x7f", "\\u007f")
