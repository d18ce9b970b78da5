"""The budget of a run: money and tokens it may spend, over all processes that work on it.

hold(what a call may take) ─► sent ─► settle(what it took) ─► journalled
        └─► no room: wait for calls in flight; none in flight: BudgetReached, and nothing new is sent

The sums lie in one file beside the leases, changed under its lock. A process that is killed leaves
what it held: it counts as spent, since the vendor may have served it. Should the file be lost, the
ledger says what was spent.
"""

import asyncio
import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import orjson

from envmill.errors import BudgetReached, LakeError
from envmill.models.base import Request
from envmill.models.process_registry import ProcessRegistry

_BATCH = "batch:"  # before the name of what was handed in and is not read yet
_OTHERS = ""  # whose entry holds what ended processes spent, and what only the ledger knows
_POLL = 0.1  # seconds; whoever waits for a call in flight waits for seconds


@dataclass(frozen=True)
class Amount:
    """Money and tokens."""

    money: float = 0.0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.money + other.money, self.tokens + other.tokens)

    def times(self, count: int) -> "Amount":
        return Amount(count * self.money, count * self.tokens)

    def beyond(self, other: "Amount") -> "Amount":
        """What it has more than another."""
        return Amount(max(0.0, self.money - other.money), max(0, self.tokens - other.tokens))


_LEAST = Amount(0.0, 1)


@dataclass(frozen=True)
class Allowance:
    """What a run may spend; None is no bound."""

    money: float | None = None
    tokens: int | None = None

    @property
    def bounded(self) -> bool:
        return self.money is not None or self.tokens is not None

    def covers(self, amount: Amount) -> bool:
        """Whether so much may be spent in all. Sums of money are rounded where floats are."""
        return (self.money is None or amount.money <= self.money * (1 + 1e-9)) and (
            self.tokens is None or amount.tokens <= self.tokens
        )

    def __str__(self) -> str:
        bounds = [
            f"{self.money:g} in money" if self.money is not None else "",
            f"{self.tokens:,} tokens" if self.tokens is not None else "",
        ]
        return " and ".join(filter(None, bounds))


@dataclass
class _Entry:
    """What one process says of itself."""

    spent: Amount
    held: Amount

    @property
    def all(self) -> Amount:
        return self.spent + self.held


