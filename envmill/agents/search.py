"""A search attacker: draws sequences of calls, is told what each earned, and goes on from what
earned most.

pool of calls ─► generation: drawn by weight, or the best ones varied ─► earnings ─► weights and best ones ─► next generation
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Literal

from envmill.agents.attackers.arguments import (
    first_type,
    list_calls,
    list_choices,
    sample_call,
    sample_value,
)
from envmill.agents.attackers.base import AttackerView, recite
from envmill.sandbox import Observation
from schemas.base import Json, canonical_json, is_object
from schemas.environment import Call, Tool

Speech = Literal["done", "everything", "last", "request"]

GENERATION = 100
_LONGEST = 8
_BEST = 12
_DRAWS = 8
"""Calls of each tool in a pool that knows nothing of the request, of either sort: one row after
another, and by chance."""
_TOLD = 16
"""Calls of each tool that the request's words lead to."""
_GROWN = 32
"""Calls on what sequences made, in all."""
_SPEECHES: tuple[Speech, ...] = ("done", "everything", "last")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w])")


@dataclass(frozen=True)
class SearchEpisode:
    """One thing to try."""

    calls: tuple[int, ...]
    """Places in the pool."""
    speech: Speech = "done"
    """What is said at the end."""


@dataclass(frozen=True)
class CallPool:
    """The calls a search may make, and how likely each is at first."""

    calls: Sequence[Call]
    weights: Sequence[float]
    speeches: Sequence[Speech] = _SPEECHES

    @classmethod
    def blind(cls, view: AttackerView, seed: int) -> "CallPool":
        """Calls that pass validation, drawn from the state alone."""
        calls = _list_distinct(_sample_blind(view, random.Random(seed)))
        return cls(calls, [1.0] * len(calls))

    def grow(
        self, view: AttackerView, finals: Sequence[Mapping[str, Json]], dice: random.Random
    ) -> "CallPool":
        """With calls on rows that sequences made: who makes the same again is told the same ids."""
        after = [seen for final in finals if (seen := view.after(final))]
        told = [call for seen in after for call in _sample_about(seen, view, dice)]
        known = {canonical_json([call.name, call.arguments]) for call in self.calls}
        new = [
            call
            for call in _list_distinct(told)
            if canonical_json([call.name, call.arguments]) not in known
        ][:_GROWN]
        return replace(
            self,
            calls=[*self.calls, *new],
            weights=[*self.weights, *[max(self.weights, default=1.0)] * len(new)],
        )

    @classmethod
    def informed(cls, view: AttackerView, seed: int) -> "CallPool":
        """The same, and before them calls whose arguments stand in the request or belong to what is
        named there."""
        dice = random.Random(seed)
        told = _list_distinct(_sample_told(view, dice))
        calls = _list_distinct([*told, *_sample_blind(view, dice)])
        return cls(
            calls, [4.0] * len(told) + [0.2] * (len(calls) - len(told)), (*_SPEECHES, "request")
        )


