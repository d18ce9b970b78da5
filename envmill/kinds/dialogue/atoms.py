"""Atoms as they read: each named fault of a repertoire, before anything of it is tried.

atoms.json ─► names of tools, records and goals ─► sets that hold each other apart ─► faults
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from envmill.base.errors import BuildError
from schemas.base import Json, is_object
from schemas.dialogue import Atom, AtomStep, Dialogue, Repertoire
from schemas.environment import Call, Tool

ATOMS = "atoms.json"
LEAST = 3
"""Atoms that can be mended; with fewer there is little to compose."""


def read_repertoire(files: Mapping[str, str]) -> Repertoire | None:
    """The file of an environment, or None where its scenarios are not composed."""
    if ATOMS not in files:
        return None
    try:
        return Repertoire.model_validate_json(files[ATOMS])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BuildError(f"{ATOMS}: {place}: {first['msg']}.") from None


def make_calls(steps: Sequence[AtomStep], dialogue: Dialogue) -> list[Call]:
    """Steps as calls of whoever has the tool."""
    return [
        Call(
            name=step.tool,
            arguments=step.arguments,
            actor="user" if step.tool in dialogue.user_tools else "agent",
            asks=step.asks,
        )
        for step in steps
    ]


def find_atom_faults(
    repertoire: Repertoire, dialogue: Dialogue, tools: Sequence[Tool]
) -> list[str]:
    """Everything that is wrong with it, in words for its author."""
    known = {tool.name: tool for tool in tools}
    return [
        *_find_missing(repertoire, dialogue),
        *_find_look_faults(repertoire, known),
        *_find_fact_faults(repertoire, dialogue, known),
        *(
            f"The atom {atom.id} {fault}."
            for atom in repertoire.atoms
            for fault in _find_faults_of(atom, repertoire, dialogue, known)
        ),
        *_find_rivals(repertoire),
    ]


def name_group(atom: Atom) -> str:
    """Its exclusive set."""
    return atom.group or atom.id


def _find_missing(repertoire: Repertoire, dialogue: Dialogue) -> Iterator[str]:
    for name in dialogue.sides:
        if not is_object(repertoire.state.get(name)):
            yield f"The healthy state lacks the collection {name}; an empty one is {{}}."
    for name in repertoire.state:
        if name not in dialogue.sides:
            yield f"The healthy state has {name}, which is no collection."
    mendable = [atom for atom in repertoire.atoms if not atom.unfixable]
    if len({name_group(atom) for atom in mendable}) < LEAST:
        yield f"Too few atoms can be mended: at least {LEAST} of different groups are needed."


def _find_look_faults(repertoire: Repertoire, known: Mapping[str, Tool]) -> Iterator[str]:
    if not repertoire.begins:
        yield "`begins` is empty: write the looks that find the user's records."
    for place, steps in (("begins", repertoire.begins), ("ends", repertoire.ends)):
        for step in steps:
            yield from (f"`{place}` {fault}." for fault in _find_step_faults(step, known))
            if step.tool in known and known[step.tool].effect != "query":
                yield f"`{place}` has {step.tool}, which changes something: only looks stand there."


def _find_fact_faults(
    repertoire: Repertoire, dialogue: Dialogue, known: Mapping[str, Tool]
) -> Iterator[str]:
    for name in repertoire.hidden:
        if name not in repertoire.facts:
            yield f"`hidden` names {name!r}, which `facts` does not hold."
    for name, needed in repertoire.needs.items():
        if name not in dialogue.user_tools or name not in known:
            yield f"`needs` names {name}, which is no tool of the user."
            continue
        taken = known[name].parameters.get("properties", {})
        yield from (
            f"`needs` names {each!r} of {name}, which it does not take."
            for each in needed
            if each not in taken
        )


def _find_faults_of(
    atom: Atom, repertoire: Repertoire, dialogue: Dialogue, known: Mapping[str, Tool]
) -> Iterator[str]:
    if not any(goal.name == atom.goal for goal in dialogue.goals):
        yield f"has the goal {atom.goal!r}, which there is not"
    for each in (*atom.breaks, *atom.mended):
        yield from _find_place_faults(each.row, each.field, repertoire.state)
    for one in atom.breaks:
        if read_field(repertoire.state, one.row, one.field) == one.value:
            yield f"breaks nothing: {one.row} has {one.field} {one.value!r} in the healthy state"
    for step in atom.fix:
        yield from _find_step_faults(step, known)
    for name in atom.apart:
        if not any(one.id == name for one in repertoire.atoms):
            yield f"is apart from {name!r}, which is no atom"
    changing = [
        step.tool for step in atom.fix if step.tool in known and known[step.tool].effect == "change"
    ]
    if not changing:
        yield "has a fix that changes nothing"
    if atom.unfixable and changing and changing[-1] in dialogue.user_tools:
        yield "is unfixable, and its fix does not end with the agent's handing over"
    handing = {clause.call.name for clause in dialogue.clauses if clause.effect == "hand_over"}
    if atom.unfixable and not handing & set(changing):
        told = ", ".join(sorted(handing)) or "no clause hands over"
        yield f"is unfixable, and its fix makes no call that the policy hands over with ({told})"


def _find_step_faults(step: AtomStep, known: Mapping[str, Tool]) -> Iterator[str]:
    if step.tool not in known:
        yield f"calls {step.tool!r}, which is no tool"
        return
    tool = known[step.tool]
    taken: Json = tool.parameters.get("properties", {})
    for name in step.arguments:
        if name not in taken:
            yield f"gives {step.tool} the argument {name!r}, which it does not take"
    for name in tool.parameters.get("required", ()):
        if name not in step.arguments:
            yield f"does not give {step.tool} the argument {name!r}"


def _find_place_faults(row: str, field: str, state: Mapping[str, Json]) -> Iterator[str]:
    collection, _, key = row.partition("/")
    held = state.get(collection, {})
    if not is_object(held) or not is_object(held.get(key)):
        yield f"speaks of {row!r}, which is no record of the healthy state: write collection/key"
    elif field not in held[key]:
        yield f"speaks of the field {field!r} of {row}, which it does not have"


def _find_rivals(repertoire: Repertoire) -> Iterator[str]:
    """Atoms that break the same place have to be of one group, and none is there twice."""
    by_place = defaultdict[tuple[str, str], list[Atom]](list)
    seen = set[str]()
    for atom in repertoire.atoms:
        if atom.id in seen:
            yield f"The atom {atom.id} is there twice."
        seen.add(atom.id)
        for place in dict.fromkeys((one.row, one.field) for one in atom.breaks):
            by_place[place].append(atom)
    for (row, field), atoms in by_place.items():
        if len({name_group(atom) for atom in atoms}) > 1:
            told = ", ".join(atom.id for atom in atoms)
            yield f"The atoms {told} all break {field} of {row}: put them into one `group`."


def read_field(state: Mapping[str, Json], row: str, field: str) -> Json:
    """The value of a field of a record, by `collection/key`; None where there is none."""
    collection, _, key = row.partition("/")
    found = state.get(collection, {}).get(key) if is_object(state.get(collection)) else None
    return found.get(field) if is_object(found) else None
