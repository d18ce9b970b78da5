"""What is wrong with a dialogue before its program is written, each fault with the clause, tool,
coupling or persona named."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from envmill.base.errors import BuildError
from envmill.kinds.dialogue.conflicts import find_conflicts
from envmill.kinds.dialogue.prose import find_prose_faults
from envmill.kinds.dialogue.wording import find_document_faults, render_clause
from schemas.dialogue import (
    CallCondition,
    Coupling,
    Dialogue,
    Discovery,
    PolicyClause,
    StateCondition,
)
from schemas.environment import Environment
from schemas.scenario import CallPattern

FILE = "dialogue.json"
_NEEDS: Mapping[str, tuple[str, ...]] = {"first": ("first",), "say": ("words", "told")}
"""Effect → fields of which it needs one."""


@dataclass(frozen=True)
class ClauseScope:
    """What clauses may speak of."""

    collections: Mapping[str, Sequence[str]]
    """Collection → fields; empty where they are not known."""
    tools: Mapping[str, Sequence[str] | None]
    """Tool → parameters; None where they are not known yet."""
    changes: frozenset[str]
    """Tools that change something."""


def read_dialogue(files: Mapping[str, str]) -> Dialogue:
    """The file of an environment or a plan, or BuildError."""
    if FILE not in files:
        raise BuildError(f"An environment of kind dialogue needs {FILE} beside its program.")
    try:
        return Dialogue.model_validate_json(files[FILE])
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BuildError(f"{FILE}: {place}: {first['msg']}.") from None


def list_unlocking(environment: Environment) -> Mapping[str, CallPattern]:
    """Tool → the call that unlocks it, where the environment says so."""
    if FILE not in environment.files:
        return {}
    return {name: found.by for name, found in read_dialogue(environment.files).discoverable.items()}


def find_dialogue_faults(dialogue: Dialogue, world: ClauseScope, document: str = "") -> list[str]:
    """Everything that is wrong with it, in words for its author."""
    return [
        *_find_side_faults(dialogue, world),
        *_find_clause_faults(dialogue, world),
        *find_conflicts(dialogue.clauses),
        *(
            find_prose_faults(document, dialogue.clauses)
            if dialogue.policy == "prose"
            else find_document_faults(document, dialogue.clauses)
        ),
        *_find_coupling_faults(dialogue),
        *_find_need_faults(dialogue, world),
        *_find_discovery_faults(dialogue, world),
    ]


def _find_side_faults(dialogue: Dialogue, world: ClauseScope) -> Iterator[str]:
    for name in world.collections:
        if name not in dialogue.sides:
            yield (
                f"The collection {name} is on no side: say in `sides` whether it is the agent's "
                "or the user's."
            )
    yield from (
        f"`sides` names {name}, which is no collection."
        for name in dialogue.sides
        if name not in world.collections
    )
    yield from (
        f"`user_tools` names {name}, which is no tool."
        for name in dialogue.user_tools
        if name not in world.tools
    )
    for side in ("agent", "user"):
        if not any((name in dialogue.user_tools) is (side == "user") for name in world.tools):
            yield f"The {side} has no tool: a dialogue has two sides that act."
    for name in world.tools:
        side = "user" if name in dialogue.user_tools else "agent"
        if name not in dialogue.touches:
            yield f"`touches` does not say which collections the tool {name} reads and writes."
            continue
        touch = dialogue.touches[name]
        for collection in (*touch.reads, *touch.writes):
            if dialogue.sides.get(collection, side) != side:
                yield (
                    f"The {side}'s tool {name} touches {collection}, which is the other side's. "
                    "Only a coupling crosses."
                )


def _find_clause_faults(dialogue: Dialogue, world: ClauseScope) -> Iterator[str]:
    seen = dict[str, str]()
    for clause in dialogue.clauses:
        if any(clause.id == one for one in seen.values()):
            yield f"Clause {clause.id} is there twice."
        sentence = render_clause(clause)
        if sentence in seen:
            yield f"Clause {clause.id} says the same as clause {seen[sentence]}."
        seen[sentence] = clause.id
        yield from (f"Clause {clause.id} {fault}." for fault in _find_shape_faults(clause, world))
        yield from (
            f"Clause {clause.id} {fault}." for fault in _find_name_faults(clause, dialogue, world)
        )


def _find_shape_faults(clause: PolicyClause, world: ClauseScope) -> Iterator[str]:
    """Fields that its effect needs, or has no use for."""
    needs = _NEEDS.get(clause.effect, ())
    if needs and not any(getattr(clause, name) for name in needs):
        yield (
            f"has the effect {clause.effect} and needs {' or '.join(f'`{name}`' for name in needs)}"
        )
    for name in ("first", "names", "words", "told"):
        owner = {"first": "first", "names": "confirm", "words": "say", "told": "say"}[name]
        if getattr(clause, name) and clause.effect != owner:
            yield f"has `{name}`, which only the effect {owner} has a use for"
    if clause.effect != "forbid" and any(isinstance(one, CallCondition) for one in clause.when):
        yield "has a call as a condition, which only the effect forbid has a use for"
    if clause.effect == "allow" and not clause.when:
        yield "allows a call without any condition: leave it out"
    if (
        clause.effect == "confirm"
        and clause.call.name in world.tools
        and clause.call.name not in world.changes
    ):
        yield f"asks for a yes to `{clause.call.name}`, which changes nothing"


def _find_name_faults(
    clause: PolicyClause, dialogue: Dialogue, world: ClauseScope
) -> Iterator[str]:
    calls = [
        clause.call,
        *([clause.first] if clause.first else []),
        *(one.call for one in clause.when if isinstance(one, CallCondition)),
    ]
    for call in calls:
        yield from _find_call_faults(call, clause, dialogue, world)
    bound = {
        value
        for call in calls
        for value in call.arguments.values()
        if isinstance(value, str) and value.startswith("$")
    }
    for name, collection in clause.rows.items():
        if not name.startswith("$") or name not in bound:
            yield f"declares {name}, which no argument of its calls holds"
        if collection not in world.collections:
            yield f"declares {name} as a row of {collection}, which is no collection"
    for condition in clause.when:
        if isinstance(condition, StateCondition):
            yield from _find_row_faults(condition.row, condition.field, clause, world)
    if clause.told:
        yield from _find_row_faults(clause.told.row, clause.told.field, clause, world)
    if len(clause.rows) > 1:
        yield "declares more than one row: write a clause for each"


def _find_call_faults(
    call: CallPattern, clause: PolicyClause, dialogue: Dialogue, world: ClauseScope
) -> Iterator[str]:
    if call.name not in world.tools:
        yield f"names the tool {call.name!r}, which there is not"
        return
    owner = "user" if call.name in dialogue.user_tools else "agent"
    if call.actor != owner:
        yield f"takes `{call.name}` for a tool of the {call.actor}; it is the {owner}'s"
    if call is clause.call and owner == "user":
        yield f"binds the user's tool `{call.name}`: a policy binds the agent"
    parameters = world.tools[call.name]
    for name, value in call.arguments.items():
        if parameters is not None and name not in parameters:
            yield f"names the argument {name!r} of `{call.name}`, which there is not"
        if isinstance(value, str) and value.startswith("$") and value not in clause.rows:
            yield f"uses {value}, which `rows` does not declare"
    for name in clause.names if call is clause.call else ():
        if parameters is not None and name not in parameters:
            yield f"names the argument {name!r} of `{call.name}`, which there is not"


def _find_row_faults(
    row: str, field: str, clause: PolicyClause, world: ClauseScope
) -> Iterator[str]:
    collection = clause.rows.get(row, "") if row.startswith("$") else row.partition("/")[0]
    if collection not in world.collections:
        yield f"speaks of {row}, which is no row: write a `$name` of `rows`, or collection/key"
    elif world.collections[collection] and field not in world.collections[collection]:
        yield f"speaks of {collection}.{field}, which there is not"


def _find_coupling_faults(dialogue: Dialogue) -> Iterator[str]:
    """One that never fires: no tool of the other side, and no coupling before or after it, writes
    what it reads."""
    for coupling in dialogue.couplings:
        for name in (*coupling.reads, *coupling.writes):
            if name not in dialogue.sides:
                yield f"The coupling {coupling.name} touches {name}, which is no collection."
        if not _crosses(coupling, dialogue):
            yield (
                f"The coupling {coupling.name} does not lead from one side to the other: it "
                "reads and writes the same side."
            )
        written = {name for touch in dialogue.touches.values() for name in touch.writes}
        written |= {
            name for other in dialogue.couplings if other is not coupling for name in other.writes
        }
        if not written & set(coupling.reads):
            told = ", ".join(coupling.reads) or "nothing"
            yield (
                f"The coupling {coupling.name} never fires: it reads {told}, which no tool and "
                "no other coupling writes."
            )


def _crosses(coupling: Coupling, dialogue: Dialogue) -> bool:
    return any(
        dialogue.sides.get(read) != dialogue.sides.get(write)
        for read in coupling.reads
        for write in coupling.writes
        if read in dialogue.sides and write in dialogue.sides
    )


def _find_need_faults(dialogue: Dialogue, world: ClauseScope) -> Iterator[str]:
    """Tools of the user that no goal needs, goals out of reach, and personas with whom a goal is
    out of reach."""
    for goal in dialogue.goals:
        yield from (
            f"The goal {goal.name!r} needs {name}, which is no tool."
            for name in goal.needs
            if name not in world.tools
        )
    needed = {name for goal in dialogue.goals for name in goal.needs}
    needed |= {one.first.name for one in dialogue.clauses if one.first} | {
        one.by.name for one in dialogue.discoverable.values()
    }
    for name in dialogue.user_tools:
        if name not in needed:
            yield (
                f"No goal needs the user's tool {name}, and no clause and no discovery asks for it."
            )
    known = {goal.name for goal in dialogue.goals}
    for persona in dialogue.personas:
        yield from (
            f"The persona {persona.name!r} has the goal {name!r}, which there is not."
            for name in persona.goals
            if name not in known
        )
        for goal in dialogue.goals:
            lacking = [name for name in goal.needs if name in persona.cannot]
            if lacking and (not persona.goals or goal.name in persona.goals):
                yield (
                    f"The persona {persona.name!r} makes the goal {goal.name!r} unreachable: it "
                    f"needs {', '.join(lacking)}."
                )


def _find_discovery_faults(dialogue: Dialogue, world: ClauseScope) -> Iterator[str]:
    for name, found in dialogue.discoverable.items():
        if name not in world.tools:
            yield f"`discoverable` names {name}, which is no tool."
        yield from (
            f"The tool {name} {fault}."
            for fault in _find_unlocking_faults(name, found, dialogue, world)
        )


def _find_key_faults(found: Discovery, dialogue: Dialogue, world: ClauseScope) -> Iterator[str]:
    """What unlocks is a change of the agent's, kept where the state is: nothing is kept beside it."""
    by = found.by
    if by.name not in world.changes:
        yield f"is unlocked by `{by.name}`, which is a query: unlocking is a change"
    if by.name in dialogue.user_tools:
        yield f"is unlocked by `{by.name}`, a tool of the user: the agent unlocks it"
    if by.name in dialogue.touches and not dialogue.touches[by.name].writes:
        yield (
            f"is unlocked by `{by.name}`, which writes no collection: plan `unlocked` with the "
            "attribute `id` on the side agent, and let it write that"
        )
    parameters = world.tools[by.name]
    yield from (
        f"is unlocked by `{by.name}` with the argument {name!r}, which it does not take"
        for name in by.arguments
        if parameters is not None and name not in parameters
    )


def _find_unlocking_faults(
    name: str, found: Discovery, dialogue: Dialogue, world: ClauseScope
) -> Iterator[str]:
    if found.by.name not in world.tools:
        yield f"is unlocked by {found.by.name!r}, which is no tool"
    else:
        yield from _find_key_faults(found, dialogue, world)
    met = [name]
    while met[-1] in dialogue.discoverable:
        following = dialogue.discoverable[met[-1]].by.name
        if following in met:
            yield f"is never unlocked: {' needs '.join([*met, following])}"
            return
        met.append(following)
