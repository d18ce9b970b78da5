"""From clauses to the parts of a scenario's verifier, each under the name of its clause.

clause, rows of the initial state ─► patterns of calls ─► procedure · harm · facts
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.base.errors import BuildError
from envmill.language.dates import read_date
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import find_words, normalise
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.procedure import is_meant
from schemas.base import Json, is_object
from schemas.dialogue import CallCondition, Dialogue, PolicyClause, StateCondition, WordsCondition
from schemas.environment import Call
from schemas.scenario import CallPattern, Draft, Fact, Predicate, Scenario, UserContract

MOST = 400
"""Predicates of one clause: more rows than a judge should walk through for one rule."""
_NAMED = "clause "
Binding = Mapping[str, str]
"""`$name` of a row → its key."""


@dataclass(frozen=True)
class ClauseDemands:
    """What the clauses of a policy ask of one scenario."""

    procedure: tuple[Predicate, ...]
    facts: tuple[Fact, ...]
    harm: tuple[Predicate, ...]


def compile_clauses(dialogue: Dialogue, draft: Draft) -> ClauseDemands:
    """BuildError where a clause has more rows than can be judged, or the reference path leaves a
    hand-over out that a clause asks for."""
    words = list_words(draft)
    procedure, facts, harm = list[Predicate](), list[Fact](), list[Predicate]()
    bound = [(clause, bind_rows(clause, draft.initial_state, words)) for clause in dialogue.clauses]
    for clause, bindings in bound:
        made = _compile(clause, bindings)
        if len(made) > MOST:
            raise BuildError(
                f"Clause {clause.id} speaks of {len(made)} rows, more than {MOST}: let a "
                "condition narrow them."
            )
        (harm if clause.effect == "forbid" else procedure).extend(made)
        facts += list_facts(clause, bindings, draft)
    harm += _list_only(bound)
    procedure += _list_required(bound, draft)
    return ClauseDemands(tuple(procedure), tuple(facts), tuple(harm))


def list_words(draft: Draft | Scenario) -> str:
    """All that the user may say."""
    user: UserContract = draft.user
    facts = [
        f"{name.replace('_', ' ')} {render_leaf(leaf)}"
        for name, value in user.facts.items()
        for leaf in list_leaves(value)
    ]
    return normalise("\n".join([draft.request, user.opening, *user.goals, *user.later, *facts]))


def bind_rows(clause: PolicyClause, state: Mapping[str, Json], words: str) -> list[Binding]:
    """Rows for which it applies; one empty binding where it declares none and applies."""
    said = all(
        any(find_words(words, one) for one in each.words) is each.said
        for each in clause.when
        if isinstance(each, WordsCondition)
    )
    if not said:
        return []
    bindings: list[Binding] = [{}]
    for name, collection in clause.rows.items():
        rows = state.get(collection)
        bindings = [
            {**binding, name: key}
            for binding in bindings
            for key in (rows if is_object(rows) else {})
        ]
    conditions = [one for one in clause.when if isinstance(one, StateCondition)]
    return [
        binding
        for binding in bindings
        if all(_holds(one, clause, binding, state) for one in conditions)
    ]


def _holds(
    condition: StateCondition, clause: PolicyClause, binding: Binding, state: Mapping[str, Json]
) -> bool:
    value = _read(condition.row, condition.field, clause, binding, state)
    match condition.op:
        case "is":
            return value == condition.value
        case "is_not":
            return value != condition.value
        case "at_least":
            return _is_number(value) and value >= condition.value
        case "below":
            return _is_number(value) and value < condition.value


def _read(
    row: str, field: str, clause: PolicyClause, binding: Binding, state: Mapping[str, Json]
) -> Json:
    collection, key = (clause.rows[row], binding[row]) if row.startswith("$") else row.split("/", 1)
    found = state.get(collection, {}).get(key)
    return found.get(field) if is_object(found) else None


def _compile(clause: PolicyClause, bindings: Sequence[Binding]) -> list[Predicate]:
    """Predicates of one clause that stands for itself; those that allow and hand over are told
    together."""
    if clause.effect not in ("forbid", "first", "confirm"):
        return []
    free = not any(
        isinstance(one, StateCondition) and one.row.startswith("$") for one in clause.when
    )
    shared = clause.first is not None and any(
        value in clause.rows for value in map(str, clause.first.arguments.values())
    )
    shared |= any(
        value in clause.rows
        for one in clause.when
        if isinstance(one, CallCondition)
        for value in one.call.arguments.values()
    )
    if free and not shared:
        return [_make(clause, {})] if bindings else []
    return [_make(clause, binding) for binding in bindings]


def _make(clause: PolicyClause, binding: Binding) -> Predicate:
    call, name = bind(clause.call, binding), _name(clause, binding)
    earlier = next((one.call for one in clause.when if isinstance(one, CallCondition)), None)
    if clause.effect == "first":
        return Predicate(
            name=name,
            op="before",
            call=call,
            first=bind(clause.first or CallPattern(name=""), binding),
        )
    if clause.effect == "confirm":
        return Predicate(name=name, op="agreed", call=call, names=clause.names)
    if earlier is not None:
        return Predicate(name=name, op="after", call=call, first=bind(earlier, binding))
    return Predicate(name=name, op="forbidden", call=call)


def _list_only(bound: Sequence[tuple[PolicyClause, list[Binding]]]) -> Iterator[Predicate]:
    """Per tool: the calls that its clauses name, and no other. Those that allow and those that hand
    over are judged apart."""
    for effect in ("allow", "hand_over"):
        tools = dict.fromkeys(clause.call.name for clause, _ in bound if clause.effect == effect)
        for tool in tools:
            named = [
                (clause, bindings)
                for clause, bindings in bound
                if clause.effect == effect and clause.call.name == tool
            ]
            among = [
                bind(clause.call, binding) for clause, bindings in named for binding in bindings
            ]
            ids = ", ".join(clause.id for clause, _ in named)
            yield Predicate(
                name=f"{_NAMED}{ids}: `{tool}` only where it is named",
                op="only",
                call=CallPattern(name=tool),
                among=among,
            )


def _list_required(
    bound: Sequence[tuple[PolicyClause, list[Binding]]], draft: Draft
) -> Iterator[Predicate]:
    """Hand-overs of the reference path must be made. A clause that applies to a row that the path
    touches must be followed by it."""
    touched = {
        str(leaf) for call in draft.oracle for leaf in list_leaves(list(call.arguments.values()))
    }
    for clause, bindings in (each for each in bound if each[0].effect == "hand_over"):
        for binding in bindings:
            pattern = bind(clause.call, binding)
            if any(is_about(pattern, call) for call in draft.oracle):
                yield Predicate(name=_name(clause, binding), op="required", call=pattern)
            elif set(binding.values()) & touched or not binding:
                raise BuildError(
                    f"The reference path does not hand over as clause {clause.id} asks: "
                    f"{pattern.name}({pattern.arguments})."
                )


def list_facts(
    clause: PolicyClause, bindings: Sequence[Binding], draft: Draft | Scenario
) -> Iterator[Fact]:
    """What has to be told along the reference path."""
    if clause.effect != "say":
        return
    for binding in bindings:
        if not any(is_about(bind(clause.call, binding), call) for call in draft.oracle):
            continue
        if clause.words:
            yield Fact(
                name=_name(clause, {}),
                kind="text",
                value=clause.words[0],
                also=clause.words[1:],
                where="any",
            )
        if clause.told:
            value = _read(clause.told.row, clause.told.field, clause, binding, draft.initial_state)
            kind = (
                "number"
                if _is_number(value)
                else "date"
                if isinstance(value, str) and read_date(value)
                else "text"
            )
            yield Fact(
                name=f"{_name(clause, {})} ({clause.told.field})",
                kind=kind,
                value=value,
                where="any",
            )


def bind(pattern: CallPattern, binding: Binding) -> CallPattern:
    """With keys in the place of names; a name that is not bound stands for anything."""
    arguments = {
        name: binding.get(value, value) if isinstance(value, str) else value
        for name, value in pattern.arguments.items()
        if not (isinstance(value, str) and value.startswith("$") and value not in binding)
    }
    return pattern.model_copy(update={"arguments": arguments})


def is_about(pattern: CallPattern, call: Call) -> bool:
    """Whether a pattern with keys in the place of names is about a call."""
    return is_meant(pattern, CompletedCall(call, "ok"), {})


def read_clauses(name: str) -> frozenset[str]:
    """Ids of the clauses whose name a part of a verifier bears; empty for a part of no clause."""
    if not name.startswith(_NAMED):
        return frozenset()
    return frozenset(re.split(r" \(|:", name.removeprefix(_NAMED), maxsplit=1)[0].split(", "))


def _name(clause: PolicyClause, binding: Binding) -> str:
    told = f" ({', '.join(binding.values())})" if binding else ""
    return f"{_NAMED}{clause.id}{told}"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
