"""Families: how each sort of tool is written as an operation of the domain's model, or why it
cannot be."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from offline.article import name_one
from offline.documents.things import LABEL, Input, Thing
from offline.documents.values import FRESH, Values, sample_names
from offline.documents.verbs import Family, find_verb, render_past
from offline.domain import GONE, Operation, OperationParameter, Rule, WriteStep
from schemas.sketch import ToolSketch

OPTIONAL = 2
"""Optional values that a tool takes: what is taken has to be said, and nobody says twelve settings
in a sentence."""
ACTIVE = "active"


@dataclass(frozen=True)
class ToolCase:
    """A tool, what it is about, and what else there is."""

    tool: ToolSketch
    thing: Thing
    things: Mapping[str, Thing]
    inputs: Sequence[Input]
    dice: random.Random

    @property
    def row(self) -> OperationParameter:
        """Selects the row it is about."""
        return select(self.thing)

    @property
    def parents(self) -> list[Thing]:
        """Other things it names, each once."""
        named = [one.about for one in self.inputs if one.role == "other" and one.required]
        return [self.things[name] for name in dict.fromkeys(named)]

    @property
    def values(self) -> dict[str, Values]:
        """Columns it fills: the required ones, and a few of the others."""
        known = [
            one for one in self.inputs if one.role == "value" and one.about in self.thing.columns
        ]
        spare = [one for one in known if not one.required][:OPTIONAL]
        taken = [one for one in known if one.required or one in spare]
        return {one.about: self.thing.columns[one.about] for one in taken}


def select(thing: Thing) -> OperationParameter:
    return OperationParameter(
        name=f"{thing.noun}_id", row=thing.name, about=f"Id of the {thing.said}."
    )


def write_get(case: ToolCase) -> Operation | str:
    thing = case.thing
    return Operation(
        does=f"Show one {thing.said}.", gives=thing.noun, takes=(case.row,), name=case.tool.name
    )


def write_list(case: ToolCase) -> Operation | str:
    thing = case.thing
    parent = next((one for one in case.parents if f"{one.noun}_id" in thing.parents), None)
    if parent:
        gives = f"rows({thing.name}, row.{parent.noun}_id == {parent.noun}.id)"
        return Operation(
            does=f"List the {thing.many} of {name_one(parent.said)}.",
            gives=gives,
            takes=(select(parent),),
            name=case.tool.name,
        )
    if case.parents:
        return f"nothing ties {thing.many} to {case.parents[0].many}"
    return Operation(
        does=f"List all {thing.many}.", gives=f"rows({thing.name})", name=case.tool.name
    )


def write_create(case: ToolCase) -> Operation | str:
    thing = case.thing
    parents = [one for one in case.parents if f"{one.noun}_id" in thing.parents]
    values = case.values
    told = {LABEL: f"row.{LABEL} == {LABEL}"}
    name = OperationParameter(
        name=LABEL,
        about=f"Name of the new {thing.said}.",
        text=tuple(sample_names(FRESH, case.dice)),
    )
    taken = Rule(
        that=f"not some({thing.name}, {told[LABEL]})",
        code=f"{thing.noun}_exists",
        says=f"There is {name_one(thing.said)} called {{{LABEL}}} already.",
        rule=f"The name of {name_one(thing.said)} is given once.",
    )
    made = ", ".join(f"{column}={value}" for column, value in _fill(thing, parents, values).items())
    for_whom = "".join(f" for {{{one.noun}}}" for one in parents[:1]) + "".join(
        f" and {{{one.noun}}}" for one in parents[1:]
    )
    details = (
        f"{name_one(thing.said)} called {{{LABEL}}}{for_whom}{_render_values(values, ' with ')}"
    )
    return Operation(
        does=f"Make a new {thing.said}{_describe_start(thing, values)}.",
        gives=thing.noun,
        takes=(*(select(one) for one in parents), name, *_take(values, thing)),
        must=(*(_stay(one) for one in parents if one.lives), taken),
        then=(WriteStep(f"{thing.noun} = new({thing.name}, {made})"),),
        asks=(f"set up {details}", f"add {details}"),
        tells=(f"We need {details}.", f"There has to be {details}."),
        weight=4,
        name=case.tool.name,
    )


def _fill(thing: Thing, parents: Sequence[Thing], values: Mapping[str, Values]) -> dict[str, str]:
    """Column of a new row → formula."""
    filled = {LABEL: LABEL} | {
        column: column if column in values else one.default for column, one in thing.columns.items()
    }
    filled |= {column: "''" for column in thing.parents} | {
        f"{one.noun}_id": f"{one.noun}.id" for one in parents
    }
    return filled | ({thing.standing: repr(ACTIVE)} if thing.lives else {})


def _describe_start(thing: Thing, values: Mapping[str, Values]) -> str:
    """What a new row holds without anybody's having said so."""
    unsaid = {
        column: one.default.strip("'")
        for column, one in thing.columns.items()
        if column not in values
    }
    parts = [f"{render_column(column)} {value}" for column, value in unsaid.items() if value]
    return f"; it starts with {', '.join(parts)}" if parts else ""


