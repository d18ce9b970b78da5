"""The small language of conditions and effects: a subset of Python's syntax, parsed once, then
rendered as source.

    member.status == 'active'                              a row's attribute
    count(loans, row.member_id == member.id) < max_loans   a fold over a collection; `max_loans` is
    a limit
    loan = new(loans, member_id=member.id, due_on=after(days))
    for row in each(holds, row.tool_id == tool.id): row.status = 'lapsed'
    fee = max(0, days(loan.due_on, today()) * 2)           also min, rounded (two decimals), page(rows(…), 200), //, %, and `a if c else b`

`world` gives the same trees their meaning; nothing here is ever executed by Python.
"""

import ast
import json
import string
from collections.abc import Callable
from functools import cache

from offline.domain import Domain
from offline.query import render_fold

OPERATORS: dict[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
OPPOSITES = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "in": "not in",
    "not in": "in",
}
PLAIN: dict[str, str] = {
    "today": "now().date().isoformat()",
    "after": "(now() + timedelta(days={0})).date().isoformat()",
    "later": "(date.fromisoformat({0}) + timedelta(days={1})).isoformat()",
    "days": "(date.fromisoformat({1}) - date.fromisoformat({0})).days",
    "min": "min({0}, {1})",
    "max": "max({0}, {1})",
    "rounded": "round({0}, 2)",
    "page": "{0}[:{1}]",
    "matches": "{1}.strip().lower() in {0}.lower()",
}
FOLDS: dict[str, str] = {
    "count": "sum(1 for row in self.{0}.values() if {1})",
    "total": "sum({1} for row in self.{0}.values() if {2})",
    "highest": "max(({1} for row in self.{0}.values() if {2}), default=0)",
    "some": "any({1} for row in self.{0}.values())",
    "rows": "[dict(row) for row in self.{0}.values() if {1}]",
    "each": "[row for row in self.{0}.values() if {1}]",
    "get": "self.{0}[{1}]",
}
WHOLE: dict[str, str] = {
    "count": "len(self.{0})",
    "rows": "[dict(row) for row in self.{0}.values()]",
}


@cache
def parse_expression(text: str) -> ast.expr:
    """The tree of a condition or value."""
    return ast.parse(text, mode="eval").body


@cache
def parse_statement(text: str) -> ast.stmt:
    """The tree of one effect."""
    return ast.parse(text).body[0]


def render(node: ast.expr, domain: Domain) -> str:
    """An expression as source of a method."""
    match node:
        case ast.Constant(value=str() as text):
            return json.dumps(text, ensure_ascii=False)
        case ast.Constant(value=value):
            return repr(value)
        case ast.Name(id=name):
            return name.upper() if name in domain.limits else name
        case ast.Attribute(value=owner, attr=name):
            return f'{render(owner, domain)}["{name}"]'
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return f"{render(left, domain)} {OPERATORS[type(operator)]} {render(right, domain)}"
        case ast.BinOp(left=left, op=operator, right=right):
            return f"{_inner(left, domain)} {OPERATORS[type(operator)]} {_inner(right, domain)}"
        case ast.BoolOp(op=operator, values=values):
            word = " and " if isinstance(operator, ast.And) else " or "
            return word.join(_inner(value, domain) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"not {_inner(operand, domain)}"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_inner(operand, domain)}"
        case ast.IfExp(test=test, body=body, orelse=other):
            return (
                f"({render(body, domain)} if {render(test, domain)} else {render(other, domain)})"
            )
        case ast.Tuple(elts=items):
            return f"({', '.join(render(item, domain) for item in items)})"
        case ast.Dict(keys=keys, values=values):
            pairs = (
                f"{render(key, domain)}: {render(value, domain)}"
                for key, value in zip(keys, values, strict=True)
                if key
            )
            return f"{{{', '.join(pairs)}}}"
        case ast.Call() if asked := CALLS[domain.kind](node, domain):
            return asked
        case ast.Call(func=ast.Name(id=name), args=arguments):
            parts = [render(each, domain) for each in arguments]
            forms = WHOLE if name in WHOLE and len(parts) == 1 else PLAIN | FOLDS
            return forms[name].format(*parts)
        case _:
            raise ValueError(f"formula cannot hold {ast.dump(node)}")


