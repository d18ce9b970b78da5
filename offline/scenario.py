"""A scenario: a state with a past, two to eight wishes that state allows, the request for them, and
the reference path.

populate ──► draw wishes on a running world ──► lookups before each change ──► keep it only if every wish leaves a mark
"""

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import combinations
from typing import Any, TypeAlias

from envmill.base.errors import SettingsError
from envmill.sandbox.results import refer_to
from offline.crowd import settle_core, surround
from offline.dice import make_dice
from offline.domain import GONE, Domain, LedWish, Operation, Row, State
from offline.draw import sample_permitted
from offline.long import gather_wishes
from offline.luck import guess_luck
from offline.user import instruct_user, introduce_user
from offline.wording import WantedChange, can_say, follow, list_facts, name_goal, write_request
from offline.world import DomainWorld
from schemas.base import Json, canonical_json, is_object
from schemas.environment import Call
from schemas.prompts import ScenarioReply

LADDER = (2, 4, 3, 5, 3, 6, 4, 8)
"""Wishes of the scenarios of an environment, in turn: easy ones and hard ones from the first few
on."""
FEWEST_CALLS = 3
LONGEST_OF_ONE = 12
"""Calls that the wishes of one population come to; a path that should be longer goes through
several."""
TRIES = 200
LED_TRIES = 30
"""States in which changes that must be there are looked for."""
LED_DRAWS = 12
"""Wishes thought of for each of them."""
PATIENCE = 12
"""States in which a number of wishes is looked for before one less will do."""
DRAWS = 6
"""Operations thought of per wish."""
LUCK = 1e-4
"""Most of them that may succeed; nine in ten of these do harm besides, so that a thousand tries win
one scenario in a hundred."""
FORKS = 6
"""Arguments tried that go on from an earlier wish."""
_Cell: TypeAlias = tuple[str, str, str]


LINKED = 0.3
"""Share of scenarios that use a record they make, where results may be used and the domain has
operations for it."""


