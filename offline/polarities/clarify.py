"""Clarify: a request that fits two rows, or lacks a value nobody can look up. In the twin the name
is whole, or the value there."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from offline.dice import make_dice
from offline.domain import OperationParameter, Row
from offline.polarities.base import (
    TRIES,
    Twins,
    achieve,
    merge,
    policy_of,
    read_rows,
    sample_wish,
    shows,
    stands_in,
)
from offline.scenario import plan_calls
from offline.wording import Names, WantedChange, follow, list_facts, name_goal, write_request
from offline.wording.grammar import load_sayings
from offline.world import DomainWorld
from schemas.base import Json
from schemas.environment import Call
from schemas.prompts import ScenarioReply
from schemas.scenario import CallPattern, Fact

SHORTEST = 4
"""Letters of a word that can stand for a name."""
TITLES = frozenset({"Judge", "Lady", "Lord", "Prof"})
"""What nobody is called by alone."""
MOST_CANDIDATES = 3
MISPLACED = (
    r"(?i)\b(of|about|at|grade|mark|wear|level|to|one) (a few|some|several)\b|"
    r"\b(a few|some|several)( (after|and|as|at|before|by|for|from|in|of|on|to|under|until|when|"
    r"with|within)\b|(?! [a-z]))"
)
"""Where nobody says so: "a mark of a few"."""
LEADING = r"(exact|precise|what|tell me|let me know|give me|need to know|specify)"
UNTELLING = ("more", "new", "per")
"""Words of a parameter's name that do not say what it counts."""
MOST_RIVALS = 8
AMBIGUOUS = 0.7
"""How often two rows are tried before a missing value."""


def pose_clarify(world: DomainWorld, dice: random.Random) -> Twins | None:
    """A request somebody has to ask back about, and one where nobody has to."""
    for _ in range(2 * TRIES):
        wish = sample_wish(world, dice)
        if wish:
            ways = (_blur_row, _withhold) if dice.random() < AMBIGUOUS else (_withhold,)
            twins = next((found for way in ways if (found := way(wish, world, dice))), None)
            if twins:
                return twins
    return None


def _blur_row(wish: WantedChange, world: DomainWorld, dice: random.Random) -> Twins | None:
    """Call one row by a part of its name that others bear too."""
    for parameter in (each for each in wish.operation.takes if each.row):
        for attribute, word, candidates in _find_namesakes(parameter, wish, world):
            twins = _write_ambiguous(wish, parameter, attribute, word, candidates, world, dice)
            if twins:
                return twins
    return None


def _find_namesakes(
    parameter: OperationParameter, wish: WantedChange, world: DomainWorld
) -> Iterator[tuple[str, str, list[Row]]]:
    """(attribute, word, rows) where every one of the rows would do."""
    collection = world.domain.collections[parameter.row]
    found = re.fullmatch(r"[^{]*\{(\w+)\}[^{]*", collection.label)
    if not found or list(collection.lookup.using.values()) != [found[1]]:
        return
    attribute, rows = found[1], list(world.state[parameter.row].values())
    for word in re.findall(
        r"[^\W\d_]+", str(world.state[parameter.row][wish.arguments[parameter.name]][attribute])
    ):
        fits = [row for row in rows if word.lower() in row[attribute].lower()]
        whole = all(re.search(rf"\b{re.escape(word)}\b", row[attribute]) for row in fits)
        if (
            len(word) >= SHORTEST
            and word not in TITLES
            and whole
            and 2 <= len(fits) <= MOST_CANDIDATES
            and _all_would_do(wish, parameter, fits, world)
        ):
            yield attribute, word, fits


def _all_would_do(
    wish: WantedChange, parameter: OperationParameter, rows: list[Row], world: DomainWorld
) -> bool:
    return all(
        world.allows(wish.operation, wish.arguments | {parameter.name: row["id"]}) for row in rows
    )


