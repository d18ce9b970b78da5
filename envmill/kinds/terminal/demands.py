"""Demands of a machine for a reader: each test that is run at the end, with the constants and
functions it uses."""

import ast
from collections.abc import Iterator

from envmill.sandbox.machines.healthy import Healthy
from schemas.system import MachineState

_LONGEST = 1800
"""Characters of a test with all it uses: longer constants are whole files, whose beginning tells
enough."""


def render_demands(healthy: Healthy, state: MachineState) -> Iterator[str]:
    """What is broken is told by its complaint. Whatever is asked is asked again after a restart."""
    if not state.exam:
        ill = [probe for probe, said in state.health.items() if said == "ill"]
        yield from (
            "This is no longer so, and is not so after a restart: "
            f"{healthy.system.complaints[probe]}."
            for probe in ill
        )
        return
    tree = ast.parse(healthy.exams[state.exam])
    parts = {name: node for node in tree.body for name in _list_names(node)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in state.health:
            used = [one for one in _find_used(node, parts) if one is not node]
            source = "\n".join(ast.unparse(one) for one in (node, *used))
            yield (
                "This test passes at the end, and again after a restart:\n"
                f"{source[:_LONGEST]}{' …' if len(source) > _LONGEST else ''}"
            )


def _list_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    return (
        [target.id for target in node.targets if isinstance(target, ast.Name)]
        if isinstance(node, ast.Assign)
        else []
    )


def _find_used(node: ast.stmt, parts: dict[str, ast.stmt]) -> list[ast.stmt]:
    """The statements of the module that a test rests on, nearest first."""
    found: list[ast.stmt] = [node]
    for one in found:
        for name in (each.id for each in ast.walk(one) if isinstance(each, ast.Name)):
            if name in parts and parts[name] not in found:
                found.append(parts[name])
    return found
