"""Finds orders that depend on chance. Reads are repeated on states with longer ids, so that sets
are iterated in other orders.

A set of two often has the same order in another process. A suffix on each id keeps the ids in order
and changes their hashes: each variant of a state serves as another process.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.rows import list_keys
from envmill.gates.mutating.syntax import list_nodes
from envmill.kinds.start import CLOCK
from envmill.sandbox import Invoke, Reset, Step
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Environment

SEED = 0
_STARTS, _READS = 2, 48
"""Number of states that get variants, and of reads on each."""
_SUFFIXES = ("", "0", "00", "000", "0000", "00000")
"""Suffixes of ids. Zeros keep their order, by letters and by number."""
_NAMES = frozenset(("set", "frozenset", "hash", "id"))
_MAKERS = (ast.Set, ast.SetComp, ast.Name, ast.BinOp)
_VIEWS = frozenset(("keys", "items"))
_ORDERLESS = frozenset(("len", "sorted", "min", "max", "any", "all"))


def could_vary_order(environment: Environment) -> bool:
    """Whether the program makes sets, or uses hashes or addresses. True if it cannot be parsed."""
    return any(nodes is None or _varies_order(nodes) for _, nodes in list_nodes(environment))


def _varies_order(nodes: Sequence[ast.AST]) -> bool:
    makers = [node for node in nodes if isinstance(node, _MAKERS) and _makes_set(node)]
    harmless = {
        id(part)
        for node in nodes
        if makers
        for one in _list_orderless(node)
        for part in (one, getattr(one, "func", one))
    }
    return any(id(node) not in harmless for node in makers)


def _list_orderless(node: ast.AST) -> Iterator[ast.AST]:
    """Parts whose order has no effect: they are only searched, counted or sorted."""
    match node:
        case ast.Compare(ops=ops, comparators=others):
            yield from (
                other
                for op, other in zip(ops, others, strict=True)
                if isinstance(op, ast.In | ast.NotIn)
            )
        case ast.Call(func=ast.Name(id=name), args=given) if name in _ORDERLESS:
            yield from given
        case _:
            return


def _makes_set(node: ast.AST) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=name):
            return name in _NAMES
        case ast.BinOp(left=one, right=other):
            return any(
                isinstance(side, ast.Call)
                and isinstance(side.func, ast.Attribute)
                and side.func.attr in _VIEWS
                for side in (one, other)
            )
        case _:
            return False


def list_variants(exploration: ExplorationRun) -> list[list[Step]]:
    """Sessions of reads on every variant of the start states."""
    plans: list[list[Step]] = []
    for start in exploration.starts[:_STARTS]:
        reads = _list_reads(exploration, start)
        known = {key for keys in list_keys(start).values() for key in keys}
        for suffix in _SUFFIXES:
            names = {key: key + suffix for key in known}
            calls = [
                call.model_copy(update={"arguments": _rename(call.arguments, names)})
                for call in reads
            ]
            plans.append([Reset(_rename(start, names), CLOCK, SEED), *map(Invoke, calls)])
    return plans


def _list_reads(exploration: ExplorationRun, start: Json) -> Sequence[Call]:
    """Reads of a start state, those first whose answers contain lists of several entries."""
    asked = [
        observed
        for observed in exploration.calls
        if observed.start is start
        and not observed.route
        and exploration.is_query(observed.call.name)
    ]
    done = sorted(
        (observed for observed in asked if observed.seen.outcome == "ok"),
        key=_is_list,
        reverse=True,
    )
    calls = {
        canonical_json([observed.call.name, observed.call.arguments]): observed.call
        for observed in done
    }
    return list(calls.values())[:_READS]


def _is_list(observed: ObservedCall) -> bool:
    return any(len(one) > 1 for one in _find_lists(observed.seen.parts))


def _find_lists(value: Json) -> Iterator[Sequence[Json]]:
    left: list[Json] = list(value)
    while left:
        one = left.pop()
        if is_array(one):
            yield one
            left.extend(one)
        elif is_object(one):
            left.extend(one.values())


def _rename(value: Json, names: Mapping[str, str]) -> Json:
    """The value with every key and text replaced that is in `names`."""
    if is_array(value):
        return [_rename(one, names) for one in value]
    if is_object(value):
        return {names.get(key, key): _rename(one, names) for key, one in value.items()}
    return names.get(value, value) if isinstance(value, str) else value