class Budget:
    """One process's hand on a run's budget."""

    def __init__(self, folder: Path, allowance: Allowance, in_ledger: Amount) -> None:
        self.allowance = allowance
        self._folder, self._presence = folder, ProcessRegistry(folder)
        self._own = self._presence.name
        self._sums = os.open(folder / "sums.json", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with self._open() as entries:
            self._bury_dead(entries)
            spent = sum((entry.all for entry in entries.values()), Amount())
            entries[_OTHERS].spent += in_ledger.beyond(spent)

    async def hold(self, amount: Amount, guessed: bool = False) -> "Hold":
        """Set an amount aside for one call; wait while only calls in flight stand in the way.

        A mere guess may be larger than all there is: such a call goes alone, so that the next is no
        guess.
        """
        while (hold := self._try(amount, guessed)) is None:  # noqa: ASYNC110  the call we wait for may be another process's
            await asyncio.sleep(_POLL)
        return hold

    def commit(self, batch: str, amount: Amount) -> None:
        """What is still to come of a batch may take so much. It can only become less: others may
        have read more of it than we know."""
        with self._open() as entries:
            known = entries.setdefault(f"{_BATCH}{batch}", _Entry(Amount(), amount))
            known.held = Amount(
                min(known.held.money, amount.money), min(known.held.tokens, amount.tokens)
            )

    def take(self, batch: str, foreseen: Amount, took: Amount) -> None:
        """A reply of a batch was read: what was set aside for it was paid long ago, and is known
        now."""
        with self._open() as entries:
            entries[self._own].spent += took
            if (known := entries.get(f"{_BATCH}{batch}")) is not None:
                known.held = known.held.beyond(foreseen)

    def set_aside(self, amount: Amount, guessed: bool = False) -> "Hold":
        """As `hold`, for what is handed in later: nobody waits for that, so what does not fit now
        is refused."""
        return self._try(amount, guessed) or self._refuse(self.spent(), amount)

    def spent(self) -> Amount:
        """What all processes have spent, dead ones included."""
        with self._open() as entries:
            return sum((entry.spent for entry in entries.values()), Amount())

    def settle(self, held: Amount, took: Amount) -> None:
        """The call that an amount was held for took this much."""
        with self._open() as entries:
            entry = entries[self._own]
            entry.held, entry.spent = entry.held.beyond(held), entry.spent + took

    def close(self) -> None:
        """Leave what was spent to the others."""
        with self._open() as entries:
            entries[_OTHERS].spent += entries.pop(self._own).all
        self._presence.close()
        os.close(self._sums)

    def _try(self, amount: Amount, guessed: bool) -> "Hold | None":
        with self._open() as entries:
            away = sum(
                (entry.held for name, entry in entries.items() if name.startswith(_BATCH)), Amount()
            )
            spent = sum((entry.spent for entry in entries.values()), away)
            held = sum(
                (entry.held for name, entry in entries.items() if not name.startswith(_BATCH)),
                Amount(),
            )
            alone = held.tokens == 0
            if self.allowance.covers(spent + held + amount) or (
                guessed and alone and not away.tokens and self.allowance.covers(spent + _LEAST)
            ):
                entries[self._own].held += amount
                return Hold(self, amount)
            if not alone and (guessed or self.allowance.covers(spent + amount)):
                self._bury_dead(entries)
                return None
            return self._refuse(spent, amount)

    def _refuse(self, spent: Amount, amount: Amount) -> "Hold":
        raise BudgetReached(
            f"The budget of {self.allowance} is reached: {spent.money:.4g} in money and "
            f"{spent.tokens:,} tokens are spent, and the next "
            f"call may take {amount.money:.4g} and {amount.tokens:,}. Everything finished is "
            "saved; go on with a larger one: "
            "`envmill run --resume` with --budget or --budget-tokens.",
            spent_money=spent.money,
            spent_tokens=spent.tokens,
        )

    def _bury_dead(self, entries: dict[str, _Entry]) -> None:
        """Processes that are gone: what they held may have been served."""
        for name in [
            name for name in entries if self._is_others(name) and self._presence.is_dead(name)
        ]:
            entries[_OTHERS].spent += entries.pop(name).all
            self._presence.bury(name)

    def _is_others(self, name: str) -> bool:
        return name not in (_OTHERS, self._own) and not name.startswith(_BATCH)

    @contextmanager
    def _open(self) -> Generator[dict[str, _Entry]]:
        """The sums, ours alone for a moment: every holder of the lock lets go within microseconds,
        or is dead and has let go."""
        fcntl.flock(self._sums, fcntl.LOCK_EX)
        try:
            before = os.pread(self._sums, os.fstat(self._sums).st_size, 0)
            entries = _parse(before)
            for name in (_OTHERS, self._own):
                entries.setdefault(name, _Entry(Amount(), Amount()))
            yield entries
            after = orjson.dumps(
                {name: [entry.spent, entry.held] for name, entry in entries.items()}
            )
            if after != before.rstrip():
                os.pwrite(
                    self._sums, after.ljust(len(before)), 0
                )  # one write, never shorter: a kill leaves the old sums or the new
        except OSError as error:
            raise LakeError(
                f"The budget in {self._folder} cannot be kept ({error}). Free space there, then "
                "run again."
            ) from error
        finally:
            fcntl.flock(self._sums, fcntl.LOCK_UN)


@dataclass(frozen=True)
class Hold:
    """An amount set aside for one call; settled exactly once."""

    budget: Budget
    amount: Amount

    def settle(self, took: Amount) -> None:
        """What the call took, whatever was held."""
        self.budget.settle(self.amount, took)


@runtime_checkable
class Deferred(Protocol):
    """A provider whose calls are paid for when they are handed in, and not when their replies are
    read."""

    def expect(self, request: Request, foreseen: Amount, guessed: bool) -> None:
        """What a request may take, should it have to go out."""
        ...

    def settle(self, request: Request, took: Amount) -> None:
        """What a reply that was read had taken."""
        ...


def _parse(text: bytes) -> dict[str, _Entry]:
    """Torn sums, after a power cut, are none: what the ledger knows is added when the budget is
    opened."""
    try:
        found: dict[str, Any] = orjson.loads(text) if text.strip() else {}
        return {
            name: _Entry(Amount(**spent), Amount(**held)) for name, (spent, held) in found.items()
        }
    except (ValueError, TypeError):
        return {}