def _write_ambiguous(
    wish: WantedChange,
    parameter: OperationParameter,
    attribute: str,
    word: str,
    candidates: list[Row],
    world: DomainWorld,
    dice: random.Random,
) -> Twins | None:
    row_id = wish.arguments[parameter.name]
    label = world.domain.collections[parameter.row].label.replace(f"{{{attribute}}}", word)
    names: Names = {(parameter.row, row_id): label}
    key = dice.random()
    blurred, plain = (
        write_request([wish], world.domain, world.state, make_dice("clarify", key), each)
        for each in (names, None)
    )
    values = [row[attribute] for row in candidates]
    called = [follow(parameter.row, row["id"], [], world.domain, world.state) for row in candidates]
    if (
        any(stands_in(each, blurred, policy_of(world.domain)) for each in values)
        or blurred == plain
    ):
        return None
    reads = _search_by(word, parameter, wish, world)
    if not all(row in read_rows(reads[0], world) for row in candidates):
        return None
    others = [
        row[attribute]
        for row in world.state[parameter.row].values()
        if row[attribute] not in values
    ]
    rivals = [each for each in others if not stands_in(each, blurred, *values)][:MOST_RIVALS]
    reply = ScenarioReply(
        initial_state=world.state,
        request=blurred,
        oracle=reads,
        polarity="clarify",
        facts=list_facts([wish], world.domain, world.state, names),
        say=load_sayings().sample("which_one", dice).replace("{one}", " or ".join(called)),
        tell=[
            Fact(name=f"one who may be meant: {each}", kind="text", value=each, rivals=[*rivals])
            for each in values
        ],
        avoid=[CallPattern(name=wish.operation.name, actor=wish.operation.actor)],
        goals=[name_goal(wish, world.domain, world.state, names)],
    )
    return Twins(
        reply,
        achieve(wish, world, plain, list_facts([wish], world.domain, world.state)),
        f"the whole name of the {parameter.local}",
    )


def _search_by(
    word: str, parameter: OperationParameter, wish: WantedChange, world: DomainWorld
) -> list[Call]:
    """The search for the word, then the lookups of everything else."""
    lookup = world.domain.collections[parameter.row].lookup
    (argument,) = lookup.using
    others = replace(
        wish,
        operation=replace(
            wish.operation,
            takes=tuple(each for each in wish.operation.takes if each is not parameter),
        ),
    )
    return merge(
        [Call(name=lookup.call, arguments={argument: word})],
        plan_calls([others], world.domain, world.state)[:-1],
    )


def _withhold(wish: WantedChange, world: DomainWorld, dice: random.Random) -> Twins | None:
    """Leave open how many, or which day."""
    open_ones = [
        each
        for each in wish.operation.takes
        if each.day or (each.between and each.annotation == "int")
    ]
    reads = plan_calls([wish], world.domain, world.state)[:-1]
    if not open_ones or not reads:
        return None
    parameter = dice.choice(open_ones)
    sayings, key = load_sayings(), dice.random()
    vague = replace(
        wish,
        arguments=wish.arguments
        | {parameter.name: sayings.sample("vague_day" if parameter.day else "vague_number", dice)},
    )
    blurred, plain = (
        write_request([each], world.domain, world.state, make_dice("clarify", key))
        for each in (vague, wish)
    )
    value = wish.arguments[parameter.name]
    known = [(each.row, wish.arguments[each.name]) for each in wish.operation.takes if each.row]
    told = ask_for(parameter)
    if (
        stands_in(value, blurred)
        or re.search(MISPLACED, blurred)
        or re.search(str(told.value), f"{blurred}\n{policy_of(world.domain)}")
        or not all(shows(reads, *place, world) for place in known)
    ):
        return None
    facts = list_facts([wish], world.domain, world.state)
    said = sayings.sample("what_day" if parameter.day else "how_much", dice)
    reply = ScenarioReply(
        initial_state=world.state,
        request=blurred,
        oracle=reads,
        polarity="clarify",
        facts={
            name: fact for name, fact in facts.items() if name != parameter.local.replace("_", " ")
        },
        say=said.replace("{thing}", parameter.local.replace("_", " ")),
        tell=[told],
        avoid=[CallPattern(name=wish.operation.name, actor=wish.operation.actor)],
        goals=[name_goal(vague, world.domain, world.state)],
    )
    return Twins(reply, achieve(wish, world, plain, facts), f"the value of {parameter.name}")


def ask_for(parameter: OperationParameter) -> Fact:
    """That somebody asked for this value, in whatever words."""
    named = "|".join(
        each.removesuffix("s")
        for each in parameter.local.split("_")
        if len(each) >= SHORTEST - 1 and each not in UNTELLING
    )
    things = (
        "day|date"
        if parameter.day
        else "|".join(filter(None, ("number|amount|figure|count", named)))
    )
    plain = (
        r"on when|when exactly|when (did|does|do|is|was|should|shall|will)"
        if parameter.day
        else r"how (many|much|long)"
    )
    asked = rf"{plain}|which ({things})s?|{LEADING}('s)?( \w+){{0,3}} ({things})s?"
    # Whoever asks for whatever may be open has not read what is.
    rivals: list[Json] = (
        ["which one", "how many", "how much"]
        if parameter.day
        else ["which one", "what date", "which date", "which day"]
    )
    return Fact(
        name=f"a question about {parameter.local}",
        kind="pattern",
        value=rf"(?i)\b({asked})\b",
        rivals=rivals,
    )
