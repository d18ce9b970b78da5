"""A plan held to what any program could keep: read before anybody pays for writing one."""

import re
from collections import Counter
from collections.abc import Iterator

from envmill.kinds.authoring.rules import find_rival_rules
from envmill.kinds.base import is_forbidden
from envmill.runtime.schema import check_schema
from schemas.base import Json
from schemas.environment import Blueprint

LEAST, CHANGES = 6, 3
"""Tools that are made of documents, and those of them that write: with fewer nothing could go
wrong."""
_RETURNS = re.compile(
    r"\b(returns?|returned|repl(y|ies)|responds?|gives back|answers with)\b", re.IGNORECASE
)
"""Words by which a description says what comes back."""
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def find_plan_faults(plan: Blueprint) -> list[str]:
    """Everything that is wrong with it, in words for whoever wrote it."""
    return [
        *_find_tool_faults(plan),
        *_find_state_faults(plan),
        *_find_outline_faults(plan),
        *_find_type_faults(plan),
    ]


def _find_tool_faults(plan: Blueprint) -> Iterator[str]:
    names = [tool.name for tool in plan.tools]
    for name, times in Counter(names).items():
        if is_forbidden(name) or not _NAME.fullmatch(name):
            yield (
                f"The tool name {name!r} is not allowed: use a short verb with an object in "
                "snake_case."
            )
        if times > 1:
            yield f"The tool {name} is planned {times} times."
    for effect, does in (("change", "changes anything"), ("query", "reads anything")):
        if not any(tool.effect == effect for tool in plan.tools):
            yield f"No tool {does}."
    yield from (
        f"The tool {tool.name} has no description."
        for tool in plan.tools
        if not tool.description.strip()
    )


def _find_state_faults(plan: Blueprint) -> Iterator[str]:
    if not plan.collections and not plan.files:
        yield "There is no collection of records, so nothing can be kept."
    for name, attributes in plan.collections.items():
        if attributes[:1] != ["id"] and not plan.files:
            yield f"The attributes of {name} must begin with `id`."
        if repeated := [each for each, times in Counter(attributes).items() if times > 1]:
            yield f"{name} has the attributes {repeated} more than once."
    told = Counter(" ".join(rule.split()).casefold() for rule in plan.rules)
    if not any(told):
        yield "There is no rule, so nothing can be refused."
    yield from (
        f"A rule is told {times} times: {rule!r}." for rule, times in told.items() if times > 1
    )
    for one, other in find_rival_rules(plan.rules):
        yield f"Two rules differ in a number alone: {one!r} and {other!r}. Tell the one that holds."


def _find_outline_faults(plan: Blueprint) -> Iterator[str]:
    """Where it is made of documents: every tool of theirs is planned or left out with its reason,
    and enough of them are planned."""
    if (outline := plan.brief.outline) is None:
        return
    planned, documented = {tool.name for tool in plan.tools}, {tool.name for tool in outline.tools}
    for name in sorted(documented - planned - outline.left_out.keys()):
        yield f"The tool {name} of the documents is neither planned nor left out with a reason."
    for name in sorted(planned - documented):
        if not name.startswith("find_"):
            yield (
                f"The tool {name} stands in no document: only one named `find_<table>` may be "
                "added."
            )
    replying = {
        tool.name: list(tool.outputs.get("properties", {}))
        for tool in outline.tools
        if tool.outputs
    }
    for tool in plan.tools if not plan.signatures else ():
        if tool.name in replying and not _RETURNS.search(tool.description):
            told = ", ".join(replying[tool.name]) or "a list"
            yield (
                f"The description of {tool.name} does not say what it returns. Its document "
                f"says: {told}."
            )
    changes = sum(tool.effect == "change" for tool in plan.tools)
    if len(plan.tools) < LEAST or changes < CHANGES:
        yield (
            f"The tools planned are {len(plan.tools)}, {changes} of which write: at least "
            f"{LEAST} and {CHANGES} are needed."
        )


def _find_type_faults(plan: Blueprint) -> Iterator[str]:
    """Where tools say types: all do, in the subset that is validated, and a reply's type promises
    something."""
    if not plan.signatures:
        return
    for tool in plan.tools:
        signed = plan.signatures.get(tool.name)
        if signed is None:
            yield f"The tool {tool.name} says no types: give its inputs and outputs."
            continue
        for side, schema in (("inputs", signed.inputs), ("outputs", signed.outputs)):
            if side == "outputs" and not schema:
                continue  # nothing is promised of the reply
            if fault := _find_schema_fault(
                schema, ("object",) if side == "inputs" else ("object", "array")
            ):
                yield f"The tool {tool.name} has {side} that cannot be used: {fault}."


def _find_schema_fault(schema: Json, types: tuple[str, ...]) -> str:
    try:
        check_schema(schema)
    except ValueError as error:
        return str(error)
    return "" if schema.get("type") in types else f"their type must be {' or '.join(types)}"
