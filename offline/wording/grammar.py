"""A grammar of requests: registers and their pieces, read from `data/seeds/wording.toml` and put
together by chance."""

import random
import re
import tomllib
from dataclasses import dataclass
from functools import cache

from pydantic import TypeAdapter, ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from offline.domain import STRICT

PATH = ROOT / "data/seeds/wording.toml"
SAYINGS = ROOT / "data/seeds/sayings.toml"
DEEPEST = 8
"""Pieces within pieces; a grammar that goes deeper runs in a circle."""
_WORD = re.compile(r"<(\w+)>")
_OWN = ("weight", "implicit", "paired", "list")


@dataclass(frozen=True)
class Register:
    """One manner of writing."""

    __pydantic_config__ = STRICT
    name: str
    weight: int
    implicit: float
    """Share of wishes told as news instead of asked for."""
    paired: float
    """Share of sentences that ask for two things."""
    list: bool
    """Whether each wish gets a line of its own."""
    pieces: dict[str, tuple[str, ...]]

    def sample(self, word: str, dice: random.Random) -> str:
        """One piece of a word with everything in it put together; wishes stay as `{a}`."""
        text = dice.choice(self.pieces[word])
        for _ in range(DEEPEST):
            if "<" not in text:
                return text
            text = _WORD.sub(lambda found: dice.choice(self.pieces[found[1]]), text)
        raise SettingsError(
            f"{PATH}: <{word}> of register {self.name} never ends. Take the circle out of its "
            "pieces."
        )


@cache
def load_registers() -> tuple[Register, ...]:
    """Every register, shared pieces included."""
    try:
        raw = tomllib.loads(PATH.read_text(encoding="utf-8"))
        shared = raw["pieces"]
        registers = tuple(_read(name, each, shared) for name, each in raw["registers"].items())
    except (tomllib.TOMLDecodeError, ValidationError, KeyError) as error:
        raise SettingsError(f"{PATH} is no grammar: {error}. Mend that file.") from error
    for each in registers:
        _refuse_unknown(each)
    return registers


@cache
def load_sayings() -> Register:
    """Questions and answers, for requests after which nothing is to be changed."""
    try:
        raw = tomllib.loads(SAYINGS.read_text(encoding="utf-8"))
        sayings = _read("sayings", {"weight": 0, "implicit": 0.0, "paired": 0.0}, raw["pieces"])
    except (tomllib.TOMLDecodeError, ValidationError, KeyError) as error:
        raise SettingsError(f"{SAYINGS} holds no sayings: {error}. Mend that file.") from error
    _refuse_unknown(sayings)
    return sayings


def _read(name: str, raw: dict[str, object], shared: dict[str, object]) -> Register:
    own = {key: value for key, value in raw.items() if key not in _OWN}
    head = {"list": False} | {key: value for key, value in raw.items() if key in _OWN}
    return TypeAdapter(Register).validate_python({"name": name, "pieces": shared | own, **head})


def _refuse_unknown(register: Register) -> None:
    used = {
        word
        for pieces in register.pieces.values()
        for text in pieces
        for word in _WORD.findall(text)
    }
    unknown = sorted(used - {*register.pieces})
    if unknown:
        raise SettingsError(
            f"{PATH}: register {register.name} knows no <{'>, <'.join(unknown)}>. Add its pieces "
            "or take it out."
        )
