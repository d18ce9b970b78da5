"""Prices: what a call costs by entries somebody read and dated. Unknown is None, never 0."""

import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from pydantic import Field, ValidationError

from envmill.base.errors import SettingsError
from envmill.models.base import Usage
from schemas.base import Contract, Json, is_array

_MILLION = 1_000_000


class Price(Contract):
    """One entry of `prices.toml`; money per million tokens."""

    provider: str = Field(min_length=1)
    """Provider, as in a model's spec."""
    model: str = Field(min_length=1, pattern=r"^[^*]*\*?$")
    """Model as it is asked for; a star at the end stands for any ending."""
    input: float = Field(ge=0, allow_inf_nan=False)
    """Input tokens."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Output tokens, reasoning included."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Input tokens read from a cache; None is unknown."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Input tokens written to a cache; None is unknown."""
    source: str = Field(min_length=1)
    """Where it was read."""
    read_on: date
    """When it was read."""

    @property
    def told(self) -> str:
        """Source and date, as the ledger keeps them."""
        return f"{self.source}, {self.read_on}"

    def fits(self, provider: str, model: str) -> bool:
        """Whether it is this model's."""
        stem = self.model.removesuffix("*")
        return self.provider == provider and (
            model.startswith(stem) if self.model.endswith("*") else model == stem
        )

    def charge(self, usage: Usage) -> float | None:
        """What so many tokens cost; None when a part has no price."""
        if (usage.cached and self.cached_input is None) or (
            usage.cache_write and self.cache_write is None
        ):
            return None
        plain = (usage.input - usage.cached - usage.cache_write) * self.input
        caches = usage.cached * (self.cached_input or 0.0) + usage.cache_write * (
            self.cache_write or 0.0
        )
        return (plain + caches + usage.output * self.output) / _MILLION


class Prices:
    """All entries; of those that fit a model the most particular holds."""

    def __init__(self, entries: Sequence[Price] = ()) -> None:
        self._entries = sorted(
            entries, key=lambda price: (price.model.endswith("*"), -len(price.model))
        )

    @classmethod
    def load(cls, path: Path) -> "Prices":
        """Read the file; a wrong entry is refused with its place, since a skipped one would be an
        unknown price."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise SettingsError(
                f"There is no price file {path}. Set ENVMILL_PRICES to one, or unset it."
            ) from error
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"The price file {path} cannot be read ({error}). Correct it, or set ENVMILL_PRICES to another one."
            ) from error
        if strange := sorted(found.keys() - {"price"}):
            raise SettingsError(
                f"{path} holds {', '.join(strange)}; only [[price]] entries are known."
            )
        entries: Json = found.get("price", [])
        if not is_array(entries):
            raise SettingsError(f"{path}: write [[price]] with two brackets, one for each entry.")
        return cls(
            [_read_entry(entry, number, path) for number, entry in enumerate(entries, start=1)]
        )

    def find(self, provider: str, model: str) -> Price | None:
        """The model's price, if somebody entered one."""
        return next((price for price in self._entries if price.fits(provider, model)), None)


def _read_entry(entry: object, number: int, path: Path) -> Price:
    try:
        return Price.model_validate(entry)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()
        )
        raise SettingsError(
            f"{path}, price {number} cannot be used ({faults}). Every entry needs a source and "
            "the date it was read."
        ) from error
