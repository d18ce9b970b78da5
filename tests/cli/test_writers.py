"""Prefect's own SQLite configuration with turns: order, readers, and a writer within a writer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from flows.local.writers import InTurn

WRITERS = 8


@pytest.fixture
def configuration(tmp_path: Path) -> InTurn:
    return InTurn(f"sqlite+aiosqlite:///{tmp_path}/server.db", patience=1)


@asynccontextmanager
async def write(configuration: InTurn, number: int) -> AsyncIterator[None]:
    async with (
        await configuration.session(await configuration.engine()) as session,
        configuration.begin_transaction(session, True),
    ):
        await session.execute(sa.text("INSERT INTO written VALUES (:number)"), {"number": number})
        yield


async def read(configuration: InTurn) -> list[int]:
    async with (
        await configuration.session(await configuration.engine()) as session,
        configuration.begin_transaction(session),
    ):
        return list(
            (await session.scalars(sa.text("SELECT number FROM written ORDER BY rowid"))).all()
        )


async def make_table(configuration: InTurn) -> None:
    async with (await configuration.engine()).begin() as connection:
        await connection.execute(sa.text("CREATE TABLE written (number INTEGER)"))


def test_writers_write_in_the_order_they_asked(configuration: InTurn) -> None:
    async def write_slowly(number: int) -> None:
        async with write(configuration, number):
            await asyncio.sleep(0.02)

    async def play() -> list[int]:
        await make_table(configuration)
        await asyncio.gather(*map(write_slowly, range(WRITERS)))
        return await read(configuration)

    assert asyncio.run(play()) == list(range(WRITERS))


def test_readers_wait_for_nobody(configuration: InTurn) -> None:
    async def play() -> list[int]:
        await make_table(configuration)
        async with write(configuration, 1):
            return await asyncio.wait_for(read(configuration), 30)

    assert asyncio.run(play()) == []


def test_a_turn_ends_with_an_error(configuration: InTurn) -> None:
    async def play() -> list[int]:
        await make_table(configuration)
        with pytest.raises(ZeroDivisionError):
            async with write(configuration, 1):
                raise ZeroDivisionError
        async with write(configuration, 2):
            assert configuration._turn.locked()
        return await read(configuration)

    assert asyncio.run(play()) == [2]


def test_who_asks_within_a_turn_is_left_to_sqlite(configuration: InTurn) -> None:
    """As without turns: it is SQLite that says no, and the turn goes on."""

    async def play() -> bool:
        await make_table(configuration)
        async with write(configuration, 1):
            return await configuration._take_turn()

    assert asyncio.run(play()) is False
