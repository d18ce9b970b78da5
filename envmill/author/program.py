"""The program: the domain model as Python source, one class whose public methods are the tools."""

import re
import textwrap

from envmill.author import tables
from envmill.author.blueprint import list_rules
from envmill.author.domain import Domain, Operation, Parameter, Rule, Step
from envmill.author.formula import parse_expression, parse_statement, spell, spell_refusal, spell_statement, spell_text

Lines = list[str]


def name_class(domain: Domain) -> str:
    """Class name out of the environment's title."""
    return "".join(word.capitalize() for word in re.findall(r"[A-Za-z]+", domain.names[0]))


def write_program(domain: Domain, operations: dict[str, Operation] | None = None) -> str:
    """Module text of a variation; other operations than the domain's own give a faulty one."""
    methods = [line for each in (operations or domain.operations).values() for line in ["", *_write_method(each, domain)]]
    body = [*_write_constructor(domain), "", *(tables.FINDER if domain.kind == "sql" else _write_finder()), *methods]
    limits = _write_limits(domain, "\n".join(body))
    docstring = [f'    """{domain.text}', "", "    Rules:", *(f"    - {rule}" for rule in list_rules(domain)), '    """', ""]
    parts = [*_write_imports("\n".join(body)), "", *limits, "", f"class {name_class(domain)}:", *docstring, *_indent(body)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _write_imports(body: str) -> Lines:
    dates = [name for name in ("date", "timedelta") if f"{name}(" in body or f"{name}." in body.replace("().date()", "")]
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


def _write_constructor(domain: Domain) -> Lines:
    if domain.kind == "sql":
        return tables.CONSTRUCTOR
    rows = [f'    self.{name}: dict[str, dict[str, Any]] = copy.deepcopy(state.get("{name}", {{}}))' for name in domain.collections]
    return ["def __init__(self, state: dict[str, Any]) -> None:", *rows]


def _write_finder() -> Lines:
    return [
        "def _find(self, rows: dict[str, dict[str, Any]], row_id: str, noun: str) -> dict[str, Any]:",
        "    if row_id not in rows:",
        '        raise Rejection(f"unknown_{noun}", f"There is no {noun} with the id {row_id!r}; look the id up first.")',
        "    return rows[row_id]",
    ]


def _write_method(operation: Operation, domain: Domain) -> Lines:
    arguments = ", ".join(["self", *(f"{each.name}: {each.annotation}" for each in operation.takes)])
    gives = "list[dict[str, Any]]" if operation.gives.startswith(("rows(", "page(")) else "dict[str, Any]"
    body = [
        *_write_docstring(operation, domain),
        *(
            f'{each.local} = self._find({_spell_table(each.row, domain)}, {each.name}, "{domain.collections[each.row].noun}")'
            for each in operation.takes
            if each.row
        ),
        *(line for each in operation.takes for line in _write_guard(each, domain)),
        *_write_steps(operation, operation.fetch, domain),
        *(line for rule in operation.must for line in _write_rule(rule, domain)),
        *_write_steps(operation, operation.then, domain),
        f"return {_spell_result(operation, domain)}",
    ]
    marked = [] if operation.actor == "agent" else [f'@actors("{operation.actor}")']
    return [*marked, f"def {operation.name}({arguments}) -> {gives}:", *_indent(body)]


def _spell_table(collection: str, domain: Domain) -> str:
    return f'"{collection}"' if domain.kind == "sql" else f"self.{collection}"


def _write_steps(operation: Operation, steps: tuple[Step, ...], domain: Domain) -> Lines:
    if domain.kind == "sql":
        return tables.spell_effects(operation, steps, domain)
    return [line for step in steps for line in spell_statement(parse_statement(step.do), domain)]


def _write_docstring(operation: Operation, domain: Domain) -> Lines:
    if not operation.takes:
        return [f'"""{operation.does}"""']
    told = [f"    {each.name}: {_describe(each, domain)}" for each in operation.takes]
    return [f'"""{operation.does}', "", "Args:", *told, '"""']


def _describe(parameter: Parameter, domain: Domain) -> str:
    if parameter.between:
        low, high = (domain.bound(each) for each in parameter.between)
        return f"{parameter.about} From {low} to {high}."
    if parameter.one_of:
        return f"{parameter.about} One of {', '.join(parameter.one_of)}."
    return parameter.about


def _write_guard(parameter: Parameter, domain: Domain) -> Lines:
    name = parameter.name
    if parameter.between:
        low, high = (each.upper() if isinstance(each, str) else str(each) for each in parameter.between)
        shown = (f"{{{each}}}" if each[0].isalpha() else each for each in (low, high))
        says = f'f"{name} must be from {" to ".join(shown)}, not {{{name}}}."'
        return _refuse(f"not {low} <= {name} <= {high}", f"{name}_out_of_range", says)
    if parameter.day:
        refusal = f'    raise Rejection("{name}_no_date", f"{name} must be a date such as 2026-03-14, not {{{name}!r}}.") from None'
        return ["try:", f"    {name} = date.fromisoformat({name}).isoformat()", "except ValueError:", refusal]
    if parameter.text:
        return _refuse(f"not {name}.strip()", f"{name}_missing", f'"{name} must not be empty."')
    if parameter.one_of:
        allowed = ", ".join(f'"{each}"' for each in parameter.one_of)
        says = f'f"{name} cannot be {{{name}!r}}; use one of: {", ".join(parameter.one_of)}."'
        return _refuse(f"{name} not in ({allowed})", f"unknown_{name}", says)
    if parameter.find:
        collection, attribute = parameter.find.split(".")
        noun = domain.collections[collection].noun
        hit = spell(parse_expression(f"some({collection}, matches(row.{attribute}, {name}))"), domain)
        return _refuse(f"not {hit}", f"no_{noun}_found", f'f"No {noun.replace("_", " ")} matches {{{name}!r}}."')
    return []


def _write_rule(rule: Rule, domain: Domain) -> Lines:
    return _refuse(spell_refusal(rule.that, domain), rule.code, spell_text(rule.says, domain))


def _refuse(condition: str, code: str, says: str) -> Lines:
    return [f"if {condition}:", f'    raise Rejection("{code}", {says})']


def _spell_result(operation: Operation, domain: Domain) -> str:
    if domain.kind == "sql":
        return tables.spell_result(operation, domain)
    text = spell(parse_expression(operation.gives), domain)
    return f"dict({text})" if operation.gives.isidentifier() else text


def _indent(lines: Lines) -> Lines:
    return textwrap.indent("\n".join(lines), "    ").split("\n")
