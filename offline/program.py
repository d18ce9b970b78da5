"""The program: the domain model as Python source, one class whose public methods are the tools."""

import re
import textwrap

from offline.blueprint import list_rules
from offline.domain import Domain, Operation, OperationParameter, Rule
from offline.formula import parse_expression, render, render_refusal, render_text
from offline.renderings import RENDERINGS

Lines = list[str]


def name_class(domain: Domain) -> str:
    """Class name out of the environment's title."""
    return "".join(word.capitalize() for word in re.findall(r"[A-Za-z]+", domain.names[0]))


def write_program(domain: Domain, operations: dict[str, Operation] | None = None) -> str:
    """Module text of a variation; other operations than the domain's own give a faulty one."""
    form = RENDERINGS[domain.kind]
    methods = [
        line
        for each in (operations or domain.operations).values()
        for line in ["", *_write_method(each, domain)]
    ]
    body = [*form.write_constructor(domain), "", *form.finder, *methods]
    limits = _write_limits(domain, "\n".join(body))
    docstring = [
        f'    """{domain.text}',
        "",
        "    Rules:",
        *(f"    - {rule}" for rule in list_rules(domain)),
        '    """',
        "",
    ]
    parts = [
        *_write_imports("\n".join(body)),
        "",
        *limits,
        "",
        f"class {name_class(domain)}:",
        *docstring,
        *_indent(body),
    ]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _write_imports(body: str) -> Lines:
    dates = [
        name
        for name in ("date", "timedelta")
        if f"{name}(" in body or f"{name}." in body.replace("().date()", "")
    ]
    runtime = ["Rejection", *(name for name in ("actors", "new_id", "now") if f"{name}(" in body)]
    lines = [
        *(["import copy"] if "copy." in body else []),
        *([f"from datetime import {', '.join(dates)}"] if dates else []),
        "from typing import Any",
        "",
    ]
    return [*lines, f"from envmill.runtime import {', '.join(runtime)}"]


def _write_limits(domain: Domain, body: str) -> Lines:
    used = {name: value for name, value in domain.bounds.items() if name.upper() in body}
    return [f"{name.upper()} = {value}" for name, value in used.items()] + [""] * bool(used)


def _write_method(operation: Operation, domain: Domain) -> Lines:
    form = RENDERINGS[domain.kind]
    arguments = ", ".join(
        ["self", *(f"{each.name}: {each.annotation}" for each in operation.takes)]
    )
    gives = (
        "list[dict[str, Any]]"
        if operation.gives.startswith(("rows(", "page("))
        else "dict[str, Any]"
    )
    body = [
        *_write_docstring(operation, domain),
        *(
            f"{each.local} = self._find({form.render_collection(each.row)}, {each.name}, "
            f'"{domain.collections[each.row].noun}")'
            for each in operation.takes
            if each.row
        ),
        *(line for each in operation.takes for line in _write_guard(each, domain)),
        *form.write_steps(operation, operation.fetch, domain),
        *(line for rule in operation.must for line in _write_rule(rule, domain)),
        *form.write_steps(operation, operation.then, domain),
        f"return {form.render_result(operation, domain)}",
    ]
    marked = [] if operation.actor == "agent" else [f'@actors("{operation.actor}")']
    return [*marked, f"def {operation.name}({arguments}) -> {gives}:", *_indent(body)]


def _write_docstring(operation: Operation, domain: Domain) -> Lines:
    if not operation.takes:
        return [f'"""{operation.does}"""']
    told = [f"    {each.name}: {_describe(each, domain)}" for each in operation.takes]
    return [f'"""{operation.does}', "", "Args:", *told, '"""']


def _describe(parameter: OperationParameter, domain: Domain) -> str:
    if parameter.between:
        low, high = (domain.bound(each) for each in parameter.between)
        return f"{parameter.about} From {low} to {high}."
    if parameter.one_of:
        return f"{parameter.about} One of {', '.join(parameter.one_of)}."
    return parameter.about


def _write_guard(parameter: OperationParameter, domain: Domain) -> Lines:
    name = parameter.name
    if parameter.between:
        low, high = (
            each.upper() if isinstance(each, str) else str(each) for each in parameter.between
        )
        shown = (f"{{{each}}}" if each[0].isalpha() else each for each in (low, high))
        says = f'f"{name} must be from {" to ".join(shown)}, not {{{name}}}."'
        return _refuse(f"not {low} <= {name} <= {high}", f"{name}_out_of_range", says)
    if parameter.day:
        refusal = (
            f'    raise Rejection("{name}_no_date", f"{name} must be a date such as 2026-03-14, '
            f'not {{{name}!r}}.") from None'
        )
        return [
            "try:",
            f"    {name} = date.fromisoformat({name}).isoformat()",
            "except ValueError:",
            refusal,
        ]
    if parameter.text:
        return _refuse(f"not {name}.strip()", f"{name}_missing", f'"{name} must not be empty."')
    if parameter.one_of:
        allowed = ", ".join(f'"{each}"' for each in parameter.one_of)
        says = f'f"{name} cannot be {{{name}!r}}; use one of: {", ".join(parameter.one_of)}."'
        return _refuse(f"{name} not in ({allowed})", f"unknown_{name}", says)
    if parameter.find:
        collection, attribute = parameter.find.split(".")
        noun = domain.collections[collection].noun
        hit = render(
            parse_expression(f"some({collection}, matches(row.{attribute}, {name}))"), domain
        )
        return _refuse(
            f"not {hit}",
            f"no_{noun}_found",
            f'f"No {noun.replace("_", " ")} matches {{{name}!r}}."',
        )
    return []


def _write_rule(rule: Rule, domain: Domain) -> Lines:
    return _refuse(render_refusal(rule.that, domain), rule.code, render_text(rule.says, domain))


def _refuse(condition: str, code: str, says: str) -> Lines:
    return [f"if {condition}:", f'    raise Rejection("{code}", {says})']


def _indent(lines: Lines) -> Lines:
    return textwrap.indent("\n".join(lines), "    ").split("\n")
