"""Themes that a run starts from where it mines no corpus: reads `data/seeds/themes.toml`."""

import tomllib
from functools import cache
from typing import Any

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT

PATH = ROOT / "data/seeds/themes.toml"
DESKS = ROOT / "data/seeds/desks.toml"


@cache
def _load_themes() -> dict[str, str]:
    try:
        themes = tomllib.loads(PATH.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{PATH} holds no themes: {error}. Mend that file.") from error
    if wrong := [name for name, text in themes.items() if not isinstance(text, str) or not text]:
        raise SettingsError(f"{PATH}: {', '.join(wrong)} must be a text. Mend that file.")
    return dict(sorted(themes.items()))


def read_themes() -> list[tuple[str, str]]:
    """Every theme with its text, in name order."""
    return list(_load_themes().items())


@cache
def read_desks() -> dict[str, dict[str, Any]]:
    """Every trade of a desk, in name order: its `text`, and the embedded author's words for it."""
    try:
        return dict(sorted(tomllib.loads(DESKS.read_text(encoding="utf-8")).items()))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{DESKS} holds no trades: {error}. Mend that file.") from error
