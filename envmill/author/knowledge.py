"""Domain knowledge as data: reads `data/seeds/domains/*.toml`, one file per theme."""

import tomllib
from functools import cache

from pydantic import TypeAdapter, ValidationError

from envmill.author.domain import Domain
from envmill.errors import SettingsError
from envmill.settings import ROOT

FOLDER = ROOT / "data/seeds/domains"


def themes() -> list[tuple[str, str]]:
    """Every theme with its text, in name order."""
    return [(path.stem, load_domain(path.stem).text) for path in sorted(FOLDER.glob("*.toml"))]


@cache
def load_domain(theme: str) -> Domain:
    """One theme's domain in full, every feature included."""
    known = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if theme not in known:
        raise SettingsError(f"The offline author knows no theme {theme!r}: use one of {', '.join(known)}.", theme=theme)
    path = FOLDER / f"{theme}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return TypeAdapter(Domain).validate_python({"theme": theme, **raw})
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingsError(f"{path} is no domain: {error}. Mend that file.", theme=theme) from error
