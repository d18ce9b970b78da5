"""Composes a domain's model out of an outline: things, then operations by families, then how people
get at each row.

tables ─► things ◄─ what tools fill, tie, halt, delete
                └─► operations by verb ─► lookups ─► domain; what cannot be written, with its reason
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from envmill.toolgraph.outlining import MOST
from envmill.toolgraph.words import find_entity, split_name
from offline.dice import make_dice
from offline.documents.families import ACTIVE, GONE, WRITERS, ToolCase
from offline.documents.things import LABEL, Input, Thing, name_things, read_inputs
from offline.documents.values import LABELS, find_values, sample_names
from offline.documents.verbs import Family, find_family, find_verb, render_past
from offline.domain import Attribute, Collection, Domain, Lookup, Operation
from offline.knowledge import write_lookup
from schemas.proposal import Outline
from schemas.seed import Brief
from schemas.sketch import ToolSketch

ROWS = (6, 9)
_SIDES = """attribute setting configuration config feature detail property option metadata status state info information description
    definition name policy default content data summary"""
_PARTS = frozenset(_SIDES.split())
"""Last words of a tool's name by which a thing's own columns are meant."""
_LONGEST = 64
"""Letters of a tool's name, as gate W1 has it."""
_PLACE = 3
"""What one in so many tools needs is the place they work in."""
_VOICES = (
    "Hello, this is the operations desk.",
    "Good morning, a few things for today.",
    "Hi, I am on duty this week.",
    "Hello from the platform team.",
    "Hi there, something came in overnight.",
)


@dataclass(frozen=True)
class ComposedDomain:
    """A domain, and what of its documents could not be made part of it."""

    domain: Domain
    left_out: dict[str, str]


@dataclass(frozen=True)
class _Read:
    """A tool, read."""

    tool: ToolSketch
    family: Family
    inputs: tuple[Input, ...]


def compose_outline(brief: Brief, seed: int) -> ComposedDomain:
    """The same brief and seed give the same domain."""
    assert brief.outline is not None
    return _compose(
        brief.outline.model_dump_json(),
        brief.theme,
        brief.text,
        brief.number,
        seed,
        brief.tools or MOST,
    )


@lru_cache(maxsize=64)
def _compose(
    outline: str, theme: str, text: str, number: int, seed: int, most: int
) -> ComposedDomain:
    told, left_out = Outline.model_validate_json(outline), dict[str, str]()
    things = name_things(told.tables)
    read = list(_read(told.tools, things, left_out))
    key = f"{theme}/{number}/{seed}"
    for each in read:
        _learn(each, things, key)
    for thing in things.values():
        _tie(thing, told, read)
    _cut_circles(things)
    operations = _write(read, things, left_out, key, most)
    collections = dict(_collect(operations, things, key))
    return ComposedDomain(_make(theme, text, collections, operations, things), left_out)


def _read(
    tools: Sequence[ToolSketch], things: dict[str, Thing], left_out: dict[str, str]
) -> Iterator[_Read]:
    context = _find_context(tools, things)
    for tool in tools:
        home = next(iter([*tool.writes, *tool.reads]), "")
        family = find_family(tool)
        if home not in things:
            left_out[tool.name] = "what it is about has no table here"
        elif len(tool.name) > _LONGEST:
            left_out[tool.name] = (
                f"its name has more than {_LONGEST} letters, and consumers take no more"
            )
        elif fault := _find_stranger(tool, family, things[home]):
            left_out[tool.name] = fault
        elif family is None:
            left_out[tool.name] = (
                f"no way is known to write {find_verb(tool) or tool.name.partition('_')[0]!r} "
                "over tables"
            )
        else:
            inputs = tuple(read_inputs(tool, things[home], things))
            if fault := _find_fault(family, inputs, context):
                left_out[tool.name] = fault
            else:
                yield _Read(tool, family, inputs)