def write_scenario(
    domain: Domain, key: str, number: int = 0, *, results: bool = False
) -> ScenarioReply:
    """The scenario of this key; other keys give other ones. The number says how hard it is, not
    which one. Where results may be used,
    some scenarios go on with a record that they make."""
    if domain.calls > LONGEST_OF_ONE:
        return _write_long(domain, key, number)
    free = results and not domain.led and not domain.walk
    if (
        free
        and make_dice("results", domain.theme, key).random() < LINKED
        and (linked := write_linked(domain, key))
    ):
        return linked
    for again in range(TRIES):
        dice = make_dice("scenario", domain.theme, key, again)
        start = settle_core(domain, f"scenario/{key}/{again}")
        count = max(2, LADDER[number % len(LADDER)] - again // PATIENCE)
        if domain.led and again == LED_TRIES:
            break
        if domain.led:
            wishes = _sample_led(start, max(2, len(domain.led)), dice)
        else:
            wishes = _sample_wishes(start, count, dice, _shorten(domain.walk, again // PATIENCE))
        oracle = plan_calls(wishes, domain, start.state)
        if wishes and len(oracle) >= FEWEST_CALLS and all_leave_a_mark(wishes, start):
            whole = surround(start) if domain.rows else start
            if whole is not start and _describe_end(wishes, whole) != _describe_end(wishes, start):
                continue
            return _write_reply(wishes, oracle, whole.state, start, dice)
    raise SettingsError(
        f"Domain {domain.theme}: no scenario for {key}. Give its operations weaker rules or more "
        "rows."
    )


def _write_long(domain: Domain, key: str, number: int) -> ScenarioReply:
    """Errands over several populations: none of them is about a row of another one's."""
    dice = make_dice("long", domain.theme, key)

    def sample(part: DomainWorld, place: int) -> list[WantedChange]:
        count = max(2, LADDER[(number + place) % len(LADDER)])
        wishes = _sample_wishes(part, count, dice, domain.walk if place == 0 else ())
        return wishes if wishes and all_leave_a_mark(wishes, part) else []

    start, wishes, oracle = gather_wishes(
        domain, key, sample, lambda wanted, world: plan_calls(wanted, domain, world.state)
    )
    return _write_reply(wishes, oracle, start.state, start, dice)


def write_linked(domain: Domain, key: str) -> ScenarioReply | None:
    """A scenario whose second wish is about the record that its first one makes; None where chance
    found none."""
    for again in range(PATIENCE):
        dice, start = (
            make_dice("linked", domain.theme, key, again),
            settle_core(domain, f"linked/{key}/{again}"),
        )
        for first, made, told in _sample_makings(start, dice):
            world = start.copy()
            world.apply(first.operation, first.arguments)
            second = _sample_use(made, world, told, dice)
            if (
                second is None
                or not is_clear(second, [first], told)
                or overrules(second, [first], start)
            ):
                continue
            wishes = [first, second]
            if not all_leave_a_mark(wishes, start):
                continue
            oracle = _refer(plan_calls(wishes, domain, told.state), made, told, start)
            whole = surround(start) if domain.rows else start
            if len(oracle) < FEWEST_CALLS or (
                whole is not start and _describe_end(wishes, whole) != _describe_end(wishes, start)
            ):
                continue
            reply = ScenarioReply(
                initial_state=whole.state,
                request=write_request(wishes, domain, told.state, dice),
                oracle=oracle,
                facts=list_facts(wishes, domain, told.state),
                goals=[name_goal(wish, domain, told.state) for wish in wishes],
            )
            return introduce_user(reply)
    return None


def _sample_makings(
    start: DomainWorld, dice: random.Random
) -> Iterator[tuple[WantedChange, tuple[str, str], DomainWorld]]:
    """Wishes that make one record and answer with it: the wish, collection and id of the record,
    and the start with the record as made."""
    makers = [
        each
        for each in start.domain.changes
        if each.asks and each.tells and any("new(" in step.do for step in each.then)
    ]
    dice.shuffle(makers)
    for maker in makers:
        wish = sample_wish(maker, start, start, dice)
        if wish is None or not is_clear(wish, [], start):
            continue
        world = start.copy()
        answer = world.answer(maker, wish.arguments)
        made = [
            (name, row_id)
            for name, rows in world.state.items()
            for row_id in rows
            if row_id not in start.state[name]
        ]
        if len(made) == 1 and isinstance(answer, dict) and made[0][1] in answer.values():
            told = start.copy()
            told.state[made[0][0]][made[0][1]] = dict(world.state[made[0][0]][made[0][1]])
            yield wish, made[0], told


def _sample_use(
    made: tuple[str, str], world: DomainWorld, told: DomainWorld, dice: random.Random
) -> WantedChange | None:
    """A wish about the record that was made."""
    collection, row_id = made
    known = {**told.state, collection: {row_id: world.state[collection][row_id]}}
    users = [
        each
        for each in world.domain.changes
        if each.asks and each.tells and any(one.row == collection for one in each.takes)
    ]
    dice.shuffle(users)
    for user in users:
        if permitted := sample_permitted(user, world, known, dice):
            return WantedChange(user, permitted)
    return None


def _refer(
    calls: list[Call], made: tuple[str, str], told: DomainWorld, start: DomainWorld
) -> list[Call]:
    """The calls without the lookup of the record that is made, and with a reference wherever they
    name it."""
    collection, row_id = made
    needless = _plan_lookup(collection, told.state[collection][row_id], told.domain)
    world, kept, replies = start.copy(), list[Call](), list[Json]()
    for call in calls:
        if call != needless or row_id not in world.state[collection]:
            kept.append(call)
            replies.append(
                deepcopy(world.answer(start.domain.operations[call.name], call.arguments))
            )
    return refer_to({row_id}, kept, replies)


def _plan_lookup(collection: str, row: Row, domain: Domain) -> Call:
    lookup = domain.collections[collection].lookup
    return Call(
        name=lookup.call,
        arguments={argument: row[attribute] for argument, attribute in lookup.using.items()},
    )


def _write_reply(
    wishes: list[WantedChange],
    oracle: list[Call],
    state: State,
    start: DomainWorld,
    dice: random.Random,
) -> ScenarioReply:
    """Words for it all; the opening is worded by the same chance as the request."""
    spoken = dice.getstate()
    reply = ScenarioReply(
        initial_state=state,
        request=write_request(wishes, start.domain, start.state, dice),
        oracle=oracle,
        facts=list_facts(wishes, start.domain, start.state),
    )
    dice.setstate(spoken)
    return instruct_user(
        reply,
        wishes,
        start.domain,
        start.state,
        lambda unsaid: write_request(unsaid, start.domain, start.state, dice),
    )


def plan_calls(wishes: list[WantedChange], domain: Domain, state: State) -> list[Call]:
    """Each change, preceded by the lookups through which somebody who knows only names gets at its
    ids."""
    calls: list[Call] = []
    for wish in wishes:
        calls = plan_more(calls, wish, domain, state)
    return calls


def plan_more(
    before: Sequence[Call], wish: WantedChange, domain: Domain, state: State
) -> list[Call]:
    """The calls before, and what one wish more takes."""
    calls = list(before)
    for parameter in wish.operation.takes:
        if parameter.row:
            _add_lookups(parameter.row, wish.arguments[parameter.name], domain, state, calls)
    return [*calls, Call(name=wish.operation.name, arguments=wish.arguments)]


def sample_more(
    wishes: list[WantedChange], start: DomainWorld, dice: random.Random
) -> WantedChange | None:
    """One wish more that goes with the others and leaves a mark, by an operation that none of them
    used; none where luck found none."""
    world = start.copy()
    for wish in wishes:
        world.apply(wish.operation, wish.arguments)
    used = {wish.operation.name for wish in wishes}
    free = [
        each for each in start.domain.changes if each.asks and each.tells and each.name not in used
    ]
    drawn = sample_wish(dice.choice(free), world, start, dice) if free else None
    fits = (
        drawn is not None
        and is_clear(drawn, wishes, start)
        and not overrules(drawn, wishes, start)
        and all_leave_a_mark([*wishes, drawn], start)
    )
    return drawn if fits and drawn is not None and _goes_on(drawn, world, start) else None


def _goes_on(wish: WantedChange, world: DomainWorld, start: DomainWorld) -> bool:
    """Whether nothing that was brought about before is as it was at the start again."""
    before = _list_altered(world, start)
    world.apply(wish.operation, wish.arguments)
    return before <= _list_altered(world, start)


def _list_altered(world: DomainWorld, start: DomainWorld) -> set[_Cell]:
    return {
        (name, row_id, attribute)
        for name, rows in start.state.items()
        for row_id, row in rows.items()
        for attribute, value in row.items()
        if world.state[name][row_id][attribute] != value
    }


def _add_lookups(
    collection: str, row_id: str, domain: Domain, state: State, calls: list[Call]
) -> None:
    lookup = domain.collections[collection].lookup
    row = state[collection][row_id]
    for parameter in domain.operations[lookup.call].takes:
        if parameter.row:
            _add_lookups(parameter.row, row[lookup.using[parameter.name]], domain, state, calls)
    call = _plan_lookup(collection, row, domain)
    if call not in calls:
        calls.append(call)


def _shorten(walk: tuple[str, ...], fewer: int) -> tuple[str, ...]:
    """Without its last steps: of a walk whose steps undo each other, less will do."""
    return walk[: max(0, len(walk) - fewer)]


def _sample_wishes(
    start: DomainWorld, count: int, dice: random.Random, walk: tuple[str, ...]
) -> list[WantedChange]:
    """Wishes that can be carried out in turn, more where so few could be met by chance; none when
    too few turned up."""
    world, wishes = start.copy(), list[WantedChange]()
    sayable = [each for each in world.domain.changes if each.asks and each.tells]
    weights, led = (
        [each.weight for each in sayable],
        [each for name in walk for each in sayable if each.name == name],
    )
    for turn in range(DRAWS * max(count, 4) if sayable else 0):
        # Weighted: the work a place exists for is asked for more often than its exceptions.
        wish = sample_wish(
            led[turn] if turn < len(led) else dice.choices(sayable, weights)[0], world, start, dice
        )
        if (
            wish
            and wish not in wishes
            and is_clear(wish, wishes, start)
            and not overrules(wish, wishes, start)
        ):
            world.apply(wish.operation, wish.arguments)
            wishes.append(wish)
        if len(wishes) >= count and guess_luck(wishes, start) <= LUCK:
            return wishes
    return []


def _sample_led(start: DomainWorld, count: int, dice: random.Random) -> list[WantedChange]:
    """Wishes of which the first are those that must be there, each tied to earlier ones as it says;
    none where chance found none."""
    world, wishes, replies = start.copy(), list[WantedChange](), dict[str, Any]()
    for led in start.domain.led:
        operation = start.domain.operations[led.operation]
        for _ in range(LED_DRAWS):
            known = _restrict(operation, led, start.state, replies)
            wish = sample_wish(operation, world, start, dice, known)
            if (
                wish
                and wish not in wishes
                and is_clear(wish, wishes, start)
                and not overrules(wish, wishes, start)
            ):
                replies[led.operation] = deepcopy(world.answer(wish.operation, wish.arguments))
                wishes.append(wish)
                break
        else:
            if not led.optional:
                return []
    sayable = [each for each in world.domain.changes if each.asks and each.tells]
    for _ in range(DRAWS * max(count, 4)):
        if len(wishes) >= count and guess_luck(wishes, start) <= LUCK:
            return wishes
        wish = sample_wish(
            dice.choices(sayable, [each.weight for each in sayable])[0], world, start, dice
        )
        if (
            wish
            and wish not in wishes
            and is_clear(wish, wishes, start)
            and not overrules(wish, wishes, start)
        ):
            world.apply(wish.operation, wish.arguments)
            wishes.append(wish)
    return []


def _restrict(
    operation: Operation, led: LedWish, state: State, replies: Mapping[str, Any]
) -> State | None:
    """The rows that an operation may name, where its values come from an earlier reply; None where
    nothing ties it."""
    known = dict(state)
    rows = {each.name: each.row for each in operation.takes if each.row}
    for argument, giver, path in led.ties:
        if argument in rows and giver in replies:
            reply: Json = replies[giver]
            value = reply.get(path) if is_object(reply) else None
            known[rows[argument]] = {
                key: row for key, row in state[rows[argument]].items() if key == value
            }
    return known if known != state else None


def sample_wish(
    operation: Operation,
    world: DomainWorld,
    start: DomainWorld,
    dice: random.Random,
    known: State | None = None,
) -> WantedChange | None:
    """A wish the world permits now; rather one that goes on from an earlier one, which the start
    would not have permitted.

    Only rows of the start are named: the ids of rows made on the way are chance, and a reference
    path must hold under another. `known`:
    the rows that may be named, where that is settled.
    """
    if known is not None:
        found = sample_permitted(operation, world, known, dice)
        return WantedChange(operation, found) if found else None
    met = {
        name: {key: row for key, row in rows.items() if world.state[name][key] != row}
        for name, rows in start.state.items()
    }
    narrow = {name: rows or start.state[name] for name, rows in met.items()}
    if any(met[each.row] for each in operation.takes if each.row):
        following = sample_permitted(operation, world, narrow, dice, FORKS)
        if following and not start.allows(operation, following):
            return WantedChange(operation, following)
    permitted = sample_permitted(operation, world, start.state, dice)
    return WantedChange(operation, permitted) if permitted else None


def is_clear(
    wish: WantedChange,
    earlier: list[WantedChange],
    start: DomainWorld,
    called: Collection[str] = (),
) -> bool:
    """Whether every row it names is the only one called so, and is not described by something an
    earlier wish changes. `called`: rows that
    have another name here."""
    taken = {value for each in earlier for value in each.arguments.values()}
    for parameter in wish.operation.takes:
        if parameter.row:
            row_id = wish.arguments[parameter.name]
            described = "." in start.domain.collections[parameter.row].label
            if (described and row_id in taken) or (
                row_id not in called and not is_unique(parameter.row, row_id, start)
            ):
                return False
    return can_say(wish, start.domain, start.state)


def overrules(wish: WantedChange, earlier: list[WantedChange], start: DomainWorld) -> bool:
    """Whether it writes over what an earlier wish said, or deletes what that one filled: in one
    breath nobody wants both."""
    named = {value for value in wish.arguments.values() if isinstance(value, str)}
    if not any(named.intersection(map(str, each.arguments.values())) for each in earlier):
        return False
    world, put = start.copy(), dict[_Cell, Any]()
    for each in earlier:
        put |= _apply_saying(each, world)
    before = world.copy()
    later = _apply_saying(wish, world)
    gone = {
        (name, row)
        for name, row, _ in _list_altered(world, before)
        if GONE in world.state[name][row].values()
    }
    return any(put.get(cell, value) != value for cell, value in later.items()) or any(
        cell[:2] in gone for cell in put
    )


def _apply_saying(wish: WantedChange, world: DomainWorld) -> dict[_Cell, Any]:
    """What it puts in place in the words of its arguments."""
    before = world.copy()
    world.apply(wish.operation, wish.arguments)
    altered = {
        cell: world.state[cell[0]][cell[1]][cell[2]] for cell in _list_altered(world, before)
    }
    return {cell: value for cell, value in altered.items() if value in wish.arguments.values()}


def is_unique(collection: str, row_id: str, start: DomainWorld) -> bool:
    """Whether nothing else is called so, in other departments neither."""
    template = start.domain.collections[collection].label
    alike = [name for name, each in start.domain.collections.items() if each.label == template]
    labels = [_name_row(name, each, start) for name in alike for each in start.state[name]]
    label = _name_row(collection, row_id, start)
    return bool(label) and labels.count(label) == 1


def _name_row(collection: str, row_id: str, start: DomainWorld) -> str:
    """What people call a row; nothing where the one it is called after is not known yet."""
    try:
        return follow(collection, row_id, [], start.domain, start.state)
    except KeyError:
        return ""


def all_leave_a_mark(wishes: list[WantedChange], start: DomainWorld) -> bool:
    """Whether the end is another one without any wish, and without any two: what one undoes of
    another was not wanted."""
    whole = _describe_end(wishes, start)
    fewer = (gone for size in (1, 2) for gone in combinations(range(len(wishes)), size))
    return all(
        _describe_end([wish for place, wish in enumerate(wishes) if place not in gone], start)
        != whole
        for gone in fewer
    )


def _describe_end(wishes: list[WantedChange], start: DomainWorld) -> list[str]:
    """What became other than it was, with the ids of new rows left out: they depend on how many
    rows came before."""
    world = start.copy()
    for wish in wishes:
        if world.allows(wish.operation, wish.arguments):
            world.apply(wish.operation, wish.arguments)
    return sorted(
        canonical_json([name, row if row_id in start.state[name] else {**row, "id": ""}])
        for name, rows in world.state.items()
        for row_id, row in rows.items()
        if row != start.state[name].get(row_id)
    )
