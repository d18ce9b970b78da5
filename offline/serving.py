"""Several servers as one domain, its people known to each of them; and scenarios in which one
server tells whom the next is asked about.

parts ─► every name begins with its server ─► one domain ─► populated in turn: some people of the first are people of the others, too
row of the first server ─► its person ─► name ─► the same person in another server ─► a change there, and more in the servers used
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from envmill.base.errors import SettingsError
from envmill.language.mentions import is_told
from envmill.recipes.drafting.themes import read_themes
from offline.crowd import settle_core, surround
from offline.dice import make_dice
from offline.domain import Attribute, Department, Domain, Operation, OperationParameter
from offline.knowledge import load_domain
from offline.organisation import PEOPLE, add_up
from offline.rename import Renaming, rename_domain
from offline.scenario import (
    FEWEST_CALLS,
    LADDER,
    all_leave_a_mark,
    is_clear,
    is_unique,
    overrules,
    plan_calls,
    plan_more,
    sample_wish,
)
from offline.user import introduce_user
from offline.wording import WantedChange, follow, list_facts, name_goal, write_request
from offline.wording.phrases import Names
from offline.world import DomainWorld
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.servers import ClaimedIdentity, SharedIdentity

IDENTITY, KEY, FIELD = "person", "name", "town"
TOWNS = ("Ashford", "Brackwater", "Corley", "Dunmere", "Elmstead", "Farrow")
TRIES, DRAWS = 120, 40
MOST_WISHES = 5


@dataclass(frozen=True)
class _Shape:
    """A theme as a server."""

    people: str
    records: tuple[str, ...]
    """Collections whose rows are called by something of their own, and refer to one of its
    people."""


def compose_servers(
    theme: str, many: int, settle: Mapping[str, Domain], dice: random.Random
) -> Domain:
    """So many servers, the first of which keeps records of its people. `settle`: theme → its domain
    with everything drawn."""
    fit = {name: shape for name, domain in settle.items() if (shape := _find_shape(domain))}
    givers = [name for name, shape in fit.items() if shape.records]
    others = [name for name in fit if name != theme]
    dice.shuffle(others)
    chosen = [theme] if theme in givers else [next(name for name in others if name in givers)]
    chosen += [name for name in ([theme] if theme in fit else []) if name not in chosen]
    for name in others:
        if (
            len(chosen) < many
            and _name_server(name) not in {_name_server(one) for one in chosen}
            and name not in chosen
        ):
            chosen.append(name)
    parts = [_make_server(settle[name], fit[name]) for name in chosen]
    joined = add_up(parts)
    departments = tuple(
        replace(
            department, server=_name_server(name), people=f"{_name_server(name)}_{fit[name].people}"
        )
        for name, department in zip(chosen, joined.parts, strict=True)
    )
    return replace(joined, theme=theme, parts=departments)


@lru_cache(maxsize=1)
def list_able() -> tuple[str, ...]:
    """Themes that can be a server as they are in full."""
    return tuple(name for name, _ in read_themes() if _find_shape(load_domain(name)))


def _name_server(theme: str) -> str:
    return theme.split("_")[0]


def _find_shape(domain: Domain) -> _Shape | None:
    """A theme with people whom somebody can ask a change for, and who are not made by one."""
    made = " ".join(step.do for operation in domain.operations.values() for step in operation.then)
    for name, each in domain.collections.items():
        asked = any(
            one.asks and one.tells and any(taken.row == name for taken in one.takes)
            for one in domain.changes
        )
        is_fit = (
            each.noun in PEOPLE
            and each.label == "{name}"
            and f"new({name}," not in made
            and not each.feature
        )
        if (
            is_fit
            and asked
            and [*each.lookup.using.values()] == [KEY]
            and FIELD not in each.attributes
        ):
            return _Shape(name, tuple(_list_records(name, domain)))
    return None


def _list_records(people: str, domain: Domain) -> Iterator[str]:
    for name, each in domain.collections.items():
        refers = any(source.ref == people for source in each.attributes.values())
        own = bool(each.lookup.using) and not any(
            each.attributes[attribute].ref for attribute in each.lookup.using.values()
        )
        if refers and own and "." not in each.label and not each.feature:
            yield name


def _make_server(part: Domain, shape: _Shape) -> Domain:
    """The domain under names of its server, with a town for each of its people and a tool that
    reads one of them."""
    word = _name_server(part.theme)
    people = part.collections[shape.people]
    settled = replace(people, attributes=people.attributes | {FIELD: Attribute(one_of=TOWNS)})
    noun = people.noun.replace("_", " ")
    takes = (OperationParameter(f"{people.noun}_id", f"Id of the {noun}.", row=shape.people),)
    read = Operation(
        name=f"read_{people.noun}",
        does=f"Read the record of one {noun}.",
        takes=takes,
        gives=takes[0].local,
    )
    whole = replace(
        part,
        collections=part.collections | {shape.people: settled},
        operations=part.operations | {read.name: read},
    )
    names = {name: f"{word}_{name}" for name in whole.collections}
    return rename_domain(
        whole,
        Renaming(
            names,
            {name: f"{word}_{name}" for name in whole.operations},
            {one: f"{word}_{one}" for one in whole.limits},
        ),
    )


def declare_shared(domain: Domain) -> list[SharedIdentity]:
    """What its servers share; nothing where it is one."""
    tables = {each.server: each.people for each in domain.servers}
    return [SharedIdentity(name=IDENTITY, key=KEY, fields=[FIELD], tables=tables)] if tables else []


def claim_identities(domain: Domain, state: Mapping[str, Json]) -> list[ClaimedIdentity]:
    """Which servers know whom."""
    homes: dict[str, list[str]] = {}
    for each in domain.servers:
        for row in state[each.people].values():
            homes.setdefault(row[KEY], []).append(each.server)
    return [
        ClaimedIdentity(identity=IDENTITY, key=name, servers=sorted(servers))
        for name, servers in sorted(homes.items())
    ]


def write_served(domain: Domain, key: str, number: int) -> ScenarioReply:
    """A scenario that needs two servers or more: a record of the first tells whom the others are
    asked about."""
    first, *others = domain.servers
    for again in range(TRIES):
        dice = make_dice("served", domain.theme, key, again)
        dice.shuffle(others)
        try:
            start = settle_core(domain, f"served/{key}/{again}")
        except SettingsError:
            continue  # too few values for so many rows, this time
        used = others[: 1 + number % len(others)]
        found = next(_list_met(first, used, start, dice), None)
        if found is None:
            continue
        names, lead, wishes = found
        wishes = _add_wishes(wishes, [first, *used], LADDER[number % len(LADDER)], start, dice)
        request = write_request(wishes, domain, start.state, dice, names)
        met = {start.state[table][row][KEY] for table, row in names}
        oracle = _plan(wishes, lead, domain, start)
        if (
            any(is_told(name, request) for name in met)
            or len(oracle) < FEWEST_CALLS
            or not all_leave_a_mark(wishes, start)
        ):
            continue
        whole = surround(start) if domain.rows else start
        reply = ScenarioReply(
            initial_state=whole.state,
            request=request,
            oracle=oracle,
            facts=list_facts(wishes, domain, start.state, names),
            goals=[name_goal(wish, domain, start.state, names) for wish in wishes],
        )
        return introduce_user(reply)
    raise SettingsError(
        f"Servers {', '.join(each.server for each in domain.servers)}: no scenario for {key}."
    )


def _list_met(
    first: Department, used: list[Department], start: DomainWorld, dice: random.Random
) -> Iterator[tuple[Names, list[Call], list[WantedChange]]]:
    """Names of one person in the other servers, the calls by which the first one tells who that is,
    and a wish about them in each."""
    domain, state = start.domain, start.state
    records = [
        (name, key)
        for name in first.collections
        if name in _list_records(first.people, domain)
        for key in state[name]
    ]
    dice.shuffle(records)
    people = domain.collections[first.people]
    for name, key in records:
        attribute = next(
            one
            for one, source in domain.collections[name].attributes.items()
            if source.ref == first.people
        )
        person = state[first.people].get(str(state[name][key][attribute]))
        rows = [
            next(
                (row for row in state[one.people].values() if person and row[KEY] == person[KEY]),
                None,
            )
            for one in used
        ]
        if person is None or not all(rows) or not is_unique(name, key, start):
            continue
        called = f"the {people.noun.replace('_', ' ')} of {follow(name, key, [], domain, state)}"
        names = {
            (one.people, row["id"]): called for one, row in zip(used, rows, strict=True) if row
        }
        read = Call(
            name=f"{first.server}_read_{people.noun}", arguments={f"{people.noun}_id": person["id"]}
        )
        lead = [
            *plan_more([], WantedChange(_pass(name), {f"{name}_id": key}), domain, state)[:-1],
            read,
        ]
        wishes = list[WantedChange]()
        for one, row in zip(used, rows, strict=True):
            if row and (wish := _wish_for(one, row["id"], wishes, start, dice)):
                wishes.append(wish)
        if len(wishes) == len(used):
            yield names, lead, wishes


def _pass(name: str) -> Operation:
    """Takes a row, and does nothing: for its look-ups alone."""
    return Operation(does="", gives="", takes=(OperationParameter(f"{name}_id", "", row=name),))


def _wish_for(
    server: Department,
    person: str,
    earlier: list[WantedChange],
    start: DomainWorld,
    dice: random.Random,
) -> WantedChange | None:
    """A change in a server about this person of it."""
    world = start.copy()
    for wish in earlier:
        world.apply(wish.operation, wish.arguments)
    able = [
        start.domain.operations[name]
        for name in server.operations
        if start.domain.operations[name] in start.domain.changes
        and any(one.row == server.people for one in start.domain.operations[name].takes)
    ]
    able = [one for one in able if one.asks and one.tells]
    dice.shuffle(able)
    known = {**start.state, server.people: {person: start.state[server.people][person]}}
    for operation in able:
        wish = sample_wish(operation, world, start, dice, known)
        if (
            wish
            and is_clear(wish, earlier, start, (person,))
            and not overrules(wish, earlier, start)
        ):
            return wish
    return None


def _add_wishes(
    wishes: list[WantedChange],
    used: list[Department],
    count: int,
    start: DomainWorld,
    dice: random.Random,
) -> list[WantedChange]:
    """A few more in these servers, where luck finds some."""
    world, found = start.copy(), list(wishes)
    for wish in wishes:
        world.apply(wish.operation, wish.arguments)
    names = {name for one in used for name in one.operations}
    able = [one for one in start.domain.changes if one.asks and one.tells and one.name in names]
    for _ in range(DRAWS):
        if len(found) >= min(MOST_WISHES, max(count, 2)):
            break
        wish = sample_wish(dice.choice(able), world, start, dice)
        if (
            wish
            and wish not in found
            and is_clear(wish, found, start)
            and not overrules(wish, found, start)
        ):
            world.apply(wish.operation, wish.arguments)
            found.append(wish)
    return found


def _plan(
    wishes: list[WantedChange], lead: list[Call], domain: Domain, start: DomainWorld
) -> list[Call]:
    calls = lead
    for wish in wishes:
        calls = plan_more(calls, wish, domain, start.state)
    return calls if len(wishes) > 1 else [*lead, *plan_calls(wishes, domain, start.state)]


def recall_names(reply: ScenarioReply, domain: Domain) -> Names:
    """What the people of a scenario over several servers are called in it; nothing in any other
    scenario."""
    if not domain.servers:
        return {}
    first, *others = domain.servers
    noun = domain.collections[first.people].noun
    read = next((call for call in reply.oracle if call.name == f"{first.server}_read_{noun}"), None)
    called = next(
        (
            value
            for value in reply.facts.values()
            if str(value).startswith(f"the {noun.replace('_', ' ')} of ")
        ),
        "",
    )
    if read is None:
        return {}
    person = reply.initial_state[first.people][read.arguments[f"{noun}_id"]]
    rows = (
        (one.people, key)
        for one in others
        for key, row in reply.initial_state[one.people].items()
        if row[KEY] == person[KEY]
    )
    return {place: str(called) for place in rows}
