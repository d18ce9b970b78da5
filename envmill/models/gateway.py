"""The one door to every model: what is known is reused, what is asked is held to limits and budget,
and journalled before it is used.

known? ──yes──────────────────────────────────────────────────────────┐
  └─no─► hold budget ─► caller: limiter, breaker, retries ─► price ─► settle ─► journal ─► read
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

from envmill.base.errors import ModelError, Outage
from envmill.lake.journal import Journal
from envmill.models.base import Completion, Provider, Request, Role, Spent, ToolCall
from envmill.models.budget import Amount, Budget, Deferred
from envmill.models.caller import Caller, Effort, Retries
from envmill.models.families import are_related
from envmill.models.ledger_row import describe, describe_content, describe_usage, recall
from envmill.models.limiter import ModelLimits, Shares, is_limited
from envmill.models.outcome import name_outcome
from envmill.models.parse import ParsedCompletion, parse_completion
from envmill.models.prices import Prices
from envmill.models.prompt_statistics import count_characters
from envmill.models.redaction import Redactor
from envmill.models.session import ModelSession
from schemas.ledger import ModelCall

_are_kin = cache(are_related)
_POLL = 0.5  # seconds

__all__ = ["CallPolicy", "Gateway", "Known", "ModelSession"]

Known = Mapping[tuple[str, int], ModelCall]
"""Request hash and sample → the row that answers them."""


@dataclass(frozen=True)
class CallPolicy:
    """What holds for every call of a run."""

    limits: ModelLimits = field(default_factory=ModelLimits)
    """What each model may be asked."""
    retries: Retries = field(default_factory=Retries)
    """What is asked again, and for how long."""
    prices: Prices = field(default_factory=Prices)
    """What calls cost."""
    budget: Budget | None = None
    """What the run may spend; None is without bound."""
    shares: Shares | None = None
    """What this process may use of the limits, where others ask the same models; None is all."""
    redactor: Redactor = field(default_factory=Redactor)
    """Takes secrets out of what is written down or raised."""
    borrowed: Known = field(default_factory=dict[tuple[str, int], ModelCall])
    """Replies of another run that may be reused."""
    lender: str = ""
    """That run."""
    is_assured: Callable[[], bool] = lambda: True
    """Whether the others still take this process for alive; if not, nothing new is asked."""

    def close(self) -> None:
        """Leave budget and limits to the other processes."""
        if self.budget is not None:
            self.budget.close()
        if self.shares is not None:
            self.shares.close()


@dataclass(frozen=True)
class _Ended:
    """A call that gave a completion."""

    completion: Completion
    told: dict[str, Any]
    """What the ledger keeps of it besides."""


class Gateway:
    """One per process and run. A question that has its reply is never asked again, nor twice at
    once."""

    def __init__(
        self,
        provider: Provider,
        journal: Journal,
        known: MutableMapping[tuple[str, int], ModelCall],
        seed: int,
        others: Mapping[Role, Provider] = MappingProxyType({}),
        discipline: CallPolicy | None = None,
    ) -> None:
        self.provider, self.seed, self.others = provider, seed, others
        self.discipline = discipline or CallPolicy()
        self._journal, self._known = journal, known
        self._callers: dict[tuple[str, str, int], Caller] = {}
        self._chance = random.Random()  # when to ask again is nobody's content
        self._asking: WeakValueDictionary[tuple[str, int], asyncio.Lock] = WeakValueDictionary()
        self._loop: asyncio.AbstractEventLoop | None = None

    def provider_of(self, role: Role) -> Provider:
        """Who plays a role; the author's, unless the role has one of its own."""
        return self.others.get(role, self.provider)

    def open_session(self, step: str, subject: str) -> ModelSession:
        """What one subject of one step asks, and what that costs."""
        return ModelSession(self, step, subject)

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        """One request; returns once what came is journalled."""
        provider = self.provider_of(request.role)
        key = request.key(provider.model), request.sample
        async with self._lock(key):
            if (ended := self._reuse(key)) is None:
                ended = await self._ask(request, key[0], provider)
                spent.add(ended.completion)
            heard = parse_completion(ended.completion, request.reply)
            outcome, fault = name_outcome(request, heard)
            told = {
                "kin": self._is_kin(request.role),
                "outcome": outcome,
                "error": fault,
            } | ended.told
            entry = self._make_entry(
                describe(request, key[0], provider, count_characters(request)) | told
            )
            await self._journal.append(entry)
            if entry.answers and key not in self._known:
                self._known[key] = entry
        return heard

    def _is_kin(self, role: Role) -> bool:
        """A judge is partial to its own family; told of each call, for whoever reads the ledger
        later."""
        return role in ("critic", "judge") and _are_kin(
            self.provider.model, self.provider_of(role).model
        )

    def _lock(self, key: tuple[str, int]) -> asyncio.Lock:
        """Who holds one on a loop that was closed will never let go."""
        if self._loop is not (loop := asyncio.get_running_loop()):
            self._loop, self._asking = loop, WeakValueDictionary()
        return self._asking.setdefault(key, asyncio.Lock())

    def _reuse(self, key: tuple[str, int]) -> _Ended | None:
        """A reply of another run is copied, so that this one can be resumed and played back without
        it."""
        nothing = {
            "reused": True,
            "retries": 0,
            "tokens_in": 0,
            "tokens_out": 0,
            "cost": 0.0,
            "latency": 0.0,
            "reply": "",
        }
        if (own := self._known.get(key)) is not None:
            return _Ended(recall(own), nothing)
        if (lent := self.discipline.borrowed.get(key)) is not None:
            completion = recall(lent)
            return _Ended(
                completion,
                nothing | describe_content(completion) | {"reused_from": self.discipline.lender},
            )
        return None

    async def _ask(self, request: Request, key: str, provider: Provider) -> _Ended:
        """Every call that was sent leaves a row, however it ended; errors come out without secrets
        and without their causes."""
        caller, effort = self._caller(provider), Effort(time.monotonic())
        try:
            completion = self._hide(await self._spend(caller, request, effort))
        except ModelError as error:
            clean = self.discipline.redactor.clean(error)
            if effort.sent is not None:
                await self._note_failure(
                    describe(request, key, provider, count_characters(request)), clean, effort
                )
        else:
            price = self.discipline.prices.find(provider.name, provider.model)
            source = price.told if price is not None and completion.cost is not None else ""
            told = (
                describe_content(completion)
                | describe_usage(completion.usage)
                | _describe_effort(effort)
            )
            return _Ended(
                completion,
                told | {"reused": False, "cost": completion.cost, "price_source": source},
            )
        raise clean

    async def _spend(self, caller: Caller, request: Request, effort: Effort) -> Completion:
        """Ask within the budget, and put a price on what came."""
        characters = count_characters(request)
        expected = caller.experience.foresee(request, characters)
        price = self.discipline.prices.find(caller.provider.name, caller.provider.model)
        charged = price.charge(expected) if price is not None else None
        foreseen = Amount(charged or 0.0, expected.total)
        effort.foresee(expected.total, charged)
        budget, took = self.discipline.budget, Amount()
        guessed, later = (
            not caller.experience.knows(request),
            caller.provider if isinstance(caller.provider, Deferred) else None,
        )
        if later is not None:
            later.expect(request, foreseen, guessed)
        hold = (
            await budget.hold(foreseen, guessed) if budget is not None and later is None else None
        )
        try:
            await self._wait_until_assured()
            completion = await caller.call(request, expected, effort)
            caller.experience.learn(request, characters, completion.usage)
            if completion.cost is None and price is not None:
                completion = completion.priced(price.charge(completion.usage))
            took = Amount(
                foreseen.money if completion.cost is None else completion.cost,
                completion.usage.total,
            )
        finally:
            if hold is not None:
                hold.settle(took + foreseen.times(effort.unanswered))
        if later is not None:
            later.settle(request, took)
        return completion

    async def _wait_until_assured(self) -> None:
        """A process that others may take for dead asks nothing: they would ask the same."""
        while not self.discipline.is_assured():  # noqa: ASYNC110  a thread gives the signs of life
            await asyncio.sleep(_POLL)

    async def _note_failure(self, known: dict[str, Any], error: ModelError, effort: Effort) -> None:
        nothing = {"reused": False, "tokens_in": 0, "tokens_out": 0, "cost": 0.0, "reply": ""}
        told = {
            "outcome": "outage" if isinstance(error, Outage) else "refused",
            "error": f"{type(error).__name__}: {error.message}",
        }
        await self._journal.append(
            self._make_entry(known | nothing | told | _describe_effort(effort))
        )

    def _make_entry(self, told: dict[str, Any]) -> ModelCall:
        return ModelCall.model_validate({"ordinal": self._journal.next_ordinal()} | told)

    def _caller(self, provider: Provider) -> Caller:
        """One per model, whatever roles it plays; a recording has one for each role, since each
        plays back its own calls."""
        model = provider.name, provider.model, 0 if is_limited(provider.name) else id(provider)
        if model not in self._callers:
            terms, shares = (
                self.discipline,
                self.discipline.shares if is_limited(provider.name) else None,
            )
            self._callers[model] = Caller(
                provider, terms.limits, terms.retries, self._chance, shares=shares
            )
        return self._callers[model]

    def _hide(self, completion: Completion) -> Completion:
        """A server that echoes its request must not bring a key into ledger and recordings."""
        redactor = self.discipline.redactor
        calls = tuple(_hide_call(call, redactor) for call in completion.tool_calls)
        signed = tuple(map(redactor.hide_within, completion.signed))
        texts = {
            name: redactor.hide(getattr(completion, name))
            for name in ("text", "reasoning", "model")
        }
        return replace(
            completion,
            **texts,
            tool_calls=calls,
            signed=signed,
            notes=tuple(map(redactor.hide, completion.notes)),
        )


def _hide_call(call: ToolCall, redactor: Redactor) -> ToolCall:
    """Arguments that held a secret are read no more."""
    shown = replace(call, id=redactor.hide(call.id), name=redactor.hide(call.name))
    return (
        replace(shown, raw=redactor.hide(call.raw), arguments=None)
        if redactor.finds(call.raw)
        else shown
    )


def _describe_effort(effort: Effort) -> dict[str, Any]:
    told = {
        "retries": effort.retries,
        "waited": effort.waited,
        "latency": effort.latency(time.monotonic()),
    }
    tokens, cost = effort.possibly_paid
    return told | {
        "possibly_paid": effort.unanswered,
        "possibly_paid_tokens": tokens,
        "possibly_paid_cost": cost,
    }
