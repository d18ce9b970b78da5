"""A scenario: a state with a past, two or three wishes that state allows, the request for them, and the reference path.

populate ──► draw wishes on a running world ──► lookups before each change ──► keep it only if every wish leaves a mark
"""

import random

from envmill.author.dice import make_dice
from envmill.author.domain import Domain, State
from envmill.author.draw import draw_permitted
from envmill.author.population import populate
from envmill.author.wording import Wish, can_say, follow, list_facts, write_request
from envmill.author.world import World
from envmill.errors import SettingsError
from schemas.base import canonical_json
from schemas.environment import Call
from schemas.prompts import ScenarioReply

CALLS = range(3, 7)
TRIES = 200


def write_scenario(domain: Domain, key: str) -> ScenarioReply:
    """The scenario of this key; other keys give other ones."""
    for again in range(TRIES):
        dice = make_dice("scenario", domain.theme, key, again)
        start = populate(domain, f"scenario/{key}/{again}")
        wishes = _draw_wishes(start, dice.choice((2, 2, 3)), dice)
        oracle = plan_calls(wishes, domain, start.state)
        if len(wishes) >= 2 and len(oracle) in CALLS and _all_leave_a_mark(wishes, start):
            return ScenarioReply(
                initial_state=start.state,
                request=write_request(wishes, domain, start.state, dice),
                oracle=oracle,
                facts=list_facts(wishes, domain, start.state),
            )
    raise SettingsError(f"Domain {domain.theme}: no scenario for {key}. Give its operations weaker rules or more rows.")


def plan_calls(wishes: list[Wish], domain: Domain, state: State) -> list[Call]:
    """Each change, preceded by the lookups through which somebody who knows only names gets at its ids."""
    calls: list[Call] = []
    for wish in wishes:
        for parameter in wish.operation.takes:
            if parameter.row:
                _look_up(parameter.row, wish.arguments[parameter.name], domain, state, calls)
        calls.append(Call(name=wish.operation.name, arguments=wish.arguments))
    return calls


def _look_up(collection: str, row_id: str, domain: Domain, state: State, calls: list[Call]) -> None:
    lookup = domain.collections[collection].lookup
    row = state[collection][row_id]
    for parameter in domain.operations[lookup.call].takes:
        if parameter.row:
            _look_up(parameter.row, row[lookup.using[parameter.name]], domain, state, calls)
    call = Call(name=lookup.call, arguments={argument: row[attribute] for argument, attribute in lookup.using.items()})
    if call not in calls:
        calls.append(call)


def _draw_wishes(start: World, count: int, dice: random.Random) -> list[Wish]:
    """Wishes that can be carried out one after the other; fewer when chance gave no more."""
    world, wishes = start.copy(), list[Wish]()
    sayable = [each for each in world.domain.changes if each.asks and each.tells]
    # Weighted order without repetition: the work a place exists for is asked for more often than its exceptions.
    shuffled = sorted(sayable, key=lambda each: dice.random() ** (1 / each.weight), reverse=True)
    for operation in shuffled[: 2 * count]:
        arguments = draw_permitted(operation, world, start.state, dice)
        wish = Wish(operation, arguments or {})
        if arguments and len(wishes) < count and _is_clear(wish, wishes, start):
            world.apply(operation, arguments)
            wishes.append(wish)
    return wishes


def _is_clear(wish: Wish, earlier: list[Wish], start: World) -> bool:
    """Whether every row it names is the only one called so, and is not described by something an earlier wish changes."""
    taken = {value for each in earlier for value in each.arguments.values()}
    for parameter in wish.operation.takes:
        if parameter.row:
            row_id = wish.arguments[parameter.name]
            described = "." in start.domain.collections[parameter.row].label
            if (described and row_id in taken) or not _is_unique(parameter.row, row_id, start):
                return False
    return can_say(wish, start.domain, start.state)


def _is_unique(collection: str, row_id: str, start: World) -> bool:
    labels = [follow(collection, each, [], start.domain, start.state) for each in start.state[collection]]
    return labels.count(follow(collection, row_id, [], start.domain, start.state)) == 1


def _all_leave_a_mark(wishes: list[Wish], start: World) -> bool:
    whole = _describe_end(wishes, start)
    return all(_describe_end([each for each in wishes if each is not wish], start) != whole for wish in wishes)


def _describe_end(wishes: list[Wish], start: World) -> list[str]:
    """The end state with the ids of new rows left out: they depend on how many rows came before."""
    world = start.copy()
    for wish in wishes:
        if world.allows(wish.operation, wish.arguments):
            world.apply(wish.operation, wish.arguments)
    return sorted(
        canonical_json([name, row if row_id in start.state[name] else {**row, "id": ""}])
        for name, rows in world.state.items()
        for row_id, row in rows.items()
    )