def write_update(case: ToolCase) -> Operation | str:
    thing, values = case.thing, case.values
    if not values:
        return "it says nothing plain that it would change"
    row = thing.noun
    differs = " or ".join(f"{row}.{column} != {column}" for column in values)
    stays = Rule(
        that=differs,
        code="nothing_changes",
        says=f"{thing.said.capitalize()} {{{row}.{LABEL}}} is set so already.",
        rule=f"{case.tool.name} is refused where nothing would change.",
    )
    return Operation(
        does=f"Change what is set of {name_one(thing.said)}: {_list_columns(values)}.",
        gives=row,
        takes=(case.row, *_take(values, thing)),
        must=(*([_stay(thing)] if thing.ends else []), stays),
        then=tuple(WriteStep(f"{row}.{column} = {column}") for column in values),
        asks=(
            f"change {{{row}}} so that it has{_render_values(values, ' ')}",
            f"give {{{row}}}{_render_values(values, ' ')}",
        ),
        tells=(f"{{{row}}} should have{_render_values(values, ' ')} from now on.",),
        weight=4,
        name=case.tool.name,
    )


def write_delete(case: ToolCase) -> Operation | str:
    thing, row = case.thing, case.thing.noun
    children = [
        one
        for one in case.things.values()
        if f"{row}_id" in one.parents and one is not thing and one.ends
    ]
    free = tuple(
        Rule(
            that=f"not some({one.name}, row.{row}_id == {row}.id and row.{one.standing} != "
            f"{GONE!r})",
            code=f"{one.name}_left",
            says=f"{{{row}.{LABEL}}} still has {one.many}.",
            rule=f"{name_one(thing.said).capitalize()} that still has {one.many} cannot be "
            "deleted.",
        )
        for one in children
    )
    return _move(case, GONE, [ACTIVE, *thing.states], "delete", free)


def write_halt(case: ToolCase) -> Operation | str:
    verb = find_verb(case.tool)
    return _move(case, render_past(verb), [ACTIVE], verb)


def write_revive(case: ToolCase) -> Operation | str:
    if not case.thing.states:
        return f"no tool does what {find_verb(case.tool)} would undo"
    return _move(case, ACTIVE, case.thing.states, find_verb(case.tool))


def _move(
    case: ToolCase, after: str, before: Sequence[str], verb: str, more: tuple[Rule, ...] = ()
) -> Operation:
    thing, row = case.thing, case.thing.noun
    held = f"{row}.{thing.standing}"
    wanted = " or ".join(repr(one) for one in before)
    rule = Rule(
        that=f"{held} == {before[0]!r}" if len(before) == 1 else f"{held} in {tuple(before)!r}",
        code=f"{row}_not_{'_or_'.join(before)}",
        says=f"{{{row}.{LABEL}}} is '{{{held}}}'; this can be done only while it is {wanted}.",
        rule=f"The {thing.standing} of {name_one(thing.said)} becomes {after!r} only from "
        f"{wanted}.",
    )
    return Operation(
        does=f"{verb.capitalize()} {name_one(thing.said)}: its {thing.standing} becomes "
        f"{after!r}, and the record stays.",
        gives=row,
        takes=(case.row,),
        must=(rule, *more),
        then=(WriteStep(f"{held} = {after!r}"),),
        asks=(f"{verb} {{{row}}}", f"see to it that {{{row}}} is {after}"),
        tells=(f"{{{row}}} has to be {after}.",),
        weight=2,
        name=case.tool.name,
    )