def _render_query(node: ast.Call, domain: Domain) -> str:
    """A call that asks the database; empty for any other."""
    match node:
        case ast.Call(func=ast.Name(id="get"), args=[ast.Name(id=collection), key]):
            return (
                f'self._find("{collection}", {render(key, domain)}, '
                f'"{domain.collections[collection].noun}")'
            )
        case _:
            return render_fold(node, lambda each: render(each, domain))


CALLS: dict[str, Callable[[ast.Call, Domain], str]] = {
    "stateful": lambda _call, _domain: "",
    "sql": _render_query,
}
"""Kind → how a call of the language is rendered there; empty where there is no difference."""


def _inner(node: ast.expr, domain: Domain) -> str:
    text = render(node, domain)
    return f"({text})" if isinstance(node, ast.BoolOp | ast.BinOp) else text


def render_refusal(text: str, domain: Domain) -> str:
    """The condition under which a rule is broken, in the plainest form."""
    match parse_expression(text):
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return (
                f"{render(left, domain)} {OPPOSITES[OPERATORS[type(operator)]]} "
                f"{render(right, domain)}"
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return render(operand, domain)
        case node:
            return f"not {_inner(node, domain)}"


def render_statement(node: ast.stmt, domain: Domain) -> list[str]:
    """One effect as lines of a method."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="new")) as call
        ):
            return _render_new(name, call, domain)
        case ast.Assign(targets=[target], value=value):
            return [f"{render(target, domain)} = {render(value, domain)}"]
        case ast.AugAssign(target=target, op=operator, value=value):
            return [
                f"{render(target, domain)} {OPERATORS[type(operator)]}= {render(value, domain)}"
            ]
        case ast.For(target=target, iter=rows, body=body):
            return [
                f"for {render(target, domain)} in {render(rows, domain)}:",
                *_indent(body, domain),
            ]
        case ast.If(test=test, body=body):
            return [f"if {render(test, domain)}:", *_indent(body, domain)]
        case _:
            raise ValueError(f"formula cannot hold {ast.dump(node)}")


def _indent(body: list[ast.stmt], domain: Domain) -> list[str]:
    return ["    " + line for statement in body for line in render_statement(statement, domain)]


def _render_new(name: str, call: ast.Call, domain: Domain) -> list[str]:
    collection, values = new_row(call, domain)
    pairs = [f'    "{attribute}": {render(value, domain)},' for attribute, value in values.items()]
    key = domain.collections[collection].prefixes[0]
    return [
        f"{name} = {{",
        f'    "id": new_id("{key}"),',
        *pairs,
        "}",
        f'self.{collection}[{name}["id"]] = {name}',
    ]


def new_row(call: ast.Call, domain: Domain) -> tuple[str, dict[str, ast.expr]]:
    """Collection and attributes of a `new(...)`; attributes this variation lacks fall away."""
    collection = render(call.args[0], domain)
    known = domain.collections[collection].attributes
    return collection, {each.arg: each.value for each in call.keywords if each.arg in known}


def fill(template: str, put: Callable[[str], str]) -> str:
    """Put something in the place of every `{field}`."""
    parts = string.Formatter().parse(template)
    return "".join(
        literal + (put(field) if field is not None else "") for literal, field, _, _ in parts
    )


def render_text(template: str, domain: Domain) -> str:
    """A message with fields as a string literal, an f-string where it needs to be."""
    text = fill(
        template,
        lambda field: "{" + render(parse_expression(field), domain).replace('"', "'") + "}",
    )
    return ("f" if "{" in text else "") + f'"{text}"'
