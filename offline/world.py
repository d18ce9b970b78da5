"""The domain model at work: tells which rules a call breaks, and what state a permitted call leads
to.

It interprets the model, never the rendered program, so what it says is a second opinion on that
program.
"""

import ast
import operator
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from envmill.sandbox.results import settle_one
from offline.dice import make_dice
from offline.domain import (
    TODAY,
    Arguments,
    Collection,
    Domain,
    Operation,
    OperationParameter,
    Row,
    State,
    WriteStep,
)
from offline.formula import new_row, parse_expression, parse_statement
from schemas.environment import Call

FUNCTIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: operator.mod,
}  # fmt: skip


@dataclass
class DomainWorld:
    """One state of one domain on one day."""

    domain: Domain
    state: State
    day: date
    key: str
    """Seeds the ids of this world's rows."""
    ids: int = 0
    """Rows made so far."""

    def copy(self) -> "DomainWorld":
        """An independent copy; rows hold plain values only."""
        state = {
            name: {row_id: dict(row) for row_id, row in rows.items()}
            for name, rows in self.state.items()
        }
        return DomainWorld(self.domain, state, self.day, self.key, self.ids)

    def find_violations(self, operation: Operation, arguments: Arguments) -> list[str]:
        """Codes of every rule the call breaks, in the order the program checks them."""
        scope: dict[str, Any] = {**self.domain.bounds, **arguments}
        unknown = [
            each
            for each in operation.takes
            if each.row and arguments[each.name] not in self.state[each.row]
        ]
        if unknown:
            return [f"unknown_{self.domain.collections[each.row].noun}" for each in unknown]
        codes = [self._check_parameter(each, arguments[each.name]) for each in operation.takes]
        if any(each.day and code for each, code in zip(operation.takes, codes, strict=True)):
            return [code for code in codes if code]
        self._bind(operation, scope)
        codes += [
            "" if self.value(parse_expression(each.that), scope) else each.code
            for each in operation.must
        ]
        return [code for code in codes if code]

    def apply(self, operation: Operation, arguments: Arguments) -> None:
        """Carry out a call that breaks no rule."""
        scope: dict[str, Any] = {**self.domain.bounds, **arguments}
        self._bind(operation, scope)
        self._run(operation.then, scope)

    def set_right(self, row: Row, collection: Collection) -> None:
        """Make a first row's values agree, before it is one."""
        self._run(collection.then, {**self.domain.bounds, "row": row})

    def answer(self, operation: Operation, arguments: Arguments) -> Any:
        """Carry out a call that breaks no rule, and tell what it gives."""
        scope: dict[str, Any] = {**self.domain.bounds, **arguments}
        self._bind(operation, scope)
        self._run(operation.then, scope)
        return self.value(parse_expression(operation.gives), scope)

    def allows(self, operation: Operation, arguments: Arguments) -> bool:
        """Whether the call breaks no rule."""
        return not self.find_violations(operation, arguments)

    def _bind(self, operation: Operation, scope: dict[str, Any]) -> None:
        for each in operation.takes:
            if each.row:
                scope[each.local] = self.state[each.row][scope[each.name]]
            if each.day:
                scope[each.name] = date.fromisoformat(scope[each.name]).isoformat()
        self._run(operation.fetch, scope)

    def _run(self, steps: tuple[WriteStep, ...], scope: dict[str, Any]) -> None:
        for step in steps:
            self._execute(parse_statement(step.do), scope)

    def _check_parameter(self, parameter: OperationParameter, value: Any) -> str:
        """The code of what is wrong with a plain value; rows were looked up before."""
        name = parameter.name
        if parameter.between:
            low, high = (self.domain.bound(each) for each in parameter.between)
            return "" if low <= value <= high else f"{name}_out_of_range"
        if parameter.day:
            return "" if _is_date(value) else f"{name}_no_date"
        if parameter.text:
            return "" if value.strip() else f"{name}_missing"
        if parameter.one_of:
            return "" if value in parameter.one_of else f"unknown_{name}"
        if parameter.find:
            collection, attribute = parameter.find.split(".")
            hit = any(_matches(row[attribute], value) for row in self.state[collection].values())
            return "" if hit else f"no_{self.domain.collections[collection].noun}_found"
        return ""

    def value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        """What an expression comes to."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return scope[name]
            case ast.Attribute(value=owner, attr=name):
                return self.value(owner, scope)[name]
            case ast.Compare(left=left, ops=[operator_], comparators=[right]):
                return FUNCTIONS[type(operator_)](self.value(left, scope), self.value(right, scope))
            case ast.BinOp(left=left, op=operator_, right=right):
                return FUNCTIONS[type(operator_)](self.value(left, scope), self.value(right, scope))
            case ast.BoolOp(op=word, values=values):
                join = all if isinstance(word, ast.And) else any
                return join(self.value(each, scope) for each in values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.value(operand, scope)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand, scope)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self.value(body if self.value(test, scope) else other, scope)
            case ast.Tuple(elts=items):
                return tuple(self.value(each, scope) for each in items)
            case ast.Dict(keys=names, values=values):
                return {
                    self.value(name, scope): self.value(each, scope)
                    for name, each in zip(names, values, strict=True)
                    if name
                }
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(name, arguments, scope)
            case _:
                raise ValueError(f"formula cannot hold {ast.dump(node)}")

    def _call(self, name: str, arguments: list[ast.expr], scope: dict[str, Any]) -> Any:
        match name, arguments:
            case "today", []:
                return self.day.isoformat()
            case "after", [days]:
                return (self.day + timedelta(days=self.value(days, scope))).isoformat()
            case "later", [day, days]:
                return (
                    date.fromisoformat(self.value(day, scope))
                    + timedelta(days=self.value(days, scope))
                ).isoformat()
            case "days", [first, last]:
                return (
                    date.fromisoformat(self.value(last, scope))
                    - date.fromisoformat(self.value(first, scope))
                ).days
            case (("min" | "max"), [left, right]):
                return (min if name == "min" else max)(
                    self.value(left, scope), self.value(right, scope)
                )
            case "rounded", [amount]:
                return round(self.value(amount, scope), 2)
            case "page", [rows, most]:
                return self.value(rows, scope)[: self.value(most, scope)]
            case "matches", [text, query]:
                return _matches(self.value(text, scope), self.value(query, scope))
            case "get", [ast.Name(id=collection), key]:
                return self.state[collection][self.value(key, scope)]
            case "total", [ast.Name(id=collection), amount, where]:
                return sum(
                    self.value(amount, {**scope, "row": row})
                    for row in self._each(collection, where, scope)
                )
            case "highest", [ast.Name(id=collection), amount, where]:
                return max(
                    (
                        self.value(amount, {**scope, "row": row})
                        for row in self._each(collection, where, scope)
                    ),
                    default=0,
                )
            case (("count" | "rows"), [ast.Name(id=collection)]):
                rows = list(self.state[collection].values())
                return len(rows) if name == "count" else rows
            case (("count" | "some" | "rows" | "each"), [ast.Name(id=collection), where]):
                rows = self._each(collection, where, scope)
                return len(rows) if name == "count" else bool(rows) if name == "some" else rows
            case _:
                raise ValueError(f"formula knows no function {name} of {len(arguments)}")

    def _each(self, collection: str, where: ast.expr, scope: dict[str, Any]) -> list[Row]:
        return [
            row
            for row in self.state[collection].values()
            if self.value(where, {**scope, "row": row})
        ]

    def _execute(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="new")) as call
            ):
                scope[name] = self._make(call, scope)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                scope[name] = self.value(value, scope)
            case ast.Assign(targets=[ast.Attribute(value=owner, attr=name)], value=value):
                self.value(owner, scope)[name] = self.value(value, scope)
            case ast.AugAssign(
                target=ast.Attribute(value=owner, attr=name), op=operator_, value=value
            ):
                row = self.value(owner, scope)
                row[name] = FUNCTIONS[type(operator_)](row[name], self.value(value, scope))
            case ast.For(target=ast.Name(id=name), iter=rows, body=body):
                for row in self.value(rows, scope):
                    inner = {**scope, name: row}
                    for statement in body:
                        self._execute(statement, inner)
            case ast.If(test=test, body=body):
                for statement in body if self.value(test, scope) else []:
                    self._execute(statement, scope)
            case _:
                raise ValueError(f"formula cannot hold {ast.dump(node)}")

    def _make(self, call: ast.Call, scope: dict[str, Any]) -> Row:
        collection, values = new_row(call, self.domain)
        row = {"id": self.make_id(collection)} | {
            name: self.value(each, scope) for name, each in values.items()
        }
        self.state[collection][row["id"]] = row
        return row

    def make_id(self, collection: str) -> str:
        """An id of the form the runtime gives."""
        self.ids += 1
        token = make_dice(self.key, self.ids).getrandbits(32)
        return f"{self.domain.collections[collection].prefixes[0]}_{token:08x}"


def play_oracle(domain: Domain, initial: State, oracle: list[Call], days: int, key: str) -> State:
    """The end of a reference path on the domain model, some days later and with ids of its own."""
    world = DomainWorld(domain, initial, TODAY + timedelta(days=days), key).copy()
    results: dict[int, Any] = {}
    for call in oracle:
        operation = domain.operations[call.name]
        if operation.effect == "change" or call.label:
            answer = world.answer(operation, settle_one(call, results)[0].arguments)
            results[call.label] = deepcopy(answer)
    return world.state


def _matches(text: str, query: str) -> bool:
    return query.strip().lower() in text.lower()


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
