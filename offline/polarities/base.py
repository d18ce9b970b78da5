"""What all polarities share: twins, reads that show something, words that prove something."""

import ast
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from offline.blueprint import write_policy
from offline.domain import Domain, Operation, OperationParameter, Row, State
from offline.draw import sample_permitted
from offline.formula import parse_expression
from offline.scenario import plan_calls
from offline.wording import WantedChange, can_say, follow
from offline.world import DomainWorld
from schemas.base import Json, is_array
from schemas.environment import Call
from schemas.prompts import ScenarioReply

TRIES = 30
"""Draws from one state before another one is made."""


@dataclass(frozen=True)
class Twins:
    """Two scenarios on one state that differ in one fact: in one nothing may be changed, in the
    other it is to be done."""

    negative: ScenarioReply
    achieving: ScenarioReply | None
    """None beside a question: it has nothing to achieve."""
    differs: str
    """The fact, in words."""


Pose: TypeAlias = Callable[[DomainWorld, random.Random], Twins | None]
"""Makes twins on a state; none when chance found nothing there that fits."""


def find_row(collection: str, row_id: str, domain: Domain, state: State) -> list[Call]:
    """The lookups by which somebody who knows only names gets at a row."""
    wanted = Operation(
        does="", gives="", takes=(OperationParameter(name="wanted_id", row=collection, about=""),)
    )
    return plan_calls([WantedChange(wanted, {"wanted_id": row_id})], domain, state)[:-1]


def read_rows(call: Call, world: DomainWorld) -> list[Row]:
    """The rows a lookup gives, by the domain model."""
    operation = world.domain.operations[call.name]
    rows = {
        each.local: world.state[each.row][call.arguments[each.name]]
        for each in operation.takes
        if each.row
    }
    found: Json = world.value(
        parse_expression(operation.gives), {**world.domain.bounds, **call.arguments, **rows}
    )
    return found if is_array(found) else [found]


def find_known(
    collection: str, row_id: str, path: list[Call], request: str, world: DomainWorld
) -> list[Call] | None:
    """Lookups of a row by what the request says or earlier replies show; none where somebody would
    have to guess its name."""
    direct = find_row(collection, row_id, world.domain, world.state)
    if all(
        is_known(call, [*path, *direct[:place]], request, world)
        for place, call in enumerate(direct)
    ):
        return direct
    row = world.state[collection][row_id]
    return next(
        ([call] for call in _list_reads(path, world) if row in read_rows(call, world)), None
    )


def is_known(call: Call, path: list[Call], request: str, world: DomainWorld) -> bool:
    """Whether the request says every argument, or a reply on the path shows it."""
    shown = {
        str(value) for each in path for row in read_rows(each, world) for value in row.values()
    }
    return all(
        str(value) in shown or stands_in(value, request) for value in call.arguments.values()
    )


def _list_reads(path: list[Call], world: DomainWorld) -> Iterator[Call]:
    """Queries that ask for nothing, or for one row that was shown."""
    shown = dict.fromkeys(
        str(value) for each in path for row in read_rows(each, world) for value in row.values()
    )
    for name, operation in world.domain.operations.items():
        plain = not any(find_trees(parse_expression(operation.gives), ast.Dict))
        if (
            operation.effect == "query"
            and plain
            and len(operation.takes) <= 1
            and all(each.row for each in operation.takes)
        ):
            keys = (
                [key for key in shown if key in world.state[operation.takes[0].row]]
                if operation.takes
                else [""]
            )
            yield from (
                Call(name=name, arguments={each.name: key for each in operation.takes})
                for key in keys
            )


def shows(calls: Iterable[Call], collection: str, row_id: str, world: DomainWorld) -> bool:
    """Whether one of these lookups gives the row with all that is in it."""
    row = world.state[collection][row_id]
    return any(row in read_rows(each, world) for each in calls)


def merge(*paths: Iterable[Call]) -> list[Call]:
    """Calls of several paths, each made once."""
    calls: list[Call] = []
    for call in (each for path in paths for each in path):
        if call not in calls:
            calls.append(call)
    return calls


def sample_wish(
    world: DomainWorld, dice: random.Random, fits: Callable[[Operation], bool] = lambda _: True
) -> WantedChange | None:
    """Something this state allows, and whose rows are each the only one called so."""
    sayable = [each for each in world.domain.changes if each.asks and each.tells and fits(each)]
    if not sayable:
        return None
    operation = dice.choices(sayable, [each.weight for each in sayable])[0]
    arguments = sample_permitted(operation, world, world.state, dice, 12)
    wish = WantedChange(operation, arguments or {})
    return wish if arguments and is_clear(wish, world) else None


def is_clear(wish: WantedChange, world: DomainWorld) -> bool:
    """Whether it can be said, and every row in it is the only one called so."""
    rows = [(each.row, wish.arguments[each.name]) for each in wish.operation.takes if each.row]
    return can_say(wish, world.domain, world.state) and all(
        _is_only(name, row_id, world) for name, row_id in rows
    )


def _is_only(collection: str, row_id: str, world: DomainWorld) -> bool:
    called = follow(collection, row_id, [], world.domain, world.state)
    return [
        follow(collection, each, [], world.domain, world.state) for each in world.state[collection]
    ].count(called) == 1


def achieve(
    wish: WantedChange, world: DomainWorld, request: str, facts: dict[str, Any]
) -> ScenarioReply:
    """The twin in which the wish is carried out."""
    return ScenarioReply(
        initial_state=world.state,
        request=request,
        oracle=plan_calls([wish], world.domain, world.state),
        facts=facts,
    )


def find_trees(node: ast.AST, kind: type[ast.AST]) -> Iterator[Any]:
    """All parts of a formula that are of one sort."""
    return (each for each in ast.walk(node) if isinstance(each, kind))


def stands_in(value: Json, *texts: str) -> bool:
    """Whether a value is said in one of the texts, whatever the case; small numbers also in
    words."""
    wordings = [
        str(value),
        *([NUMERALS[value]] if isinstance(value, int) and 0 <= value < len(NUMERALS) else []),
    ]
    return any(
        re.search(rf"(?<![\w.]){re.escape(each)}(?!\w)", text, re.IGNORECASE)
        for each in wordings
        for text in texts
    )


def escape(words: str) -> str:
    """Words as a pattern that matches just them; only what RE2 and Python escape alike."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", words)


def policy_of(domain: Domain) -> str:
    """What the agent is told beforehand: a word of it proves nothing."""
    return write_policy(domain)


NUMERALS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