def _find_stranger(tool: ToolSketch, family: Family | None, thing: Thing) -> str:
    """A permission of a queue is no queue: what makes, lists or ends something else cannot be
    written over this table."""
    about = split_name(tool.entity) if tool.entity else find_entity(tool.name)
    # What is shown or set of a topic as its attributes is the topic; the propagations of an
    # attachment are other things.
    more = (
        about[len(thing.words) :]
        if family in ("get", "update") and about[: len(thing.words)] == thing.words
        else None
    )
    same = about == thing.words or (more is not None and set(more) <= _PARTS)
    return (
        ""
        if same or family in (None, "attach", "detach")
        else f"it is about {' '.join(about)}, which has no table here"
    )


def _find_context(tools: Sequence[ToolSketch], things: dict[str, Thing]) -> frozenset[str]:
    """Identifiers that so many tools need that they can only be the place itself: the account, the
    instance they work in."""
    homes = [
        (tool, things[home])
        for tool in tools
        if (home := next(iter([*tool.writes, *tool.reads]), "")) in things
    ]
    asked = Counter(
        one.path
        for tool, thing in homes
        for one in read_inputs(tool, thing, things)
        if one.required and one.role == "unknown"
    )
    return frozenset(path for path, times in asked.items() if times * _PLACE >= len(homes))


def _find_fault(family: Family, inputs: Sequence[Input], context: frozenset[str]) -> str:
    """Why a tool cannot be written; empty where it can."""
    if family not in ("create", "list") and not any(one.role == "own" for one in inputs):
        return "nothing that it takes selects one"
    for one in inputs:
        if one.required and one.schema.get("type") == "array":
            return f"it needs {one.path}, which is a list"
        if one.required and one.role == "unknown" and one.path not in context:
            return f"it needs {one.path}, which nobody can look up here"
        if (
            one.required
            and one.role == "value"
            and find_values((one.about,), one.schema, make_dice("try")) is None
        ):
            return f"it needs {one.path}, which is an object"
    return ""


def _learn(read: _Read, things: dict[str, Thing], key: str) -> None:
    """What a tool tells of the thing it is about."""
    thing = things[_find_home(read.tool)]
    if read.family in ("create", "update"):
        for one in read.inputs:
            if one.role == "value" and one.about not in thing.columns:
                dice = make_dice("values", key, thing.name, one.about)
                if values := find_values(tuple(one.about.split("_")), one.schema, dice):
                    thing.columns[one.about] = values
    if read.family == "halt" and (state := render_past(find_verb(read.tool))) not in thing.states:
        thing.states.append(state)
    thing.ends |= read.family == "delete"


def _find_home(tool: ToolSketch) -> str:
    return [*tool.writes, *tool.reads][0]


def _tie(thing: Thing, told: Outline, read: Sequence[_Read]) -> None:
    """Columns that refer: to what makers and ties name, and to what lists ask for where the tables
    say so."""
    table = next(one for one in told.tables if one.name == thing.name)
    referred = {column.references.partition(".")[0] for column in table.columns}
    for each in read:
        if _find_home(each.tool) != thing.name:
            continue
        for one in each.inputs:
            is_tied = each.family in ("create", "attach", "detach") or (
                each.family == "list" and one.about in referred
            )
            if one.role == "other" and one.required and is_tied and one.about != thing.name:
                thing.parents[one.about] = one.about


def _cut_circles(things: dict[str, Thing]) -> None:
    """Things in an order in which each refers to earlier ones alone; columns by their final
    names."""
    placed = dict[str, Thing]()
    while len(placed) < len(things):
        left = [one for name, one in things.items() if name not in placed]
        free = next((one for one in left if set(one.parents) <= placed.keys()), left[0])
        parents = [things[name] for name in free.parents if name in placed]
        free.parents = {f"{one.noun}_id": one.name for one in parents}
        placed[free.name] = free
    things.clear()
    things.update(placed)


