"""Requests in natural words: what people call things, and how they string their wishes together."""

import random
from dataclasses import dataclass
from datetime import date
from typing import Any

from envmill.author.domain import Arguments, Domain, Operation, State
from envmill.author.formula import fill

PAIRS = (
    "{voice} Please {ask1}. After that, {ask2}.{closing}",
    "{voice} Could you {ask1}, and then {ask2}?{closing}",
    "{voice} There are two things to do: {ask1}, and {ask2}.{closing}",
    "{voice} I would like you to {ask1}. When that is done, please {ask2}.{closing}",
    "{voice} {tell1} Also, please {ask2}.{closing}",
    "{voice} {tell1} And another thing: {ask2}, please.{closing}",
    "{voice} {tell1} {tell2} Please put all of that into the records.{closing}",
    "Please {ask1} and {ask2}.{closing}",
    "{tell1} Besides, could you {ask2}?{closing}",
)
TRIPLES = (
    "{voice} Please {ask1}, {ask2}, and finally {ask3}.{closing}",
    "{voice} Three things, please:\n1. {Ask1}.\n2. {Ask2}.\n3. {Ask3}.{closing}",
    "{voice} {tell1} Also, please {ask2}, and then {ask3}.{closing}",
    "{voice} {tell1} {tell2} Once both are in the records, please {ask3}.{closing}",
    "I need you to {ask1}. Then {ask2}, and after that {ask3}.{closing}",
)
CLOSINGS = (
    "",
    "",
    " Thanks!",
    " That is all.",
    " Nothing else should change.",
    " Please tell me when it is done.",
    " Thank you very much.",
)


@dataclass(frozen=True)
class Wish:
    """One change somebody wants: the operation and its arguments."""

    operation: Operation
    arguments: Arguments


def write_request(wishes: list[Wish], domain: Domain, state: State, dice: random.Random) -> str:
    """One message that asks for all wishes in order, with every fact needed to carry them out."""
    words = {"voice": dice.choice((*domain.voices, "", "")), "closing": dice.choice(CLOSINGS)}
    for number, wish in enumerate(wishes, 1):
        words[f"ask{number}"] = say(dice.choice(wish.operation.asks), wish, domain, state)
        words[f"Ask{number}"] = _capitalise(words[f"ask{number}"])
        words[f"tell{number}"] = _capitalise(say(dice.choice(wish.operation.tells), wish, domain, state))
    return _capitalise(dice.choice(PAIRS if len(wishes) == 2 else TRIPLES).format_map(words).strip())


def list_facts(wishes: list[Wish], domain: Domain, state: State) -> dict[str, Any]:
    """What the person who asks can say again, under names people would use."""
    facts: dict[str, Any] = {}
    for wish in wishes:
        for parameter in wish.operation.takes:
            value = say(f"{{{parameter.local}}}", wish, domain, state) if parameter.row else wish.arguments[parameter.name]
            name = parameter.local.replace("_", " ")
            names = (name, *(f"{name} {more}" for more in range(2, 9)))
            facts[next(each for each in names if facts.get(each, value) == value)] = value
    return facts


def can_say(wish: Wish, domain: Domain, state: State) -> bool:
    """Whether everything its phrases mention exists in this state already."""
    try:
        return all(say(each, wish, domain, state) for each in (*wish.operation.asks, *wish.operation.tells))
    except KeyError:
        return False


def say(template: str, wish: Wish, domain: Domain, state: State) -> str:
    """A phrase with rows called by their labels and values spelled for people."""
    rows = {each.local: each.row for each in wish.operation.takes if each.row}

    def put(path: str) -> str:
        first, *rest = path.split(".")
        if first not in rows:
            return _spell(wish.arguments[first])
        return follow(rows[first], state[rows[first]][wish.arguments[f"{first}_id"]]["id"], rest, domain, state)

    return fill(template, put)


def follow(collection: str, row_id: str, path: list[str], domain: Domain, state: State) -> str:
    """Walk from a row along references; a row at the end is called by its label."""
    row = state[collection][row_id]
    if not path:
        return fill(domain.collections[collection].label, lambda field: follow(collection, row_id, field.split("."), domain, state))
    step, *rest = path
    reference = domain.collections[collection].attributes.get(f"{step}_id")
    if reference and reference.ref:
        return follow(reference.ref, row[f"{step}_id"], rest, domain, state)
    return _spell(row[step])


def _spell(value: Any) -> str:
    try:
        day = date.fromisoformat(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{day.day} {day:%B %Y}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
