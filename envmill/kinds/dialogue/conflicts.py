"""Clauses that contradict each other or themselves, decided on their conditions alone.

clause ─► conditions by argument, not by the clause's own names ─► can both apply? does one imply the other? ─► faults, clauses named
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from schemas.base import Json
from schemas.dialogue import PolicyClause, StateCondition, WordsCondition
from schemas.scenario import CallPattern

_Subject = tuple[str, str]
"""What conditions compare: (argument that names the row, or the row itself; field)."""


class _Limits:
    """What conditions leave of one value."""

    def __init__(self, conditions: Sequence[StateCondition]) -> None:
        self.wanted = [one.value for one in conditions if one.op == "is"]
        self.refused = [one.value for one in conditions if one.op == "is_not"]
        self.least = max((one.value for one in conditions if one.op == "at_least"), default=None)
        self.most = min((one.value for one in conditions if one.op == "below"), default=None)

    def is_met(self) -> bool:
        """Whether some value is left."""
        if self.wanted:
            return all(one == self.wanted[0] for one in self.wanted) and self.holds(self.wanted[0])
        return self.least is None or self.most is None or self.least < self.most

    def holds(self, value: Json) -> bool:
        """Whether a value is not excluded."""
        if value in self.refused or (
            (self.least is not None or self.most is not None) and not _is_number(value)
        ):
            return False
        return (self.least is None or value >= self.least) and (
            self.most is None or value < self.most
        )

    def implies(self, other: "_Limits") -> bool:
        """Whether each value that is left here is left there."""
        if self.wanted:
            return other.holds(self.wanted[0]) and all(
                one == self.wanted[0] for one in other.wanted
            )
        known = [*self.refused]
        least = other.least is None or (self.least is not None and self.least >= other.least)
        most = other.most is None or (self.most is not None and self.most <= other.most)
        return (
            not other.wanted
            and least
            and most
            and all(one in known or not self.holds(one) for one in other.refused)
        )


def find_conflicts(clauses: Sequence[PolicyClause]) -> Iterator[str]:
    """Each contradiction, with the clauses named."""
    for clause in clauses:
        if not _can_apply(clause):
            yield f"Clause {clause.id} contradicts itself: its conditions never hold together."
    for one, other in combinations(clauses, 2):
        if reason := _find_conflict(one, other) or _find_conflict(other, one):
            yield f"Clause {one.id} contradicts clause {other.id}: {reason}."
    for clause in clauses:
        allowing = [
            one for one in clauses if one.effect == "allow" and _meets(one.call, clause.call)
        ]
        if (
            clause.effect == "hand_over"
            and allowing
            and not any(_can_apply(clause, one) for one in allowing)
        ):
            named = ", ".join(one.id for one in allowing)
            yield (
                f"Clause {clause.id} contradicts clause {named}: {clause.id} asks for "
                f"`{clause.call.name}` where it is not allowed."
            )
    yield from _find_orders(clauses)


def _find_conflict(one: PolicyClause, other: PolicyClause) -> str:
    """Why both cannot be followed, seen from the first."""
    obliged = _list_obliged(one)
    if other.effect == "forbid" and not any(each.on == "call" for each in other.when):
        for call in obliged:
            if (
                _covers(other.call, call)
                and _can_apply(one, other)
                and (one.effect == "hand_over" or _implies(one, other))
            ):
                return f"{one.id} asks for `{call.name}`, which {other.id} forbids"
        if one.effect == "allow" and _covers(other.call, one.call) and _implies(one, other):
            return f"{other.id} forbids `{one.call.name}` wherever {one.id} allows it"
    if (
        one.effect == other.effect == "hand_over"
        and _can_apply(one, other)
        and _differ(one.call, other.call)
    ):
        return "both hand over where they apply, in different ways"
    return ""


def _list_obliged(clause: PolicyClause) -> list[CallPattern]:
    """Calls that a clause asks for."""
    if clause.effect == "hand_over":
        return [clause.call]
    return [clause.first] if clause.effect == "first" and clause.first else []


def _find_orders(clauses: Sequence[PolicyClause]) -> Iterator[str]:
    """Circles of calls, each of which must come before the next."""
    orders = [clause for clause in clauses if clause.effect == "first" and clause.first]
    for clause in orders:
        path = _find_circle(clause, orders, [clause])
        if path and clause.id == min(one.id for one in path):
            named = ", ".join(one.id for one in path)
            yield (
                f"Clauses {named} contradict each other: each asks for the other's call first, "
                "so that none is ever made."
            )


def _find_circle(
    start: PolicyClause, orders: Sequence[PolicyClause], path: list[PolicyClause]
) -> list[PolicyClause]:
    first = path[-1].first
    for clause in orders if first else ():
        if first is None or not _meets(first, clause.call) or not _can_apply(path[-1], clause):
            continue
        if clause is start:
            return path
        if clause not in path and (found := _find_circle(start, orders, [*path, clause])):
            return found
    return []


def _meets(one: CallPattern, other: CallPattern) -> bool:
    """Whether a call can be one of both."""
    if one.name != other.name and one.name and other.name:
        return False
    shared = one.arguments.keys() & other.arguments.keys()
    return not any(
        _is_fixed(one.arguments[name])
        and _is_fixed(other.arguments[name])
        and _differ_at(one, other, name)
        for name in shared
    )


def _covers(wide: CallPattern, call: CallPattern) -> bool:
    """Whether each call that fits the second fits the first."""
    fixed = {name: value for name, value in wide.arguments.items() if _is_fixed(value)}
    return _meets(wide, call) and all(
        name in call.arguments and call.arguments[name] == value for name, value in fixed.items()
    )


def _differ(one: CallPattern, other: CallPattern) -> bool:
    """Whether no call is one of both, or the tools are different ones."""
    return one.name != other.name or not _meets(one, other)


def _differ_at(one: CallPattern, other: CallPattern, name: str) -> bool:
    return one.arguments[name] != other.arguments[name]


def _is_fixed(value: Json) -> bool:
    return not (isinstance(value, str) and value.startswith("$"))


def _can_apply(*clauses: PolicyClause) -> bool:
    """Whether the conditions of all can hold together. A row is the same where it is one
    collection's under one argument name, or is named
    by its key."""
    limits = _limit(*clauses)
    words = [
        (word.casefold(), one.said)
        for clause in clauses
        for one in clause.when
        if isinstance(one, WordsCondition)
        for word in one.words
    ]
    unsaid = {word for word, said in words if not said}
    sayable = all(
        not {word.casefold() for word in one.words} <= unsaid
        for clause in clauses
        for one in clause.when
        if isinstance(one, WordsCondition) and one.said
    )
    return sayable and all(_Limits(conditions).is_met() for conditions in limits.values())


def _implies(one: PolicyClause, other: PolicyClause) -> bool:
    """Whether the second applies wherever the first does."""
    here, there = _limit(one), _limit(other)
    words = {
        (tuple(each.words), each.said) for each in one.when if isinstance(each, WordsCondition)
    }
    worded = all(
        (tuple(each.words), each.said) in words
        for each in other.when
        if isinstance(each, WordsCondition)
    )
    return worded and all(
        subject in here and _Limits(here[subject]).implies(_Limits(limit))
        for subject, limit in there.items()
    )


def _limit(*clauses: PolicyClause) -> Mapping[_Subject, list[StateCondition]]:
    found = dict[_Subject, list[StateCondition]]()
    for clause in clauses:
        places = _place_rows(clause)
        for condition in clause.when:
            if isinstance(condition, StateCondition):
                found.setdefault(
                    (places.get(condition.row, condition.row), condition.field), []
                ).append(condition)
    return found


def _place_rows(clause: PolicyClause) -> dict[str, str]:
    """`$name` → where a row comes from that no other clause need call so: its collection and the
    argument that holds it."""
    calls = [call for call in (clause.call, clause.first) if call]
    return {
        value: f"{clause.rows[value]} of {name}"
        for call in calls
        for name, value in call.arguments.items()
        if isinstance(value, str) and value in clause.rows
    }


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