def _write(
    read: Sequence[_Read], things: dict[str, Thing], left_out: dict[str, str], key: str, most: int
) -> dict[str, Operation]:
    for thing in things.values():
        _keep_used(thing, read)
    operations, known = dict[str, Operation](), dict[str, str]()
    for each in read:
        name = each.tool.name
        case = ToolCase(
            each.tool,
            things[_find_home(each.tool)],
            things,
            each.inputs,
            make_dice("operation", key, name),
        )
        written = WRITERS[each.family](case)
        if isinstance(written, str):
            left_out[name] = written
            continue
        same = (
            f"{case.thing.name}/{written.takes}/{written.gives}/{written.then}"
            if each.family != "create"
            else name
        )
        if same in known:
            left_out[name] = f"over these tables it does what {known[same]} does"
        elif len(operations) >= most:
            left_out[name] = f"beyond the {most} tools that were asked for"
        else:
            known[same], operations[name] = name, written
    return operations


def _keep_used(thing: Thing, read: Sequence[_Read]) -> None:
    """Columns that a tool of its own fills in the end; a row of forty settings that nobody can set
    teaches nothing."""
    used = set[str]()
    for each in read:
        if each.family in ("create", "update") and _find_home(each.tool) == thing.name:
            used |= ToolCase(each.tool, thing, {}, each.inputs, make_dice("use")).values.keys()
    thing.columns = {name: values for name, values in thing.columns.items() if name in used}


def _collect(
    operations: dict[str, Operation], things: Mapping[str, Thing], key: str
) -> Iterator[tuple[str, Collection]]:
    """Collections, and lookups that no tool is: a row is found by its name."""
    touched = [thing for thing in things.values() if _is_touched(thing, operations, things)]
    # Where nothing could be written, the tables alone stand there: a plan that somebody can read
    # and turn down.
    for thing in touched or things.values():
        collection = _make_collection(thing, key, _find_lookup(thing, operations))
        if collection.lookup.call not in operations:
            lookup = write_lookup(thing.name, collection, _EMPTY)
            operations[collection.lookup.call] = replace(lookup, name=collection.lookup.call)
        yield thing.name, collection


def _is_touched(
    thing: Thing, operations: Mapping[str, Operation], things: Mapping[str, Thing]
) -> bool:
    """Whether a tool selects, gives or lists it, or a column refers to it."""
    rows = {each.row for one in operations.values() for each in one.takes}
    given = {one.gives.replace(",", ")").partition(")")[0] for one in operations.values()}
    return (
        thing.name in rows
        or bool(given & {thing.noun, f"rows({thing.name}"})
        or any(thing.name in one.parents.values() for one in things.values())
    )


def _find_lookup(thing: Thing, operations: Mapping[str, Operation]) -> Lookup:
    listing = next(
        (
            name
            for name, one in operations.items()
            if one.gives == f"rows({thing.name})" and not one.takes
        ),
        None,
    )
    if listing:
        return Lookup(call=listing, using={})
    return Lookup(call=f"find_{thing.name}", using={"query": LABEL})


def _make_collection(thing: Thing, key: str, lookup: Lookup) -> Collection:
    attributes = {
        LABEL: Attribute(
            unique=True, one_of=tuple(sample_names(LABELS, make_dice("names", key, thing.name)))
        )
    }
    attributes |= {column: Attribute(ref=parent) for column, parent in thing.parents.items()}
    attributes |= {column: values.attribute for column, values in thing.columns.items()}
    if thing.lives:
        attributes[thing.standing] = Attribute(
            one_of=(*(ACTIVE,) * 4, *thing.states, *((GONE,) if thing.ends else ()))
        )
    return Collection(
        noun=thing.noun,
        prefixes=(thing.words[-1][:4],),
        label=f"the {thing.said} {{{LABEL}}}",
        lookup=lookup,
        attributes=attributes,
        rows=ROWS,
    )


def _make(
    theme: str,
    text: str,
    collections: dict[str, Collection],
    operations: dict[str, Operation],
    things: Mapping[str, Thing],
) -> Domain:
    service = theme.partition("_")[0].upper()
    many = " and ".join(things[name].many for name in list(collections)[:2])
    return Domain(
        theme=theme,
        text=f"{text.partition(':')[0].rstrip('.')}.",
        names=(f"{service} {many.title()}",),
        role=f"the operator who looks after {many}",
        voices=_VOICES,
        limits={},
        features={},
        collections=collections,
        operations=operations,
    )


_EMPTY = Domain("", "", (), "", (), {}, {}, {}, {})