def write_attach(case: ToolCase) -> Operation | str:
    return _tie(case, tied=True)


def write_detach(case: ToolCase) -> Operation | str:
    return _tie(case, tied=False)


def _tie(case: ToolCase, *, tied: bool) -> Operation | str:
    other = next((one for one in case.parents if f"{one.noun}_id" in case.thing.parents), None)
    if other is None:
        return "it does not say what it ties"
    row, verb = case.thing.noun, "attach" if tied else "detach"
    held = f"{row}.{other.noun}_id"
    stands = "already attached to" if tied else "not attached to"
    rule = Rule(
        that=f"{held} {'!=' if tied else '=='} {other.noun}.id",
        code=f"already_{verb}ed" if tied else "not_attached",
        says=f"{{{row}.{LABEL}}} is {stands} {{{other.noun}.{LABEL}}}.",
        rule=f"{name_one(case.thing.said).capitalize()} is {verb}ed only where it is "
        f"{'not ' if tied else ''}attached to the {other.said}.",
    )
    to = "to" if tied else "from"
    return Operation(
        does=f"{verb.capitalize()} {name_one(case.thing.said)} {to} {name_one(other.said)}.",
        gives=row,
        takes=(case.row, select(other)),
        must=(*(_stay(one) for one in (case.thing, other) if one.ends), rule),
        then=(WriteStep(f"{held} = {f'{other.noun}.id' if tied else repr('')}"),),
        asks=(f"{verb} {{{row}}} {to} {{{other.noun}}}",),
        tells=(f"{{{row}}} has to be {verb}ed {to} {{{other.noun}}}.",),
        name=case.tool.name,
    )


def _stay(thing: Thing) -> Rule:
    """What is gone or halted takes nothing new."""
    held = f"{thing.noun}.{thing.standing}"
    if thing.ends and not thing.states:
        that, told = (
            f"{held} != {GONE!r}",
            f"{name_one(thing.said).capitalize()} that was deleted cannot be used any more.",
        )
    else:
        that, told = (
            f"{held} == {ACTIVE!r}",
            f"Only {name_one(thing.said)} whose {thing.standing} is {ACTIVE!r} can be changed or "
            "used.",
        )
    return Rule(
        that=that,
        code=f"{thing.noun}_not_in_use",
        says=f"{{{thing.noun}.{LABEL}}} is '{{{held}}}'.",
        rule=told,
    )


def _take(values: Mapping[str, Values], thing: Thing) -> tuple[OperationParameter, ...]:
    return tuple(
        one.take(column, f"{render_column(column).capitalize()} of the {thing.said}.")
        for column, one in values.items()
    )


def _render_values(values: Mapping[str, Values], lead: str) -> str:
    parts = [f"{render_column(column)} {_quote(column, one)}" for column, one in values.items()]
    return (
        (lead + (", ".join(parts[:-1]) + " and " if parts[1:] else "") + parts[-1]) if parts else ""
    )


def _quote(column: str, values: Values) -> str:
    """Words of their own stand in quotes: `description kept for the audit` reads as if something
    were missing."""
    return f"'{{{column}}}'" if any(" " in one for one in values.text) else f"{{{column}}}"


def _list_columns(values: Mapping[str, Values]) -> str:
    return ", ".join(map(render_column, values))


def render_column(column: str) -> str:
    """A column for people, who say `disabled yes`."""
    return column.replace("_", " ").removeprefix("is ")


WRITERS: dict[Family, Callable[[ToolCase], Operation | str]] = {
    "create": write_create,
    "get": write_get,
    "list": write_list,
    "update": write_update,
    "delete": write_delete,
    "halt": write_halt,
    "revive": write_revive,
    "attach": write_attach,
    "detach": write_detach,
}
"""Family → how it is written; the words are why it is not."""
