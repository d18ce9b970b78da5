"""Prices: entered by somebody, with source and date; unknown is None, never 0."""

from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.models.base import Usage
from envmill.models.prices import Prices

ENTRY = (
    'provider = "openai"\nmodel = "m-large"\ninput = 2.0\noutput = 8.0\nsource = "the vendor\'s '
    'page"\nread_on = 2026-11-21\n'
)


def load(tmp_path: Path, *entries: str) -> Prices:
    path = tmp_path / "prices.toml"
    path.write_text("".join(f"[[price]]\n{entry}" for entry in entries))
    return Prices.load(path)


def test_none_are_shipped() -> None:
    assert Prices.load(ROOT / "data/prices.toml").find("openai", "gpt-x") is None
    assert "[[price]]" in (ROOT / "data/prices.toml").read_text()


def test_the_format_that_is_shown_is_the_one_that_is_read(tmp_path: Path) -> None:
    shown = [
        line.removeprefix("# ") for line in (ROOT / "data/prices.toml").read_text().splitlines()[3:]
    ]
    (tmp_path / "p.toml").write_text("\n".join(shown))
    price = Prices.load(tmp_path / "p.toml").find("openai", "some-model")
    assert price is not None
    assert price.charge(
        Usage(input=1_000_000, cached=100_000, cache_write=100_000, output=10)
    ) == pytest.approx(0.8 + 0.01 + 0.125 + 0.00004)


def test_tokens_are_charged_by_their_parts(tmp_path: Path) -> None:
    price = load(tmp_path, ENTRY + "cached_input = 0.5\ncache_write = 2.5\n").find(
        "openai", "m-large"
    )
    assert price is not None
    assert price.charge(
        Usage(input=1000, output=100, cached=600, cache_write=300, reasoning=90)
    ) == pytest.approx((100 * 2 + 600 * 0.5 + 300 * 2.5 + 100 * 8) / 1e6)
    assert price.told == "the vendor's page, 2026-11-21"


@pytest.mark.parametrize("usage", [Usage(input=10, cached=1), Usage(input=10, cache_write=1)])
def test_a_part_without_a_price_makes_the_whole_unknown(tmp_path: Path, usage: Usage) -> None:
    price = load(tmp_path, ENTRY).find("openai", "m-large")
    assert price is not None
    assert price.charge(usage) is None
    assert price.charge(Usage(input=10, output=10, reasoning=5)) == pytest.approx(100 / 1e6)


def test_the_most_particular_entry_holds(tmp_path: Path) -> None:
    named = [
        ENTRY.replace("m-large", model).replace("2.0", cost)
        for model, cost in (("*", "1"), ("m-large", "3"), ("m-*", "2"))
    ]
    prices = load(tmp_path, *named)
    assert [
        found.input
        for model in ("m-large", "m-small", "x")
        if (found := prices.find("openai", model))
    ] == [3, 2, 1]
    assert prices.find("anthropic", "m-large") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[price]]\n" + ENTRY.replace("read_on = 2026-11-21\n", ""), "read_on: Field required"),
        ("[[price]]\n" + ENTRY.replace("source = ", "sauce = "), "source: Field required"),
        ("[[price]]\n" + ENTRY.replace("2.0", "-2.0"), "greater than or equal to 0"),
        ("[[price]]\n" + ENTRY.replace("2.0", "nan"), "finite"),
        ("[[price]]\n" + ENTRY.replace("m-large", "m-*-x"), "pattern"),
        ("[price]\n" + ENTRY, "two brackets"),
        ("[[prices]]\n" + ENTRY, "holds prices"),
        ("not toml", "cannot be read"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=told):
        Prices.load(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ENVMILL_PRICES"):
        Prices.load(tmp_path / "none.toml")
