"""Phrases: what people call things, and one wish said as an order or as news."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from offline.article import ARTICLE, name_one
from offline.domain import Arguments, Domain, Operation, OperationParameter, State
from offline.formula import fill

Names = dict[tuple[str, str], str]
"""(collection, row) → what this one row is called instead of its label."""


@dataclass(frozen=True)
class WantedChange:
    """One change somebody wants: the operation and its arguments."""

    operation: Operation
    arguments: Arguments
    unsaid: frozenset[str] = frozenset()
    """Rows and dates, by their local names, of which phrases say no more than what sort of thing
    they are."""


def list_facts(
    wishes: list[WantedChange], domain: Domain, state: State, names: Names | None = None
) -> dict[str, Any]:
    """What the person who asks can say again, under names people would use."""
    return {name: value for name, value, _, _ in name_facts(wishes, domain, state, names)}


def name_facts(
    wishes: list[WantedChange], domain: Domain, state: State, names: Names | None = None
) -> Iterator[tuple[str, Any, int, OperationParameter]]:
    """Every fact with its name, and the wish and the parameter it belongs to; what several wishes
    share has one name."""
    facts: dict[str, Any] = {}
    for number, wish in enumerate(wishes):
        for parameter in wish.operation.takes:
            value = (
                render_phrase(f"{{{parameter.local}}}", wish, domain, state, names)
                if parameter.row
                else wish.arguments[parameter.name]
            )
            name = parameter.local.replace("_", " ")
            spellings = (name, *(f"{name} {more}" for more in range(2, 99)))
            called = next(each for each in spellings if facts.get(each, value) == value)
            facts[called] = value
            yield called, value, number, parameter


def can_say(wish: WantedChange, domain: Domain, state: State) -> bool:
    """Whether everything its phrases mention exists in this state already."""
    try:
        return all(
            render_phrase(each, wish, domain, state)
            for each in (*wish.operation.asks, *wish.operation.tells)
        )
    except KeyError:
        return False


def render_phrase(
    template: str, wish: WantedChange, domain: Domain, state: State, names: Names | None = None
) -> str:
    """A phrase with rows called by their labels and values rendered for people."""
    text = fill(template, lambda path: render_field(path, wish, domain, state, names or {}))
    return ARTICLE.sub("an", text) if " a {" in template else text


def name_goal(wish: WantedChange, domain: Domain, state: State, names: Names | None = None) -> str:
    """A wish as one sentence."""
    return f"{capitalise(render_phrase(wish.operation.asks[0], wish, domain, state, names))}."


def render_field(path: str, wish: WantedChange, domain: Domain, state: State, names: Names) -> str:
    """What one field of a phrase comes to: a row's name, something that row refers to, or a plain
    value."""
    rows = {each.local: each.row for each in wish.operation.takes if each.row}
    first, *rest = path.split(".")
    if first in wish.unsaid:
        return describe_field(rows.get(first, ""), rest, domain)
    if first not in rows:
        return render_value(wish.arguments[first])
    return follow(
        rows[first],
        state[rows[first]][wish.arguments[f"{first}_id"]]["id"],
        rest,
        domain,
        state,
        names,
    )


def describe_field(collection: str, path: list[str], domain: Domain) -> str:
    """What sort of thing a field is, for somebody who does not say which: a member, the day in
    question."""
    if not collection:
        return "the day in question"
    for step in path:
        reference = domain.collections[collection].attributes.get(f"{step}_id")
        if not (reference and reference.ref):
            return f"the {step.replace('_', ' ')} in question"
        collection = reference.ref
    return name_one(domain.collections[collection].noun)


def follow(
    collection: str,
    row_id: str,
    path: list[str],
    domain: Domain,
    state: State,
    names: Names | None = None,
) -> str:
    """Walk from a row along references; a row at the end is called by its label, or by the name
    given for it."""
    row = state[collection][row_id]
    if not path:
        if names and (collection, row_id) in names:
            return names[collection, row_id]
        return fill(
            domain.collections[collection].label, _walk(collection, row_id, domain, state, names)
        )
    step, *rest = path
    reference = domain.collections[collection].attributes.get(f"{step}_id")
    if reference and reference.ref:
        return follow(reference.ref, row[f"{step}_id"], rest, domain, state, names)
    return render_value(row[step])


def render_value(value: Any) -> str:
    """A plain value as people write it: no sack is counted as 20.0."""
    if isinstance(value, float):
        return f"{value:g}"
    try:
        day = date.fromisoformat(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{day.day} {day:%B %Y}"


def capitalise(text: str) -> str:
    """With a capital at the start, the rest as it is."""
    return text[:1].upper() + text[1:]


def _walk(
    collection: str, row_id: str, domain: Domain, state: State, names: Names | None
) -> Callable[[str], str]:
    return lambda field: follow(collection, row_id, field.split("."), domain, state, names)
