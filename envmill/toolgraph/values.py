"""Values: what the source of an argument yields at its place in a chain, and whether the argument
may take it.

source ──resolve──► Value (what it means, how many) or a code that says why there is none ──may_go──► "" or a code
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from envmill.toolgraph.fitting import find_refusal
from envmill.toolgraph.graph import ToolGraph
from envmill.toolgraph.parameters import ToolParameter
from envmill.toolgraph.words import REFERENCES
from schemas.chain import FromItem, FromNode, FromRecord, FromUser, Rule, Source

_CODES = {
    "another entity": "another_entity",
    "type": "wrong_type",
    "format": "wrong_type",
    "choices": "wrong_type",
}
_NUMBERS = ("integer", "number")


@dataclass(frozen=True, slots=True)
class Value:
    """The value that a source yields: a parameter's value, or one derived from values."""

    parameter: ToolParameter | None = None
    """Parameter whose value it is; None for what the user says and for computed values."""
    many: int = 0
    """Number of lists around it from which no node has chosen."""
    rule: Rule | None = None
    """How it was computed, if it is no parameter's value."""
    type: str = ""


SAID = Value()
"""A value that the user says."""


@dataclass
class Scope:
    """What a node at this place can refer to. It grows along a chain, and is copied for nodes that
    happen only under a condition."""

    steps: dict[str, int] = field(default_factory=dict[str, int])
    """Step → its tool."""
    reasons: dict[str, Value] = field(default_factory=dict[str, Value])
    loops: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    """Enclosing loop → the tool whose reply it iterates over, and the list's path."""
    holds: frozenset[str] = frozenset()
    """Statements that are true here."""
    gone: frozenset[Source] = frozenset()
    """Sources of references to things that an earlier step has ended."""

    def copy(self) -> "Scope":
        return Scope(dict(self.steps), dict(self.reasons), dict(self.loops), self.holds, self.gone)


def resolve(graph: ToolGraph, scope: Scope, source: Source) -> Value | str:
    """The value, or the code of the reason why there is none here."""
    if isinstance(source, FromUser):
        return SAID
    if isinstance(source, FromRecord):
        column = graph.parameters.column_by_path.get(f"{source.table}.{source.column}")
        return "no_record" if column is None else Value(column, type=column.type)
    if isinstance(source, FromItem):
        return _resolve_item(graph, scope, source)
    return _resolve_node(graph, scope, source)


def _resolve_node(graph: ToolGraph, scope: Scope, source: FromNode) -> Value | str:
    if source.node in scope.reasons:
        return "no_output" if source.path else scope.reasons[source.node]
    if source.node not in scope.steps:
        return "not_there_yet"
    given = graph.parameters.out_by_path[scope.steps[source.node]].get(source.path)
    return "no_output" if given is None else Value(given, given.depth, type=given.type)


def _resolve_item(graph: ToolGraph, scope: Scope, source: FromItem) -> Value | str:
    if source.loop not in scope.loops:
        return "not_in_loop"
    tool, around = scope.loops[source.loop]
    given = graph.parameters.out_by_path[tool].get(source.path)
    if given is None or not (source.path == around or source.path.startswith(f"{around}.")):
        return "no_output"
    return Value(given, given.depth - around.count("[]"), type=given.type)


def may_go(graph: ToolGraph, value: Value, taker: ToolParameter) -> str:
    """Code of the reason why the argument may not take the value; empty if it may. The graph must
    have a link between the two."""
    if value is SAID:
        return "" if taker.told else "not_said"
    if value.rule is not None:
        return _may_computed_go(value, taker)
    if value.parameter is None:
        return "not_linked"
    if refusal := find_refusal(graph.parameters, value.parameter, taker):
        return _CODES.get(refusal, "not_linked")
    if value.parameter.index not in graph.suppliers.get(taker.index, _NOTHING):
        return "not_linked"
    return "many" if value.many > taker.depth else ""


_NOTHING: Mapping[int, object] = {}


def _may_computed_go(value: Value, taker: ToolParameter) -> str:
    """A computed number may go into a number, a computed text into a free text. A computed value
    never names a thing."""
    if taker.words[-1] in REFERENCES or taker.is_control or taker.choices or taker.format:
        return "another_entity"
    if value.type in _NUMBERS:
        return "" if taker.type == "number" or taker.type == value.type else "wrong_type"
    return "" if taker.type == value.type else "wrong_type"


def derive(graph: ToolGraph, scope: Scope, rule: Rule, takes: list[Source]) -> Value | str:
    """The value of a reasoning node, or the code of the reason why it has none."""
    if not takes:
        return "unfed"
    values = list[Value]()
    for source in takes:
        value = resolve(graph, scope, source)
        if isinstance(value, str):
            return value
        values.append(value)
    if all(value is SAID for value in values):
        return "unfed"
    return _RULES[rule](values)


def _choose(values: list[Value]) -> Value | str:
    """One of many, chosen by what the user says or by another value of the same list."""
    chosen, *by = values
    if chosen.parameter is None or not chosen.many or len(by) > 1:
        return "underivable"
    if by and by[0] is not SAID and not _stand_together(chosen, by[0]):
        return "underivable"
    return Value(chosen.parameter, chosen.many - 1, type=chosen.type)


def _stand_together(one: Value, other: Value) -> bool:
    """Whether both values are in the items of the same list."""
    mine, yours = one.parameter, other.parameter
    if mine is None or yours is None or mine.owner != yours.owner:
        return False
    return mine.path.rpartition("[]")[0] == yours.path.rpartition("[]")[0]


def _count(values: list[Value]) -> Value | str:
    return (
        Value(rule="count", type="integer")
        if len(values) == 1 and values[0].many == 1
        else "underivable"
    )


def _total(values: list[Value]) -> Value | str:
    one = values[0]
    return (
        Value(rule="total", type=one.type)
        if len(values) == 1 and one.many == 1 and one.type in _NUMBERS
        else "underivable"
    )


def _difference(values: list[Value]) -> Value | str:
    if len(values) != 2 or any(one.many or one.type not in _NUMBERS for one in values):
        return "underivable"
    return Value(
        rule="difference",
        type="number" if "number" in (values[0].type, values[1].type) else "integer",
    )


def _compose(values: list[Value]) -> Value | str:
    return (
        "underivable" if any(one.many for one in values) else Value(rule="compose", type="string")
    )


_RULES = {
    "choose": _choose,
    "count": _count,
    "total": _total,
    "difference": _difference,
    "compose": _compose,
}
