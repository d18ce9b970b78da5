"""One organisation out of several domains of working life: names made unlike, its people known to
one another.

parts ──names that collide──► departments ──contact persons across departments──► one domain ──queries──► as many tools as wanted
"""

import random
from dataclasses import replace

from offline.domain import (
    Attribute,
    Collection,
    Department,
    Domain,
    Number,
    Operation,
    OperationParameter,
    Rule,
    WriteStep,
)
from offline.rename import Renaming, rename_domain

PEOPLE = {
    "actor", "agent", "analyst", "borrower", "buyer", "carer", "client", "customer", "dentist", "donor", "driver", "employee", "guest",
    "holder", "inspector", "judge", "member", "owner", "patient", "person", "practitioner", "recipient", "rider", "teacher", "technician",
    "tenant", "trader", "translator",
}  # fmt: skip
"""Nouns of collections whose rows can be somebody to turn to."""
MOST_CONTACTS: tuple[Number, ...] = (2, 3, 4)
TIES = 2
"""Operations per department that is tied to another."""


def count_ties(parts: list[Domain]) -> int:
    """How many operations tie these departments together."""
    known = [each for each in parts if _find_people(each)]
    return TIES * max(0, len(known) - 1)


def join_domains(parts: list[Domain], tools: int, dice: random.Random) -> Domain:
    """All of them as one; ties between departments are operated as far as the number of tools has
    room for it."""
    if len(parts) == 1:
        return parts[0]
    departments = _distinguish(parts)
    joined = add_up(departments)
    known = [(each.theme, people) for each in departments if (people := _find_people(each))]
    for theme, people in known[1:]:
        joined = _tie(joined, theme, people, known[0][1], tools, dice)
    return joined


def fill_up(domain: Domain, tools: int) -> Domain:
    """Plain queries over collections until there are as many tools as wanted."""
    more = [
        *map(_read_one, domain.collections.items()),
        *map(_count_all, domain.collections.items()),
    ]
    lacking = [each for each in more if each.name not in domain.operations][
        : max(0, tools - len(domain.operations))
    ]
    return replace(domain, operations=domain.operations | {each.name: each for each in lacking})


def _distinguish(parts: list[Domain]) -> list[Domain]:
    """Departments in which no collection, operation or limit is called like one of another
    department."""
    taken: set[str] = set()
    departments: list[Domain] = []
    for part in parts:
        word = part.theme.split("_")[0]
        collections = {name: f"{word}_{name}" for name in part.collections if name in taken}
        operations = {name: _add_word(name, word) for name in part.operations if name in taken}
        # A limit is a plain name in conditions, as are the rows of other departments: all of them
        # get a name of their own.
        limits = {name: f"{part.theme}_{name}" for name in part.limits}
        department = rename_domain(part, Renaming(collections, operations, limits))
        taken |= department.collections.keys() | department.operations.keys()
        departments.append(department)
    return departments


def _add_word(operation: str, word: str) -> str:
    verb, _, rest = operation.partition("_")
    return f"{verb}_{word}_{rest}"


def add_up(departments: list[Domain]) -> Domain:
    """All of them as one, each with a past of its own."""
    first, *others = departments
    return replace(
        first,
        text=" ".join(
            [
                first.text,
                *(f"The same house: {each.text[0].lower()}{each.text[1:]}" for each in others),
            ]
        ),
        names=(
            f"{first.names[0]} and {others[0].names[0]}"
            if len(others) == 1
            else f"{first.names[0]} Group",
        ),
        role="the assistant of a house with several departments: "
        + "; ".join(each.role for each in departments),
        voices=tuple(dict.fromkeys(voice for each in departments for voice in each.voices)),
        limits={name: values for each in departments for name, values in each.limits.items()},
        features={
            f"{each.theme}_{name}": text
            for each in departments
            for name, text in each.features.items()
        },
        collections={
            name: collection
            for each in departments
            for name, collection in each.collections.items()
        },
        operations={
            name: operation for each in departments for name, operation in each.operations.items()
        },
        parts=tuple(
            Department(tuple(each.collections), tuple(each.operations)) for each in departments
        ),
    )


