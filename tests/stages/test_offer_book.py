"""Offers of many environments: drawn once each, the latest in memory and the others on disk."""

import asyncio

import pytest

from envmill.stages import offer_book as offering
from envmill.stages.offer_book import OfferBook
from envmill.toolgraph.offers import ChainOffers


async def test_each_is_drawn_once_though_few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offering, "_RECENT", 2)
    book, drawn = OfferBook(), list[int]()

    async def find(number: int) -> ChainOffers:
        async def make() -> ChainOffers:
            drawn.append(number)
            await asyncio.sleep(0)
            return ChainOffers(drawn=number + 1, refused={"too_long": number})

        return await book.find(f"env_{number}", make)

    for _ in range(3):
        found = await asyncio.gather(*(find(number) for number in range(9) for _ in range(2)))
        assert [one.drawn for one in found] == [number + 1 for number in range(9) for _ in range(2)]
    assert sorted(drawn) == [*range(9)]
    assert len(book._recent) == 2
