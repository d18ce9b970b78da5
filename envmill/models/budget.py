"""The budget of a run: money and tokens it may spend, over all processes that work on it.

hold(what a call may take) ─► sent ─► settle(what it took) ─► journalled
        └─► no room: wait for calls in flight; none in flight: BudgetReached, and nothing new is sent

The sums are one document of the coordinator. A process that is killed leaves what it held: it counts as spent,
since the vendor may have served it. Should the document be lost, the ledger says what was spent.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeVar, runtime_checkable

from envmill.base.errors import BudgetReached, CoordinationError
from envmill.lake.coordination.base import Coordinator, Document
from envmill.models.base import Request

T = TypeVar("T")

_BATCH = "batch:"  # before the name of what was handed in and is not read yet
_OTHERS = ""  # whose entry holds what ended processes spent, and what only the ledger knows
_REST = 0.2  # seconds between two changes of a remote budget


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
    changes: int = 0
    """Changes it made."""

    @property
    def all(self) -> Amount:
        return self.spent + self.held


_Entries = dict[str, _Entry]


class Budget:
    """One process's hand on a run's budget."""

    def __init__(
        self, coordinator: Coordinator, run: str, allowance: Allowance, in_ledger: Amount
    ) -> None:
        self.allowance = allowance
        self._coordinator, self._document, self._own = (
            coordinator,
            f"budgets/{run}",
            coordinator.own,
        )
        self._others: set[str] = set()
        self._changing, self._changes = threading.Lock(), 0
        self._settled: deque[tuple[Amount, Amount]] = deque()
        self._waiting: list[_Waiting] = []
        self._asker: asyncio.Task[None] | None = None
        self._change(_keep)
        self._bury_dead()

        def recall(entries: _Entries) -> None:
            spent = sum((entry.all for entry in entries.values()), Amount())
            entries[_OTHERS].spent += in_ledger.beyond(spent)

        self._change(recall)

    async def hold(self, amount: Amount, guessed: bool = False) -> "Hold":
        """Set an amount aside for one call; wait while only calls in flight stand in the way.

        A mere guess may be larger than all there is: such a call goes alone, so that the next is no
        guess.
        """
        while (hold := await self._ask(amount, guessed)) is None:  # noqa: ASYNC110  the call we wait for may be another process's
            await asyncio.sleep(self._coordinator.poll)
        return hold

    def commit(self, batch: str, amount: Amount) -> None:
        """What is still to come of a batch may take so much. It can only become less: others may have read more of it than we know."""

        def lower(entries: _Entries) -> None:
            known = entries.setdefault(f"{_BATCH}{batch}", _Entry(Amount(), amount))
            known.held = Amount(
                min(known.held.money, amount.money), min(known.held.tokens, amount.tokens)
            )

        self._change(lower)

    def take(self, batch: str, foreseen: Amount, took: Amount) -> None:
        """A reply of a batch was read: what was set aside for it was paid long ago, and is known now."""

        def read(entries: _Entries) -> None:
            entries[self._own].spent += took
            if (known := entries.get(f"{_BATCH}{batch}")) is not None:
                known.held = known.held.beyond(foreseen)

        self._change(read)

    def set_aside(self, amount: Amount, guessed: bool = False) -> "Hold":
        """As `hold`, for what is handed in later: nobody waits for that, so what does not fit now is refused."""
        answer = self._change(lambda entries: self._answer(entries, amount, guessed))
        return _unwrap(answer) or self._raise_full(amount)

    def spent(self) -> Amount:
        """What all processes have spent, dead ones included."""
        return self._change(
            lambda entries: sum((entry.spent for entry in entries.values()), Amount())
        )

    def settle(self, held: Amount, took: Amount) -> None:
        """The call that an amount was held for took this much. Where a change takes long, the next one tells it."""
        self._settled.append((held, took))
        if self._coordinator.local:
            self._change(_keep)
        else:
            self._start_asking()

    def close(self) -> None:
        """Leave what was spent to the others. If they cannot be told, what was held counts as spent once we are dead."""

        def leave(entries: _Entries) -> None:
            entries[_OTHERS].spent += entries.pop(self._own).all

        with contextlib.suppress(CoordinationError):
            self._change(leave)

    async def _ask(self, amount: Amount, guessed: bool) -> "Hold | None":
        if self._coordinator.local:
            answer = self._change(lambda entries: self._answer(entries, amount, guessed))
            if answer is None:
                self._bury_dead()
            return _unwrap(answer)
        waiting = _Waiting(amount, guessed, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._start_asking()
        return await waiting.turn

    def _start_asking(self) -> None:
        loop = asyncio.get_running_loop()
        if self._asker is None or self._asker.done() or self._asker.get_loop() is not loop:
            self._asker = loop.create_task(self._ask_together())

    async def _ask_together(self) -> None:
        """One change for all that wait by then, as a journal's commit: a change may take as long as many calls ask in."""
        while self._waiting or self._settled:
            waiting, self._waiting = self._waiting, []
            try:
                answers: Sequence[_Answer | CoordinationError] = await asyncio.to_thread(
                    self._answer_all, waiting
                )
            except CoordinationError as error:
                answers = [error] * len(waiting)
            for one, answer in zip(waiting, answers, strict=True):
                if one.turn.done():  # it was cancelled
                    if isinstance(answer, Hold):
                        answer.settle(Amount())
                elif isinstance(answer, Exception):
                    one.turn.set_exception(answer)
                else:
                    one.turn.set_result(answer)
            await asyncio.sleep(_REST)

    def _answer_all(self, waiting: Sequence["_Waiting"]) -> list["_Answer"]:
        answers = self._change(
            lambda entries: [self._answer(entries, one.amount, one.guessed) for one in waiting]
        )
        if None in answers:
            self._bury_dead()
        return answers

    def _answer(self, entries: "_Entries", amount: Amount, guessed: bool) -> "_Answer":
        away = sum(
            (entry.held for name, entry in entries.items() if name.startswith(_BATCH)), Amount()
        )
        spent = sum((entry.spent for entry in entries.values()), away)
        held = sum(
            (entry.held for name, entry in entries.items() if not name.startswith(_BATCH)), Amount()
        )
        alone = held.tokens == 0
        goes_alone = guessed and alone and not away.tokens and self.allowance.covers(spent + _LEAST)
        if goes_alone or self.allowance.covers(spent + held + amount):
            entries[self._own].held += amount
            return Hold(self, amount)
        if not alone and (guessed or self.allowance.covers(spent + amount)):
            return None
        return self._describe_full(spent, amount)

    def _describe_full(self, spent: Amount, amount: Amount) -> BudgetReached:
        return BudgetReached(
            f"The budget of {self.allowance} is reached: {spent.money:.4g} in money and {spent.tokens:,} tokens are spent, and the next "
            f"call may take {amount.money:.4g} and {amount.tokens:,}. Everything finished is saved; a Retry has the "
            "same budget. Go on with a larger one: `envmill run --resume RUN` with --budget or --budget-tokens, the new total. "
            "RUN is the id that you started: of rounds, the first one's.",
            spent_money=spent.money,
            spent_tokens=spent.tokens,
        )

    def _raise_full(self, amount: Amount) -> NoReturn:
        raise self._describe_full(self.spent(), amount)

    def _bury_dead(self) -> None:
        """Processes that are gone: what they held may have been served. One that comes back after all begins with nothing held."""
        dead = [name for name in self._others if self._coordinator.is_dead(name)]

        def bury(entries: _Entries) -> None:
            for name in dead:
                if name in entries:
                    entries[_OTHERS].spent += entries.pop(name).all

        if dead:
            self._change(bury)

    def _change(self, edit: Callable[["_Entries"], T]) -> T:
        """Change the sums, and settle what is to be settled. What is done twice, because an answer was lost, counts once."""
        with self._changing:
            self._changes += 1
            number, settled = (
                self._changes,
                [self._settled.popleft() for _ in range(len(self._settled))],
            )
            results: list[T] = []

            def apply(document: Document) -> None:
                entries = _read(document)
                own = entries.setdefault(self._own, _Entry(Amount(), Amount()))
                entries.setdefault(_OTHERS, _Entry(Amount(), Amount()))
                if results and own.changes == number:
                    return
                for held, took in settled:
                    own.held, own.spent = own.held.beyond(held), own.spent + took
                results[:] = [edit(entries)]
                own.changes = number
                self._others = {
                    name
                    for name in entries
                    if name not in (_OTHERS, self._own) and not name.startswith(_BATCH)
                }
                _write(document, entries)

            try:
                self._coordinator.change(self._document, apply)
            except CoordinationError:
                self._settled.extendleft(reversed(settled))
                raise
            return results[0]


@dataclass(frozen=True)
class _Waiting:
    amount: Amount
    guessed: bool
    turn: "asyncio.Future[Hold | None]"


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


_Answer = Hold | BudgetReached | None
"""None: calls in flight stand in the way."""


def _keep(entries: _Entries) -> None:
    """Change nothing but what waits to be settled."""


def _unwrap(answer: _Answer) -> Hold | None:
    if isinstance(answer, BudgetReached):
        raise answer
    return answer


def _read(document: Document) -> _Entries:
    """Torn or foreign sums are none: what the ledger knows is added when the budget is opened."""
    try:
        return {
            name: _Entry(Amount(*spent), Amount(*held), changes)
            for name, (spent, held, changes) in document.items()
        }
    except (ValueError, TypeError):
        return {}


def _write(document: Document, entries: _Entries) -> None:
    document.clear()
    for name, entry in entries.items():
        document[name] = [_list(entry.spent), _list(entry.held), entry.changes]


def _list(amount: Amount) -> list[float]:
    return [amount.money, amount.tokens]