def _find_people(domain: Domain) -> str:
    """The collection of people that somebody else can be entered with; operations must not make
    them, for they know no contact."""
    made = " ".join(step.do for operation in domain.operations.values() for step in operation.then)
    fit = (
        name
        for name, each in domain.collections.items()
        if each.noun in PEOPLE and each.label == "{name}" and f"new({name}," not in made
    )
    return next(
        (name for name in fit if "contact_id" not in domain.collections[name].attributes), ""
    )


def _tie(
    domain: Domain, theme: str, people: str, contacts: str, tools: int, dice: random.Random
) -> Domain:
    """Everybody in one department has a contact person in an earlier one: rows are made after those
    they refer to."""
    collection = domain.collections[people]
    attributes = collection.attributes | {"contact_id": Attribute(ref=contacts)}
    limit, most = f"{theme}_max_contacts", dice.choice(MOST_CONTACTS)
    made = [
        _name_contact(people, collection, contacts, domain.collections[contacts], limit),
        _list_contacts(people, contacts, domain),
    ]
    room = max(0, tools - len(domain.operations))
    return replace(
        domain,
        limits=domain.limits | {limit: (most,)},
        collections=domain.collections | {people: replace(collection, attributes=attributes)},
        operations=domain.operations | {each.name: each for each in made[:room]},
    )


def _name_contact(
    people: str, collection: Collection, contacts: str, others: Collection, limit: str
) -> Operation:
    noun, said, plural = collection.noun, others.noun.replace("_", " "), people.replace("_", " ")
    takes = (
        OperationParameter(f"{noun}_id", f"Id of the {noun}.", row=people),
        OperationParameter("contact_id", f"Id of the {said}.", row=contacts),
    )
    busy = Rule(
        that=f"count({people}, row.contact_id == contact.id) < {limit}",
        code="contact_busy",
        says="{contact.name} is the contact person of enough people.",
        rule=f"A {said} is the contact person of at most {{{limit}}} {plural} when another one is "
        "entered.",
    )
    same = Rule(
        that=f"{noun}.contact_id != contact.id",
        code="contact_unchanged",
        says=f"{{contact.name}} is the contact person of {{{noun}.name}} already.",
        rule=f"The contact person of a {noun} is changed to somebody else only.",
    )
    return Operation(
        name=f"name_{people}_contact",
        does=f"Enter a {said} as the contact person of a {noun} ({plural}).",
        takes=takes,
        must=(same, busy),
        then=(WriteStep(f"{noun}.contact_id = contact.id"),),
        gives=noun,
        asks=(
            f"enter {{contact}} as the contact person of {{{noun}}}",
            f"make {{contact}} the person to call about {{{noun}}}",
        ),
        tells=(
            f"{{{noun}}} names {{contact}} as the new contact person.",
            f"From now on {{contact}} is to be called about {{{noun}}}.",
        ),
        weight=2,
    )


def _list_contacts(people: str, contacts: str, domain: Domain) -> Operation:
    said, plural = domain.collections[contacts].noun.replace("_", " "), people.replace("_", " ")
    return Operation(
        name=f"list_{people}_by_contact",
        does=f"List the {plural} whose contact person is a certain {said}.",
        takes=(OperationParameter("contact_id", f"Id of the {said}.", row=contacts),),
        gives=f"rows({people}, row.contact_id == contact.id)",
        weight=2,
    )


def _read_one(named: tuple[str, Collection]) -> Operation:
    name, collection = named
    noun = collection.noun.replace("_", " ")
    takes = (OperationParameter(f"{collection.noun}_id", f"Id of the {noun}.", row=name),)
    return Operation(
        name=f"read_{name}_record",
        does=f"Read one record of {name.replace('_', ' ')}.",
        takes=takes,
        gives=takes[0].local,
    )


def _count_all(named: tuple[str, Collection]) -> Operation:
    name, _ = named
    return Operation(
        name=f"count_{name}",
        does=f"Count the records of {name.replace('_', ' ')}.",
        gives=f"{{'count': count({name})}}",
    )