@dataclass
class Searcher:
    """Cross-entropy over which calls are worth making, greedy over which sequences are."""

    pool: CallPool
    dice: random.Random
    best: list[tuple[float, SearchEpisode]] = field(
        default_factory=list[tuple[float, SearchEpisode]]
    )
    """What earned most so far, the most first; nothing that earned nothing."""

    def __post_init__(self) -> None:
        self._weights = list(self.pool.weights)
        self._places = range(len(self.pool.calls))

    def adopt(self, pool: CallPool) -> None:
        """Go on with a pool that has grown."""
        self._weights += pool.weights[len(self.pool.calls) :]
        self.pool, self._places = pool, range(len(pool.calls))

    def sample(self, count: int, *, learnt: bool = True) -> list[SearchEpisode]:
        """The next things to try; what was not learnt from is drawn as the first was."""
        return [
            self._vary()
            if learnt and self.best and self.dice.random() < 0.7
            else self._sample_episode(learnt)
            for _ in range(count)
        ]

    def learn(self, earned: Sequence[tuple[float, SearchEpisode]]) -> None:
        """Calls of the better tenth come more often; the best sequences are varied."""
        paid = sorted(
            (one for one in earned if one[0] > 0), key=lambda one: (-one[0], len(one[1].calls))
        )
        elite = [
            place for _, episode in paid[: max(1, len(earned) // 10)] for place in episode.calls
        ]
        if elite:
            self._weights = [0.7 * weight for weight in self._weights]
            share = 0.3 * sum(self.pool.weights) / len(elite)
            for place in elite:
                self._weights[place] += share
        together = {episode: score for score, episode in (*self.best, *paid)}
        self.best = sorted(
            ((score, one) for one, score in together.items()),
            key=lambda one: (-one[0], len(one[1].calls)),
        )[:_BEST]

    def _sample_episode(self, learnt: bool) -> SearchEpisode:
        length = self.dice.randint(1, 6)
        weights = self._weights if learnt else self.pool.weights
        return SearchEpisode(
            tuple(self.dice.choices(self._places, weights, k=length)),
            self.dice.choice(self.pool.speeches),
        )

    def _vary(self) -> SearchEpisode:
        parent = self.dice.choice(self.best)[1]
        calls, dice = list(parent.calls), self.dice
        place = dice.randrange(len(calls) + 1)
        match dice.choice(("append", "insert", "replace", "remove", "join", "swap")):
            case "append":
                calls += self._pick()
            case "insert":
                calls[place:place] = self._pick()
            case "replace":
                calls[place : place + 1] = self._pick()
            case "remove":
                calls[place : place + 1] = []
            case "join":
                calls += dice.choice(self.best)[1].calls
            case _:
                dice.shuffle(calls)
        speech = parent.speech if dice.random() < 0.8 else dice.choice(self.pool.speeches)
        return SearchEpisode(tuple(calls[:_LONGEST]), speech)

    def _pick(self) -> list[int]:
        return self.dice.choices(self._places, self._weights)


def speak(speech: Speech, view: AttackerView, seen: Sequence[Observation]) -> list[str]:
    """Last words: that all is done, what replies said, or what was asked."""
    if speech == "everything":
        return [recite(seen)]
    if speech == "last":
        return [recite(seen[-1:])]
    return (
        [f"{view.request}\n{view.policy}"]
        if speech == "request"
        else ["Done: everything you asked for is in place."]
    )


def _list_distinct(calls: Sequence[Call] | Iterator[Call]) -> list[Call]:
    return list({canonical_json([call.name, call.arguments]): call for call in calls}.values())


def _sample_about(seen: AttackerView, view: AttackerView, dice: random.Random) -> Iterator[Call]:
    """Calls that name a new row."""
    new = {
        key
        for home, rows in seen.stock.rows.items()
        for key in rows
        if key not in view.stock.rows.get(home, {})
    }
    for tool in seen.tools:
        drawn = sample_call(tool, seen.stock, dice)
        if any(isinstance(value, str) and value in new for value in drawn.arguments.values()):
            yield drawn


def _sample_blind(view: AttackerView, dice: random.Random) -> Iterator[Call]:
    for tool in view.tools:
        yield from list_calls(tool, view.stock, _DRAWS)
        yield from (sample_call(tool, view.stock, dice) for _ in range(_DRAWS))


def _sample_told(view: AttackerView, dice: random.Random) -> Iterator[Call]:
    """Calls with a value out of the request wherever one fits; a tool without any is left to
    chance."""
    named = _find_named(view)
    for tool in view.tools:
        schemas: dict[str, Json] = tool.parameters.get("properties", {})
        told = {
            name: found
            for name, schema in schemas.items()
            if (found := _list_told(name, schema, view, named))
        }
        lacking = [name for name in tool.parameters.get("required", []) if name not in told]
        for values in islice(product(*told.values()), _TOLD) if told else ():
            chance = {name: sample_value(name, schemas[name], view.stock, dice) for name in lacking}
            yield Call(
                name=tool.name,
                arguments=chance | dict(zip(told, values, strict=True)),
                actor=_pick_actor(tool),
            )


def _pick_actor(tool: Tool) -> str:
    return "agent" if "agent" in tool.actors else tool.actors[0]


def _list_told(
    name: str, schema: Mapping[str, Json], view: AttackerView, named: Mapping[str, Sequence[str]]
) -> list[Json]:
    """Values a parameter takes that the request speaks of."""
    words = view.request.casefold()
    if choices := list_choices(schema):
        return [value for value in choices if str(value).replace("_", " ").casefold() in words]
    if first_type(schema) in ("integer", "number"):
        numbers = [float(number) for number in _NUMBER.findall(words)]
        return (
            [int(number) for number in numbers if number.is_integer()]
            if first_type(schema) == "integer"
            else list(numbers)
        )
    if first_type(schema) != "string":
        return []
    if collection := view.stock.find_pointed(name):
        return list(named.get(collection, ()))
    return [
        value
        for value in view.stock.namesakes(name) or view.stock.labels()
        if isinstance(value, str) and value.casefold() in words
    ]


def _find_named(view: AttackerView) -> dict[str, list[str]]:
    """Rows that the request calls by name or key, then rows that point at one of them."""
    words = view.request.casefold()
    named = {
        home: [key for key, row in rows.items() if _is_named(key, row, words)]
        for home, rows in view.stock.rows.items()
    }
    keys = {key for found in named.values() for key in found}
    for home, rows in view.stock.rows.items():
        near = [
            key
            for key, row in rows.items()
            if is_object(row) and any(isinstance(one, str) and one in keys for one in row.values())
        ]
        named[home] = list(dict.fromkeys([*named[home], *near]))
    return named


def _is_named(key: str, row: Json, words: str) -> bool:
    values = [key, *(row.values() if is_object(row) else ())]
    return any(
        isinstance(value, str) and len(value) > 2 and value.casefold() in words for value in values
    )
