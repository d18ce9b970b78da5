"""From clauses to the parts of a scenario's verifier, each under the name of its clause.

clause, rows of the initial state ─► patterns of calls ─► procedure · harm · facts
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.errors import BuildError
from envmill.language.dates import read_date
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import find_words, normalise
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.procedure import is_meant
from schemas.base import Json, is_object
from schemas.dialogue import CallCondition, Dialogue, PolicyClause, StateCondition, WordsCondition
from schemas.environment import Call
from schemas.scenario import CallPattern, Draft, Fact, Predicate, UserContract

MOST = 400
"""Predicates of one clause: more rows than a judge should walk through for one rule."""
_Binding = Mapping[str, str]


@dataclass(frozen=True)
class ClauseDemands:
    """What the clauses of a policy ask of one scenario."""

    procedure: tuple[Predicate, ...]
    facts: tuple[Fact, ...]
    harm: tuple[Predicate, ...]


def compile_clauses(dialogue: Dialogue, draft: Draft) -> ClauseDemands:
    """BuildError where a clause has more rows than can be judged, or the reference path leaves a
    hand-over out that a clause asks for."""
    words = _list_words(draft)
    procedure, facts, harm = list[Predicate](), list[Fact](), list[Predicate]()
    bound = [
        (clause, _bind_rows(clause, draft.initial_state, words)) for clause in dialogue.clauses
    ]
    for clause, bindings in bound:
        made = _compile(clause, bindings)
        if len(made) > MOST:
            raise BuildError(
                f"Clause {clause.id} speaks of {len(made)} rows, more than {MOST}: let a "
                "condition narrow them."
            )
        (harm if clause.effect == "forbid" else procedure).extend(made)
        facts += _list_facts(clause, bindings, draft)
    harm += _list_only(bound)
    procedure += _list_required(bound, draft)
    return ClauseDemands(tuple(procedure), tuple(facts), tuple(harm))


def _list_words(draft: Draft) -> str:
    """All that the user may say."""
    user: UserContract = draft.user
    facts = [
        f"{name.replace('_', ' ')} {render_leaf(leaf)}"
        for name, value in user.facts.items()
        for leaf in list_leaves(value)
    ]
    return normalise("\n".join([draft.request, user.opening, *user.goals, *user.later, *facts]))


def _bind_rows(clause: PolicyClause, state: Mapping[str, Json], words: str) -> list[_Binding]:
    """Rows for which it applies; one empty binding where it declares none and applies."""
    said = all(
        any(find_words(words, one) for one in each.words) is each.said
        for each in clause.when
        if isinstance(each, WordsCondition)
    )
    if not said:
        return []
    bindings: list[_Binding] = [{}]
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
    condition: StateCondition, clause: PolicyClause, binding: _Binding, state: Mapping[str, Json]
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
    row: str, field: str, clause: PolicyClause, binding: _Binding, state: Mapping[str, Json]
) -> Json:
    collection, key = (clause.rows[row], binding[row]) if row.startswith("$") else row.split("/", 1)
    found = state.get(collection, {}).get(key)
    return found.get(field) if is_object(found) else None


def _compile(clause: PolicyClause, bindings: Sequence[_Binding]) -> list[Predicate]:
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


def _make(clause: PolicyClause, binding: _Binding) -> Predicate:
    call, name = _bind(clause.call, binding), _name(clause, binding)
    earlier = next((one.call for one in clause.when if isinstance(one, CallCondition)), None)
    if clause.effect == "first":
        return Predicate(
            name=name,
            op="before",
            call=call,
            first=_bind(clause.first or CallPattern(name=""), binding),
        )
    if clause.effect == "confirm":
        return Predicate(name=name, op="agreed", call=call, names=clause.names)
    if earlier is not None:
        return Predicate(name=name, op="after", call=call, first=_bind(earlier, binding))
    return Predicate(name=name, op="forbidden", call=call)


def _list_only(bound: Sequence[tuple[PolicyClause, list[_Binding]]]) -> Iterator[Predicate]:
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
                _bind(clause.call, binding) for clause, bindings in named for binding in bindings
            ]
            ids = ", ".join(clause.id for clause, _ in named)
            yield Predicate(
                name=f"clause {ids}: `{tool}` only where it is named",
                op="only",
                call=CallPattern(name=tool),
                among=among,
            )


def _list_required(
    bound: Sequence[tuple[PolicyClause, list[_Binding]]], draft: Draft
) -> Iterator[Predicate]:
    """Hand-overs of the reference path must be made. A clause that applies to a row that the path
    touches must be followed by it."""
    touched = {
        str(leaf) for call in draft.oracle for leaf in list_leaves(list(call.arguments.values()))
    }
    for clause, bindings in (each for each in bound if each[0].effect == "hand_over"):
        for binding in bindings:
            pattern = _bind(clause.call, binding)
            if any(_fits(pattern, call) for call in draft.oracle):
                yield Predicate(name=_name(clause, binding), op="required", call=pattern)
            elif set(binding.values()) & touched or not binding:
                raise BuildError(
                    f"The reference path does not hand over as clause {clause.id} asks: "
                    f"{pattern.name}({pattern.arguments})."
                )


def _list_facts(clause: PolicyClause, bindings: Sequence[_Binding], draft: Draft) -> Iterator[Fact]:
    """What has to be told along the reference path."""
    if clause.effect != "say":
        return
    for binding in bindings:
        if not any(_fits(_bind(clause.call, binding), call) for call in draft.oracle):
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


def _bind(pattern: CallPattern, binding: _Binding) -> CallPattern:
    """With keys in the place of names; a name that is not bound stands for anything."""
    arguments = {
        name: binding.get(value, value) if isinstance(value, str) else value
        for name, value in pattern.arguments.items()
        if not (isinstance(value, str) and value.startswith("$") and value not in binding)
    }
    return pattern.model_copy(update={"arguments": arguments})


def _fits(pattern: CallPattern, call: Call) -> bool:
    return is_meant(pattern, CompletedCall(call, "ok"), {})


def _name(clause: PolicyClause, binding: _Binding) -> str:
    told = f" ({', '.join(binding.values())})" if binding else ""
    return f"clause {clause.id}{told}"


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
