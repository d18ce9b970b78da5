"""Faults planted in a real model's programs: the frozen list still fits them, and what was caught
is caught."""

from collections import Counter

import pytest

from envmill.sandbox import Sandbox
from tests.real_authors.catching import PAGE, Catcher, read_caught, write_page
from tests.real_authors.corpus import ROOT
from tests.real_authors.faults import PER_FAMILY, read_faults
from tests.real_authors.operators import FAMILIES
from tests.soak import count

FAULTS = read_faults()
SAMPLED = ("scaleenv/bakery_production", "envscaler/harbor_pilot_dispatch")
"""Programs over tables and over Python's own state: between them, faults for each of four gates."""
CAUGHT_TODAY = 222
"""Of 240. One that W6 came upon by chance in an earlier exploration is not among them."""


def test_the_list_has_enough_of_each_family() -> None:
    assert Counter(fault.place.family for fault in FAULTS) == dict.fromkeys(FAMILIES, PER_FAMILY)


def test_every_fault_has_its_place() -> None:
    for fault in FAULTS:
        folder = ROOT / fault.item
        if (folder / f"debug.{fault.place.function}.json").exists():
            continue  # it lies in what a debugger wrote
        source = (
            (folder / ("program" if fault.item.startswith("envscaler") else "code"))
            .with_suffix(".py.txt")
            .read_text(encoding="utf-8")
        )
        assert fault.place.apply(source) != source


def test_no_fewer_are_caught_and_the_page_says_so() -> None:
    caught = read_caught()
    assert sum(map(bool, caught)) >= CAUGHT_TODAY
    assert PAGE.read_text(encoding="utf-8") == write_page(FAULTS, caught), (
        "run python -m tests.real_authors.catching"
    )


@pytest.mark.long
@pytest.mark.soak(area="real_authors")
@pytest.mark.asyncio(loop_scope="module")
async def test_what_was_caught_is_caught(jail: Sandbox) -> None:
    """Under `make test` one fault of a program for each gate that catches some of its."""
    catcher = Catcher(jail)
    caught = [(fault, line) for fault, line in zip(FAULTS, read_caught(), strict=True) if line]
    if not count(0, 1):
        first = {
            (fault.item, line.split()[1]): (fault, line)
            for fault, line in reversed(caught)
            if fault.item in SAMPLED
        }
        assert {gate for _, gate in first} == {"W3", "W8", "W11", "W12"}
        caught = list(first.values())
    lost = [(fault, line) for fault, line in caught if not await catcher.catch(fault)]
    assert lost == [], "a gate sees less than it did"
