"""What is left of an environment when names and literals are erased, how many different ones a
sample promises, and how far a tool reaches.

program ──erase──► tool bodies ──with the collections they touch──► rule graph ──digest──► shape
"""

import ast
from collections import Counter
from collections.abc import Iterable
from math import comb

from offline.domain import Domain
from offline.formula import parse_statement, render_statement
from schemas.base import digest

ROUNDS = 3
"""How far a tool's label spreads over shared collections; a domain's graph is no wider."""


def shape(source: str) -> str:
    """Digest of a program's tools and of how they share collections; no name, no literal, no order
    goes into it."""
    methods = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name != "__init__"
    ]
    labels = {method.name: erase(method) for method in methods}
    touched = {method.name: _list_collections(method) for method in methods}
    for _ in range(ROUNDS):
        shared = {
            each: digest(sorted(labels[name] for name in labels if each in touched[name]))
            for each in _all(touched.values())
        }
        labels = {
            name: digest([label, sorted(shared[each] for each in touched[name])])
            for name, label in labels.items()
        }
    return digest(sorted(labels.values()))


def erase(method: ast.FunctionDef) -> str:
    """A method's tree with every name numbered by first use and every literal gone."""
    body = method.body[1:] if ast.get_docstring(method) else method.body
    numbers: dict[str, str] = {}
    return "\n".join(_tell(node, numbers) for node in [method.args, *body])


def _tell(node: ast.AST, numbers: dict[str, str]) -> str:
    match node:
        case ast.Constant():
            return "#"
        case ast.JoinedStr():
            return "#"
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            number = numbers.setdefault(name, f"v{len(numbers)}")
            return (
                f"{number}.{_tell(node.value, numbers)}"
                if isinstance(node, ast.Attribute)
                else number
            )
        case _:
            parts = ",".join(_tell(child, numbers) for child in ast.iter_child_nodes(node))
            return f"{type(node).__name__}({parts})"


def _list_collections(method: ast.FunctionDef) -> set[str]:
    owned = (
        node
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_")
    )
    return {
        node.attr for node in owned if isinstance(node.value, ast.Name) and node.value.id == "self"
    }


def _all(sets: Iterable[set[str]]) -> list[str]:
    return sorted({each for found in sets for each in found})


def rarefy(shapes: list[str], size: int) -> float:
    """How many different shapes a random part of that size would hold."""
    total, counts = len(shapes), Counter(shapes).values()
    return sum(1 - comb(total - each, size) / comb(total, size) for each in counts)


def guess_unseen(shapes: list[str]) -> float:
    """Good–Turing: the chance that the next environment has a shape nobody saw."""
    return sum(times == 1 for times in Counter(shapes).values()) / len(shapes)


def list_touched(domain: Domain, name: str) -> set[str]:
    """Collections whose rows an operation writes, by the names its effects use."""
    operation = domain.operations[name]
    owners = {each.local: each.row for each in operation.takes if each.row}
    touched = set[str]()
    for step in (*operation.fetch, *operation.then):
        for line in render_statement(parse_statement(step.do), domain):
            touched |= _read_line(line.strip(), owners)
    return touched | {owners[each.row] for each in operation.moves if each.row in owners}


def _read_line(line: str, owners: dict[str, str]) -> set[str]:
    left, _, right = line.partition(" = ")
    if left.isidentifier() and right.startswith("self."):
        owners[left] = right.removeprefix("self.").split("[")[0]
    elif line.startswith("for "):
        owners[line.split()[1]] = line.split("self.")[1].split(".")[0]
    elif line.startswith("self."):
        return {line.removeprefix("self.").split("[")[0]}
    elif '["' in line and ("= " in line.split("]", 1)[1]) and line.split("[")[0] in owners:
        return {owners[line.split("[")[0]]}
    return set()
