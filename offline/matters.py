"""Matters that are not the agent's to decide: clauses of the policy document, two to an
environment."""

import tomllib
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from offline.dice import make_dice
from offline.domain import STRICT, Domain

PATH = ROOT / "data/seeds/matters.toml"
CHOSEN = 2
ANYWHERE = "documents"
"""What matters fit that come up wherever records are kept: for domains that were read from
documents, which nobody listed."""


@dataclass(frozen=True)
class Matter:
    """Something a person decides."""

    __pydantic_config__ = STRICT
    clause: str
    """Sentence of the policy document."""
    to: str
    """Who decides it."""
    why: str
    """What is said when it is passed on."""
    signs: tuple[str, ...]
    """Sentences by which a request shows that it is one."""
    fits: tuple[str, ...]
    """Themes in whose work it comes up: no lawyer asks after the supers of a hive."""


@cache
def load_matters() -> dict[str, Matter]:
    """Every matter by its name."""
    try:
        return TypeAdapter(dict[str, Matter]).validate_python(
            tomllib.loads(PATH.read_text(encoding="utf-8"))
        )
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingsError(f"{PATH} holds no matters: {error}. Mend that file.") from error


def pick_matters(domain: Domain) -> list[Matter]:
    """The matters of one variation."""
    known = load_matters()
    listed = any(domain.theme in each.fits for each in known.values())
    fitting = sorted(
        name for name, each in known.items() if (domain.theme if listed else ANYWHERE) in each.fits
    )
    if len(fitting) < CHOSEN:
        raise SettingsError(
            f"{PATH} has {len(fitting)} matters for {domain.theme}: name it under `fits` of "
            f"{CHOSEN} at least."
        )
    return [
        known[each]
        for each in make_dice("matters", domain.theme, *domain.names).sample(fitting, CHOSEN)
    ]


def write_clauses(domain: Domain) -> str:
    """What the policy document says about them."""
    clauses = " ".join(each.clause for each in pick_matters(domain))
    return (
        f"{clauses} In such a case touch nothing, say who gets the matter and what status every "
        "record concerned has."
    )
