"""Clauses as the sentences of a policy document, and the comparison of a document with them.

clauses ──► one sentence each ──► document        document ──► lines that no clause says, clauses that no line says
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from envmill.language.told import render_leaf
from schemas.base import Json, canonical_json
from schemas.dialogue import CallCondition, Condition, PolicyClause, StateCondition, WordsCondition
from schemas.scenario import CallPattern

HEADING = "# Policy"
YES = (
    "A yes is the user's answer to your question. What they said before you asked it is none, even "
    "if it names what you would ask for."
)
"""What the verifier takes for consent; said once where a clause asks for it."""
_NEAR = 0.3
"""Likeness from which a stray line is taken for a changed sentence of a clause."""


def render_policy(clauses: Sequence[PolicyClause]) -> str:
    """The policy document: a heading, and a numbered sentence for each clause."""
    if not clauses:
        return ""
    return "\n".join(
        [
            HEADING,
            "",
            *(f"{place}. {render_clause(clause)}" for place, clause in enumerate(clauses, 1)),
            "",
            *([YES, ""] if any(clause.effect == "confirm" for clause in clauses) else []),
        ]
    )


def render_clause(clause: PolicyClause) -> str:
    """One clause as a sentence."""
    call, where = render_pattern(clause.call), _render_conditions(clause.when)
    match clause.effect:
        case "allow":
            return f"Make the call {call} only {where or 'where this policy names it'}."
        case "forbid":
            return f"Never make the call {call}{_space(where)}."
        case "first":
            first = render_pattern(clause.first or CallPattern(name=""))
            return f"Before the call {call}{_space(where)}, {_name_maker(clause)} {first}."
        case "confirm":
            named = (
                f" Name {_join([name.replace('_', ' ') for name in clause.names])} in the question."
                if clause.names
                else ""
            )
            return f"Before the call {call}{_space(where)}, ask the user and get a yes.{named}"
        case "say":
            return (
                f"When you make the call {call}{_space(where)}, tell the user "
                f"{_render_told(clause)}."
            )
        case "hand_over":
            return (
                f"Hand over with the call {call} {where or 'always'}, and only in cases that this "
                "policy names."
            )


def render_pattern(call: CallPattern) -> str:
    """A call as the policy document names it."""
    told = _join(
        [
            f"{name.replace('_', ' ')} {_render_value(value)}"
            for name, value in call.arguments.items()
        ]
    )
    return f"`{call.name}`{f' with {told}' if told else ''}"


def find_document_faults(document: str, clauses: Sequence[PolicyClause]) -> Iterator[str]:
    """Lines of a policy document that no clause says, and clauses that the document does not say.
    It is for documents made of the clauses' sentences; prose is held to values (`prose.py`). An
    empty document is rendered later."""
    if not document.strip():
        return
    told = {_settle(line): line.strip() for line in document.splitlines() if _settle(line)}
    said = {_settle(render_clause(clause)): clause for clause in clauses} | {
        _settle(HEADING): None,
        _settle(YES): None,
    }
    for settled in (one for one in told if one not in said):
        near = get_close_matches(settled, [one for one, clause in said.items() if clause], 1, _NEAR)
        clause = said[near[0]] if near else None
        hint = f" It is nearest to clause {clause.id}: {render_clause(clause)!r}." if clause else ""
        yield f"The policy document says what no clause says: {told[settled]!r}.{hint}"
    for settled, clause in said.items():
        if clause is not None and settled not in told:
            yield f"The policy document does not say clause {clause.id}: {render_clause(clause)!r}."


def _settle(line: str) -> str:
    """A line without its number and white space."""
    plain = " ".join(line.split())
    head, _, rest = plain.partition(". ")
    return rest if head.isdigit() else plain


def _name_maker(clause: PolicyClause) -> str:
    return (
        "the user makes the call"
        if clause.first and clause.first.actor == "user"
        else "make the call"
    )


def _render_conditions(conditions: Sequence[Condition]) -> str:
    return " and ".join(_render_condition(one) for one in conditions)


def _render_condition(condition: Condition) -> str:
    match condition:
        case StateCondition(row=row, field=field, op=op, value=value):
            owner = f"the {row[1:]}'s {field}" if row.startswith("$") else f"{field} of {row}"
            verb = {"is": "is", "is_not": "is not", "at_least": "is at least", "below": "is below"}[
                op
            ]
            return f"where {owner.replace('_', ' ')} {verb} {_render_value(value)} at the start"
        case WordsCondition(words=words, said=said):
            return (
                f"where the user {'says' if said else 'does not say'} "
                f"{' or '.join(map(canonical_json, words))}"
            )
        case CallCondition(call=call):
            return f"once the call {render_pattern(call)} was made"


def _render_told(clause: PolicyClause) -> str:
    words = (
        [f"in words such as {' or '.join(map(canonical_json, clause.words))}"]
        if clause.words
        else []
    )
    value = (
        [f"the {clause.told.row[1:]}'s {clause.told.field.replace('_', ' ')}"]
        if clause.told
        else []
    )
    return " and ".join([*value, *words])


def _render_value(value: Json) -> str:
    if isinstance(value, str):
        return f"the {value[1:]}" if value.startswith("$") else canonical_json(value)
    return (
        "yes"
        if value is True
        else "no"
        if value is False
        else "nothing"
        if value is None
        else render_leaf(value)
    )


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _space(text: str) -> str:
    return f" {text}" if text else ""
