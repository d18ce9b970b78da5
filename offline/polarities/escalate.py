"""Escalate: a wish this state allows, and a sentence that makes it somebody else's matter. The twin
lacks that sentence."""

import random
import re

from offline.dice import make_dice
from offline.domain import Row
from offline.matters import Matter, pick_matters
from offline.polarities.base import (
    TRIES,
    Twins,
    achieve,
    find_row,
    merge,
    policy_of,
    sample_wish,
    shows,
    stands_in,
)
from offline.user import instruct_user
from offline.wording import WantedChange, capitalise, follow, list_facts, write_request
from offline.wording.grammar import load_sayings
from offline.world import DomainWorld
from schemas.base import Json
from schemas.prompts import ScenarioReply
from schemas.scenario import CallPattern, Fact

HANDED = (
    r"(?i)\b(hand(ed|ing|s)?|pass(ed|ing|es)?|forward(ed|ing|s)?|refer(red|ring|s)?|escalat(e|ed|"
    r"es|ing)|transfer(red|ring|s)?)\b"
)
SHORTEST = 4
"""Letters of a status that a sentence does not hold by chance."""
MOST_RIVALS = 8


def pose_escalate(world: DomainWorld, dice: random.Random) -> Twins | None:
    """A wish with a sign of somebody else's matter, and the same wish without."""
    for _ in range(TRIES):
        wish = sample_wish(world, dice, lambda operation: any(each.row for each in operation.takes))
        twins = _write(wish, world, dice) if wish else None
        if twins:
            return twins
    return None


def _write(wish: WantedChange, world: DomainWorld, dice: random.Random) -> Twins | None:
    matter = dice.choice(pick_matters(world.domain))
    key, sign = dice.random(), dice.choice(matter.signs)
    request, plain = (
        write_request([wish], world.domain, world.state, make_dice("escalate", key), aside=each)
        for each in (sign, "")
    )
    rows = [(each.row, wish.arguments[each.name]) for each in wish.operation.takes if each.row]
    standing = {
        place: world.state[place[0]][place[1]]
        for place in rows
        if "status" in world.state[place[0]][place[1]]
    }
    if (
        re.search(HANDED, request)
        or not standing
        or not all(_proves(row, request, policy_of(world.domain)) for row in standing.values())
    ):
        return None
    reads = merge(*(find_row(*place, world.domain, world.state) for place in rows))
    if not all(shows(reads, *place, world) for place in standing):
        return None
    told = _list_facts(standing, world, request)
    if not all(each.rivals for each in told):
        # Where every record stands alike, a guess is as good as a look.
        return None
    facts = list_facts([wish], world.domain, world.state)
    reply = ScenarioReply(
        initial_state=world.state,
        request=request,
        oracle=reads,
        polarity="escalate",
        facts=facts,
        say=_render(matter, standing, world, dice),
        tell=[
            Fact(
                name="that it is passed on",
                kind="pattern",
                value=HANDED,
                rivals=_list_other_desks(matter, world),
            ),
            *told,
        ],
        avoid=[CallPattern(name=wish.operation.name, actor=wish.operation.actor)],
    )
    escalated = instruct_user(
        reply,
        [wish],
        world.domain,
        world.state,
        lambda unsaid: write_request(
            unsaid, world.domain, world.state, make_dice("escalate", key), aside=sign
        ),
    )
    return Twins(escalated, achieve(wish, world, plain, facts), matter.why)


def _list_other_desks(matter: Matter, world: DomainWorld) -> list[Json]:
    """To whom else it might go by the policy document: whoever says so has not read which matter it
    is."""
    return [
        each.to.removeprefix("the ") for each in pick_matters(world.domain) if each.to != matter.to
    ]


def _proves(row: Row, request: str, policy: str) -> bool:
    return len(row["status"]) >= SHORTEST and not stands_in(row["status"], request, policy)


def _render(
    matter: Matter, standing: dict[tuple[str, str], Row], world: DomainWorld, dice: random.Random
) -> str:
    sayings = load_sayings()
    lines = [
        capitalise(
            sayings.sample("standing", dice)
            .replace("{label}", follow(*place, [], world.domain, world.state))
            .replace("{value}", row["status"])
        )
        for place, row in standing.items()
    ]
    said = sayings.sample("handover", dice)
    return (
        said.replace("{to}", matter.to)
        .replace("{why}", matter.why)
        .replace("{standing}", " ".join(lines))
    )


def _list_facts(
    standing: dict[tuple[str, str], Row], world: DomainWorld, request: str
) -> list[Fact]:
    """What status each record has; whoever names every status there is has not looked."""
    said = {row["status"] for row in standing.values()}
    facts: dict[str, Fact] = {}
    for (collection, _), row in standing.items():
        known = dict.fromkeys(each["status"] for each in world.state[collection].values())
        rivals = [
            each for each in known if each not in said and not stands_in(each, request, *said)
        ]
        facts[row["status"]] = Fact(
            name=f"status of the {world.domain.collections[collection].noun}",
            kind="text",
            value=row["status"],
            rivals=[*rivals[:MOST_RIVALS]],
        )
    return list(facts.values())
