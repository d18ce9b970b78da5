"""Gives collections, operations and limits of a domain other names, wherever conditions, effects
and texts mention them."""

import ast
from dataclasses import dataclass, replace
from functools import cache

from offline.domain import (
    Attribute,
    Collection,
    Domain,
    Operation,
    OperationParameter,
    Rule,
    WriteStep,
)
from offline.formula import FOLDS, fill


@dataclass(frozen=True)
class Renaming:
    """Old name → new name; what is not named keeps its name."""

    collections: dict[str, str]
    operations: dict[str, str]
    limits: dict[str, str]


class _Renamer(ast.NodeTransformer):
    """A collection stands only where a fold or `new` begins; any other plain name may be a
    limit."""

    def __init__(self, names: Renaming) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in {*FOLDS, "new"}
            and isinstance(first := node.args[0], ast.Name)
        ):
            rest = [self.visit(each) for each in node.args[1:]]
            node.args = [ast.Name(self._names.collections.get(first.id, first.id)), *rest]
        else:
            node.args = [self.visit(each) for each in node.args]
        node.keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.limits.get(node.id, node.id))


def rename_domain(domain: Domain, names: Renaming) -> Domain:
    """The same domain under other names."""
    return replace(
        domain,
        limits={names.limits.get(name, name): values for name, values in domain.limits.items()},
        collections={
            names.collections.get(name, name): _rename_collection(each, names)
            for name, each in domain.collections.items()
        },
        operations={
            (new := names.operations.get(name, name)): _rename_operation(new, each, names)
            for name, each in domain.operations.items()
        },
    )


def _rename_collection(collection: Collection, names: Renaming) -> Collection:
    lookup = replace(
        collection.lookup, call=names.operations.get(collection.lookup.call, collection.lookup.call)
    )
    return replace(
        collection,
        lookup=lookup,
        attributes={
            name: _rename_attribute(each, names) for name, each in collection.attributes.items()
        },
        then=tuple(_rename_step(each, names) for each in collection.then),
    )


def _rename_attribute(attribute: Attribute, names: Renaming) -> Attribute:
    return replace(attribute, ref=names.collections.get(attribute.ref, attribute.ref))


def _rename_operation(name: str, operation: Operation, names: Renaming) -> Operation:
    return replace(
        operation,
        name=name,
        takes=tuple(_rename_parameter(each, names) for each in operation.takes),
        fetch=tuple(_rename_step(each, names) for each in operation.fetch),
        must=tuple(_rename_rule(each, names) for each in operation.must),
        then=tuple(_rename_step(each, names) for each in operation.then),
        gives=_rename_formula(operation.gives, names),
    )


def _rename_parameter(parameter: OperationParameter, names: Renaming) -> OperationParameter:
    found, _, attribute = parameter.find.partition(".")
    low, high = parameter.between or (0, 0)
    bounds = tuple(
        names.limits.get(each, each) if isinstance(each, str) else each for each in (low, high)
    )
    return replace(
        parameter,
        row=names.collections.get(parameter.row, parameter.row),
        find=f"{names.collections.get(found, found)}.{attribute}" if found else "",
        between=(bounds[0], bounds[1]) if parameter.between else None,
    )


def _rename_step(step: WriteStep, names: Renaming) -> WriteStep:
    return replace(step, do=_rename_formula(step.do, names))


def _rename_rule(rule: Rule, names: Renaming) -> Rule:
    return replace(
        rule,
        that=_rename_formula(rule.that, names),
        says=fill(rule.says, lambda field: "{" + _rename_formula(field, names) + "}"),
        rule=fill(rule.rule, lambda field: "{" + _rename_formula(field, names) + "}"),
    )


def _rename_formula(text: str, names: Renaming) -> str:
    return (
        _rename_text(text, tuple(names.collections.items()), tuple(names.limits.items()))
        if text
        else text
    )


@cache
def _rename_text(
    text: str, collections: tuple[tuple[str, str], ...], limits: tuple[tuple[str, str], ...]
) -> str:
    renamed = ast.fix_missing_locations(
        _Renamer(Renaming(dict(collections), {}, dict(limits))).visit(ast.parse(text))
    )
    # One line, as the data writes it: the block under a `for` or `if` comes back on lines of its
    # own.
    head, *block = ast.unparse(renamed).split("\n")
    return f"{head} {'; '.join(line.strip() for line in block)}" if block else head
